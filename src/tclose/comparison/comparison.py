"""Every method side by side on one table and policy, each in a process of its own with a time limit.

A curve shows what protection costs: the loss of each method at several thresholds. A trade-off tries the methods that
serve a policy again with stricter and looser thresholds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tclose.comparison.trial import COMPARED, DETAIL, Trial, TrialJob, answers
from tclose.errors import Infeasible, InternalError, PolicyError
from tclose.messages import say
from tclose.partition import METHODS, method_and_options
from tclose.policy import Policy, PolicyLike
from tclose.policy.variants import scaled
from tclose.privacy.feasibility import publishable
from tclose.release.lower_bound import LowerBound
from tclose.run.bound_search import SECONDS, BoundSearch, checked_seconds
from tclose.run.rows import FrameRows
from tclose.table import CodedTable, to_polars
from tclose.table.frames import from_columns, kind_of, to_stream
from tclose.types import Progress, silent
from tclose.words import counted, html_table, number

# The loss of each method at several thresholds, as a page draws it


@dataclass(frozen=True)
class Curve:
    """The loss of each method against t: (method, t, loss)."""

    title: str
    points: Sequence[tuple[str, float, float]]
    bounds: Sequence[tuple[float, float]] = ()  # (t, the least loss that any release must have), if searched for

    @classmethod
    def of(
        cls,
        trials: Mapping[Fraction, Sequence[Trial]],
        policy: Policy,
        bounds: Mapping[Fraction, float] | None = None,
    ) -> Curve:
        """Return the curve of trials, and of lower bounds, under thresholds so many times those of the policy.

        Methods with a caveat are left out: their loss cannot be compared.
        """
        thresholds = {spec.t for spec in policy.required.values() if spec.t is not None}
        unit = thresholds.pop() if len(thresholds) == 1 else None

        def threshold(level: Fraction) -> float:
            return float(level * unit if unit else level)

        points = [
            (trial.name, threshold(level), trial.gcp)
            for level, tried in trials.items()
            for trial in tried
            if trial.gcp is not None and not trial.caveat
        ]
        least = sorted((threshold(level), bound) for level, bound in (bounds or {}).items())
        return cls("t" if unit else "t, as a multiple of the policy's own", points, least)

    @property
    def levels(self) -> list[float]:
        """The different values of t."""
        return sorted({*(t for _, t, _ in self.points), *(t for t, _ in self.bounds)})

    def losses(self, method: str) -> list[float | None]:
        """Return a method's loss at each level, none where it gave no release."""
        loss_at = {t: loss for name, t, loss in self.points if name == method}
        return [loss_at.get(level) for level in self.levels]

    def least_losses(self) -> list[float | None]:
        """Return the lower bound at each level, none where it was not searched for."""
        bound_at = dict(self.bounds)
        return [bound_at.get(level) for level in self.levels]


# The comparison


LIMIT_SECONDS = 30.0
BOUND = "lower bound"  # the phase, beside the names of methods
COLUMNS = {
    "str": str,
    "TrialOutcome": str,
    "str | None": str,
    "int | None": int,
    "float | None": float,
}  # of the frame, by a field's type


@dataclass(frozen=True)
class Entry:
    """A method and one of its variants, or one choice of its own option; nothing where it has neither."""

    method: str
    choice: str = ""

    @property
    def name(self) -> str:
        """How the entry is asked for: a default choice goes without saying, a variant never does."""
        about = METHODS[self.method]
        unspoken = ("",) if about.variants else ("", *about.choices[:1])
        return self.method if self.choice in unspoken else f"{self.method}:{self.choice}"

    @property
    def options(self) -> dict[str, Any]:
        """What the method is given."""
        return method_and_options(f"{self.method}:{self.choice}" if self.choice else self.method)[1]


@dataclass(frozen=True, repr=False)
class Conditions:
    """Under what each method is tried, and what is measured beside its release."""

    limit: float = LIMIT_SECONDS
    seed: int = 0
    detail: bool = False  # also the detail kept for analysts
    bound: bool = False  # also a lower bound on the detail that any release loses
    bound_seconds: float = SECONDS

    def check(self) -> None:
        """Refuse numbers that make no sense."""
        limit, seed = self.limit, self.seed
        if isinstance(limit, bool) or not isinstance(limit, int | float | np.number) or not 0 < limit < float("inf"):
            raise PolicyError("a time limit is a number of seconds above 0")
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise PolicyError("a seed is a whole number of at least 0")
        checked_seconds(self.bound_seconds)


USUAL = Conditions()


