"""Attack a release, measure what it keeps, compare methods, and run the papers' experiments again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclose.errors import PolicyError
from tclose.measure.attack import Attacks
from tclose.measure.attack.scenes import ANONYMIZER
from tclose.measure.detail_kept import DetailKept
from tclose.partition import DEFAULT_METHOD
from tclose.policy import Policy, PolicyLike
from tclose.policy.variants import scaled
from tclose.release.files import check_targets
from tclose.release.output import sources_of, table_name
from tclose.run.engines import ENGINES, Engine
from tclose.run.knob import BOUND_SECONDS, POLICY, Knob, file, knob
from tclose.run.study import SECOND, Study, as_frame, as_release, check_report_libraries
from tclose.table import to_polars
from tclose.table.persons import sampled
from tclose.types import Progress, silent, stretch

if TYPE_CHECKING:
    from tclose.comparison.comparison import Comparison, Tradeoff
    from tclose.comparison.trial import TrialFigure

# The only list of the settings of `attack`


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AttackRequest:
    """A release, its table, and what an adversary knows. Fields with a `Knob` are options of `attack`.

    `guard_formulas` says that the release was written so: the apostrophes are taken away before it is read. The engine
    `disk` reads files in batches and runs what counts allow, without the k-anonymous table; `auto` chooses it for large
    files.
    """

    release: Any
    second: Any = None  # another release of the same table
    original: Any = knob(Knob("The table that was published.", metavar="TABLE"))
    policy: PolicyLike = knob(POLICY)
    register: Any = knob(
        Knob("The people whom the adversary knows; those of the table if absent.", metavar="FILE"), None
    )
    population: Any = knob(
        Knob("Everyone whom the table is drawn from, for the membership attack.", metavar="FILE"), None
    )
    method: str = knob(Knob("Makes the k-anonymous table to compare with.", show_default=True), ANONYMIZER)
    engine: Engine = knob(
        Knob(
            "Where the attacks run: in memory, or on counts that are read from disk in batches, without the "
            "k-anonymous table and the attacks that need rows; auto takes disk for large files.",
            "choice",
            choices=ENGINES,
        ),
        "memory",
    )
    guard_formulas: bool = knob(Knob("The release was written with --guard-formulas.", "flag"), False)

    @property
    def asked(self) -> Policy:
        """The policy, read."""
        return Policy.of(self.policy)

    @property
    def tables(self) -> list[Any]:
        """Everything that is read and compared: the original and one or two releases."""
        return [each for each in (self.original, self.release, self.second) if each is not None]


# The only list of the settings of `compare`


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CompareRequest:
    """A table, the methods that are tried on it, and how. Fields with a `Knob` are options of `compare`.

    With a page to write, `out`, the methods that gave a release are tried again with every t multiplied by `levels`.
    Without `force`, a page that exists already is refused.
    """

    table: Any
    policy: PolicyLike = knob(POLICY)
    methods: Sequence[str] | None = knob(
        Knob("Some methods, such as weave,weave:fast; all if absent.", "names", metavar="A,B"), None
    )
    limit: float | None = knob(
        Knob("Stop a method after this time; 30 seconds if absent.", "seconds", metavar="SECONDS"), None
    )
    seed: int = knob(Knob("The seed that all methods share.", "count", least=0, show_default=True), 0)
    detail: bool = knob(Knob("Also measure the detail kept for analysts, which takes longer.", "flag"), False)
    bound: bool = knob(Knob("Also prove how much of the detail every release must lose.", "flag"), False)
    bound_seconds: float | None = knob(BOUND_SECONDS, None)
    out: str | Path | None = file("Write an HTML page here that compares the methods, also with other t.")
    levels: Sequence[Fraction] | None = knob(
        Knob("Multiples of every t for the page; 0.5,1,1.5,2 if absent.", "numbers", metavar="A,B"), None
    )
    force: bool = False


# The commands


def attack(release: Any, *, original: Any, policy: PolicyLike, progress: Progress = silent, **asked: Any) -> Attacks:
    """Measure what an adversary learns from a release, beside the raw table and a k-anonymous one.

    What may be `asked` are the fields of `AttackRequest`.
    """
    request = AttackRequest(release=release, original=original, policy=Policy.of(policy), **asked)
    from tclose.run import anonymization, disk, engines

    if engines.attacked_on_disk(request):
        return disk.attack(request, progress)
    guarded, second = request.guard_formulas, request.second
    return anonymization.attack(
        as_release(release, request.asked, guarded=guarded),
        original=Study(original, request.asked),
        policy=request.asked,
        second=None if second is None else as_release(second, request.asked, guarded=guarded, name=SECOND),
        register=None if request.register is None else as_frame(request.register),
        population=request.population,
        method=request.method,
        progress=progress,
    )


def detail(
    release: Any,
    *,
    original: Any,
    policy: PolicyLike,
    target: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> DetailKept:
    """Measure how much detail a release keeps, against the original table; the figures stay with its steward.

    `release` is a `Release` of one table, its frame, or its file. With a `target`, a sensitive attribute, a random
    forest is trained on the table and on the release to predict it from everything else; that needs scikit-learn.

    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [20, 30, 40, 50], "pay": [1, 2, 1, 2]})
    >>> policy = {"quasi": ["age"], "sensitive": {"pay": {"t": 1}}}
    >>> detail(table.with_columns(age=pl.col("age").cast(str)), original=table, policy=policy).figures["marginals"]
    1.0
    """
    from tclose.run import anonymization

    policy, report = Policy.of(policy), progress or silent
    report(0.0, "reading")
    pair = Study(original, policy).beside(as_release(release, policy))
    measuring = stretch(report, 0.0, 1.0 if target is None else 0.5)
    figures = anonymization.detail(pair, progress=measuring)
    if target is None:
        return DetailKept(figures)
    report(0.5, "training random forests")
    prediction = anonymization.predicted(pair, target=target, seed=seed)
    return DetailKept(figures, prediction)


def compare(table: Any, policy: PolicyLike, *, progress: Progress = silent, **asked: Any) -> Tradeoff:
    """Try methods on the same table and policy; no release is written.

    What may be `asked` are the fields of `CompareRequest`.
    """
    from tclose.comparison.comparison import LEVELS, LIMIT_SECONDS, Conditions, entries, tradeoff
    from tclose.run.bound_search import SECONDS

    request, read = CompareRequest(table=table, policy=policy, **asked), Policy.of(policy)
    entries(request.methods)  # a misspelt name is refused before the table is read
    levels: Sequence[Fraction] = ()
    if request.out is not None:
        check_report_libraries()
        check_targets([Path(request.out)], sources_of(table, policy, read), force=request.force)
        levels = LEVELS if request.levels is None else request.levels
    conditions = Conditions(
        limit=LIMIT_SECONDS if request.limit is None else request.limit,
        seed=request.seed,
        detail=request.detail,
        bound=request.bound,
        bound_seconds=SECONDS if request.bound_seconds is None else request.bound_seconds,
    )
    found = tradeoff(as_frame(table, read), read, conditions, methods=request.methods, levels=levels, progress=progress)
    if request.out is not None:
        found.report(request.out, table=table_name(table), force=request.force)
    return found


def trial_figures(comparison: Comparison) -> tuple[TrialFigure, ...]:
    """Return the figures that people see of each method that was compared, with their headings and spelling."""
    from tclose.comparison.trial import figures_of

    return figures_of(comparison.released, comparison.policy)


# What protection costs: methods on a table, or on a part of it, under stricter and looser thresholds


CURVE_TIMES = (Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2))
CURVE_ROWS = 20_000
CURVE_BOUND_SECONDS = 5.0
CURVE_LIMIT_SECONDS = 60.0
CURVE_SEED = 0  # of the sample and of every method: nothing is published


@dataclass(frozen=True, eq=False)
class CostCurve:
    """A trade-off, the rows that it was measured on, and why it has no lower bound."""

    tradeoff: Tradeoff
    rows: int
    of: int  # rows of the whole table
    no_bound: str  # empty where there is one

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        drawn = self.tradeoff.curve()
        names = list(dict.fromkeys(name for name, _, _ in drawn.points))
        return {
            "rows": self.rows,
            "of": self.of,
            "no_bound": self.no_bound,
            "title": drawn.title,
            "levels": drawn.levels,
            "losses": {name: drawn.losses(name) for name in names},
            "least": drawn.least_losses() if drawn.bounds else [],
            "trials": [trial.to_dict() for trial in self.tradeoff.comparison.trials],
        }


def cost_curve(
    table: Any,
    policy: PolicyLike,
    *,
    methods: Sequence[str] = (DEFAULT_METHOD,),
    times: Sequence[Fraction] = CURVE_TIMES,
    most_rows: int = CURVE_ROWS,
    bound_seconds: float = CURVE_BOUND_SECONDS,
    progress: Progress = silent,
) -> CostCurve:
    """Try methods with every t multiplied by each of `times`, on at most so many rows; no release is written.

    Where a lower bound can be given for the policy, one is searched for at each level.
    """
    from tclose.comparison.comparison import Conditions, Tradeoff, compared, entries

    asked = Policy.of(policy)
    names = [entry.name for entry in entries(methods)]
    progress(0.0, "reading")
    whole = to_polars(as_frame(table, asked))
    frame = sampled(whole, most_rows, person=asked.person, seed=CURVE_SEED)
    reason = _no_bound(frame, asked)
    conditions = Conditions(CURVE_LIMIT_SECONDS, CURVE_SEED, bound=not reason, bound_seconds=bound_seconds)
    levels = {Fraction(1): asked, **{level: scaled(asked, level) for level in times}}
    different = {level: each for level, each in levels.items() if level == 1 or each != asked}
    found: dict[Fraction, Comparison] = {}
    for place, (level, each) in enumerate(different.items()):
        part = stretch(progress, place / len(different), (place + 1) / len(different))
        report = _Mean(part, len(names) + (not reason))
        served = names if level == 1 else [trial.name for trial in found[Fraction(1)].released]
        if served:
            found[level] = compared(frame, each, served, conditions, report)
    first = found.pop(Fraction(1))
    return CostCurve(Tradeoff(first, found), frame.height, whole.height, reason)


def _no_bound(frame: Any, policy: Policy) -> str:
    """Return why no lower bound can be given; nothing where one can."""
    from tclose.run.bound_search import BoundSearch
    from tclose.table.coded import encode_quietly

    try:
        BoundSearch.of(encode_quietly(frame, policy), policy)
    except PolicyError as error:
        return error.sentence
    return ""


class _Mean:
    """The progress of several methods that run side by side: the mean of their shares."""

    def __init__(self, progress: Progress, parts: int) -> None:
        self._progress, self._parts, self._shares = progress, parts, dict[str, float]()

    def __call__(self, share: float, phase: str = "") -> None:
        """Take note of how far one method is; the phase begins with its name."""
        name = phase.partition(",")[0]
        self._shares[name] = max(share, self._shares.get(name, 0.0))
        self._progress(min(sum(self._shares.values()) / self._parts, 1.0), phase)
