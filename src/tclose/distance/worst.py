"""What a t allows: the worst classes that the earth mover's distance permits, in shares of a column's own values.

A class is within t of the table if its rows can be moved at a cost of t, where a row costs its ground distance. So the
largest share of a set of values is a fractional knapsack: rows from outside the set move into it, nearest first, until
t is used up. The same sum answers the reverse: which t a share needs. `reaching.py` asks it for all values at once.

Counts, distances and t are integers and fractions throughout: an answer is compared with a policy's t.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tclose.distance.geometry import Geometry, Line, LineWithLeaf, Metric, Tree
from tclose.distance.ratios import Integers, largest_of, widened
from tclose.types import Bools, Floats, Ints


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

    >>> from tclose.distance.equal import Equal
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
