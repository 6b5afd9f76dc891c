"""Part the rows into cells, each of which could be a class: stratified bisection with as few strata as will do.

With one stratum a cut is Mondrian's (LeFevre et al. 2006); with many, both sides take the same share of every stratum
of the sensitive space, as the fragment methods do. Each node takes the fewest for which both sides pass the exact test.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tclose.partition.shared.kernels import kernel
from tclose.partition.weave.aims import Aims
from tclose.partition.weave.loss import MEAN, SET, TREE, Axes
from tclose.partition.weave.threads import in_threads
from tclose.partition.weave.work import limit, work_of
from tclose.types import Floats, Ints, SmallInts

Sides = NDArray[np.bool_]

DEPTH = 8  # times that the sensitive space is halved, at most


def views_of(axes: Axes) -> SmallInts:
    """Return the rows in the order of each axis in turn, ties in the order of the axes that follow."""
    axis_count = len(axes.kinds)
    keys = [axes.codes[:, q] for q in range(axis_count)]
    views = [np.lexsort([keys[(q + step) % axis_count] for step in range(axis_count)][::-1]) for q in range(axis_count)]
    return np.array(views or [np.arange(len(axes.codes))], dtype=np.int32)


def strata_of(aims: Aims) -> SmallInts:
    """Return a number per row whose first bits tell the half, quarter, … of the sensitive space that holds it."""
    rows, attributes = aims.codes.shape
    path = np.zeros(rows, dtype=np.int32)
    if not attributes:
        return path
    orders = [np.argsort(column, kind="stable") for column in aims.codes.T]
    for level in range(DEPTH):
        path = _deeper(path, orders[level % attributes])
    return path


@kernel
def _deeper(path: SmallInts, order: Ints) -> SmallInts:
    """Halve every stratum in the order of one attribute."""
    sizes = np.bincount(path)
    seen = np.zeros_like(sizes)
    deeper = np.empty_like(path)
    for row in order:
        stratum = path[row]
        deeper[row] = 2 * stratum + (2 * seen[stratum] >= sizes[stratum])
        seen[stratum] += 1
    return deeper


def cells_of(
    axes: Axes, aims: Aims, views: SmallInts, k: int, most: int, share: float, progress: Callable[[float], None]
) -> list[SmallInts]:
    """Return the rows of each cell, in the order of the first view.

    A cell has as many rows as `most`, or more where no cut leaves both sides with k rows within `share` of t.
    """
    strata = strata_of(aims)
    tried, chosen = np.zeros((2, len(axes.codes)), dtype=np.bool_)  # a node of the bisection writes to its rows alone
    cells: list[SmallInts] = []
    stack = [(views, 0)]

    def halved(node: tuple[SmallInts, int]) -> list[tuple[SmallInts, int]]:
        orders, depth = node
        if orders.shape[1] <= most:
            return [node]
        depth = _halve(axes, aims, orders, strata, depth, k, share, tried, chosen)
        return [node] if depth < 0 else [(half, depth) for half in _halves(orders, chosen)]

    while stack:
        largest = max(orders.shape[1] for orders, _ in stack)
        progress(1.0 - np.log2(max(largest / most, 1.0)) / max(np.log2(len(axes.codes) / most), 1.0))
        halves = list(in_threads(halved, stack))
        cells += [node[0][0][0] for node in halves if len(node) == 1]
        stack = [half for node in halves if len(node) == 2 for half in node]
    return cells


@kernel
def _halve(
    axes: Axes,
    aims: Aims,
    orders: SmallInts,
    strata: SmallInts,
    depth: int,
    k: int,
    share: float,
    tried: Sides,
    chosen: Sides,
) -> int:
    """Choose which rows go right; return with how many halvings of the sensitive space, -1 where no cut passes.

    `orders` holds the same rows in the order of each view.
    """
    least = np.inf
    for bits in range(depth, DEPTH + 1, 2):
        for q in range(len(orders)):
            _send(axes, orders[q], strata, bits, q, tried)
            if _passes(aims, orders[0], tried, k, share):
                scatter = _scatter(axes, orders[0], tried)
                if scatter < least:
                    least = scatter
                    for row in orders[0]:
                        chosen[row] = tried[row]
        if least < np.inf:
            return int(bits)
    return -1


@kernel
def _halves(orders: SmallInts, chosen: Sides) -> tuple[SmallInts, SmallInts]:
    """Part the rows, in every order."""
    right = 0
    for row in orders[0]:
        right += chosen[row]
    views, rows = orders.shape
    halves = (np.empty((views, rows - right), dtype=np.int32), np.empty((views, right), dtype=np.int32))
    for q in range(views):
        there = 0
        for i in range(rows):
            row = orders[q, i]
            if chosen[row]:
                halves[1][q, there] = row
                there += 1
            else:
                halves[0][q, i - there] = row
    return halves


@kernel
def _send(axes: Axes, order: SmallInts, strata: SmallInts, bits: int, q: int, right: Sides) -> None:
    """Send of every stratum the later half, in the order of one axis, to the right."""
    if bits == 0:
        middle = _label_change(axes, order, q) if len(axes.kinds) else len(order) // 2
        for i in range(len(order)):
            right[order[i]] = i >= middle
        return
    left = np.zeros(1 << bits, dtype=np.int64)
    for row in order:
        left[strata[row] >> (DEPTH - bits)] += 1
    odd = 0
    for stratum in range(len(left)):
        if left[stratum]:
            left[stratum] = (left[stratum] + odd) // 2
            odd = 1 - odd
    for row in order:
        stratum = strata[row] >> (DEPTH - bits)
        left[stratum] -= 1
        right[row] = left[stratum] < 0


@kernel
def _label_change(axes: Axes, order: SmallInts, q: int) -> int:
    """Return the place nearest to the middle half's centre at which the highest label changes, or the value."""
    best, highest, size = len(order) // 2, -1, len(order)
    for step in range(size // 4):
        for i in (size // 2 - step, size // 2 + step):
            before, after = axes.codes[order[i - 1], q], axes.codes[order[i], q]
            height = 0 if before != after else -1
            if axes.kinds[q] == TREE and before >= 0 and height == 0:
                for h in range(1, axes.depth[q]):
                    level = axes.start[q] + h * axes.leaves[q]
                    if axes.nodes[level + before] != axes.nodes[level + after]:
                        height = h
            if height > highest:
                best, highest = i, height
    return best


@kernel
def _passes(aims: Aims, rows: SmallInts, right: Sides, k: int, share: float) -> bool:
    """Tell whether both sides have k rows and are within their share of every t."""
    values = np.zeros((2, aims.value[-1]), dtype=np.int64)
    sizes = np.zeros(2, dtype=np.int64)
    for row in rows:
        here = int(right[row])
        sizes[here] += 1
        for a in range(len(aims.kinds)):
            values[here, aims.value[a] + aims.codes[row, a]] += 1
    if sizes.min() < k:
        return False
    for here in range(2):
        counts = beyond(aims, values[here])
        for a in range(len(aims.kinds)):
            if work_of(aims, counts, sizes[here], a) > share * limit(aims, sizes[here], a):
                return False
    return True


@kernel
def beyond(aims: Aims, values: Ints) -> SmallInts:
    """Turn counts per value into counts beyond each edge."""
    counts = np.zeros(len(aims.weight), dtype=np.int32)
    for a in range(len(aims.kinds)):
        seen = 0
        for v in range(aims.value[a + 1] - aims.value[a]):
            here = values[aims.value[a] + v]
            seen += here
            if aims.depth[a] == 0:
                if aims.edge[a] + v < aims.edge[a + 1]:
                    counts[aims.edge[a] + v] = seen
            else:
                for h in range(aims.depth[a]):
                    counts[aims.above[aims.up[a] + v * aims.depth[a] + h]] += here
    return counts


@kernel
def _scatter(axes: Axes, rows: SmallInts, right: Sides) -> float:
    """Return what two random rows of one side lose together, on average, summed over all rows."""
    scatter = 0.0
    for q in range(len(axes.kinds)):
        shown = np.zeros((2, axes.leaves[q] + 1))  # rows of either side; a missing value, -1, is the last
        for row in rows:
            shown[int(right[row]), axes.codes[row, q]] += 1.0
        for here in range(2):
            size = shown[here].sum()
            shares = shown[here] / size
            if axes.kinds[q] == SET:
                scatter += size * (1.0 - np.sum(shares * shares)) / axes.steps[q]
            elif axes.kinds[q] == TREE:
                scatter += size * _parted(axes, q, shares)
            else:
                scatter += size * _apart(axes, q, shares)
    return scatter


@kernel
def _apart(axes: Axes, q: int, shown: Floats) -> float:
    """Return the mean distance of two random values on a line, squared where means are published."""
    start, apart, below = axes.start[q], 0.0, 0.0
    if axes.kinds[q] == MEAN:
        places = axes.low[start : start + axes.leaves[q]]
        mean = np.sum(shown[:-1] * places)
        return float(np.sum(shown[:-1] * (places - mean) ** 2))
    for v in range(axes.leaves[q] - 1):
        below += shown[v]
        apart += 2 * below * (1 - below) * (axes.low[start + v + 1] - axes.low[start + v])
    return apart


@kernel
def _parted(axes: Axes, q: int, shown: Floats) -> float:
    """Return the mean share of leaves below the lowest label of two random values."""
    leaves, parted = axes.leaves[q], 0.0
    for h in range(1, axes.depth[q]):
        level = axes.start[q] + h * leaves
        parted += _together(axes, level, level, leaves, shown) - _together(axes, level - leaves, level, leaves, shown)
    return parted


@kernel
def _together(axes: Axes, nodes: int, level: int, leaves: int, shown: Floats) -> float:
    """Return how often two random values meet below a node, weighed by the share of their labels at a level."""
    met, mass = 0.0, 0.0
    for v in range(leaves):
        mass += shown[v]
        if v == leaves - 1 or axes.nodes[nodes + v + 1] != axes.nodes[nodes + v]:
            met += axes.shares[level + v] * mass * mass
            mass = 0.0
    return met
