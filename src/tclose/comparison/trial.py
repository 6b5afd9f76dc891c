"""One method tried on a table, in a process of its own: it can be stopped, and its memory is its own.

The table comes through a pipe, so that nothing of it is ever written to a disk. What happened goes back as one JSON
object per line. When the process that asked goes away, however that comes about, the pipe ends and so does this one.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

from tclose.engine.compiling import load, seconds_of_each_run, watched
from tclose.engine.memory import prepare, read_for_release
from tclose.errors import Infeasible, InternalError, MissingExtra, TcloseError, Unsuited
from tclose.measure.kept import DETAIL_MEASURES, kept
from tclose.measure.queries import QueryError
from tclose.measure.utility import MEASURES
from tclose.partition import METHODS
from tclose.policy import Policy
from tclose.privacy.judge import JudgedTable
from tclose.release.beside import Beside
from tclose.release.certificate import Certificate
from tclose.release.detail import detail_of
from tclose.release.exposed import exposed_rows
from tclose.release.queries import LinkedRows, error_of_counts
from tclose.release.release import Release
from tclose.table import CodedTable
from tclose.table.frames import from_stream
from tclose.types import Progress, stretch

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


@dataclass(frozen=True)
class Job:
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


def send(job: Job, table: memoryview, pipe: IO[bytes]) -> None:
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
        job: Job = pickle.loads(_block(pipe))
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


def attempt(job: Job, table: Any, tell: Tell) -> dict[str, Any]:
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
        return {"outcome": "failed", "reason": f"this is a bug in tclose ({type(error).__name__} in {where})"}


def _figures(job: Job, table: Any, tell: Tell) -> dict[str, Any]:
    load(job.method, job.options)  # with its kernels, or nobody would notice when they are compiled
    tell({"compiled each run": seconds_of_each_run()})
    with watched(lambda about_seconds: tell({"compiling": about_seconds})) as compiling:
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


@dataclass(frozen=True, eq=False)
class _Released:
    """A release beside the table that it was made of, each coded once."""

    original: CodedTable
    release: Release
    judged: tuple[JudgedTable, ...]

    @property
    def loss(self) -> float:
        """The loss that the policy chooses; of several tables, the mean."""
        tables = self.release.layout.tables
        return sum(table.chosen_loss for table in tables) / len(tables)

    def exposed(self, policy: Policy) -> int:
        """Return how many rows remain exposed in the line that counts most of them."""
        return exposed_rows(self.judged, policy, self.release.prepared.originals).rows

    def query_error(self, table: Any, seed: int) -> QueryError | None:
        """Return how wrong the counts are that a reader of the release would give."""
        group = self.release.certificate.group
        linked = None if group is None else LinkedRows(self.release.layout.frames[0], group)
        return error_of_counts(table, self.original, [judged.table for judged in self.judged], seed, linked=linked)

    def detail(self) -> dict[str, float | None]:
        """Return how much detail the release keeps for analysts; several tables cannot be measured together."""
        if not self.release.layout.comparable:
            return {}
        return kept(detail_of(Beside.of(self.original, self.judged[0].table)))


def _released(job: Job, table: Any, progress: Progress) -> _Released:
    """Read the table, split and recode it, and judge the release."""
    progress(0.0)
    kind, original = read_for_release(table, job.policy)
    split = stretch(progress, 0.1, 0.9)
    prepared = prepare(
        original, job.policy, kind=kind, method=job.method, seed=job.seed, progress=split, options=job.options
    )
    judged = prepared.judged_tables(stretch(progress, 0.9, 1.0))
    progress(1.0)
    return _Released(original, Release(prepared, tuple(each.result for each in judged)), judged)


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
