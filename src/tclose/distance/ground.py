"""Ground distances on a line, on a tree, and between values that are all equally far."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.distance.base import Line, LineWithLeaf, Move, Tree, extras, in_order
from tclose.distance.counts import Counts, Integers, Ratios, combine, largest_of, widened
from tclose.types import Ints


def emd_on_line(counts: Counts, reference: Ints, positions: Integers) -> Ratios:
    """Return each class's work on the line whose values lie at these integer positions (rising, from 0)."""
    sizes, total, length = counts.sizes, int(reference.sum()), int(positions[-1])
    if length == 0:
        return Ratios(np.zeros(len(counts), dtype=np.int64), sizes, 1)
    positions = widened(positions, length * max(total, largest_of(sizes)))
    below = np.cumsum(reference)
    gaps = np.diff(positions)
    area = np.concatenate(([0], np.cumsum(gaps * below[:-1])))  # area under N_i left of each value
    work = [_work(block, total, positions, below, area) for block in counts.blocks()]
    return Ratios(np.concatenate(work), sizes, length * total)


def _work(counts: Counts, total: int, positions: Integers, below: Ints, area: Integers) -> Integers:
    """Return the numerators of some classes."""
    sizes, start = counts.sizes, counts.codes
    end = np.append(start[1:], len(positions) - 1)
    end[counts.ends - 1] = len(positions) - 1
    seen = np.cumsum(counts.counts)
    seen -= counts.per_entry(np.concatenate(([0], seen[counts.ends[:-1] - 1])))

    # The first value at which the table's share has caught up with the class's: s·N_i ≥ N·C_i.
    shares = total * widened(seen, total * largest_of(sizes))
    turn = np.searchsorted(below, np.asarray(-(-shares // counts.per_entry(sizes)), dtype=np.int64))
    turn = np.clip(turn, start, end)
    per_total = counts.per_class(seen * (2 * positions[turn] - positions[start] - positions[end]))
    per_size = counts.per_class(area[start] + area[end] - 2 * area[turn]) + area[start[counts.starts]]
    return combine(total, per_total, sizes, per_size)


@dataclass(frozen=True, eq=False)
class Value:
    """Values as far apart as their magnitudes: |v_i − v_j| / (largest − smallest)."""

    positions: Integers  # integers, rising, from 0

    name = "value"

    def geometry(self, values: int) -> Line:
        """Return the line on which the values lie."""
        return Line(self.positions)

    def between(self, i: int, j: int) -> Fraction:
        """Return |v_i − v_j| / (largest − smallest)."""
        if i == j:
            return Fraction(0)
        return Fraction(abs(int(self.positions[i]) - int(self.positions[j])), int(self.positions[-1]))

    def emd(self, counts: Counts, reference: Ints) -> Ratios:
        """Return each class's earth mover's distance from the reference counts, exactly."""
        return emd_on_line(counts, reference, self.positions)

    def plan(self, row: Ints, reference: Ints) -> list[Move]:
        """Return the moves of earth, surplus to deficit from left to right."""
        extra, whole = extras(row, reference)
        return [Move(i, j, Fraction(amount, whole), self.between(i, j)) for i, j, amount in in_order(extra)]


class Ordered(Value):
    """Values as far apart as their ranks: |i − j| / (m − 1)."""

    name = "ordered"

    def __init__(self, domain_size: int) -> None:
        super().__init__(np.arange(domain_size, dtype=np.int64))


# Values on a line, and a missing value beside it


@dataclass(frozen=True, eq=False)
class WithMissing:
    """A distance on a line whose domain ends with the missing value: ½ from the middle of the line, 1 from its ends."""

    name: str  # of the distance between the other values
    shape: LineWithLeaf

    def geometry(self, values: int) -> LineWithLeaf:
        """Return the line with its leaf."""
        return self.shape

    def between(self, i: int, j: int) -> Fraction:
        """Return the distance between two values, or between a value and the missing value."""
        if i == j:
            return Fraction(0)
        places = np.append(self.shape.positions, self.shape.middle)
        edge = self.shape.middle if self.shape.leaf in (i, j) else 0
        return Fraction(abs(int(places[i]) - int(places[j])) + edge, self.shape.unit)

    def emd(self, counts: Counts, reference: Ints) -> Ratios:
        """Return each class's earth mover's distance from the reference counts, exactly."""
        order, sizes, total = self.shape.order, counts.sizes, int(reference.sum())
        line = emd_on_line(counts.reordered(np.argsort(order)), reference[order], self.shape.places)
        missing, all_missing = counts.count_of(self.shape.leaf), int(reference[self.shape.leaf])
        surplus = combine(total, missing, sizes, np.full(len(sizes), -all_missing))
        bound = self.shape.unit * total * largest_of(sizes)
        work = widened(line.numerators, bound) + self.shape.middle * abs(widened(surplus, bound))
        return Ratios(work, sizes, self.shape.unit * total)

    def plan(self, row: Ints, reference: Ints) -> list[Move]:
        """Return the moves of earth, surplus to deficit along the line, the missing value at its middle.

        The leaf only gives or only takes, so no plan carries less along its edge.
        """
        extra, whole = extras(row, reference)
        order = self.shape.order.tolist()
        moves = ((order[i], order[j], amount) for i, j, amount in in_order([extra[code] for code in order]))
        return [Move(i, j, Fraction(amount, whole), self.between(i, j)) for i, j, amount in moves]


# All values equally far apart


def surplus(counts: Counts, reference: Ints) -> Integers:
    """Return Σ max(N·c − s·n, 0) of each class: only values that the class shows can have a surplus."""
    sizes, total = counts.sizes, int(reference.sum())
    whole = total * largest_of(sizes)
    extra = total * widened(counts.counts, whole) - counts.per_entry(widened(sizes, whole)) * reference[counts.codes]
    return counts.per_class(np.maximum(extra, 0))


class Equal:
    """Any two values are 1 apart."""

    name = "equal"

    def geometry(self, values: int) -> Tree:
        """Return the tree whose leaves all hang from the root."""
        return Tree.star(values)

    def between(self, i: int, j: int) -> Fraction:
        """Return 1, or 0 for a value and itself."""
        return Fraction(int(i != j))

    def emd(self, counts: Counts, reference: Ints) -> Ratios:
        """Return each class's earth mover's distance from the reference counts, exactly."""
        return Ratios(surplus(counts, reference), counts.sizes, int(reference.sum()))

    def plan(self, row: Ints, reference: Ints) -> list[Move]:
        """Return the moves of earth, surplus to deficit in the order of the domain."""
        extra, whole = extras(row, reference)
        return [Move(i, j, Fraction(amount, whole), Fraction(1)) for i, j, amount in in_order(extra)]


# Values as far apart as the level at which a hierarchy joins them


@dataclass(frozen=True, eq=False)
class Hierarchical:
    """`levels[h][i]` is the node above leaf i at height h; level 0 is the leaves, the last level the root.

    Leaves stand in the order of the tree, so no level's node numbers ever decrease.
    """

    levels: tuple[Ints, ...]

    name = "hierarchical"

    def geometry(self, values: int) -> Tree:
        """Return the tree of the hierarchy."""
        return Tree(self.levels)

    @property
    def height(self) -> int:
        """How many steps lead from a leaf to the root."""
        return len(self.levels) - 1

    def between(self, i: int, j: int) -> Fraction:
        """Return the height at which two leaves meet, over the height of the tree."""
        meets = next(h for h, level in enumerate(self.levels) if level[i] == level[j])
        return Fraction(meets, max(self.height, 1))

    def emd(self, counts: Counts, reference: Ints) -> Ratios:
        """Return each class's earth mover's distance from the reference counts, exactly."""
        sizes, total = counts.sizes, int(reference.sum())
        work = widened(np.zeros(len(counts), dtype=np.int64), self.height * total * largest_of(sizes))
        for level in self.levels[:-1]:
            nodes = int(level[-1]) + 1
            first = np.searchsorted(level, np.arange(nodes))
            work = work + surplus(counts.coarsened(level, nodes), np.add.reduceat(reference, first))
        return Ratios(work, sizes, total * max(self.height, 1))

    def plan(self, row: Ints, reference: Ints) -> list[Move]:
        """Return the moves of earth, within the lowest subtrees first."""
        extra, whole = extras(row, reference)
        moves: list[tuple[int, int, int]] = []
        for level in self.levels:
            for node in range(int(level[-1]) + 1):
                low, high = np.searchsorted(level, [node, node + 1])
                for i, j, amount in in_order(extra[low:high]):
                    moves.append((int(low) + i, int(low) + j, amount))
                    extra[low + i] -= amount
                    extra[low + j] += amount
        return [Move(i, j, Fraction(amount, whole), self.between(i, j)) for i, j, amount in moves]
