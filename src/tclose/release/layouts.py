"""Releases of one table and of several: how each is made, confirmed by its judges, and told in the certificate.

What several tables guarantee, and what they do not, is written in docs/decisions/020-several-tables.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import polars as pl

from tclose.errors import InternalError, LeakWarning, PolicyError, Unsuited
from tclose.measure.anatomy import reconstruction_error
from tclose.measure.utility import MEASURES, Outcome, class_sizes, measured
from tclose.partition import DEFAULT_METHOD
from tclose.partition.split import problem_of
from tclose.policy import Policy
from tclose.privacy.results import CheckResult
from tclose.recode.frame import ordered, recoded
from tclose.release.marks import (
    ANATOMY_MARKS,
    EACH_ALONE,
    NO_IDENTITY,
    combined,
    group_policy,
    join_problems,
    projection_marks,
    projection_policy,
)
from tclose.release.published import Judge, Options, Sheet, Work, losses_of, outcome_of, sheet
from tclose.table.classes import classes_of
from tclose.types import Ints

Found = dict[str, Any]


@dataclass(frozen=True)
class File:
    """A table's file: its name and its fingerprint."""

    name: str
    sha256: str


class Layout(Protocol):
    """Which tables a release has, who confirms them, and how the certificate tells of them."""

    @property
    def frames(self) -> tuple[pl.DataFrame, ...]:
        """The tables."""

    @property
    def marks(self) -> tuple[str, ...]:
        """What is added to the release's name for each table."""

    @property
    def sheets(self) -> tuple[Sheet, ...]:
        """The tables whose classes are judged."""

    def confirm(self, frames: Sequence[pl.DataFrame]) -> tuple[CheckResult, ...]:
        """Judge tables, these or those read back; what does not hold must never be released."""

    def told(self, results: Sequence[CheckResult], files: Sequence[File]) -> Found:
        """Return what the certificate says of the tables."""


@dataclass(frozen=True, eq=False)
class OneTable:
    """The simple case."""

    sheet: Sheet
    marks = ("",)

    @property
    def frames(self) -> tuple[pl.DataFrame, ...]:
        """The table."""
        return (self.sheet.frame,)

    @property
    def sheets(self) -> tuple[Sheet, ...]:
        """The table."""
        return (self.sheet,)

    def confirm(self, frames: Sequence[pl.DataFrame]) -> tuple[CheckResult, ...]:
        """Judge the table."""
        return (self.sheet.judge.confirm(frames[0]),)

    def told(self, results: Sequence[CheckResult], files: Sequence[File]) -> Found:
        """Return what was found, and the fingerprint."""
        return {"measures": self.sheet.measures, **results[0].to_dict(), "sha256": files[0].sha256}


def one_table(work: Work, method: str, options: Options) -> OneTable:
    """Publish one table, as most methods do."""
    return OneTable(sheet(work, method, options))


@dataclass(frozen=True, eq=False)
class Projections:
    """Tables that share out the sensitive attributes, each judged on its own."""

    sheets: tuple[Sheet, ...]
    base: str

    @property
    def frames(self) -> tuple[pl.DataFrame, ...]:
        """The projections."""
        return tuple(each.frame for each in self.sheets)

    @property
    def marks(self) -> tuple[str, ...]:
        """Their numbers."""
        return projection_marks(len(self.sheets))

    def confirm(self, frames: Sequence[pl.DataFrame]) -> tuple[CheckResult, ...]:
        """Judge every projection, and that they have the same rows."""
        results = tuple(each.judge.confirm(frame) for each, frame in zip(self.sheets, frames, strict=True))
        if len({result.rows for result in results}) > 1:
            raise InternalError("the projections do not have the same rows, so nothing was released")
        return results

    def told(self, results: Sequence[CheckResult], files: Sequence[File]) -> Found:
        """Return what holds for all tables, then table by table."""
        tables = [
            {"file": file.name, "sha256": file.sha256, "measures": each.measures, **result.to_dict()}
            for each, result, file in zip(self.sheets, results, files, strict=True)
        ]
        measures = mean_measures([each.measures for each in self.sheets])
        return {
            "base": self.base,
            "scope": EACH_ALONE,
            "measures": measures,
            **combined(results).to_dict(),
            "tables": tables,
        }


def projections(work: Work, method: str, options: Options) -> Projections:
    """Publish projections: attributes that belong together in one table, each table split by the base method."""
    from tclose.partition.projections import projections as shared_out

    ours = {name: options[name] for name in ("tables", "related") if options.get(name) is not None}
    rest = {name: setting for name, setting in options.items() if name not in ("tables", "related", "groups")}
    names = list(work.policy.sensitive)
    groups = options.get("groups")
    if groups is None:
        found = shared_out(problem_of(work.possible, work.policy, work.quasi).sensitive, **ours)
        groups = [[names[i] for i in group] for group in found]
    elif sorted(name for group in groups for name in group) != sorted(names) or not all(groups):
        raise PolicyError("groups must name every sensitive attribute exactly once")
    sheets = tuple(sheet(_projected(work, groups, i), method, rest) for i in range(len(groups)))
    return Projections(sheets, rest.get("base", DEFAULT_METHOD))


