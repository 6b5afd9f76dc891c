"""Which rows can be published at all, before any class is formed.

Kept columns are published exactly, so the rows of one kept value form classes of their own and the coarsest release
possible has one class per kept value. What fails there fails everywhere: it is withheld, within the policy's limit,
or the request cannot be met. What is withheld takes its sensitive values along, so the rest is judged anew until
nothing changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from tclose.errors import Infeasible
from tclose.judging import Verdict, verdicts
from tclose.policy import Policy
from tclose.table import CodedTable, encode
from tclose.table.classes import Classes, classes_of
from tclose.table.coded import rows_with_values
from tclose.wording import number


@dataclass(frozen=True, eq=False)
class Publishable:
    """The rows that can be published, coded, in the groups that kept columns force."""

    frame: pl.DataFrame
    table: CodedTable
    groups: Classes
    withheld: int


def publishable(frame: pl.DataFrame, policy: Policy) -> Publishable:
    """Find the rows that can be published; raise `Infeasible` when too many would have to be withheld."""
    rows, most = frame.height, math.floor(policy.suppress * frame.height)
    having = rows_with_values(frame, policy)
    frame = frame if having is None else frame[having]
    if rows - frame.height > most:
        raise Infeasible(
            f"{rows - frame.height:,} of {rows:,} rows lack a sensitive value and would be withheld, more than "
            f"suppress allows: suppress = {_share(rows - frame.height, rows)} can be reached"
        )
    while True:
        table = encode(frame, policy)
        groups = classes_of(frame.select(policy.keep)) if policy.keep else _one_class(frame.height)
        failing = [verdict for verdict in verdicts(table, groups, policy) if not verdict.judgement.satisfied]
        if not failing:
            return Publishable(frame, table, groups, rows - frame.height)
        bad = np.any([~verdict.judgement.admitted for verdict in failing], axis=0)
        lost = rows - frame.height + int(groups.sizes[bad].sum())
        if lost > most or bad.all():
            raise _infeasible(failing[0], policy, groups, lost, rows, everything=bool(bad.all()))
        frame = frame.filter(~bad[groups.labels_by_row()])


def _one_class(rows: int) -> Classes:
    return Classes(np.arange(rows), np.array([rows]))


def _infeasible(
    verdict: Verdict, policy: Policy, groups: Classes, lost: int, rows: int, *, everything: bool
) -> Infeasible:
    """Say what cannot be reached, and which level can be."""
    what = verdict.model.name if verdict.attribute is None else f"{verdict.model.name} of '{verdict.attribute}'"
    asked, reached = _spelled(verdict.model.required), number(verdict.judgement.reached)
    if not policy.keep:
        return Infeasible(f"{what} = {asked} cannot be reached: all {rows:,} rows as one class reach {reached}")
    worst = int(groups.sizes[verdict.judgement.worst_class])
    kept = ", ".join(f"'{name}'" for name in policy.keep)
    advice = "" if everything else f", or allow suppress = {_share(lost, rows)}"
    return Infeasible(
        f"{what} = {asked} cannot be reached while {kept} is kept: a group of {worst:,} rows reaches {reached}; "
        f"ask for that, keep less{advice}"
    )


def _spelled(required: object) -> str:
    if isinstance(required, dict):
        return ", ".join(f"{name} {number(level)}" for name, level in required.items())
    return number(required)  # type: ignore[arg-type]


def _share(part: int, whole: int) -> str:
    """Spell part/whole, rounded up so that it is enough."""
    return f"{math.ceil(10_000 * part / whole) / 10_000:g}"
