"""Δ: how far a fragment's rows can be from the fragment, whichever rows are drawn (001, section 2.3, corrected).

The farthest that mass can be moved inside a fragment is onto one of its values, as the cost is convex in the
target: Δ(f) = max_j Σ_v p_v·d(v, j) over the values j of f. On a line only the two ends can be farthest (theorem
10); in a tree of height H, d(v, j) is the share of the heights at which v and j lie under different nodes.
Every figure is an integer; Δ is that integer over `unit` times the rows of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Counts, Geometry, Line, LineWithLeaf, Tree
from tclose.errors import Unsuited
from tclose.partition.fragmentation import kernels
from tclose.types import Floats, Ints

Integers = NDArray[Any]  # int64, or object holding Python integers

SAFE = 2**62


class AttributeSpread(Protocol):
    """The worst cases of one attribute, for one kind of ground distance."""

    @property
    def unit(self) -> int:
        """The ground distance that counts as 1."""

    def ranks(self) -> Ints:
        """Return each value's place in the order along which fragments are cut."""

    def cuts(self, codes: Ints, step: int) -> tuple[Floats, Floats]:
        """Return the worst case left and right of every cut at a multiple of `step` rows (floats: to choose only)."""

    def worst(self, labels: Ints, codes: Ints) -> Integers:
        """Return the worst case of every fragment, exactly; `labels` holds 0, 1, 2, … with none left out."""


@dataclass(frozen=True, eq=False)
class LineSpread:
    """Values at integer positions on a line: max(S, mass·width − S), S the first moment about the lower end."""

    positions: Integers

    @property
    def unit(self) -> int:
        """The length of the line."""
        return max(int(self.positions[-1]), 1)

    def ranks(self) -> Ints:
        """Return the order of the line itself."""
        return np.arange(len(self.positions))

    def cuts(self, codes: Ints, step: int) -> tuple[Floats, Floats]:
        """Return the worst case left and right of every cut."""
        return kernels.line_cuts(self.places(codes), step, False)

    def places(self, codes: Ints) -> Floats:
        """Return where the values of some rows lie."""
        return self._floats[codes]

    def worst(self, labels: Ints, codes: Ints) -> Integers:
        """Return the worst case of every fragment, exactly."""
        return self._farther_end(labels, codes)[0]

    def _farther_end(self, labels: Ints, codes: Ints) -> tuple[Integers, Integers]:
        """Return max(S, mass·width − S) and the width of every fragment."""
        order = np.lexsort((codes, labels))
        starts = np.searchsorted(labels[order], np.arange(int(labels.max()) + 1))
        ends = np.append(starts[1:], len(order))
        exact = self.positions.astype(object if int(self.positions[-1]) * len(codes) >= SAFE else np.int64)
        x, mass = exact[codes[order]], ends - starts
        low, high, moment = x[starts], x[ends - 1], np.add.reduceat(x, starts)
        return np.maximum(moment - mass * low, mass * high - moment), high - low

    @cached_property
    def _floats(self) -> Floats:
        return self.positions.astype(np.float64)


