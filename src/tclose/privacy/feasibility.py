"""Which rows can be published at all, before any class is formed: of rows in memory, and of a counted table.

Kept columns are published exactly, so the rows of one kept value form classes of their own and the coarsest release
possible has one class per kept value. A model that merging cannot break fails everywhere if it fails there: the rows
are withheld, within the policy's limit, or the request cannot be met. A model that merging can break is undecided
there, and the search for smaller classes decides. What is withheld takes its sensitive values along, so the rest is
judged anew until nothing changes.

Of a counted table, the groups of kept values are judged by their counts, but no smaller classes are searched: a group
that some model does not admit as one class is withheld, within the policy's limit, or the request is refused.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tclose.errors import Infeasible, LeakWarning
from tclose.messages import joined, say
from tclose.policy import Policy
from tclose.privacy.base import rounded_up
from tclose.privacy.class_counts import CountsOfGroups
from tclose.privacy.judge import (
    ClassCounts,
    CountsOfRows,
    JudgedColumn,
    Verdict,
    judge_counts,
    supersets_of,
    values_recur,
    verdicts,
)
from tclose.table import CodedTable, CountedTable
from tclose.table.classes import Classes
from tclose.table.groups import GroupedRows
from tclose.types import Beat, Bools, Ints, still
from tclose.words import counted, number

BATCH = 32  # with more failing groups than this, 1/32 of them are withheld at a time


class NoPartition(Infeasible):
    """The search found no admitted classes for some groups of rows; the rest of the table can still be published."""

    def __init__(self, rows: Ints) -> None:
        super().__init__("no partition was found")
        self.rows = rows  # of these groups, counted from 0


@dataclass(frozen=True, eq=False)
class Groups:
    """The coarsest classes possible, as far as sentences about them need it."""

    given: ClassCounts
    columns: Mapping[str, JudgedColumn]
    count: int
    recur: Callable[[JudgedColumn], bool]  # whether some person shows a value of a column in several rows

    @classmethod
    def of(cls, table: CodedTable, groups: Classes) -> Groups:
        """Take groups of rows that are in memory."""
        given = CountsOfRows(table, groups)
        return cls(given, table.judged, len(groups), lambda column: values_recur(column, table.persons))


@dataclass(frozen=True, eq=False, repr=False)
class Publishable:
    """The rows that can be published, and how many of the input cannot.

    `undecided` are models that fail on the groups but that smaller classes might satisfy.
    """

    table: CodedTable
    withheld: int
    undecided: tuple[Verdict, ...] = ()

    @property
    def undecided_groups(self) -> Bools:
        """Which groups of rows must not stay one class."""
        undecided = np.zeros(len(self.table.groups), dtype=bool)
        for verdict in self.undecided:
            undecided |= ~verdict.judgement.admitted
        return undecided

    def under(self, policy: Policy) -> Publishable:
        """Return the same rows under a policy that asks about fewer sensitive attributes."""
        undecided = tuple(verdict for verdict in self.undecided if verdict.attribute in policy.required)
        return replace(self, table=self.table.under(policy), undecided=undecided)

    def without(self, rows: Ints, policy: Policy) -> Publishable:
        """Withhold the rows for which no classes were found; raise `Infeasible` when these are too many."""
        refused = infeasible(self.undecided, Groups.of(self.table, self.table.groups), policy)
        kept = np.delete(np.arange(len(self.table)), rows)
        if not len(kept):
            raise Infeasible("{refused}{advice}", refused=refused, advice=advice(policy))
        return _publishable(self.table.only(kept), policy, len(self.table) + self.withheld, refused)


def publishable(table: CodedTable, policy: Policy) -> Publishable:
    """Find the rows that can be published; raise `Infeasible` when too many would have to be withheld."""
    whole = len(table) + table.withheld
    check_lacking(table.withheld, whole, policy)
    return _publishable(table, policy, whole)


def check_lacking(withheld: int, whole: int, policy: Policy) -> None:
    """Raise `Infeasible` when too many rows lack a sensitive value."""
    if withheld > math.floor(policy.suppress * whole):
        raise Infeasible(
            "{withheld:,} of {rows} lack a sensitive value and would be withheld: suppress = {suppress} cannot "
            "be reached, {share} can be",
            withheld=withheld,
            rows=counted(whole, "row"),
            suppress=number(policy.suppress),
            share=_share(withheld, whole),
        )


def check_withheld(withheld: int, whole: int, policy: Policy, refused: str) -> None:
    """Raise `Infeasible` when too many rows would be withheld; `refused` says why they would."""
    if withheld > math.floor(policy.suppress * whole):
        raise Infeasible(
            "{refused}{advice}, or allow suppress = {share}",
            refused=refused,
            advice=advice(policy),
            share=_share(withheld, whole),
        )


def _publishable(table: CodedTable, policy: Policy, whole: int, refused: str = "") -> Publishable:
    """Withhold groups until the rest holds what merging cannot break; `refused` says why rows are withheld already."""
    # the reference changes with every group that goes, so all groups are judged again until nothing decided fails
    while decided := _decided(failing := _failing(table, table.groups, policy), table, policy):
        refused = refused or infeasible(failing, Groups.of(table, table.groups), policy)
        hopeless = groups_to_withhold(decided, table.groups.sizes)
        if hopeless.all():
            raise Infeasible("{refused}{advice}", refused=refused, advice=advice(policy))
        table = table.only(np.flatnonzero(~hopeless[table.groups.labels_by_row()]))
    check_withheld(whole - len(table), whole, policy, refused)
    return Publishable(table, whole - len(table), tuple(failing))


def _failing(table: CodedTable, groups: Classes, policy: Policy) -> list[Verdict]:
    return [verdict for verdict in verdicts(table, groups, policy) if not verdict.judgement.satisfied]


def _decided(failing: Sequence[Verdict], table: CodedTable, policy: Policy) -> list[Verdict]:
    """Return the failures on whole groups that smaller classes cannot mend, or that nobody would search a mend for.

    Smaller classes are searched group by group. So a model that looks at the rest of the table, too, is left open
    only where the table holds as it is.
    """
    groups = Groups.of(table, table.groups)
    final = [verdict for verdict in failing if _merging_keeps(verdict, groups)]
    if final or all(verdict.model.alone for verdict in failing) or _holds_as_it_is(table, policy):
        return final
    return [verdict for verdict in failing if not verdict.model.alone]


def _holds_as_it_is(table: CodedTable, policy: Policy) -> bool:
    judged = verdicts(table, table.classes, policy, supersets=supersets_of(table, policy))
    return all(verdict.judgement.satisfied for verdict in judged)


def _merging_keeps(verdict: Verdict, groups: Groups) -> bool:
    """Tell whether merging keeps a model on this table: where no person shows a value twice, persons count as rows."""
    if verdict.model.merging_keeps or verdict.attribute is None:
        return verdict.model.merging_keeps
    return verdict.model.counts_persons and not groups.recur(groups.columns[verdict.attribute])


def groups_to_withhold(failing: Sequence[Verdict], sizes: Ints) -> Bools:
    """Mark the groups to withhold next.

    What fails alone fails for good. What is too far from the table may be near it once others are gone, so the
    farthest goes first.
    """
    alone = [verdict for verdict in failing if verdict.model.alone]
    bad = np.any([~verdict.judgement.admitted for verdict in alone or failing], axis=0)
    if alone:
        return np.asarray(bad)
    smallest = np.argsort(np.where(bad, sizes, sizes.sum() + 1), kind="stable")
    chosen = np.zeros(len(sizes), dtype=bool)
    chosen[smallest[: np.count_nonzero(bad) // BATCH]] = True
    # the group that sets a level always goes, so the rounds end
    for verdict in failing:
        chosen |= _worst(verdict, sizes)
    return chosen


def _worst(verdict: Verdict, sizes: Ints) -> Bools:
    """Mark the group that sets a level; where no level would do, the smallest of those, whatever order rows come in."""
    groups = np.arange(len(sizes))
    if verdict.judgement.reached != math.inf:
        return np.asarray(groups == verdict.judgement.worst_class)
    bad = ~verdict.judgement.admitted
    return np.asarray(bad & (sizes == sizes[bad].min()))


def infeasible(failing: Sequence[Verdict], groups: Groups, policy: Policy) -> str:
    """Say what cannot be reached, and which levels can be."""
    reasons = [_reason(verdict, groups) for verdict in failing]
    if policy.keep:
        bad = np.count_nonzero(np.any([~verdict.judgement.admitted for verdict in failing], axis=0))
        reasons.append(
            say("{bad:,} of {groups} of rows that are kept apart fail", bad=bad, groups=counted(groups.count, "group"))
        )
    return joined("; ", reasons)


def _reason(verdict: Verdict, groups: Groups) -> str:
    """Say which requirement fails for the coarsest classes.

    Where merging two admitted classes can break a model, smaller classes might still satisfy it.
    """
    setting, figure = verdict.model.name, _spelled(verdict.model.required)
    what = say("{setting} = {figure}", setting=setting, figure=figure)
    if verdict.attribute is not None:
        what = say("{setting} of '{name}' = {figure}", setting=setting, name=verdict.attribute, figure=figure)
    level = _level(verdict, groups)
    if _merging_keeps(verdict, groups):
        return say("{what} cannot be reached: {level}", what=what, level=level)
    return say("no partition was found for {what}: {level}", what=what, level=level)


def _level(verdict: Verdict, groups: Groups) -> str:
    """Say which level the groups reach, rounded to the safe side: asking for it works."""
    given = groups.given
    if verdict.attribute is None:
        counts = given.members()
        return verdict.model.attainable(verdict.judgement.reached, counts, counts.sizes)
    column = groups.columns[verdict.attribute]
    by_person = given.by_persons and verdict.model.counts_persons
    counts = given.values_by_person(column) if by_person else given.values(column)
    return verdict.model.attainable(verdict.judgement.reached, counts, column.reference)


def advice(policy: Policy) -> str:
    """Say what a steward can do whose kept columns leave groups that fail."""
    kept = ", ".join(f"'{name}'" for name in policy.keep)
    return say(": ask for less, keep less of {columns}", columns=kept) if kept else ""


def _spelled(required: object) -> str:
    if isinstance(required, dict):
        return joined(", ", [say("{name} {level}", name=name, level=number(level)) for name, level in required.items()])
    return number(required)  # type: ignore[arg-type]


def _share(part: int, whole: int) -> str:
    return rounded_up(Fraction(part, whole))


# Groups of a counted table


def publishable_groups(groups: GroupedRows, policy: Policy, beat: Beat = still) -> CountedTable:
    """Leave out the groups that cannot be published; return what is learned from the rest.

    `groups` counts every sensitive column by the kept ones (`learning_of`), in memory.
    """
    whole, refused = groups.read, ""
    check_lacking(groups.withheld, whole, policy)
    table = CountedTable.of(groups, policy)
    while True:
        beat()
        classes = table.all_classes(by_cells=True)  # of groups that are equally far, the same one goes as in memory
        given = CountsOfGroups(classes, policy)
        _, verdicts = judge_counts(given, table.judged, policy, ())
        failing = [verdict for verdict in verdicts if not verdict.judgement.satisfied]
        if not failing:
            break
        refused = refused or infeasible(failing, Groups(given, table.judged, len(classes), lambda _: True), policy)
        hopeless = groups_to_withhold(failing, classes.sizes)
        if hopeless.all():
            raise Infeasible("{refused}{advice}", refused=refused, advice=advice(policy))
        groups.leave_out(classes.shown(hopeless), int(classes.sizes[hopeless].sum()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeakWarning)  # given when all rows were looked at
            table = CountedTable.of(groups, policy)
    check_withheld(groups.withheld, whole, policy, refused)
    return table
