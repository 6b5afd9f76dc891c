"""Which rows can be published at all, before any class is formed.

Kept columns are published exactly, so the rows of one kept value form classes of their own and the coarsest release
possible has one class per kept value. What fails there fails everywhere: it is withheld, within the policy's limit,
or the request cannot be met. What is withheld takes its sensitive values along, so the rest is judged anew until
nothing changes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import Infeasible, LeakWarning
from tclose.policy import Policy
from tclose.privacy.judge import Verdict, counts_by_person, members_of, verdicts
from tclose.privacy.levels import rounded_up
from tclose.table import CodedTable, encode
from tclose.table.classes import Classes, classes_of
from tclose.table.coded import rows_with_values
from tclose.types import Ints
from tclose.words import counted, number

BATCH = 32  # with more failing groups than this, 1/32 of them are withheld at a time


@dataclass(frozen=True, eq=False)
class Publishable:
    """The rows that can be published, coded, in the groups that kept columns force."""

    frame: pl.DataFrame
    rows: Ints  # where each stood in the table
    table: CodedTable
    groups: Classes
    withheld: int


def publishable(frame: pl.DataFrame, policy: Policy) -> Publishable:
    """Find the rows that can be published; raise `Infeasible` when too many would have to be withheld."""
    whole, most = frame.height, math.floor(policy.suppress * frame.height)
    table, having = encode(frame, policy), rows_with_values(frame, policy)
    rows = np.arange(whole) if having is None else having
    if whole - len(rows) > most:
        raise Infeasible(
            f"{whole - len(rows):,} of {counted(whole, 'row')} lack a sensitive value and would be withheld: "
            f"suppress = {number(policy.suppress)} cannot be reached, {_share(whole - len(rows), whole)} can be"
        )
    refused = None
    while failing := _failing(table, groups := _groups(_only(frame, rows), policy), policy):
        refused = refused or _infeasible(failing, table, groups, policy)
        hopeless = _hopeless(failing, groups.sizes)
        if hopeless.all():
            raise Infeasible(f"{refused}{_advice(policy)}")
        rows = rows[~hopeless[groups.labels_by_row()]]
        table = _encode_again(_only(frame, rows), policy)
    if whole - len(rows) > most:
        raise Infeasible(f"{refused}{_advice(policy)}, or allow suppress = {_share(whole - len(rows), whole)}")
    return Publishable(_only(frame, rows), rows, table, groups, whole - len(rows))


def _only(frame: pl.DataFrame, rows: Ints) -> pl.DataFrame:
    return frame if len(rows) == frame.height else frame[rows]  # a copy costs as much as the table


def _encode_again(frame: pl.DataFrame, policy: Policy) -> CodedTable:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)  # told when the whole table was read
        return encode(frame, policy)


def _groups(frame: pl.DataFrame, policy: Policy) -> Classes:
    """Put rows of equal kept values together, compared as they are published: -0.0 is not 0.0."""
    if not policy.keep:
        return Classes(np.arange(frame.height), np.array([frame.height]))
    kept = [frame[name] for name in policy.keep]
    return classes_of(pl.DataFrame([c.cast(pl.String) if c.dtype.is_float() else c for c in kept]))


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
    told = []
    for verdict in failing:
        what = verdict.model.name if verdict.attribute is None else f"{verdict.model.name} of '{verdict.attribute}'"
        told.append(f"{what} = {_spelled(verdict.model.required)} cannot be reached: {_level(verdict, table, groups)}")
    if policy.keep:
        bad = np.count_nonzero(np.any([~verdict.judgement.admitted for verdict in failing], axis=0))
        told.append(f"{bad:,} of {counted(len(groups), 'group')} of rows that are kept apart fail")
    return "; ".join(told)


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
