"""Δ: how far a fragment's rows can be from the fragment, whichever rows are drawn (001, section 2.3, corrected).

The farthest that mass can be moved inside a fragment is onto one of its values, as the cost is convex in the
target: Δ(f) = max_j Σ_v p_v·d(v, j) over the values j of f. On a line only the two ends can be farthest (theorem
10); in a tree of height H, d(v, j) is the share of the heights at which v and j lie under different nodes.
Every figure is an integer; Δ is that integer over `unit` times the rows of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Counts, Geometry, Line, LineWithLeaf, Tree
from tclose.errors import Unsuited
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared.kernels import kernel, part
from tclose.types import Bools, Floats, Ints

# The worst cases on both sides of every cut through a fragment, compiled


@part
def _line_prefixes(x: Floats, step: int, parts: int, printed: bool, backwards: bool) -> Floats:
    """Return max(S, mass·width − S), `printed` over width, of the first step, 2·step, … rows from either end."""
    worst = np.zeros(parts - 1)
    lo = hi = x[-1] if backwards else x[0]
    moment = 0.0
    for cut in range(parts - 1):
        for i in range(cut * step, (cut + 1) * step):
            value = x[len(x) - 1 - i] if backwards else x[i]
            lo, hi = min(lo, value), max(hi, value)
            moment += value
        mass = (cut + 1) * step
        worst[cut] = max(moment - mass * lo, mass * hi - moment)
        if printed and hi > lo:
            worst[cut] /= hi - lo
    return worst


@kernel
def line_cuts(x: Floats, step: int, printed: bool) -> tuple[Floats, Floats]:
    """Return the worst case left and right of each cut at a multiple of `step` rows, values on a line."""
    parts = len(x) // step
    left = _line_prefixes(x, step, parts, printed, False)
    return left, _line_prefixes(x, step, parts, printed, True)[::-1].copy()


@kernel
def all_line_cuts(places: Floats, orders: Ints, step: int) -> Floats:
    """Return left and right × orders × cuts × attributes, where all values are on lines.

    `places` are those of every attribute's rows, and `orders` hold the rows of one fragment, in one order each.
    """
    parts = orders.shape[1] // step
    sides = np.empty((2, len(orders), parts - 1, len(places)))
    for i in range(len(orders)):
        for a in range(len(places)):
            x = places[a][orders[i]]
            sides[0, i, :, a] = _line_prefixes(x, step, parts, False, False)
            sides[1, i, :, a] = _line_prefixes(x, step, parts, False, True)[::-1]
    return sides


@part
def _leaf_prefixes(x: Floats, is_leaf: Bools, middle: float, step: int, parts: int, backwards: bool) -> Floats:
    """Return the work to the farthest of both ends and the leaf, for the first step, 2·step, … rows from either end."""
    worst = np.zeros(parts - 1)
    lo, hi, moment, mass, leaves, to_leaf = np.inf, -np.inf, 0.0, 0, 0, 0.0
    for cut in range(parts - 1):
        for i in range(cut * step, (cut + 1) * step):
            row = len(x) - 1 - i if backwards else i
            if is_leaf[row]:
                leaves += 1
            else:
                lo, hi = min(lo, x[row]), max(hi, x[row])
                moment += x[row]
                mass += 1
                to_leaf += abs(x[row] - middle) + middle
        if mass > 0:
            worst[cut] = moment - mass * lo + leaves * (abs(lo - middle) + middle)
            worst[cut] = max(worst[cut], mass * hi - moment + leaves * (abs(hi - middle) + middle))
        if leaves > 0:
            worst[cut] = max(worst[cut], to_leaf)
    return worst


@kernel
def leaf_cuts(x: Floats, is_leaf: Bools, middle: float, step: int) -> tuple[Floats, Floats]:
    """Return the worst case left and right of each cut, values on a line and a leaf beside it."""
    parts = len(x) // step
    left = _leaf_prefixes(x, is_leaf, middle, step, parts, False)
    return left, _leaf_prefixes(x, is_leaf, middle, step, parts, True)[::-1].copy()


@part
def _tree_prefixes(codes: Ints, nodes: Ints, total: int, step: int, parts: int, backwards: bool) -> Floats:
    """Return Σ_h (mass − rows under j's node at height h) for the worst leaf j that occurs."""
    height = len(nodes)
    under = np.zeros(total, dtype=np.int64)
    leaves = np.empty(min(len(codes), nodes.shape[1]), dtype=np.int64)
    distinct = 0
    worst = np.zeros(parts - 1)
    for cut in range(parts - 1):
        for i in range(cut * step, (cut + 1) * step):
            leaf = codes[len(codes) - 1 - i] if backwards else codes[i]
            if under[nodes[0, leaf]] == 0:
                leaves[distinct] = leaf
                distinct += 1
            for h in range(height):
                under[nodes[h, leaf]] += 1
        least = height * len(codes)
        for j in range(distinct):
            near = 0
            for h in range(height):
                near += under[nodes[h, leaves[j]]]
            least = min(least, near)
        worst[cut] = height * (cut + 1) * step - least
    return worst


@kernel
def tree_cuts(codes: Ints, nodes: Ints, total: int, step: int) -> tuple[Floats, Floats]:
    """Return the worst case left and right of each cut, values in a tree; `nodes[h]` is numbered apart per height."""
    parts = len(codes) // step
    left = _tree_prefixes(codes, nodes, total, step, parts, False)
    return left, _tree_prefixes(codes, nodes, total, step, parts, True)[::-1].copy()


@part
def _cost_prefixes(codes: Ints, costs: Floats, step: int, parts: int, backwards: bool) -> Floats:
    """Return max_j Σ_v n_v·cost(v, j) over the values j that occur."""
    work = np.zeros(len(costs))
    occurs = np.zeros(len(costs), dtype=np.bool_)
    worst = np.zeros(parts - 1)
    for cut in range(parts - 1):
        for i in range(cut * step, (cut + 1) * step):
            value = codes[len(codes) - 1 - i] if backwards else codes[i]
            occurs[value] = True
            for j in range(len(costs)):
                work[j] += costs[value, j]
        for j in range(len(costs)):
            if occurs[j]:
                worst[cut] = max(worst[cut], work[j])
    return worst


@kernel
def cost_cuts(codes: Ints, costs: Floats, step: int) -> tuple[Floats, Floats]:
    """Return the worst case left and right of each cut, values in any metric."""
    parts = len(codes) // step
    left = _cost_prefixes(codes, costs, step, parts, False)
    return left, _cost_prefixes(codes, costs, step, parts, True)[::-1].copy()


# The worst cases of fragments, by kind of distance


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
        return line_cuts(self.places(codes), step, False)

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
        left, right = line_cuts(self.places(codes), step, True)
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
        return leaf_cuts(self._floats[codes], codes == self.geometry.leaf, float(self.geometry.middle), step)

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
        return tree_cuts(codes, nodes, int(nodes[-1, -1]) + 1, step)

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
        return cost_cuts(codes, self._floats, step)

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


# A judged attribute: its codes, its worst cases and its threshold


@dataclass(frozen=True, eq=False)
class SpreadAttribute:
    """A sensitive attribute with a t, as the search for a fragmentation sees it."""

    sensitive: Attribute
    spread: AttributeSpread
    t: Fraction

    @property
    def codes(self) -> Ints:
        """One code per row."""
        return self.sensitive.codes

    @property
    def unit(self) -> int:
        """The ground distance that counts as 1."""
        return self.spread.unit

    @cached_property
    def row_counts(self) -> Ints:
        """The counts of the rows at hand."""
        return self.sensitive.row_counts

    @cached_property
    def apart(self) -> Fraction:
        """How far all rows at hand are from the reference: 0 where they are the whole table."""
        return self.sensitive.emd_of(self.codes, self.sensitive.reference)

    @cached_property
    def ranks(self) -> Ints:
        """Each row's place in the order along which fragments are cut."""
        return self.spread.ranks()[self.codes]

    def worst(self, labels: Ints, rows: Ints) -> int:
        """Return the sum of the worst cases of the fragments of these rows, exactly."""
        return int(self.spread.worst(labels, self.codes[rows]).sum()) if len(rows) else 0


def spread_attributes(problem: Problem, bound: str) -> tuple[SpreadAttribute, ...]:
    """Return the attributes that constrain classes; one of a single value never does."""
    return tuple(
        SpreadAttribute(attribute, spread_of(attribute.geometry, bound), attribute.t)
        for attribute in problem.sensitive
        if attribute.t is not None and len(attribute.reference) > 1
    )


def orders(attributes: tuple[SpreadAttribute, ...]) -> tuple[Ints, ...]:
    """Return the rows in the order of each attribute; the others break ties."""
    ranks = [attribute.ranks for attribute in attributes]
    return tuple(np.lexsort((*ranks[:a], *ranks[a + 1 :], ranks[a])) for a in range(len(ranks)))
