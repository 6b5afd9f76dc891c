"""What a t allows: the worst classes that the earth mover's distance permits, in shares of a column's own values.

A class is within t of the table if its rows can be moved at a cost of t, where a row costs its ground distance. So the
largest share of a set of values is a fractional knapsack: rows from outside the set move into it, nearest first, until
t is used up. The same sum answers the reverse: which t a share needs.

The reverse is also answered for all values at once: from which t on a class may show one value only. A class that shows
one value only has every row of the table moved there; a value that reaches a given share has the rows around it moved
there, nearest first. A column may have 100,000 values: on a line, running sums and a bisection take the place of a
table of all distances.

Counts, distances and t are integers and fractions throughout: an answer is compared with a policy's t.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tclose.distance.base import Geometry, Line, LineWithLeaf, Metric, Tree
from tclose.distance.counts import Integers, largest_of, widened
from tclose.types import Bools, Floats, Ints

# Which shares a t allows


@dataclass(frozen=True, eq=False)
class Knapsack:
    """The rows outside a set of values, nearest first, and what it costs to move each into the set."""

    total: int  # rows of the table
    inside: int  # rows of the set
    order: Ints  # the values outside that the table shows, nearest first
    rows: Ints  # of each of them
    costs: Integers  # of moving a row of each of them
    unit: int  # the cost that counts as distance 1

    @classmethod
    def of(cls, geometry: Geometry, reference: Ints, chosen: Bools) -> Knapsack:
        """Sort the rows of a table, given by its counts, by how far they are from the chosen values."""
        total, costs = int(reference.sum()), costs_to(geometry, chosen)
        outside = np.flatnonzero(~chosen & (reference > 0))
        order = outside[np.argsort(costs[outside], kind="stable")]
        each = widened(costs[order], total * max(largest_of(costs), 1))
        return cls(total, int(reference[chosen].sum()), order, reference[order], each, unit_of(geometry))

    @cached_property
    def spent(self) -> Integers:
        """What it costs to move all rows of the first values, in order."""
        return np.asarray(np.cumsum(self.rows * self.costs))

    def moved(self, t: Fraction) -> tuple[int, Fraction]:
        """Return how many of the values move wholly within t, and how many rows of the next value do."""
        budget = t * self.total * self.unit
        whole = int(np.searchsorted(self.spent, int(budget), side="right"))
        if whole == len(self.rows):
            return whole, Fraction(0)
        before = int(self.spent[whole - 1]) if whole else 0
        return whole, (budget - before) / int(self.costs[whole])

    def most(self, t: Fraction) -> Fraction:
        """Return the largest share that the set has in any class within t."""
        whole, part = self.moved(t)
        return (self.inside + int(self.rows[:whole].sum()) + part) / self.total

    def needed(self, share: Fraction) -> Fraction:
        """Return the smallest t that lets the set have a share, which is at most 1, in some class."""
        need = share * self.total - self.inside
        if need <= 0:
            return Fraction(0)
        seen = np.cumsum(self.rows)
        whole = int(np.searchsorted(seen, int(need), side="right"))
        if whole == len(seen):
            return Fraction(int(self.spent[-1]), self.total * self.unit)
        done, cost = (int(seen[whole - 1]), int(self.spent[whole - 1])) if whole else (0, 0)
        return (cost + (need - done) * int(self.costs[whole])) / (self.total * self.unit)


def most(geometry: Geometry, reference: Ints, chosen: Bools, t: Fraction) -> Fraction:
    """Return the largest share that the chosen values have in any class within t of these counts.

    >>> from tclose.distance.ground import Equal
    >>> most(Equal().geometry(2), np.array([80, 20]), np.array([False, True]), Fraction(1, 10))
    Fraction(3, 10)
    """
    return Knapsack.of(geometry, reference, chosen).most(t)


def least(geometry: Geometry, reference: Ints, chosen: Bools, t: Fraction) -> Fraction:
    """Return the smallest share that the chosen values have in any class within t: what the others leave them."""
    return Fraction(1) if chosen.all() else 1 - most(geometry, reference, ~chosen, t)


def worst_class(geometry: Geometry, reference: Ints, value: int, t: Fraction) -> Floats:
    """Return the shares of the class within t of these counts that shows one value most."""
    knapsack = Knapsack.of(geometry, reference, np.arange(len(reference)) == value)
    whole, part = knapsack.moved(t)
    left = reference.astype(np.float64)
    left[knapsack.order[:whole]] = 0
    if whole < len(knapsack.order):
        left[knapsack.order[whole]] -= float(part)
    left[value] = 0
    left[value] = knapsack.total - left.sum()
    return left / knapsack.total


def unit_of(geometry: Geometry) -> int:
    """Return the cost that counts as distance 1."""
    if isinstance(geometry, Line):
        return geometry.length
    if isinstance(geometry, LineWithLeaf):
        return geometry.unit
    return max(geometry.height, 1) if isinstance(geometry, Tree) else geometry.farthest


def costs_to(geometry: Geometry, chosen: Bools) -> Integers:
    """Return how far each value is from the nearest of the chosen values, of which there is at least one."""
    if isinstance(geometry, Line):
        return _along(geometry.positions, geometry.positions[chosen])
    if isinstance(geometry, LineWithLeaf):
        return _beside_a_leaf(geometry, chosen)
    if isinstance(geometry, Metric):
        return np.asarray(geometry.costs[:, chosen].min(axis=1))
    costs = np.full(len(chosen), geometry.height, dtype=np.int64)
    for height in reversed(range(geometry.height)):
        level = geometry.levels[height]
        costs[np.isin(level, level[chosen])] = height
    return costs


def _along(positions: Integers, marks: Integers) -> Integers:
    """Return how far positions are from the nearest of some marks; both rise."""
    above = np.searchsorted(marks, positions)
    near = [np.abs(positions - marks[np.clip(above - step, 0, len(marks) - 1)]) for step in (0, 1)]
    return np.asarray(np.minimum(*near))


def _beside_a_leaf(shape: LineWithLeaf, chosen: Bools) -> Integers:
    """Return the same where a leaf, the last value, hangs from the middle of the line."""
    away = to_leaf(shape)
    costs = np.append(away, 0)  # right if only the leaf is chosen
    if chosen[:-1].any():
        along = _along(shape.positions, shape.positions[chosen[:-1]])
        costs[:-1] = np.minimum(along, away) if chosen[-1] else along
        costs[-1] = 0 if chosen[-1] else away[chosen[:-1]].min()
    return costs


def to_leaf(shape: LineWithLeaf) -> Integers:
    """Return how far the values of a line are from the leaf beside it."""
    return np.asarray(np.abs(shape.positions - shape.middle) + shape.middle)


# Which t each value needs, for all values at once


BITS = 60  # of positions on a line; larger ones are rounded where balls are measured
ROUNDED = 4  # how far a rounded distance can be off, at most, and how far the unit can


def of_one_value(geometry: Geometry, reference: Ints) -> tuple[Integers, int]:
    """Return how far from these counts a class is that shows one value only, per value: numerators and denominator.

    It is Σ p_j · d(j, v), since every row has to be moved to the value.

    >>> from tclose.distance.ground import Ordered
    >>> of_one_value(Ordered(3).geometry(3), np.array([1, 2, 1]))
    (array([4, 2, 4]), 8)
    """
    total, unit = int(reference.sum()), unit_of(geometry)
    bound = max(total * unit, 1)
    if isinstance(geometry, Line):
        work = _work_on_line(geometry.positions, reference)
    elif isinstance(geometry, LineWithLeaf):
        away, rows = widened(to_leaf(geometry), bound), reference[:-1]
        along = _work_on_line(geometry.positions, rows)
        work = np.append(along + away * int(reference[-1]), (away * rows).sum())
    elif isinstance(geometry, Metric):
        work = np.asarray(widened(geometry.costs, bound) @ reference)
    else:
        work = widened(np.zeros(len(reference), dtype=np.int64), bound)
        for level in geometry.below_root:
            work = work + (total - _rows_at(level, reference))
    return work, bound


def least_to_one_value(geometry: Geometry, reference: Ints, chosen: Bools) -> Fraction | None:
    """Return the least distance of a class that shows nothing but one of the chosen values; None if none is chosen."""
    work, denominator = of_one_value(geometry, reference)
    return Fraction(int(work[chosen].min()), denominator) if chosen.any() else None


def least_to_reach(geometry: Geometry, reference: Ints, wanted: Ints) -> Fraction | None:
    """Return the least t at which some value gets its wanted rows, in a class of as many rows as the table.

    `wanted` counts half rows; 0 means that a value is not asked about. None if no value is. The answer is exact, but
    for positions on a line of more than 60 bits, which are rounded: there it is a lower bound, short by some 10⁻¹⁷.
    """
    asked = np.flatnonzero(wanted)
    if not len(asked):
        return None
    rows, unit = 2 * reference, unit_of(geometry)
    if isinstance(geometry, Tree):
        work: Integers = _in_tree(geometry, rows, wanted)[asked]
    elif isinstance(geometry, Metric):
        work = np.array([_nearest_first(geometry.costs[v], rows, v, int(wanted[v])) for v in asked.tolist()], object)
    else:
        shape, rounded = _short(geometry)
        work, unit = _on_line(shape, rows, wanted, asked), unit_of(shape)
        if rounded:
            work, unit = np.maximum(work - ROUNDED * wanted[asked], 0), unit + ROUNDED
    return Fraction(int(work.min()), 2 * int(reference.sum()) * unit)


def _work_on_line(positions: Integers, rows: Ints) -> Integers:
    """Return Σ n_j · |x_j - x_i| for each position x_i, by running sums."""
    wide = widened(positions, 4 * (int(rows.sum()) + 1) * max(largest_of(positions), 1))
    below, area = np.cumsum(rows), np.cumsum(rows * wide)
    return np.asarray(wide * (2 * below - below[-1]) - 2 * area + area[-1])


def _rows_at(level: Ints, rows: Ints) -> Ints:
    """Return the rows below the node above each leaf, at one height of a tree."""
    first = np.flatnonzero(np.concatenate(([True], level[1:] != level[:-1])))
    return np.repeat(np.add.reduceat(rows, first), np.diff(first, append=len(level)))


def _in_tree(tree: Tree, rows: Ints, wanted: Ints) -> Integers:
    """Return what it costs each value to get its wanted rows: siblings come first, then cousins."""
    left, within = np.maximum(wanted - rows, 0), rows
    work = widened(np.zeros(len(rows), dtype=np.int64), tree.height * int(rows.sum()))
    for height, level in enumerate(tree.levels[1:], start=1):
        wider = _rows_at(level, rows)
        taken = np.minimum(left, wider - within)
        left, within, work = left - taken, wider, work + height * taken
    return work


def _nearest_first(costs: Integers, rows: Ints, value: int, wanted: int) -> int:
    """Return what it costs one value to get its wanted rows; `costs` lead to it."""
    others = np.flatnonzero(np.arange(len(rows)) != value)
    order = others[np.argsort(costs[others], kind="stable")]
    taken = np.diff(np.minimum(np.cumsum(rows[order]), max(wanted - int(rows[value]), 0)), prepend=0)
    each = widened(costs[order], max(wanted, 1) * max(largest_of(costs), 1))
    return int((taken * each).sum())


def _short(geometry: Line | LineWithLeaf) -> tuple[Line | LineWithLeaf, bool]:
    """Return a line whose positions have few enough bits to be added, and whether they had to be rounded for it."""
    line = geometry if isinstance(geometry, Line) else geometry.line
    surplus = line.length.bit_length() - BITS
    if surplus <= 0:
        return geometry, False
    short = Line((line.positions >> surplus).astype(np.int64))
    return (short if isinstance(geometry, Line) else LineWithLeaf(short)), True


def _on_line(shape: Line | LineWithLeaf, rows: Ints, wanted: Ints, asked: Ints) -> Integers:
    """Return what it costs the asked values to get their wanted rows: those of the smallest ball that has as many."""
    if isinstance(shape, Line):
        return _Balls.of(shape.positions, rows).work(asked, wanted[asked])
    of_line, away = asked[asked < shape.leaf], to_leaf(shape)
    balls = _Balls(shape.positions, rows[:-1], away, int(rows[-1]))
    work = balls.work(of_line, wanted[of_line])
    if wanted[-1]:
        own = _nearest_first(np.append(away, 0), rows, shape.leaf, int(wanted[-1]))
        work = np.append(work, np.array([own], dtype=object))
    return work


@dataclass(frozen=True, eq=False)
class _Balls:
    """The rows around each position of a line, and of a leaf beside it."""

    positions: Ints
    rows: Ints
    away: Ints  # how far the leaf is from each position
    leaf: int  # rows of the leaf

    @classmethod
    def of(cls, positions: Ints, rows: Ints) -> _Balls:
        """Return those of a line without a leaf."""
        return cls(positions, rows, np.zeros_like(positions), 0)

    def work(self, values: Ints, wanted: Ints) -> Integers:
        """Return what it costs to move, to each of these values, the nearest rows until it has the wanted ones."""
        if not len(values):
            return np.zeros(0, dtype=np.int64)
        radius = self._radius(values, wanted)
        low, high, count = self._ball(values, radius - 1)  # all of these rows move, and some of those at the radius
        bound = 8 * (int(self.rows.sum()) + self.leaf + 1) * (int(self.positions[-1]) + int(self.away.max()) + 1)
        wide = widened(self.positions, bound)
        seen, area = (np.concatenate(([0], np.cumsum(each))) for each in (self.rows, self.rows * wide))
        left = wide[values] * (seen[values] - seen[low]) - (area[values] - area[low])
        right = area[high] - area[values] - wide[values] * (seen[high] - seen[values])
        whole = np.where(radius > 0, left + right, 0) + self._leaf_within(values, radius - 1) * self.away[values]
        return np.asarray(whole + widened(radius, bound) * np.maximum(wanted - count, 0))

    def _radius(self, values: Ints, wanted: Ints) -> Ints:
        """Return the radius of the smallest ball around each value that has the wanted rows."""
        low = np.zeros(len(values), dtype=np.int64)
        high = np.full(len(values), int(self.positions[-1]) + int(self.away.max()), dtype=np.int64)
        while (low < high).any():
            middle = (low + high) // 2
            enough = self._ball(values, middle)[2] >= wanted
            low, high = np.where(enough, low, middle + 1), np.where(enough, middle, high)
        return low

    def _ball(self, values: Ints, radius: Ints) -> tuple[Ints, Ints, Ints]:
        """Return where the ball around each value begins and ends on the line, and how many rows it has."""
        seen = np.concatenate(([0], np.cumsum(self.rows)))
        low = np.searchsorted(self.positions, self.positions[values] - radius, side="left")
        high = np.maximum(np.searchsorted(self.positions, self.positions[values] + radius, side="right"), low)
        return low, high, seen[high] - seen[low] + self._leaf_within(values, radius)

    def _leaf_within(self, values: Ints, radius: Ints) -> Ints:
        return np.where(self.away[values] <= radius, self.leaf, 0)
