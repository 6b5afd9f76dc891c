"""A method tried on a table in a process of its own, which is stopped after its time, and the figures of the trial."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any, Literal

from tclose.errors import Infeasible, InternalError, MissingExtra, TcloseError, Unsuited
from tclose.measure.detail_kept import DETAIL_MEASURES, detail_figures_of
from tclose.measure.information_loss import MEASURES, Measure
from tclose.measure.pair import detail_of
from tclose.measure.queries import LinkedRows, QueryError, error_of_counts
from tclose.measure.release_exposure import exposed_rows
from tclose.messages import say
from tclose.partition import METHODS
from tclose.policy import Policy
from tclose.privacy.judge import JudgedTable
from tclose.release.certificate import Certificate
from tclose.release.release import Release
from tclose.run.compile_notice import compile_clock, load, seconds_of_each_run, warn_of_each_run
from tclose.run.pipeline import prepared
from tclose.run.request import Recipe, seed_of
from tclose.run.rows import FrameRows
from tclose.run.study import Study
from tclose.table import CodedTable
from tclose.table.frames import from_stream
from tclose.types import Progress, stretch
from tclose.words import compiling, lowered_loss

TrialOutcome = Literal["released", "unsuited", "infeasible", "extra missing", "refused", "stopped", "failed"]
Tell = Callable[[Mapping[str, Any]], None]

OUTCOMES: tuple[tuple[type[TcloseError], TrialOutcome], ...] = (
    (Unsuited, "unsuited"),
    (Infeasible, "infeasible"),
    (MissingExtra, "extra missing"),
    (InternalError, "failed"),
    (TcloseError, "refused"),
)
DETAIL = tuple(measure.name for measure in DETAIL_MEASURES)
COMPARED = tuple(measure for measure in MEASURES if measure.compared)
MEGABYTE = 2**20
LENGTH_BYTES = 8


@dataclass(frozen=True, repr=False)
class TrialJob:
    """What to try; the table follows in a block of its own."""

    policy: Policy
    method: str
    options: Mapping[str, Any]
    seed: int
    detail: bool = False  # whether to measure how much detail the release keeps for analysts, which takes a while
    core: int | None = None  # the one that this process keeps to, where several run side by side


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What one method gives for a table, or why it gives nothing."""

    name: str
    method: str
    choice: str  # the variant, or the choice of the method's own option; empty where it has neither
    outcome: TrialOutcome
    reason: str = ""
    rows: int | None = None
    withheld: int | None = None
    classes: int | None = None
    average_class: float | None = None
    smallest_class: int | None = None
    measures: Mapping[str, float | None] = field(default_factory=dict)  # of what the release costs, by name
    loss: float | None = None  # by the policy's loss and weights: methods are ranked by it
    exposed: int | None = None  # rows that remain exposed, of the line that counts most of them
    query_error: float | None = None
    query_errors: list[dict[str, float]] = field(default_factory=list)
    detail: Mapping[str, float | None] = field(default_factory=dict)  # kept for analysts, by measure, if asked for
    closeness: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None  # without those spent on compiling, which the next run is spared
    compile_seconds: float | None = None
    peak_megabytes: float | None = None
    start: str | None = None  # the classes that were kept, of a method that considers those of other methods, too

    @property
    def caveat(self) -> str:
        """What a release of the method does not protect; empty for nearly all."""
        return METHODS[self.method].caveat

    @property
    def several_tables(self) -> bool:
        """Whether a release of the method has several tables, so that its figures cannot be compared with others."""
        return METHODS[self.method].tables == "several"

    @property
    def gcp(self) -> float | None:
        """The share of detail lost."""
        return self.measures.get("gcp")

    @property
    def sse(self) -> float | None:
        """The information loss, as a squared error."""
        return self.measures.get("sse")

    @property
    def discernibility(self) -> float | None:
        """The sum of the squared class sizes."""
        return self.measures.get("discernibility")

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints: every measure stands beside the other figures."""
        entries: dict[str, Any] = {}
        for name, value in asdict(self).items():
            entries |= {name: value} if name != "measures" else {each.name: value.get(each.name) for each in COMPARED}
        return entries | {"caveat": self.caveat}


def send(job: TrialJob, table: memoryview, pipe: IO[bytes]) -> None:
    """Hand a job and its table over; the pipe stays open for as long as the job is wanted."""
    told = pickle.dumps(job)
    for block in (told, table):
        pipe.write(len(block).to_bytes(LENGTH_BYTES, "big"))
        pipe.write(block)
    pipe.flush()


def main() -> None:
    """Try one method; the last line says what came of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asked decides when to stop
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # a library may print, and cells are not for print

    def tell(message: Mapping[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    with os.fdopen(os.dup(sys.stdin.fileno()), "rb") as pipe:
        job: TrialJob = pickle.loads(_block(pipe))
        table = from_stream(_block(pipe))
    threading.Thread(target=_end_with_the_pipe, daemon=True).start()
    warnings.simplefilter("ignore")  # whoever asked has been told
    if job.core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {job.core})
    tell({"trial": attempt(job, table, tell)})
    os._exit(0)  # at once: a thread still listens


def _block(pipe: IO[bytes]) -> bytes:
    return pipe.read(int.from_bytes(pipe.read(LENGTH_BYTES), "big"))


def _end_with_the_pipe() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


def attempt(job: TrialJob, table: Any, tell: Tell) -> dict[str, Any]:
    """Return the figures of a release, or why there is none, never with a cell in it."""
    try:
        return _figures(job, table, tell)
    except TcloseError as error:
        outcome = next(outcome for kind, outcome in OUTCOMES if isinstance(error, kind))
        return {"outcome": outcome, "reason": str(error)}
    except MemoryError:
        return {"outcome": "stopped", "reason": "it did not fit into memory"}
    except BaseException as error:  # its message could hold a cell; polars panics with a BaseException
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return {
            "outcome": "failed",
            "reason": say("this is a bug in tclose ({kind} in {where})", kind=type(error).__name__, where=where),
        }


def _figures(job: TrialJob, table: Any, tell: Tell) -> dict[str, Any]:
    load(job.method, job.options)  # with its kernels, or nobody would notice when they are compiled
    tell({"compiled each run": seconds_of_each_run()})
    with compile_clock(lambda about_seconds: tell({"compiling": about_seconds})) as compiling:
        tell({"begun": True})
        start = time.perf_counter()
        trial = _released(job, table, _rarely(tell))
        seconds, peak = time.perf_counter() - start - compiling.seconds, peak_megabytes()
        tell({"released": True})
    certificate = trial.release.certificate
    error = trial.query_error(table, job.seed)
    return {
        "outcome": "released",
        **_cost(certificate),
        "loss": trial.loss,
        "exposed": trial.exposed(job.policy),
        **({} if error is None else error.to_dict()),
        "detail": trial.detail() if job.detail else {},
        "seconds": seconds,
        "compile_seconds": compiling.seconds,
        "peak_megabytes": peak,
        "start": trial.release.layout.tables[0].start,
    }


@dataclass(frozen=True, eq=False, repr=False)
class _Released:
    """A release beside the table that it was made of, each coded once."""

    original: CodedTable
    release: Release
    judged: tuple[JudgedTable, ...]

    @property
    def loss(self) -> float:
        """The loss that the policy chooses; of several tables, the mean."""
        losses = [table.chosen_loss for table in self.release.layout.tables if table.chosen_loss is not None]
        return sum(losses) / len(losses)

    def exposed(self, policy: Policy) -> int:
        """Return how many rows remain exposed in the line that counts most of them."""
        return exposed_rows(self.judged, policy, self.release.prepared.whole.originals).rows

    def query_error(self, table: Any, seed: int) -> QueryError | None:
        """Return how wrong the counts are that a reader of the release would give."""
        group = self.release.certificate.group
        linked = None if group is None else LinkedRows(self.release.layout.frames[0], group)
        return error_of_counts(table, self.original, [judged.table for judged in self.judged], seed, linked=linked)

    def detail(self) -> dict[str, float | None]:
        """Return how much detail the release keeps for analysts; several tables cannot be measured together."""
        if not self.release.layout.comparable:
            return {}
        return detail_figures_of(
            detail_of(Study(self.original, self.original.policy).beside(self.judged[0].table).in_codes())
        )


def _released(job: TrialJob, table: Any, progress: Progress) -> _Released:
    """Read the table, split and recode it, and judge the release."""
    progress(0.0)
    rows = FrameRows.of(table, job.policy)
    recipe = Recipe.of(job.policy, job.method, job.options, seed=seed_of(job.seed))
    made = prepared(rows, recipe, stretch(progress, 0.1, 0.9))
    judged = made.judged_tables(stretch(progress, 0.9, 1.0))
    progress(1.0)
    return _Released(rows.table, Release(made, tuple(each.result for each in judged)), judged)


def _cost(certificate: Certificate) -> dict[str, Any]:
    claims = certificate.claims
    assert claims.rows is not None
    assert claims.classes is not None
    return {
        "rows": claims.rows,
        "withheld": certificate.withheld,
        "classes": claims.classes,
        "smallest_class": claims.smallest_class,
        "average_class": claims.rows / claims.classes,
        "measures": {measure.name: certificate.measures.get(measure.name) for measure in COMPARED},
        "closeness": {name: claim.closeness for name, claim in claims.attributes.items()},
    }


def _rarely(tell: Tell) -> Progress:
    """Tell of progress a hundred times at most."""
    told = -1.0

    def progress(share: float, phase: str = "") -> None:
        nonlocal told
        if share >= told + 0.01:
            told = share
            tell({"share": share})

    return progress


def peak_megabytes() -> float | None:
    """Return the most memory that this process has held, where the system tells."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would count what the parent held when it started this process
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024 / MEGABYTE
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MEGABYTE


Answer = Mapping[str, Any]

SIDE_BY_SIDE = 2  # more would compete for memory
TURN_SECONDS = 0.1
CHILD = "import sys; sys.path[:] = {path!r}; from tclose.comparison.trial import main; main()"
THREADS = ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def answers(jobs: Sequence[TrialJob], table: memoryview, limit: float, progress: Sequence[Progress]) -> list[Answer]:
    """Return what each job came to, in their order; each has a progress, which is called from this thread."""
    cores: SimpleQueue[int | None] = SimpleQueue()
    for core in _cores(len(jobs)):
        cores.put(core)
    news: News = SimpleQueue()

    def work(number: int) -> Answer:
        core = cores.get()
        try:
            tell = tellers[number] = _Teller(number, news)
            return _answer(replace(jobs[number], core=core), table, limit, children, tell)
        finally:
            cores.put(core)

    children, tellers = Children(), dict[int, _Teller]()
    pool = ThreadPoolExecutor(cores.qsize())
    try:
        found = _awaited([pool.submit(work, number) for number in range(len(jobs))], news, progress)
    finally:  # also after Ctrl-C: no process may outlive the question
        children.end()
        pool.shutdown(cancel_futures=True)
    warn_of_each_run(max((teller.seconds_of_each_run for teller in tellers.values()), default=0.0))
    return found


News = SimpleQueue[tuple[int, float, str]]  # the number of a job, the share of it that is done, what it does


def _awaited(futures: Sequence[Future[Answer]], news: News, progress: Sequence[Progress]) -> list[Answer]:
    """Wait in short turns, so that Ctrl-C and a progress that raises are heard of, and pass the news on."""
    last: tuple[int, float, str] | None = None
    while not all(future.done() for future in futures):
        with suppress(Empty):
            last = news.get(timeout=TURN_SECONDS)
        if last is not None:  # said again when nothing is new: whoever wants to cancel must be asked
            progress[last[0]](*last[1:])
    while not news.empty():
        number, share, phase = news.get()
        progress[number](share, phase)
    return [future.result() for future in futures]


class _Teller:
    """Turns what a process says into news."""

    def __init__(self, number: int, news: News) -> None:
        self._number, self._news, self._share, self._phase = number, news, 0.0, ""
        self.seconds_of_each_run = 0.0  # to compile kernels that cannot be kept

    def __call__(self, message: Mapping[str, Any]) -> None:
        """Pass a message on, if it is about progress; note if kernels cannot be kept."""
        self.seconds_of_each_run = message.get("compiled each run", self.seconds_of_each_run)
        self._share = message.get("share", self._share)
        if "compiling" in message:
            seconds, each_run = message["compiling"], bool(self.seconds_of_each_run)
            self._phase = compiling(seconds, each_run=each_run) if seconds else ""
        if "share" in message or "compiling" in message:
            self._news.put((self._number, self._share, self._phase))


def _cores(jobs: int) -> list[int | None]:
    """Return the cores to work on, one per process; where there is only one of either, nobody has to share."""
    usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    together = min(SIDE_BY_SIDE, len(usable), jobs)
    return [None] if together <= 1 else list(usable[:together])


class Children:
    """The processes at work."""

    def __init__(self) -> None:
        self._lock, self._running, self._ended = threading.Lock(), set[subprocess.Popen[bytes]](), False

    @contextmanager
    def one(self, *, single_threaded: bool) -> Iterator[subprocess.Popen[bytes]]:
        """Start a process, and make sure that it ends."""
        environment = {**os.environ, **(dict.fromkeys(THREADS, "1") if single_threaded else {})}
        with self._lock:
            if self._ended:
                raise InterruptedError
            child = subprocess.Popen(
                [sys.executable, "-P", "-c", CHILD.format(path=sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # a library's message could hold a cell
                env=environment,
            )
            self._running.add(child)
        try:
            yield child
        finally:
            child.kill()
            with suppress(BrokenPipeError):
                child.__exit__(None, None, None)
            with self._lock:
                self._running.discard(child)

    def end(self) -> None:
        """End all processes, and let no other begin."""
        with self._lock:
            self._ended = True
            for child in self._running:
                child.kill()


class Clock:
    """Rings once when its seconds are used up; it can be paused."""

    def __init__(self, seconds: float, ring: Callable[[], None]) -> None:
        self._left, self._ring, self._since, self.rang = seconds, ring, 0.0, False
        self._timer: threading.Timer | None = None

    def go(self) -> None:
        """Begin, or go on after a pause."""
        self._since = time.monotonic()
        self._timer = threading.Timer(max(self._left, 0), self._time_is_up)
        self._timer.daemon = True
        self._timer.start()

    def pause(self) -> None:
        """Stand still."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._left -= time.monotonic() - self._since

    def _time_is_up(self) -> None:
        self.rang = True
        self._ring()


def _answer(job: TrialJob, table: memoryview, limit: float, children: Children, tell: _Teller) -> Answer:
    """Let one process do a job; say so where it had to be stopped, or died."""
    answer: Answer | None = None
    with children.one(single_threaded=job.core is not None) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        clock = Clock(limit, child.kill)
        with suppress(BrokenPipeError):  # it died at once, which its silence tells
            send(job, table, child.stdin)
        for line in child.stdout:
            message = json.loads(line)
            _heed(message, clock)
            tell(message)
            answer = message.get("trial", answer)
        clock.pause()
        status = child.wait()
    if answer is not None:
        return answer
    if clock.rang:
        return {"outcome": "stopped", "reason": say("it took longer than {limit:g} seconds", limit=limit)}
    return {"outcome": "failed", "reason": say("its process ended without an answer (status {status})", status=status)}


def _heed(message: Mapping[str, Any], clock: Clock) -> None:
    """Let the clock run while the method works, but not while its kernels are compiled or its release is measured."""
    if "released" in message or message.get("compiling", 0) > 0:
        clock.pause()
    elif "begun" in message or "compiling" in message:
        clock.go()


# The figures of a trial that terminal and page show


Value = Callable[[Trial], float | int | None]


@dataclass(frozen=True)
class TrialFigure:
    """One figure of a trial."""

    short: str  # heads a column in a terminal
    title: str  # heads a column on a page
    meaning: str
    value: Value
    spelling: str  # as in `format`

    @classmethod
    def of_measure(cls, measure: Measure) -> TrialFigure:
        """Return the figure that a measure declares."""

        def value(trial: Trial) -> float | None:
            return trial.measures.get(measure.name)

        return cls(measure.short, measure.title, f"{measure.title}, {measure.scale}", value, measure.spelling)

    def spelled(self, trial: Trial) -> str:
        """Return a trial's figure as people read it; nothing where it has none."""
        figure = self.value(trial)
        return "" if figure is None else format(figure, self.spelling)


FIGURES = (
    TrialFigure("classes", "classes", "number of classes", lambda trial: trial.classes, ",d"),
    TrialFigure("average", "rows per class", "average rows per class", lambda trial: trial.average_class, ",.1f"),
    TrialFigure("smallest", "smallest class", "rows in the smallest class", lambda trial: trial.smallest_class, ",d"),
    TrialFigure("withheld", "rows withheld", "rows withheld", lambda trial: trial.withheld, ",d"),
    *(TrialFigure.of_measure(measure) for measure in COMPARED),
    TrialFigure(
        "queries",
        "error of counts",
        "median relative error of counts, from 0, lower is better",
        lambda trial: trial.query_error,
        ".4f",
    ),
    TrialFigure("s", "seconds", "seconds", lambda trial: trial.seconds, ".1f"),
    TrialFigure("MB", "memory (MB)", "peak memory in megabytes", lambda trial: trial.peak_megabytes, ",.0f"),
)


def figures_of(trials: tuple[Trial, ...], policy: Policy) -> tuple[TrialFigure, ...]:
    """Return the figures that say something about these trials.

    Rows withheld are shown where some trial withholds any, an optional measure where some trial has it, and the loss
    that the policy chooses where it is another figure than the detail lost.
    """
    withholds = any(trial.withheld for trial in trials)
    absent = {m.short for m in COMPARED if m.optional and all(trial.measures.get(m.name) is None for trial in trials)}
    absent |= set() if withholds else {"withheld"}
    figures = tuple(figure for figure in FIGURES if figure.short not in absent)
    return figures if policy.loses_gcp else (_chosen(policy), *figures)


def _chosen(policy: Policy) -> TrialFigure:
    """Return the loss that the policy chooses, by which methods are ranked."""
    title, spelling = lowered_loss(policy.chosen_loss), ",.0f" if policy.loss == "discernibility" else ".4f"
    meaning = f"the policy's loss: {title}, lower is better"
    return TrialFigure("loss", "loss by the policy", meaning, lambda trial: trial.loss, spelling)