@dataclass(frozen=True, eq=False)
class Comparison:
    """What each method gives for the same table and policy."""

    trials: tuple[Trial, ...]
    policy: Policy = field(repr=False)  # which names identifiers
    kind: str
    bound: LowerBound | None = None  # on the detail that any release of one table loses, if asked for

    @property
    def released(self) -> tuple[Trial, ...]:
        """The methods that gave a release."""
        return tuple(trial for trial in self.trials if trial.outcome == "released")

    @property
    def ordered(self) -> tuple[Trial, ...]:
        """All releases, the least loss by the policy first; several tables come later, those with a caveat last."""
        return tuple(sorted(self.released, key=_rank))

    @property
    def ranked(self) -> tuple[Trial, ...]:
        """The order without methods that have a caveat, each method by the best of its variants."""
        best: dict[str, Trial] = {}
        for trial in self.ordered:
            if not trial.caveat:
                best.setdefault(trial.method if METHODS[trial.method].variants else trial.name, trial)
        return tuple(best.values())

    @property
    def exit_status(self) -> int:
        """What `tclose compare` ends with: 0 where a method gave a release, else the gravest reason why none did."""
        outcomes = {trial.outcome for trial in self.trials}
        if "released" in outcomes:
            return 0
        if "failed" in outcomes:
            return InternalError.exit_status
        return Infeasible.exit_status if outcomes & {"infeasible", "stopped"} else PolicyError.exit_status

    @cached_property
    def frame(self) -> Any:
        """One row per method, as a frame of the kind that was given."""
        columns: dict[str, tuple[type, list[Any]]] = {}
        for each in fields(Trial):
            if each.type in COLUMNS:
                column = [getattr(trial, each.name) for trial in self.trials]
                columns[each.name] = (COLUMNS[str(each.type)], column)
            elif each.name == "measures":
                for measure in COMPARED:
                    columns[measure.name] = (float, [trial.measures.get(measure.name) for trial in self.trials])
        if any(trial.detail for trial in self.trials):
            columns |= {name: (float, [trial.detail.get(name) for trial in self.trials]) for name in DETAIL}
        columns["caveat"] = (str, [trial.caveat for trial in self.trials])
        columns |= {
            f"closeness of {name}": (float, [trial.closeness.get(name) for trial in self.trials])
            for name in self.policy.required
        }
        return from_columns(columns, self.kind)

    def report(
        self, path: str | Path, *, curve: Curve | None = None, table: str | None = None, force: bool = True
    ) -> None:
        """Write one HTML page that shows the methods side by side; it asks no network for anything.

        `table` is the name of the table, for the page. Without `force`, an existing file is refused.
        """
        from tclose.report.comparison_pages import comparison_page
        from tclose.report.page import save

        drawn = curve or Curve.of({Fraction(1): self.released}, self.policy)
        save(comparison_page(self, drawn, table), path, force=force)

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        bound = {} if self.bound is None else {"bound": self.bound.to_dict()}
        return {
            "loss": self.policy.chosen_loss,
            "ranking": [trial.name for trial in self.ranked],
            "methods": [trial.to_dict() for trial in self.trials],
            **bound,
        }

    def _repr_html_(self) -> str:
        caption = f"{counted(len(self.trials), 'method')} compared; detail lost (GCP) from 0 to 1, lower is better"
        headings = ("method", "outcome", "detail lost (GCP)", "classes", "rows withheld", "seconds")
        return html_table(caption, headings, [_cells(trial) for trial in self.trials])


def _rank(trial: Trial) -> tuple[bool, bool, float, float]:
    """Rank a release by the policy's loss, then by the detail lost; those of several tables are not comparable."""
    assert trial.loss is not None
    return bool(trial.caveat), trial.several_tables, trial.loss, trial.gcp or 0.0


def _cells(trial: Trial) -> list[str]:
    """Return what a notebook shows of one method."""
    figures = [trial.gcp, trial.classes, trial.withheld, trial.seconds and round(trial.seconds, 1)]
    outcome = ": ".join(filter(None, (trial.outcome, trial.reason or trial.caveat)))
    return [trial.name, outcome, *("" if figure is None else number(figure) for figure in figures)]


def compare(
    frame: Any,
    policy: PolicyLike,
    *,
    methods: Sequence[str] | None = None,
    limit: float = LIMIT_SECONDS,
    seed: int = 0,
    detail: bool = False,
    bound: bool = False,
    bound_seconds: float = SECONDS,
    progress: Progress | None = None,
) -> Comparison:
    """Try methods on the same table and policy, each in a process of its own that is stopped after `limit` seconds.

    `methods` are names as in `tclose methods`, all of them if absent; `weave:fast` names a choice of a method's own
    option, `mondrian:strict` a variant. Two run side by side on a core each, where there are two; time spent on
    compiling does not count. Nothing of the table is written to a disk, and no release is kept, so a known seed does no
    harm. With `detail`, it is also
    measured how much detail each release keeps for analysts, as `tclose.detail` does. With `bound`, a lower bound on
    the detail that any release loses is searched for about `bound_seconds`, as `tclose.bound` does. `progress` hears
    of each method by its name, as the phase; raising `Cancelled` from it ends all processes.

    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [20, 30, 40, 50], "pay": [1, 2, 1, 2]})
    >>> policy = {"quasi": ["age"], "sensitive": {"pay": {"t": 0.5}}, "k": 2}
    >>> [trial.classes for trial in compare(table, policy, methods=["mondrian:strict"]).trials]
    [2]
    """
    conditions = Conditions(limit, seed, detail=detail, bound=bound, bound_seconds=bound_seconds)
    return compared(frame, Policy.of(policy), methods, conditions, progress or silent)


