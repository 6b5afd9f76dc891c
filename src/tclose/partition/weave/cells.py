"""Part the rows into cells, each of which could be a class: stratified bisection with as few strata as will do.

With one stratum a cut is Mondrian's (LeFevre et al. 2006); with many, both sides take the same share of every stratum
of the sensitive space, as the fragment methods do. Each node takes the fewest for which both sides pass the exact test.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.partition.kernels import kernel
from tclose.partition.weave.aims import Aims
from tclose.partition.weave.loss import MEAN, SET, TREE, Axes
from tclose.partition.weave.threads import in_threads
from tclose.partition.weave.work import limit, work_of

Ints = NDArray[np.int64]
Small = NDArray[np.int32]
Floats = NDArray[np.float64]

DEPTH = 8  # times that the sensitive space is halved, at most


def views_of(axes: Axes) -> Small:
    """Return the rows in the order of each axis in turn, ties in the order of the axes that follow."""
    axis_count = len(axes.kinds)
    keys = [axes.codes[:, q] for q in range(axis_count)]
    views = [np.lexsort([keys[(q + step) % axis_count] for step in range(axis_count)][::-1]) for q in range(axis_count)]
    return np.array(views or [np.arange(len(axes.codes))], dtype=np.int32)


def strata_of(aims: Aims) -> Small:
    """Return a number per row whose first bits tell the half, quarter, … of the sensitive space that holds it."""
    rows, attributes = aims.codes.shape
    path = np.zeros(rows, dtype=np.int32)
    if not attributes:
        return path
    for level in range(DEPTH):
        order = np.lexsort((aims.codes[:, level % attributes], path))
        sizes = np.bincount(path)
        first = np.cumsum(sizes) - sizes
        place = np.empty(rows, dtype=np.int64)
        place[order] = np.arange(rows)
        path = (2 * path + (2 * (place - first[path]) >= sizes[path])).astype(np.int32)
    return path


def cells_of(axes: Axes, aims: Aims, views: Small, most: int, share: float) -> list[Ints]:
    """Return the rows of each cell: as many as `most`, or more where no cut leaves both sides within `share` of t."""
    rows = len(axes.codes)
    ranks = np.empty_like(views)
    for view, rank in zip(views, ranks, strict=True):
        rank[view] = np.arange(rows)
    strata = strata_of(aims)
    cells: list[Ints] = []
    stack = [(np.arange(rows), 0)]

    def halved(node: tuple[Ints, int]) -> list[tuple[Ints, int]]:
        mine, depth = node
        if len(mine) <= most:
            return [node]
        side, depth = _halve(axes, aims, mine, ranks, strata, depth, share)
        return [(mine[side == 0], depth), (mine[side == 1], depth)] if len(side) else [node]

    while stack:
        halves = list(in_threads(halved, stack))
        cells += [node[0][0] for node in halves if len(node) == 1]
        stack = [half for node in halves if len(node) == 2 for half in node]
    return cells


@kernel
def _halve(
    axes: Axes, aims: Aims, rows: Ints, ranks: Small, strata: Small, depth: int, share: float
) -> tuple[Small, int]:
    """Return which rows go right, and with how many halvings of the sensitive space; nothing where no cut passes."""
    best, least, found = np.zeros(0, dtype=np.int32), np.inf, 0
    for bits in range(depth, DEPTH + 1, 2):
        for q in range(len(ranks)):
            side = _sides(axes, rows, ranks[q], strata, bits, q)
            if _passes(aims, rows, side, share):
                scatter = _scatter(axes, rows, side, 0) + _scatter(axes, rows, side, 1)
                if scatter < least:
                    best, least, found = side, scatter, bits
        if len(best):
            break
    return best, found


@kernel
def _sides(axes: Axes, rows: Ints, rank: Small, strata: Small, bits: int, q: int) -> Small:
    """Send of every stratum the later half, in the order of one axis, to the right."""
    key = np.empty(len(rows), dtype=np.int64)
    for i in range(len(rows)):
        key[i] = np.int64(strata[rows[i]] >> (DEPTH - bits)) * len(rank) + rank[rows[i]]
    order = np.argsort(key)
    side = np.zeros(len(rows), dtype=np.int32)
    first = 0
    flip = 0
    for i in range(1, len(rows) + 1):
        if i == len(rows) or key[order[i]] // len(rank) != key[order[first]] // len(rank):
            middle = (first + i + flip) // 2
            flip = 1 - flip
            if bits == 0 and len(axes.kinds):
                middle = _label_change(axes, rows, order, q)
            side[order[middle:i]] = 1
            first = i
    return side


@kernel
def _label_change(axes: Axes, rows: Ints, order: Ints, q: int) -> int:
    """Return the place nearest to the middle half's centre at which the highest label changes, or the value."""
    best, highest, size = len(order) // 2, -1, len(order)
    for step in range(size // 4):
        for i in (size // 2 - step, size // 2 + step):
            before, after = axes.codes[rows[order[i - 1]], q], axes.codes[rows[order[i]], q]
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
def _passes(aims: Aims, rows: Ints, side: Small, share: float) -> bool:
    """Tell whether both sides are within their share of every t."""
    for here in range(2):
        values = np.zeros(aims.value[-1], dtype=np.int64)
        size = 0
        for i in range(len(rows)):
            if side[i] == here:
                size += 1
                for a in range(len(aims.kinds)):
                    values[aims.value[a] + aims.codes[rows[i], a]] += 1
        if size == 0:
            return False
        counts = beyond(aims, values)
        for a in range(len(aims.kinds)):
            if work_of(aims, counts, size, a) > share * limit(aims, size, a):
                return False
    return True


@kernel
def beyond(aims: Aims, values: Ints) -> Small:
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
def _scatter(axes: Axes, rows: Ints, side: Small, here: int) -> float:
    """Return what two random rows of one side lose together, on average, times the rows of that side."""
    scatter = 0.0
    size = np.sum(side == here)
    for q in range(len(axes.kinds)):
        shown = np.zeros(axes.leaves[q] + 1)  # shares of the side; a missing value, -1, is the last
        for i in range(len(rows)):
            if side[i] == here:
                shown[axes.codes[rows[i], q]] += 1.0 / size
        if axes.kinds[q] == SET:
            scatter += size * (1.0 - np.sum(shown * shown)) / axes.steps[q]
        elif axes.kinds[q] == TREE:
            scatter += size * _parted(axes, q, shown)
        else:
            scatter += size * _apart(axes, q, shown)
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