class PrintedLineSpread(LineSpread):
    """The same as printed, over the fragment's own width: rounded up, as the widths have no common multiple."""

    unit = 2**30

    def cuts(self, codes: Ints, step: int) -> tuple[Floats, Floats]:
        """Return the worst case left and right of every cut."""
        left, right = kernels.line_cuts(self.places(codes), step, True)
        return left * self.unit, right * self.unit

    def worst(self, labels: Ints, codes: Ints) -> Integers:
        """Return the worst case of every fragment, rounded up."""
        farther, width = self._farther_end(labels, codes)
        return np.array([-(-int(f) * self.unit // max(int(w), 1)) for f, w in zip(farther, width, strict=True)])


@dataclass(frozen=True, eq=False)
class LeafSpread:
    """Values on a line and a missing value beside it: the farthest is one of the two ends, or the missing value."""

    geometry: LineWithLeaf

    @property
    def unit(self) -> int:
        """The distance that counts as 1."""
        return self.geometry.unit

    def ranks(self) -> Ints:
        """Return the order of the line, and then the missing value: one cut parts it from all others."""
        return np.arange(self.geometry.leaf + 1)

    def cuts(self, codes: Ints, step: int) -> tuple[Floats, Floats]:
        """Return the worst case left and right of every cut."""
        return kernels.leaf_cuts(self._floats[codes], codes == self.geometry.leaf, float(self.geometry.middle), step)

    def worst(self, labels: Ints, codes: Ints) -> Integers:
        """Return the worst case of every fragment, exactly."""
        order = np.lexsort((codes, labels))
        starts = np.searchsorted(labels[order], np.arange(int(labels.max()) + 1))
        codes, unit, middle = codes[order], self.unit, self.geometry.middle
        exact = np.append(self.geometry.positions, middle).astype(object if unit * len(codes) >= SAFE else np.int64)
        x, is_leaf = exact[codes], codes == self.geometry.leaf
        missing = np.add.reduceat(is_leaf.astype(exact.dtype), starts)
        mass = np.diff(starts, append=len(codes)) - missing
        low = np.minimum.reduceat(np.where(is_leaf, unit, x), starts)
        high = np.maximum.reduceat(np.where(is_leaf, 0, x), starts)
        moment = np.add.reduceat(np.where(is_leaf, 0, x), starts)
        to_low = moment - mass * low + missing * (abs(low - middle) + middle)
        to_high = mass * high - moment + missing * (abs(high - middle) + middle)
        to_leaf = np.add.reduceat(np.where(is_leaf, 0, abs(x - middle) + middle), starts)
        ends = np.where(mass > 0, np.maximum(to_low, to_high), 0)
        return np.maximum(ends, np.where(missing > 0, to_leaf, 0))

    @cached_property
    def _floats(self) -> Floats:
        return np.append(self.geometry.positions, self.geometry.middle).astype(np.float64)


@dataclass(frozen=True, eq=False)
class TreeSpread:
    """Leaves under the nodes of `levels` (without the root): H·mass − the least Σ_h of rows under a leaf's nodes."""

    levels: tuple[Ints, ...]

    @property
    def unit(self) -> int:
        """The height of the tree."""
        return max(len(self.levels), 1)

    def ranks(self) -> Ints:
        """Return the order of the tree's leaves, in which every subtree is a stretch."""
        return np.arange(len(self.levels[0]) if self.levels else 1)

    def cuts(self, codes: Ints, step: int) -> tuple[Floats, Floats]:
        """Return the worst case left and right of every cut."""
        nodes = self._numbered_apart
        return kernels.tree_cuts(codes, nodes, int(nodes[-1, -1]) + 1, step)

    def worst(self, labels: Ints, codes: Ints) -> Integers:
        """Return the worst case of every fragment, exactly."""
        leaves = Counts.from_codes(labels, codes, len(self.ranks()))
        under = np.zeros(len(leaves.codes), dtype=np.int64)
        for level in self.levels:
            key = leaves.per_entry(np.arange(len(leaves))) * (int(level[-1]) + 1) + level[leaves.codes]
            _, node_of = np.unique(key, return_inverse=True)
            under += np.bincount(node_of, weights=leaves.counts).astype(np.int64)[node_of]
        return len(self.levels) * leaves.sizes - np.minimum.reduceat(under, leaves.starts)

    @cached_property
    def _numbered_apart(self) -> Ints:
        firsts = np.cumsum([0] + [int(level[-1]) + 1 for level in self.levels[:-1]])
        return np.array([level + first for level, first in zip(self.levels, firsts, strict=True)], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class MetricSpread:
    """Values any metric apart, as a matrix of integer costs."""

    costs: Ints

    @property
    def unit(self) -> int:
        """The largest cost."""
        return max(int(self.costs.max()), 1)

    def ranks(self) -> Ints:
        """Return the values in order from one end of the farthest pair to the other."""
        u, v = np.unravel_index(int(self.costs.argmax()), self.costs.shape)
        order = np.argsort(self.costs[u] - self.costs[v], kind="stable")
        return np.argsort(order, kind="stable")

    def cuts(self, codes: Ints, step: int) -> tuple[Floats, Floats]:
        """Return the worst case left and right of every cut."""
        return kernels.cost_cuts(codes, self._floats, step)

    def worst(self, labels: Ints, codes: Ints) -> Integers:
        """Return the worst case of every fragment, exactly."""
        counts = Counts.from_codes(labels, codes, len(self.costs))
        exact = self.costs.astype(object if self.unit * len(codes) >= SAFE else np.int64)
        entries = [slice(low, high) for low, high in zip(counts.starts, counts.ends, strict=True)]
        return np.array([(counts.counts[e] @ exact[np.ix_(counts.codes[e], counts.codes[e])]).max() for e in entries])

    @cached_property
    def _floats(self) -> Floats:
        return self.costs.astype(np.float64)


def spread_of(geometry: Geometry, bound: str) -> AttributeSpread:
    """Return the worst cases that belong to a ground distance; the paper prints a bound for lines only."""
    if isinstance(geometry, Line):
        if geometry.rounded is not geometry:
            raise Unsuited("fragmentation cannot weigh values whose range has over 300 digits")
        return (PrintedLineSpread if bound == "published" else LineSpread)(geometry.positions)
    if isinstance(geometry, LineWithLeaf):
        return LeafSpread(geometry)
    return TreeSpread(geometry.below_root) if isinstance(geometry, Tree) else MetricSpread(geometry.costs)
