"""The steps of tclose, readable as prose: check() and explain() read a table, judge it and tell what they found."""

from __future__ import annotations

from typing import Any

import numpy as np

from tclose.errors import InputError, did_you_mean
from tclose.findings import CheckResult, Explanation, Step
from tclose.judging import Progress, distance_of, judge
from tclose.policy import Policy
from tclose.table import encode, to_polars


def check(frame: Any, policy: Policy, *, ignore_others: bool = False, progress: Progress | None = None) -> CheckResult:
    """Tell whether a table holds what a policy asks for; the table is judged as it is, nothing is changed.

    `frame` is a pandas, polars or pyarrow frame. Rows that show equal quasi-identifiers and kept columns form a
    class. With `ignore_others`, columns that the policy does not name play no role.

    >>> import polars as pl
    >>> table = pl.DataFrame({"zone": ["a", "a", "b", "b"], "salary": [3, 4, 3, 4]})
    >>> check(table, Policy(quasi=["zone"], sensitive={"salary": {"t": 0.1}}, k=2)).satisfied
    True
    """
    tell = progress or (lambda share, what: None)
    tell(0.0, "reading")
    table = encode(to_polars(frame), policy, ignore_others=ignore_others)
    tell(0.5, "judging")
    return judge(table, policy, lambda share, what: tell(0.5 + share / 2, what))


def explain(frame: Any, policy: Policy, *, attribute: str, class_number: int) -> Explanation:
    """Tell which earth has to move where to turn one class's distribution into the whole table's.

    Classes are counted from 1 in the order in which the table shows them first.
    """
    table = encode(to_polars(frame), policy, ignore_others=True)
    if attribute not in table.sensitive:
        hint = did_you_mean(attribute, table.sensitive)
        raise InputError(f"'{attribute}' is no sensitive attribute of the policy{hint}")
    classes, column = table.classes, table.sensitive[attribute]
    if not 1 <= class_number <= len(classes):
        raise InputError(f"there is no class {class_number:,}: the table has classes 1 to {len(classes):,}")
    mine = column.codes[classes.members(class_number - 1)]
    row = np.bincount(mine, minlength=len(column.labels)).astype(np.int64)
    moves = distance_of(column).plan(row, column.reference)
    return Explanation(
        attribute=attribute,
        class_number=class_number,
        rows=len(mine),
        distance=column.distance,
        moves=tuple(
            Step(column.labels[move.source], column.labels[move.target], move.mass, move.distance) for move in moves
        ),
    )
