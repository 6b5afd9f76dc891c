"""Which rows can be published at all, before any class is formed.

Kept columns are published exactly, so the rows of one kept value form classes of their own and the coarsest release
possible has one class per kept value. What fails there fails everywhere: it is withheld, within the policy's limit,
or the request cannot be met. What is withheld takes its sensitive values along, so the rest is judged anew until
nothing changes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.errors import Infeasible
from tclose.policy import Policy
from tclose.privacy.judge import Verdict, counts_by_person, members_of, verdicts
from tclose.privacy.levels import rounded_up
from tclose.table import CodedTable
from tclose.table.classes import Classes
from tclose.types import Ints
from tclose.words import counted, number

BATCH = 32  # with more failing groups than this, 1/32 of them are withheld at a time


@dataclass(frozen=True, eq=False)
class Publishable:
    """The rows that can be published, and how many of the input cannot."""

    table: CodedTable
    withheld: int


def publishable(table: CodedTable, policy: Policy) -> Publishable:
    """Find the rows that can be published; raise `Infeasible` when too many would have to be withheld."""
    whole = len(table) + table.withheld
    most = math.floor(policy.suppress * whole)
    if table.withheld > most:
        raise Infeasible(
            f"{table.withheld:,} of {counted(whole, 'row')} lack a sensitive value and would be withheld: "
            f"suppress = {number(policy.suppress)} cannot be reached, {_share(table.withheld, whole)} can be"
        )
    refused = None
    while failing := _failing(table, table.groups, policy):
        refused = refused or _infeasible(failing, table, table.groups, policy)
        hopeless = _hopeless(failing, table.groups.sizes)
        if hopeless.all():
            raise Infeasible(f"{refused}{_advice(policy)}")
        table = table.only(np.flatnonzero(~hopeless[table.groups.labels_by_row()]))
    if whole - len(table) > most:
        raise Infeasible(f"{refused}{_advice(policy)}, or allow suppress = {_share(whole - len(table), whole)}")
    return Publishable(table, whole - len(table))


def _failing(table: CodedTable, groups: Classes, policy: Policy) -> list[Verdict]:
    return [verdict for verdict in verdicts(table, groups, policy) if not verdict.judgement.satisfied]


def _hopeless(failing: Sequence[Verdict], sizes: Ints) -> NDArray[np.bool_]:
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
    for verdict in failing:
        chosen |= _worst(verdict, sizes)
    return chosen


def _worst(verdict: Verdict, sizes: Ints) -> NDArray[np.bool_]:
    """Mark the group that sets a level; where no level would do, the smallest of those, whatever order rows come in."""
    groups = np.arange(len(sizes))
    if verdict.judgement.reached != math.inf:
        return np.asarray(groups == verdict.judgement.worst_class)
    bad = ~verdict.judgement.admitted
    return np.asarray(bad & (sizes == sizes[bad].min()))


def _infeasible(failing: Sequence[Verdict], table: CodedTable, groups: Classes, policy: Policy) -> str:
    """Say what cannot be reached, and which levels can be."""
    reasons = [_reason(verdict, table, groups) for verdict in failing]
    if policy.keep:
        bad = np.count_nonzero(np.any([~verdict.judgement.admitted for verdict in failing], axis=0))
        reasons.append(f"{bad:,} of {counted(len(groups), 'group')} of rows that are kept apart fail")
    return "; ".join(reasons)


def _reason(verdict: Verdict, table: CodedTable, groups: Classes) -> str:
    """Say which requirement fails for the coarsest classes.

    Where merging two admitted classes can break a model, smaller classes might still satisfy it.
    """
    of_attribute = "" if verdict.attribute is None else f" of '{verdict.attribute}'"
    what = f"{verdict.model.name}{of_attribute} = {_spelled(verdict.model.required)}"
    level = _level(verdict, table, groups)
    if verdict.model.merging_keeps:
        return f"{what} cannot be reached: {level}"
    return f"no partition was found for {what}: {level}"


def _level(verdict: Verdict, table: CodedTable, groups: Classes) -> str:
    """Say which level the groups reach, rounded to the safe side: asking for it works."""
    if verdict.attribute is None:
        counts = members_of(table, groups)
        return verdict.model.attainable(verdict.judgement.reached, counts, counts.sizes)
    column = table.sensitive[verdict.attribute]
    counts = counts_by_person(column, groups, table.persons if verdict.model.counts_persons else None)
    return verdict.model.attainable(verdict.judgement.reached, counts, column.reference)


def _advice(policy: Policy) -> str:
    return ": ask for less, keep less of " + ", ".join(f"'{name}'" for name in policy.keep) if policy.keep else ""


def _spelled(required: object) -> str:
    if isinstance(required, dict):
        return ", ".join(f"{name} {number(level)}" for name, level in required.items())
    return number(required)  # type: ignore[arg-type]


def _share(part: int, whole: int) -> str:
    return rounded_up(Fraction(part, whole))
