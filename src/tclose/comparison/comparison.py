"""Every method side by side on one table and policy, each in a process of its own with a time limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tclose.comparison.curve import Curve
from tclose.comparison.processes import answers
from tclose.comparison.trial import COMPARED, DETAIL, Job, Trial
from tclose.engine.bounding import SECONDS, BoundSearch, checked_seconds
from tclose.engine.memory import read_for_release
from tclose.errors import Infeasible, InternalError, PolicyError
from tclose.partition import METHODS, method_and_options
from tclose.policy import Policy, PolicyLike
from tclose.privacy.feasibility import publishable
from tclose.release.lower_bound import LowerBound
from tclose.table import CodedTable, to_polars
from tclose.table.frames import from_columns, kind_of, to_stream
from tclose.types import Progress, silent
from tclose.words import counted, html_table, number

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
        from tclose.report.comparison_page import comparison_page
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
    chosen, policy, report = entries(methods), Policy.of(policy), progress or silent
    _check_numbers(limit, seed)
    checked_seconds(bound_seconds)
    coded = read_for_release(to_polars(frame), policy)[1]
    table, needed = _needed(to_polars(frame), coded, policy)
    search = BoundSearch.of(coded, policy, bound_seconds) if bound else None
    jobs = [Job(needed, entry.method, entry.options, seed, detail) for entry in chosen]
    outcomes = answers(jobs, to_stream(table), limit, [_named(report, entry.name) for entry in chosen])
    trials = (
        Trial(name=entry.name, method=entry.method, choice=entry.choice, **answer)
        for entry, answer in zip(chosen, outcomes, strict=True)
    )
    compared = Comparison(tuple(trials), policy, kind_of(frame))
    return compared if search is None else replace(compared, bound=search.run(_named(report, BOUND)))


def _named(progress: Progress, name: str) -> Progress:
    """Return the progress of one method: its name is the phase, with what it does behind a comma if that matters."""

    def report(share: float, phase: str = "") -> None:
        progress(share, f"{name}, {phase}" if phase else name)

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


def _check_numbers(limit: float, seed: int) -> None:
    if isinstance(limit, bool) or not isinstance(limit, int | float | np.number) or not 0 < limit < float("inf"):
        raise PolicyError("a time limit is a number of seconds above 0")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise PolicyError("a seed is a whole number of at least 0")


def _needed(whole: Any, table: CodedTable, policy: Policy) -> tuple[Any, Policy]:
    """Return the columns that a release is made of; what no method could use is refused here, once, with warnings."""
    _ = publishable(table, policy).table.quasi
    asked = replace(policy, identifiers=tuple(policy.pseudonym or ()))  # other names are for no process but this one
    return whole[[name for name, _ in asked.columns()]], asked
