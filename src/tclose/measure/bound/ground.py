"""The ground distance of an attribute as one shape for all kernels: a tree with lengths, or a matrix.

A line is a path, the missing value beside it a leaf at the middle of the path, and a hierarchy a tree. Every value is
a node. Lengths are integers over `unit`, rounded down where 64 bits are too few: a distance that is too short never
makes a bound too high.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from tclose.distance import Geometry, Line, LineWithLeaf, Metric, Tree
from tclose.partition.problem import Attribute
from tclose.types import Floats, Ints

FINEST = 2**30  # the largest unit


@dataclass(frozen=True, eq=False)
class Ground:
    """Nodes in an order in which parents come first; node 0 is the root. A matrix has no edges, its nodes are values.

    `counts` are the reference counts of each node; inner nodes have none.
    """

    parents: Ints
    lengths: Ints  # of the edge above each node
    unit: int  # the length that counts as 1
    node_of_value: Ints
    counts: Ints
    costs: Ints  # of a matrix: values × values; otherwise 0 × 0
    is_star: bool  # whether any two values are equally far apart
    line: Floats | None  # where each value lies on a line from 0 to 1, −1 for a value beside it
    t: Fraction

    @classmethod
    def of(cls, attribute: Attribute) -> Ground:
        """Return the shape of an attribute's distance, with its reference and its t."""
        assert attribute.t is not None
        geometry = attribute.geometry
        parents, lengths, unit, nodes, costs = _shape(geometry, len(attribute.reference))
        counts = np.zeros(len(parents), dtype=np.int64)
        counts[nodes] = attribute.reference
        star = isinstance(geometry, Tree) and geometry.is_star
        lengths_, unit_ = _fitted(lengths, unit), min(unit, FINEST)
        line = _places(geometry)
        return cls(np.array(parents), lengths_, unit_, nodes, counts, costs, star, line, attribute.t)

    @cached_property
    def shares(self) -> Floats:
        """The share of each node in the whole table."""
        return np.asarray(self.counts / self.counts.sum())

    @cached_property
    def edges(self) -> list[tuple[int, int, int]]:
        """Each node but the root with its parent and the length between them, as Python's integers."""
        return list(zip(range(len(self.parents)), self.parents.tolist(), self.lengths.tolist(), strict=True))[1:]

    @cached_property
    def rows(self) -> list[tuple[int, int]]:
        """Each node that occurs in the reference with its count, as Python's integers."""
        return [(node, count) for node, count in enumerate(self.counts.tolist()) if count]

    @cached_property
    def float_lengths(self) -> Floats:
        """The length of the edge above each node, as a share of the farthest distance."""
        return self.lengths / self.unit

    @cached_property
    def float_costs(self) -> Floats:
        """The matrix as shares of the farthest distance."""
        return self.costs / self.unit


def _shape(geometry: Geometry, values: int) -> tuple[list[int], list[int], int, Ints, Ints]:
    """Return parents, lengths, unit, the node of each value, and a matrix of costs."""
    none, own = np.zeros((0, 0), dtype=np.int64), np.arange(values)
    match geometry:
        case Line():
            return [0, *range(values - 1)], _gaps(geometry.positions), geometry.length, own, none
        case LineWithLeaf():
            return (*_with_leaf(geometry), none)
        case Tree():
            return (*_tree(geometry), none)
        case Metric():
            unit = geometry.farthest
            costs = _fitted(geometry.costs.ravel().tolist(), unit).reshape(geometry.costs.shape)
            return [0] * values, [0] * values, unit, own, costs


def _places(geometry: Geometry) -> Floats | None:
    match geometry:
        case Line():
            return np.array([int(place) / geometry.length for place in geometry.positions])
        case LineWithLeaf():
            return np.append([int(place) / geometry.unit for place in geometry.positions], -1.0)
    return None


def _gaps(positions: Ints) -> list[int]:
    return [0, *(int(b) - int(a) for a, b in pairwise(positions))]


def _with_leaf(geometry: LineWithLeaf) -> tuple[list[int], list[int], int, Ints]:
    """Return the path of the line's values and the middle, then the leaf, whose parent is the middle."""
    order, values = geometry.order, geometry.leaf + 1
    place = np.argsort(order)  # on the path; the middle stands where the leaf hangs
    nodes = place.copy()
    nodes[geometry.leaf] = values
    parents = [0, *range(values - 1), int(place[geometry.leaf])]
    return parents, [*_gaps(geometry.places), geometry.middle], geometry.unit, nodes


def _tree(geometry: Tree) -> tuple[list[int], list[int], int, Ints]:
    """Return the levels from the root down; every edge is half of 1/height, so that leaves meet after whole steps."""
    parents, lengths, above = [0], [0], np.zeros(len(geometry.levels[0]), dtype=np.int64)
    for level in reversed(geometry.below_root):
        _, first = np.unique(level, return_index=True)
        start = len(parents)
        parents += above[first].tolist()
        lengths += [1] * len(first)
        above = start + np.unique(level, return_inverse=True)[1]
    return parents, lengths, max(2 * geometry.height, 1), above


def _fitted(lengths: list[int], unit: int) -> Ints:
    """Return lengths over a unit that kernels can multiply, rounded down."""
    return np.array([length * FINEST // unit if unit > FINEST else length for length in lengths], dtype=np.int64)