def _projected(work: Work, groups: Sequence[Sequence[str]], index: int) -> Work:
    """Return the work on one projection."""
    names = [name for name in work.policy.sensitive if name in groups[index]]
    table = work.possible.table
    table = replace(table, sensitive={name: table.sensitive[name] for name in names})
    return replace(
        work,
        possible=replace(work.possible, table=table),
        policy=projection_policy(work.policy, names, first=index == 0),
        tell=lambda share: work.tell((index + share) / len(groups)),
    )


def mean_measures(found: Sequence[Mapping[str, Any]]) -> Found:
    """Return each measure's mean over tables, all of which publish every row; of sizes the ends, and the middle."""
    means: Found = {}
    for measure in MEASURES:
        figures = [one[measure.name] for one in found if one[measure.name] is not None]
        means[measure.name] = round(float(np.mean(figures)), 4) if figures else None
    sizes = [one["class_sizes"] for one in found]
    means["class_sizes"] = {
        "smallest": min(one["smallest"] for one in sizes),
        "median": float(np.median([one["median"] for one in sizes])),
        "largest": max(one["largest"] for one in sizes),
    }
    return means


@dataclass(frozen=True, eq=False)
class Anatomy:
    """A table of exact quasi-identifiers and one of sensitive values, joined by a group."""

    frames: tuple[pl.DataFrame, pl.DataFrame]
    judge: Judge  # of the sensitive table, whose classes are the groups
    policy: Policy
    group: str
    measures: Mapping[str, Any]
    losses: Mapping[str, float]
    marks = ANATOMY_MARKS

    @property
    def sheets(self) -> tuple[Sheet, ...]:
        """The sensitive table, whose classes are the groups."""
        return (Sheet(self.frames[1], self.judge, self.measures, self.losses),)

    def confirm(self, frames: Sequence[pl.DataFrame]) -> tuple[CheckResult, ...]:
        """Judge the groups, and that the tables fit together."""
        if join_problems(frames[0], frames[1], self.policy, self.group):
            raise InternalError("the two tables do not fit together, so nothing was released")
        return (self.judge.confirm(frames[1]),)

    def told(self, results: Sequence[CheckResult], files: Sequence[File]) -> Found:
        """Return what was found about the groups, and the two files."""
        holds = ("quasi-identifiers", "sensitive values")
        return {
            "identity_protected": False,
            "scope": NO_IDENTITY,
            "group": self.group,
            "measures": self.measures,
            **results[0].to_dict(),
            "tables": [
                {"file": file.name, "sha256": file.sha256, "holds": what}
                for file, what in zip(files, holds, strict=True)
            ],
        }


def anatomy(work: Work, method: str, options: Options) -> Anatomy:
    """Publish quasi-identifiers as they are and sensitive values apart from them, by group."""
    if not work.policy.sensitive:
        raise Unsuited("anatomy parts sensitive values from the rest, and the policy names none")
    warnings.warn(NO_IDENTITY, LeakWarning, stacklevel=4)
    labels = _renumbered(work.split(method, options), work.seed)
    rows = recoded(work.possible.frame, work.policy, work.quasi, work.possible.table.sensitive)
    group = _new_name(work.possible.frame.columns)
    numbers, sensitive = pl.Series(group, labels + 1), list(work.policy.sensitive)
    first, _ = ordered(rows.drop(sensitive).with_columns(numbers))
    second, order = ordered(pl.DataFrame([numbers, *rows[sensitive].iter_columns()]))
    judge = Judge(group_policy(work.own_policy, group), work.persons(order))
    shown = outcome_of(work, classes_of(rows[list(work.policy.quasi) or list(work.policy.visible)]))
    measures = _anatomy_measures(work, shown, labels)
    return Anatomy((first, second), judge, work.own_policy, group, measures, losses_of(work, shown))


def _renumbered(labels: Ints, seed: int) -> Ints:
    """Give groups their numbers by chance: how they came about must not show in their numbers."""
    chance = np.random.default_rng([seed, len(labels)])
    return np.asarray(chance.permutation(int(labels.max()) + 1)[labels])


def _new_name(columns: Sequence[str]) -> str:
    """Return a name for the group that no column has, nor one that differs in case only."""
    taken, number, name = {column.casefold() for column in columns}, 1, "group"
    while name in taken:
        number += 1
        name = f"group_{number}"
    return name


def _anatomy_measures(work: Work, shown: Outcome, labels: Ints) -> Found:
    """Measure detail on quasi-identifiers as they stand, sizes on groups, and what the parting itself costs."""
    groups = replace(shown, sizes=np.bincount(labels), labels=labels, losses=[])
    detail, sizes = measured(shown), measured(groups)
    columns = work.possible.table.sensitive.values()
    return {
        "gcp": detail["gcp"],
        "sse": detail["sse"],
        "discernibility": sizes["discernibility"],
        "c_avg": sizes["c_avg"],
        "class_sizes": class_sizes(groups),
        "reconstruction_error": round(float(np.mean([reconstruction_error(labels, c.codes) for c in columns])), 4),
    }


LAYOUTS: Mapping[str, Callable[[Work, str, Options], Layout]] = {"projections": projections, "anatomy": anatomy}


def laid_out(work: Work, method: str, options: Options) -> Layout:
    """Make the tables of a release, as its method does."""
    return LAYOUTS.get(method, one_table)(work, method, options)
