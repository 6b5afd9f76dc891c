"""Tuples of values of several attributes: as far apart as their values are on average (Li et al. 2007, section 8).

A mean of metrics is a metric, so the earth mover's distance between tuples is a transportation problem over the tuples
that occur. It is never below the mean of the distances of the single attributes (docs/method.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from tclose.distance.bracket import Bracket
from tclose.distance.counts import Counts
from tclose.distance.geometry import Geometry, Line, LineWithLeaf, Tree, TupleMetric
from tclose.distance.matrix import Matrix
from tclose.distance.moves import extras
from tclose.distance.ratios import BracketedRatios, Integers, widened
from tclose.distance.transport import cheapest_flow
from tclose.errors import InputError
from tclose.types import Floats, Ints

FEW_ARCS = 64  # from sources to targets, of a problem that is solved at once
MOST_KNOWN = 200_000  # classes whose bracket is kept
LARGEST = 2**53  # of a cost, so that a walk over many tuples still fits into 64 bits
JOINT_NEAR = {  # what counts as near, as the end of a sentence
    "product": "tuples count as near when their values are near on average",
    "lexicographic": "tuples count as near when few others lie between them, sorted by their first value, then by the "
    "next",
}


@dataclass(frozen=True, eq=False)
class Product(Matrix):
    """`costs[i, j]` between tuples i and j are integers; `unit` is what all attributes at distance 1 would cost."""

    unit: int
    known: dict[tuple[bytes, bytes], tuple[int, int]] = field(default_factory=dict)  # brackets of the work of classes

    name = "product"

    @classmethod
    def of(cls, parts: Iterable[tuple[Geometry, Ints]]) -> Product:
        """Add up the ground distances of the attributes, given by their geometry and their value in each tuple."""
        costs = [_costs(geometry, values) for geometry, values in parts]
        common = math.lcm(*(unit for _, unit in costs))
        if common * len(costs) > LARGEST:
            raise InputError(
                "the distances of attributes taken together (product) have too many digits: put values into bins"
            )
        total = sum(np.asarray(between * (common // unit), dtype=np.int64) for between, unit in costs)
        return cls(np.asarray(total), common * len(costs))

    def geometry(self, values: int) -> TupleMetric:
        """Return the metric between the tuples."""
        return TupleMetric(self.costs, self.unit)

    @property
    def farthest(self) -> int:
        """The cost that counts as distance 1."""
        return self.unit

    def emd(self, counts: Counts, reference: Ints) -> BracketedRatios:
        """Return each class's earth mover's distance from the reference counts; it is solved where that matters."""
        if len(self.known) > MOST_KNOWN:
            self.known.clear()
        table = reference.tobytes()
        keys = [
            (table, counts.codes[low:high].tobytes() + counts.counts[low:high].tobytes())
            for low, high in zip(counts.starts, counts.ends, strict=True)
        ]
        for index, key in enumerate(keys):
            if key not in self.known:
                self.known[key] = self._bracket(counts.dense(index), reference)

        def solve(index: int) -> int:
            work = self._work(counts.dense(index), reference)
            self.known[keys[index]] = work, work
            return work

        lows, highs = (np.array([self.known[key][end] for key in keys], dtype=object) for end in (0, 1))
        return BracketedRatios(lows, counts.sizes, int(reference.sum()) * self.unit, highs, solve)

    def _bracket(self, row: Ints, reference: Ints) -> tuple[int, int]:
        """Return a lower and an upper bound on the work of a class; of a small problem, its work."""
        extra, _ = extras(row, reference)
        sources, targets = ([i for i, e in enumerate(extra) if e * sign > 0] for sign in (1, -1))
        if len(sources) * len(targets) <= FEW_ARCS or min(len(sources), len(targets)) == 1:
            work = self._work(row, reference)
            return work, work
        between = self.costs[np.ix_(sources, targets)]
        bracket = Bracket(between, [extra[i] for i in sources], [-extra[j] for j in targets])
        return bracket.low, bracket.high

    def _flow(self, extra: list[int]) -> list[tuple[int, int, int]]:
        return cheapest_flow(self.costs, extra, _proposed)


def _proposed(costs: Ints, supply: list[int], demand: list[int]) -> Floats:
    return Bracket(costs, supply, demand).proposal()


def _costs(geometry: Geometry, values: Ints) -> tuple[Integers, int]:
    """Return how far the values of any two tuples are apart, as integers, and which of them counts as 1."""
    if isinstance(geometry, Line):
        return _apart(geometry.positions[values]), geometry.length
    if isinstance(geometry, LineWithLeaf):
        places, is_leaf = np.append(geometry.positions, geometry.middle)[values], values == geometry.leaf
        return _apart(places) + geometry.middle * (is_leaf[:, None] != is_leaf), geometry.unit
    if isinstance(geometry, Tree):
        nodes = [level[values] for level in geometry.below_root]
        apart = sum(((level[:, None] != level).astype(np.int64) for level in nodes), np.zeros(2 * (len(values),), int))
        return apart, max(geometry.height, 1)
    return geometry.costs[np.ix_(values, values)], geometry.farthest


def _apart(places: Integers) -> Integers:
    wide = widened(places, 2 * int(places.max()))
    return np.asarray(np.abs(wide[:, None] - wide))
