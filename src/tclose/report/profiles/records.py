"""What published rows tell by themselves: which are alone, and which values the other columns give away.

Every published column counts, sensitive and kept ones as well: a reader may know any of them. Numbers are codes: equal
numbers are equal cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tclose.types import Bools, Ints


@dataclass(frozen=True)
class GivenAway:
    """What a sensitive or kept column tells about the rows of a class."""

    name: str
    by_class: int  # rows whose class shows this one value only
    by_all: int  # rows whose class shows this one value only beside what the other columns say of the row
    in_class: float  # the largest share that a value has in a class
    in_table: float  # the share of the same value in the table


@dataclass(frozen=True)
class Records:
    """The rows of a release, or of its tables, as a reader compares them."""

    rows: int
    alone: int  # rows that no other row, or no other person's row, equals in all published columns
    fewest: int  # the fewest rows, or persons, that show the same in all published columns
    columns: tuple[str, ...]
    whole: bool  # one table shows all; several could be joined
    given: tuple[GivenAway, ...] = ()


def crowds(labels: Ints, persons: Ints | None) -> Ints:
    """Return how many rows, or persons, share the label of each row.

    >>> crowds(np.array([0, 0, 1]), None).tolist(), crowds(np.array([0, 0, 1]), np.array([4, 4, 7])).tolist()
    ([2, 2, 1], [1, 1, 1])
    """
    if persons is None:
        return np.bincount(labels)[labels].astype(np.int64)
    pairs = np.unique(np.stack([labels, persons]), axis=1)
    return np.bincount(pairs[0])[labels].astype(np.int64)


def given_away(name: str, values: Ints, classes: Ints, others: Ints) -> GivenAway:
    """Compare a column's values with the classes, and with all other published columns; `others` are their labels.

    A row without an equal in the other columns tells only its own value: it stands alone already.
    """
    if len(np.unique(values)) < 2:  # the table itself tells the value of everyone
        return GivenAway(name, 0, 0, 1.0, 1.0)
    in_class, in_table = _shares(values, classes)
    most = int(np.argmax(in_class - in_table))
    beside = np.bincount(others)[others] > 1
    return GivenAway(
        name,
        int(_single(values, classes).sum()),
        int((_single(values, others) & beside).sum()),
        float(in_class[most]),
        float(in_table[most]),
    )


def _single(values: Ints, labels: Ints) -> Bools:
    """Tell of each row whether all rows of its label show one value."""
    order = np.lexsort((values, labels))
    ordered = labels[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    low, high = np.minimum.reduceat(values[order], starts), np.maximum.reduceat(values[order], starts)
    same: Bools = np.empty(len(values), dtype=np.bool_)
    same[order] = np.repeat(low == high, np.diff(starts, append=len(values)))
    return same


def _shares(values: Ints, labels: Ints) -> tuple[np.ndarray, np.ndarray]:
    """Return the share of each row's value in its class, and in the table."""
    width = int(values.max()) + 1
    pairs = np.unique(labels * width + values, return_inverse=True)[1]
    return np.bincount(pairs)[pairs] / np.bincount(labels)[labels], np.bincount(values)[values] / len(values)


def fewest_of(found: Sequence[Ints]) -> int:
    """Return the smallest crowd of several tables."""
    return min((int(each.min()) for each in found if len(each)), default=0)
