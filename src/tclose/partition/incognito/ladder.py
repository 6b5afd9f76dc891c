"""The levels to which a quasi-identifier can be generalised as a whole, from its exact values to one group of all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tclose.partition.shared.axes import Axis, LabelAxis, NumberAxis, SetAxis
from tclose.types import Floats, Ints

Intervals = Literal["width", "quantiles"]  # of numbers without a hierarchy: equally wide, or of equally many rows

HALVINGS = 5  # of a number's range, or of its rows: 32, 16, 8, 4 and 2 intervals


@dataclass(frozen=True, eq=False)
class Ladder:
    """A value per row, and `levels[h][value]`, the group of a value at height h; groups of a height join at the next.

    A missing value is a group of its own up to the last height, at which all values are one group.
    """

    codes: Ints
    levels: tuple[Ints, ...]

    @classmethod
    def of(cls, axis: Axis, intervals: Intervals = "width") -> Ladder:
        """Take a hierarchy's own levels; intervals that double for numbers; all or nothing for sets."""
        if isinstance(axis, SetAxis):
            alone = np.arange(axis.domain_size)
            return cls(axis.codes, _climbing([alone, np.zeros_like(alone)]))
        if isinstance(axis, LabelAxis):
            return _with_missing(axis.codes, [*axis.levels])
        return _with_missing(axis.codes, [*_climbing([*_levels(axis, intervals)])])

    def groups_as(self, other: Ladder) -> bool:
        """Tell whether another ladder of the same values has the same levels."""
        return len(self.levels) == len(other.levels) and all(map(np.array_equal, self.levels, other.levels))

    @property
    def top(self) -> int:
        """The height at which all values are one group."""
        return len(self.levels) - 1


def _with_missing(codes: Ints, levels: list[Ints]) -> Ladder:
    """Put missing values behind all others: apart, and together with them at the top."""
    missing = len(levels[0])
    if len(levels) == 1 and missing and (codes < 0).any():
        levels = [*levels, levels[0]]
    lower = [np.append(level, level.max(initial=-1) + 1) for level in levels[:-1]]
    return Ladder(np.where(codes < 0, missing, codes), (*lower, np.zeros(missing + 1, dtype=np.int64)))


def _levels(axis: NumberAxis, intervals: Intervals) -> Iterator[Ints]:
    """Yield the published values, then ever wider intervals, then everything."""
    changes = (np.diff(axis.low) != 0) | (np.diff(axis.high) != 0)
    published = np.concatenate(([0], np.cumsum(changes))).astype(np.int64)[: len(axis.low)]
    yield published
    places = axis.low if intervals == "width" else _middles(axis, published)
    for halvings in range(HALVINGS, -1, -1):
        parts = 2**halvings
        yield np.minimum(np.floor(places * parts), parts - 1).astype(np.int64)


def _middles(axis: NumberAxis, published: Ints) -> Floats:
    """Return the share of rows before the middle row of each published value."""
    rows = np.bincount(published[axis.codes[axis.codes >= 0]], minlength=published.max(initial=-1) + 1)
    return ((np.cumsum(rows) - rows / 2) / max(int(rows.sum()), 1))[published]


def _climbing(levels: list[Ints]) -> tuple[Ints, ...]:
    """Leave out levels that the next one groups no more."""
    groups = [len(np.unique(level)) for level in levels]
    return tuple(level for level, here, above in zip(levels, groups, [*groups[1:], -1], strict=True) if here > above)
