"""A ground distance as a network whose shortest paths it is, so that few arcs carry every transport of earth.

The programme of Liang & Yuan moves mass between all pairs of values. On a line it is enough to move it to neighbours,
in a tree along its branches, between equal values through a hub: the cheapest flow costs the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tclose.distance import Geometry, Line, LineWithLeaf, Tree
from tclose.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class Network:
    """Arcs between nodes, the first of which are the values; distance 1 costs `unit`."""

    nodes: int
    tails: Ints
    heads: Ints
    costs: Floats
    unit: float

    @classmethod
    def of_edges(cls, nodes: int, ends: list[tuple[int, int]], costs: Floats, unit: float) -> Network:
        """Take edges, each of which may be used both ways."""
        one, other = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        both = np.concatenate((costs, costs)).astype(np.float64)
        return cls(nodes, np.concatenate((one, other)), np.concatenate((other, one)), both, float(max(unit, 1)))


def network_of(geometry: Geometry) -> Network:
    """Return the network of a ground distance."""
    if isinstance(geometry, Line):
        values, geometry = len(geometry.positions), geometry.rounded
        line = [(i, i + 1) for i in range(values - 1)]
        return Network.of_edges(values, line, np.diff(geometry.positions).astype(np.float64), geometry.length)
    if isinstance(geometry, LineWithLeaf):
        return _line_with_leaf(geometry)
    if isinstance(geometry, Tree):
        return _tree(geometry.levels)
    values = len(geometry.costs)
    pairs = np.argwhere(np.triu(np.ones((values, values)), 1))
    costs = geometry.costs[pairs[:, 0], pairs[:, 1]].astype(np.float64)
    return Network.of_edges(values, [(i, j) for i, j in pairs.tolist()], costs, geometry.farthest)


def _line_with_leaf(geometry: LineWithLeaf) -> Network:
    """One node more than values: the middle of the line, from which the leaf hangs."""
    middle = geometry.leaf + 1
    along = [middle if code == geometry.leaf else code for code in geometry.order.tolist()]
    costs = np.append(np.diff(geometry.places), geometry.middle).astype(np.float64)
    return Network.of_edges(middle + 1, [*pairwise(along), (middle, geometry.leaf)], costs, geometry.unit)


def _tree(levels: tuple[Ints, ...]) -> Network:
    """Two leaves that meet at height h are 2h branches apart, and 2H make up distance 1."""
    firsts = np.cumsum([0] + [int(level[-1]) + 1 for level in levels])
    branches: set[tuple[int, int]] = set()
    for height in range(len(levels) - 1):
        below, above = levels[height] + firsts[height], levels[height + 1] + firsts[height + 1]
        branches |= set(zip(below.tolist(), above.tolist(), strict=True))
    return Network.of_edges(int(firsts[-1]), sorted(branches), np.ones(len(branches)), 2 * (len(levels) - 1))
