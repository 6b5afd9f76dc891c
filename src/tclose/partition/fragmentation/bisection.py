"""GENERATE-CLASSES in our way: each class takes its rows of every fragment from one neighbourhood, none is last.

The rows of every fragment are bisected alike, again and again, until a cell is left: O(N log N).
Rows of one fragment are then exchanged between cells where that shortens the published ranges.
"""

from __future__ import annotations

import numpy as np

from tclose.partition.fragmentation.cells import exchange
from tclose.partition.fragmentation.plan import Plan
from tclose.partition.fragmentation.row_distance import RowDistance, euclidean
from tclose.partition.shared.stratified import bisect
from tclose.types import Floats, Ints, Progress, silent, stretch

SHARES = ((0.5,), (0.25, 0.5, 0.75))  # of the cells that may go to one side: neither is always better
WINDOW = 32  # cells tried for an exchange: so many nearby and so many at random
ENOUGH = 0.001

DRAWS = 99_991  # random cells, drawn beforehand and used in turn; a prime, so that every cell meets others each pass


def bisected_cells(points: Floats, plan: Plan, distance: RowDistance, seed: int, progress: Progress = silent) -> Ints:
    """Return the rows of each cell, cells × rows."""
    layered = np.flatnonzero(plan.fragments < len(plan.layers))
    if distance is euclidean:
        return _bisect_along_axes(points, plan, layered, seed, progress)
    return _bisect_between_poles(points, plan, layered, distance, progress)


def _bisect_along_axes(points: Floats, plan: Plan, layered: Ints, seed: int, progress: Progress) -> Ints:
    """Bisect along coordinates, then exchange rows; of several ways to bisect keep what leaves the shortest ranges."""
    fragments = plan.fragments[layered]
    axes = [points[layered, q] for q in range(points.shape[1])] or [np.zeros(len(layered))]
    orders = np.array([layered[np.lexsort((axis, fragments))] for axis in axes])
    fragment_of = np.repeat(np.arange(len(plan.layers)), plan.layers)
    random = np.random.default_rng(seed).integers(plan.cells, size=DRAWS)
    best: Ints = orders[0]
    shortest = np.inf
    for number, shares in enumerate(SHARES):
        begin, middle, end = ((number + half) / len(SHARES) for half in (0.0, 0.5, 1.0))
        bisecting, exchanging = stretch(progress, begin, middle), stretch(progress, middle, end)
        members = bisect(points, orders.copy(), plan.layers, plan.cells, np.array(shares), bisecting)
        left_over = exchange(points, members, fragment_of, WINDOW, ENOUGH, random, exchanging)
        if left_over < shortest:
            best, shortest = members, left_over
    return best


def _bisect_between_poles(points: Floats, plan: Plan, layered: Ints, distance: RowDistance, progress: Progress) -> Ints:
    """Bisect by nearness to one of two rows that are far apart: all that a row distance alone can tell."""
    members = np.empty((plan.cells, int(plan.layers.sum())), dtype=np.int64)
    stack = [(layered[np.argsort(plan.fragments[layered], kind="stable")], 0)]
    while stack:
        rows, first = stack.pop()
        progress(first / plan.cells)
        count = len(rows) // members.shape[1]
        if count == 1:
            members[first] = rows
            continue
        one = points[rows[int(distance(points[rows], points[rows[0]]).argmax())]]
        from_one = distance(points[rows], one)
        other = points[rows[int(from_one.argmax())]]
        ordered = rows[np.lexsort((from_one - distance(points[rows], other), plan.fragments[rows]))]
        left = count // 2
        place = np.concatenate([np.arange(e * count) < e * left for e in plan.layers])
        stack += [(ordered[place], first), (ordered[~place], first + left)]
    return members
