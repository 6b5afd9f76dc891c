"""GENERATE-CLASSES (001, section 3.2): each class takes its rows of every fragment from one neighbourhood.

The paper grows each class around a row from the nearest rows, in O(N²), and its last classes get what nobody wanted.
Here the rows of every fragment are bisected alike, again and again, until a cell is left: O(N log N), no cell is last.
Rows of one fragment are then exchanged between cells where that shortens the published ranges.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tclose.partition.fragmentation.cells import exchange
from tclose.partition.fragmentation.plan import Plan
from tclose.partition.shared.stratified import bisect
from tclose.types import Floats, Ints, Progress, silent, stretch

RowDistance = Callable[[Floats, Floats], Floats]  # (points, one point) → the distance of each of them from it

SHARES = ((0.5,), (0.25, 0.5, 0.75))  # of the cells that may go to one side: neither is always better
WINDOW = 32  # cells tried for an exchange: so many nearby and so many at random
ENOUGH = 0.001

DRAWS = 99_991  # random cells, drawn beforehand and used in turn; a prime, so that every cell meets others each pass


def euclidean(points: Floats, point: Floats) -> Floats:
    """Return the Euclidean distance of each point from one."""
    return np.asarray(np.sqrt(((points - point) ** 2).sum(axis=1)))


def generate_classes(points: Floats, plan: Plan, distance: RowDistance, seed: int, progress: Progress = silent) -> Ints:
    """Return a class label per row, in which every class takes rows as the plan says."""
    layered = np.flatnonzero(plan.fragments < len(plan.layers))
    if distance is euclidean:
        members = _bisect_along_axes(points, plan, layered, seed, progress)
    else:
        members = _bisect_between_poles(points, plan, layered, distance, progress)
    return _labels(points, plan, members)


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


def _labels(points: Floats, plan: Plan, members: Ints) -> Ints:
    """Join cells for the spare rows, each of which goes where it stretches the ranges least."""
    class_of = np.arange(plan.cells)
    labels = np.empty(len(points), dtype=np.int64)
    spare = np.flatnonzero(plan.fragments == len(plan.layers))
    if len(spare):
        groups = points[members[: plan.cells // plan.joined * plan.joined]].reshape(
            plan.cells // plan.joined, -1, points.shape[1]
        )
        low, high = groups.min(axis=1), groups.max(axis=1)
        free = np.ones(len(groups), dtype=np.bool_)
        for row in spare:
            stretch = (np.maximum(low - points[row], 0) + np.maximum(points[row] - high, 0)).sum(axis=1)
            group = int(np.where(free, stretch, np.inf).argmin())
            free[group] = False
            class_of[group * plan.joined : (group + 1) * plan.joined] = group * plan.joined
            labels[row] = group * plan.joined
    labels[members.ravel()] = np.repeat(class_of, members.shape[1])
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)
