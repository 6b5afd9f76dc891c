"""What every distance can do: judge classes by their counts, name its shape, and say which earth moves where.

A ground distance is a line, a line with a leaf beside it, a tree or any metric. Methods, attacks and charts work on
these shapes and never ask which distance it is. A new distance that has one of these shapes therefore works in every
method.

Moves are the transport plan of one class, as in the tutorial of Dosselmann et al. Masses are integers: a class of s
rows against a table of N rows moves multiples of 1/(s·N).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tclose.distance.counts import Counts, Ratios
from tclose.types import Ints

# Shapes


FLOAT_BITS = 1000  # of an integer that floats can hold


@dataclass(frozen=True, eq=False)
class Line:
    """Values on a line: two values are as far apart as their positions, over the length of the line."""

    positions: NDArray[Any]  # integers (int64, or Python integers where they are larger) that rise from 0

    @property
    def by_rank(self) -> bool:
        """Whether neighbours are all equally far apart, so that ranks are distances."""
        return bool(np.array_equal(self.positions, np.arange(len(self.positions))))

    @property
    def length(self) -> int:
        """The distance between the first and the last position, which counts as 1; at least 1."""
        return max(int(self.positions[-1]), 1)

    @property
    def rounded(self) -> Line:
        """The same line with positions that floats can hold; only those of over 300 digits are rounded."""
        surplus = self.length.bit_length() - FLOAT_BITS
        return Line(self.positions >> surplus) if surplus > 0 else self


@dataclass(frozen=True, eq=False)
class LineWithLeaf:
    """A line and one further value, the last: a leaf that hangs from the middle of the line.

    Its edge is half as long as the line, so the leaf is as far from either end of the line as the ends are from each
    other, and half as far from the middle. All figures here are in halves of the line's own unit, in which the middle
    is a whole number. A line of a single value counts as one of length 1 that begins there.
    """

    line: Line

    @property
    def leaf(self) -> int:
        """The code of the leaf, which is the last value."""
        return len(self.line.positions)

    @property
    def unit(self) -> int:
        """The distance that counts as 1."""
        return 2 * self.line.length

    @property
    def middle(self) -> int:
        """Where on the line the leaf hangs, which is also how long its edge is."""
        return self.line.length

    @property
    def positions(self) -> NDArray[Any]:
        """Where the values of the line lie."""
        return 2 * self.line.positions

    @property
    def order(self) -> Ints:
        """All values in the order in which they hang from the line, the leaf at the middle."""
        left = int(np.searchsorted(self.positions, self.middle, side="right"))
        return np.insert(np.arange(self.leaf), left, self.leaf)

    @property
    def places(self) -> NDArray[Any]:
        """Where the values hang from the line, in this order."""
        return np.append(self.positions, self.middle)[self.order]


@dataclass(frozen=True, eq=False)
class Tree:
    """Leaves of a tree: two leaves are as far apart as the height of the node where they meet, over the tree's height.

    `levels[h][i]` is the node above leaf i at height h. Level 0 holds the leaves, the last level the root. Leaves
    stand in the order of the tree, so the node numbers of a level never decrease.
    """

    levels: tuple[Ints, ...]

    @classmethod
    def star(cls, leaves: int) -> Tree:
        """Return the tree whose leaves all hang from the root: any two are 1 apart."""
        return cls((np.arange(leaves), np.zeros(leaves, dtype=np.int64)))

    @property
    def height(self) -> int:
        """How many steps lead from a leaf to the root."""
        return len(self.levels) - 1

    @property
    def below_root(self) -> tuple[Ints, ...]:
        """The levels without the root."""
        return self.levels[:-1]

    @property
    def is_star(self) -> bool:
        """Whether all leaves hang from the root."""
        return self.height == 1


@dataclass(frozen=True, eq=False)
class Metric:
    """Any metric: two values are as far apart as their cost, over the cost that counts as 1."""

    costs: Ints  # values × values, integers
    farthest: int  # the cost that counts as 1; at least 1, and no cost is larger


@dataclass(frozen=True, eq=False)
class TupleMetric(Metric):
    """The metric between tuples of values: there can be thousands, and no two of them need be 1 apart."""


Geometry = Line | LineWithLeaf | Tree | Metric


# Moves of earth


@dataclass(frozen=True)
class Move:
    """Move `mass` from value `source` to value `target`, which lie `distance` apart."""

    source: int
    target: int
    mass: Fraction
    distance: Fraction

    @property
    def cost(self) -> Fraction:
        """Return mass × distance: what the move adds to the earth mover's distance."""
        return self.mass * self.distance


def extras(row: Ints, reference: Ints) -> tuple[list[int], int]:
    """Return N·c − s·n for every value and the common denominator s·N."""
    s, total = int(row.sum()), int(reference.sum())
    return [total * int(c) - s * int(n) for c, n in zip(row, reference, strict=True)], s * total


def in_order(extra: Sequence[int]) -> list[tuple[int, int, int]]:
    """Move the first surplus into the first deficit until none is left: (source, target, amount).

    On a line this is optimal and uses the moves that the tutorial prints.
    """
    surplus = [[i, e] for i, e in enumerate(extra) if e > 0]
    deficit = [[i, -e] for i, e in enumerate(extra) if e < 0]
    moves, a, b = [], 0, 0
    while a < len(surplus) and b < len(deficit):
        amount = min(surplus[a][1], deficit[b][1])
        moves.append((surplus[a][0], deficit[b][0], amount))
        surplus[a][1] -= amount
        deficit[b][1] -= amount
        a += surplus[a][1] == 0
        b += deficit[b][1] == 0
    return moves


# A ground distance


class Distance(Protocol):
    """A ground distance between the values of one attribute, scaled so that the farthest pair is 1 apart."""

    @property
    def name(self) -> str:
        """What a policy calls it."""

    def geometry(self, values: int) -> Geometry:
        """Return the shape of a domain of so many values: a line, a line with a leaf, a tree or any metric."""

    def between(self, i: int, j: int) -> Fraction:
        """Return the ground distance between two values."""

    def emd(self, counts: Counts, reference: Ints) -> Ratios:
        """Return each class's earth mover's distance from the reference counts, exactly."""

    def plan(self, row: Ints, reference: Ints) -> list[Move]:
        """Return the moves of earth that turn one class's distribution into the reference's at least cost."""
