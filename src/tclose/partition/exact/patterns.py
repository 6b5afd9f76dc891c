"""What suppression can publish: patterns of values and stars, and the rows that each of them covers.

Rows that are equal in every quasi-identifier and sensitive value are of one kind. Of all patterns (Liang & Yuan's v*)
only those matter in which every star hides a difference: another that covers the same rows has fewer stars.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.errors import Unsuited
from tclose.types import Ints

MOST_VARIABLES = 50_000


def check_reach(variables: int) -> None:
    """Refuse a programme that no solver would end."""
    if variables > MOST_VARIABLES:
        raise Unsuited(
            f"exact: the programme reaches {MOST_VARIABLES:,} variables; this table needs more, "
            "so take fewer rows, quasi-identifiers or sensitive values"
        )


@dataclass(frozen=True, eq=False)
class RowKinds:
    """The different rows: how often each kind occurs, one row of each kind, and the kind of every row."""

    counts: Ints
    example: Ints
    of_row: Ints

    @classmethod
    def of(cls, columns: Ints) -> RowKinds:
        """Find the kinds of rows of a rows × columns array."""
        _, example, of_row, counts = np.unique(
            columns, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        return cls(counts.astype(np.int64), example, of_row.reshape(-1))

    def __len__(self) -> int:
        return len(self.counts)


@dataclass(frozen=True, eq=False)
class Patterns:
    """Pairs of a pattern and a kind of rows that it covers, sorted by pattern; and the stars of each pattern."""

    pattern: Ints
    kind: Ints
    stars: Ints

    def __len__(self) -> int:
        return len(self.stars)


def patterns_of(values: Ints, counts: Ints, k: int) -> Patterns:
    """Return the patterns of kinds of rows (their quasi-identifiers' `values`) that cover at least k rows."""
    pattern, covered, stars, first = [], [], [], 0
    for kept in _column_sets(values.shape[1]):
        groups = _groups(values, kept)
        useful = _differ(values[:, ~kept], groups) & (np.bincount(groups, weights=counts) >= k)
        number = np.where(useful, first + np.cumsum(useful) - 1, -1)[groups]
        kinds = np.flatnonzero(number >= 0)
        kinds = kinds[np.argsort(number[kinds], kind="stable")]
        pattern.append(number[kinds])
        covered.append(kinds)
        check_reach(sum(map(len, covered)))
        stars.append(np.full(int(useful.sum()), int((~kept).sum()), dtype=np.int64))
        first += int(useful.sum())
    return Patterns(np.concatenate(pattern), np.concatenate(covered), np.concatenate(stars))


def _column_sets(columns: int) -> Iterator[NDArray[np.bool_]]:
    """Yield every choice of columns that keep their values."""
    for number in range(1 << columns):
        yield (number >> np.arange(columns) & 1).astype(bool)


def _groups(values: Ints, kept: NDArray[np.bool_]) -> Ints:
    """Return 0, 1, 2, … for the kinds of rows, the same for those that agree in the kept columns."""
    if not kept.any():
        return np.zeros(len(values), dtype=np.int64)
    return np.unique(values[:, kept], axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _differ(starred: Ints, groups: Ints) -> NDArray[np.bool_]:
    """Tell for each group whether its kinds differ in every starred column."""
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(int(groups.max()) + 1))
    low, high = np.minimum.reduceat(starred[order], starts), np.maximum.reduceat(starred[order], starts)
    return np.asarray((low < high).all(axis=1))
