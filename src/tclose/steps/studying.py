"""Attack a release, measure what it keeps, compare methods, run the papers' experiments again."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclose.measure.attack import Attacks
from tclose.measure.kept import DetailKept
from tclose.policy import Policy, PolicyLike
from tclose.recode.guard import GUARDS, NEWEST
from tclose.release.files import check_targets
from tclose.release.naming import table_name
from tclose.release.scenes import ANONYMIZER
from tclose.release.targets import sources_of
from tclose.run.places import Engine
from tclose.run.study import Study
from tclose.steps.given import as_frame, as_release, check_report_libraries
from tclose.table import to_polars
from tclose.types import Progress, silent, stretch

if TYPE_CHECKING:
    from tclose.comparison.comparison import Comparison
    from tclose.comparison.figures import TrialFigure
    from tclose.comparison.papers.reproduction import Reproduction
    from tclose.comparison.tradeoff import Tradeoff


def attack(
    release: Any,
    *,
    original: Any,
    policy: PolicyLike,
    second: Any = None,
    register: Any = None,
    population: Any = None,
    method: str = ANONYMIZER,
    guard_formulas: bool = False,
    engine: Engine = "memory",
    progress: Progress = silent,
) -> Attacks:
    """Measure what an adversary learns from a release, beside the raw table and a k-anonymous one.

    `guard_formulas` says that the release was written so: the apostrophes are taken away before it is read. The engine
    `disk` reads files in batches and runs what counts allow, without the k-anonymous table; `auto` chooses it for large
    files.
    """
    from tclose.engine import choosing, disk_attack, memory

    policy = Policy.of(policy)
    given = [each for each in (original, release, second) if each is not None]
    asked = disk_attack.Asked(register is not None, population is not None, guard_formulas, method != ANONYMIZER)
    if choosing.attacked_on_disk(engine, given, policy, asked):
        return disk_attack.attack(release, original=original, policy=policy, second=second, progress=progress)

    def published(given: Any) -> Any:
        release = as_release(given, policy)
        if not guard_formulas:
            return release
        frames = release if isinstance(release, tuple) else (release,)
        return tuple(GUARDS[NEWEST].unguarded(to_polars(frame)) for frame in frames)

    return memory.attack(
        published(release),
        original=Study(original, policy),
        policy=policy,
        second=None if second is None else published(second),
        register=None if register is None else as_frame(register),
        population=population,
        method=method,
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
    from tclose.engine import memory

    policy, report = Policy.of(policy), progress or silent
    report(0.0, "reading")
    release, original = as_release(release, policy), Study(original, policy)
    measuring = stretch(report, 0.0, 1.0 if target is None else 0.5)
    figures = memory.detail(release, original=original, policy=policy, progress=measuring)
    if target is None:
        return DetailKept(figures)
    report(0.5, "training random forests")
    prediction = memory.predicted(release, original=original, policy=policy, target=target, seed=seed)
    return DetailKept(figures, prediction)


def compare(
    table: Any,
    policy: PolicyLike,
    *,
    methods: Sequence[str] | None = None,
    limit: float | None = None,
    seed: int = 0,
    detail: bool = False,
    bound: bool = False,
    bound_seconds: float | None = None,
    out: str | Path | None = None,
    levels: Sequence[Fraction] | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> Tradeoff:
    """Try methods on the same table and policy; no release is written.

    With a page to write, `out`, the methods that gave a release are tried again with every t multiplied by `levels`.
    Without `force`, a page that exists already is refused.
    """
    from tclose.comparison.comparison import LIMIT_SECONDS, entries
    from tclose.comparison.tradeoff import LEVELS, tradeoff
    from tclose.engine.bounding import SECONDS

    asked = Policy.of(policy)
    entries(methods)  # a misspelt name is refused before the table is read
    if out is not None:
        check_report_libraries()
        check_targets([Path(out)], sources_of(table, policy, asked), force=force)
    found = tradeoff(
        as_frame(table, asked),
        asked,
        methods=methods,
        levels=(LEVELS if levels is None else levels) if out is not None else (),
        limit=LIMIT_SECONDS if limit is None else limit,
        seed=seed,
        detail=detail,
        bound=bound,
        bound_seconds=SECONDS if bound_seconds is None else bound_seconds,
        progress=progress,
    )
    if out is not None:
        found.report(out, table=table_name(table), force=force)
    return found


def trial_figures(comparison: Comparison) -> tuple[TrialFigure, ...]:
    """Return the figures that people see of each method that was compared, with their headings and spelling."""
    from tclose.comparison.figures import figures_of

    return figures_of(comparison.released, comparison.policy)


def reproduce(
    name: str, *, data: str | Path, out: str | Path | None = None, force: bool = False, progress: Progress = silent
) -> Reproduction:
    """Run a paper's experiments again, or those of all papers; `out` is a page with the papers' figures beside ours."""
    from tclose.comparison.papers.reproduction import reproduced

    return reproduced(name, data=Path(data), out=out, force=force, progress=progress)