def compared(
    frame: Any, policy: Policy, methods: Sequence[str] | None, conditions: Conditions, progress: Progress
) -> Comparison:
    """Try methods on the same table under the same conditions."""
    chosen = entries(methods)
    conditions.check()
    coded = FrameRows.of(to_polars(frame), policy).table
    table, needed = _needed(to_polars(frame), coded, policy)
    search = BoundSearch.of(coded, policy, conditions.bound_seconds) if conditions.bound else None
    jobs = [TrialJob(needed, entry.method, entry.options, conditions.seed, conditions.detail) for entry in chosen]
    told = [_named(progress, entry.name) for entry in chosen]
    outcomes = answers(jobs, to_stream(table), conditions.limit, told)
    trials = (
        Trial(name=entry.name, method=entry.method, choice=entry.choice, **answer)
        for entry, answer in zip(chosen, outcomes, strict=True)
    )
    found = Comparison(tuple(trials), policy, kind_of(frame))
    return found if search is None else replace(found, bound=search.run(_named(progress, BOUND)))


def _named(progress: Progress, name: str) -> Progress:
    """Return the progress of one method: its name is the phase, with what it does behind a comma if that matters."""

    def report(share: float, phase: str = "") -> None:
        progress(share, say("{method}, {phase}", method=say(name), phase=say(phase)) if phase else name)

    return report


def entries(names: Sequence[str] | None) -> list[Entry]:
    """Return what is to be tried: some methods or all, each in all its variants unless one is named."""
    wanted = list(METHODS) if names is None else names
    if not wanted or isinstance(wanted, str):
        raise PolicyError('expected a list of methods, as in ["weave", "microaggregation:merge"]')
    return list(dict.fromkeys(entry for name in wanted for entry in _entries(name)))


def _entries(name: str) -> list[Entry]:
    method, _ = method_and_options(name)
    if method != name:
        return [Entry(method, name.partition(":")[2])]
    about = METHODS[method]
    return [Entry(method, choice) for choice in tuple(about.variants) or about.choices[:1] or ("",)]


def _needed(whole: Any, table: CodedTable, policy: Policy) -> tuple[Any, Policy]:
    """Return the columns that a release is made of; what no method could use is refused here, once, with warnings."""
    _ = publishable(table, policy).table.quasi
    asked = replace(policy, identifiers=tuple(policy.pseudonym or ()))  # other names are for no process but this one
    return whole[[name for name, _ in asked.columns()]], asked


# The trade-off


LEVELS = (Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2))  # times the policy's own thresholds


@dataclass(frozen=True, eq=False)
class Tradeoff:
    """A comparison, and the same methods under other thresholds."""

    comparison: Comparison
    others: Mapping[Fraction, Comparison]  # by how many times the policy's thresholds they were given

    @property
    def levels(self) -> dict[Fraction, Comparison]:
        """All comparisons, the strictest first."""
        return dict(sorted({Fraction(1): self.comparison, **self.others}.items()))

    def curve(self) -> Curve:
        """Return the loss of every method at each level."""
        trials = {level: comparison.released for level, comparison in self.levels.items()}
        return Curve.of(trials, self.comparison.policy, self._bounds())

    def _bounds(self) -> dict[Fraction, float]:
        """Return the lower bound at each level; what holds for some t holds for every smaller one, too."""
        bounds: dict[Fraction, float] = {}
        for level, comparison in reversed(self.levels.items()):
            if comparison.bound is not None:
                bounds[level] = max(comparison.bound.bound, *bounds.values(), 0.0)
        return bounds

    def report(self, path: str | Path, *, table: str | None = None, force: bool = True) -> None:
        """Write a page that shows the methods side by side, and what protection costs with each."""
        self.comparison.report(path, curve=self.curve(), table=table, force=force)

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        levels = [{"times": str(level), **comparison.to_dict()} for level, comparison in self.levels.items()]
        return {**self.comparison.to_dict(), "tradeoff": levels}


def tradeoff(
    frame: Any,
    policy: PolicyLike,
    conditions: Conditions = USUAL,
    *,
    methods: Sequence[str] | None = None,
    levels: Sequence[Fraction] = LEVELS,
    progress: Progress = silent,
) -> Tradeoff:
    """Compare methods, then those that gave a release again with every t multiplied by each level, to 1 at most."""
    if any(level <= 0 for level in levels):
        raise PolicyError("a level is a number above 0, by which every t is multiplied")
    policy = Policy.of(policy)
    first = compared(frame, policy, methods, conditions, progress)
    served, without_detail = [trial.name for trial in first.released], replace(conditions, detail=False)
    others = {}
    for level in levels if served else ():
        asked = scaled(policy, level)
        if asked != policy:
            others[level] = compared(frame, asked, served, without_detail, progress)
    return Tradeoff(first, others)
