"""GENERATE-CLASSES as printed (001, section 3.2): each class grows around a row, from the nearest rows that are left.

The paper leaves open around which row; here one is drawn. A class takes the rows of every fragment that are nearest to
it, so the last classes get the rows that no other class took. That takes O(N · classes). `bisection` is our way.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from tclose.partition.fragmentation.bisection import bisected_cells
from tclose.partition.fragmentation.plan import Plan
from tclose.partition.fragmentation.row_distance import RowDistance
from tclose.types import Floats, Ints, Progress, silent

Classes = Literal["bisected", "grown"]


def generate_classes(
    points: Floats, plan: Plan, classes: Classes, distance: RowDistance, seed: int, progress: Progress = silent
) -> Ints:
    """Return a class label per row, in which every class takes rows as the plan says."""
    cells = grown_cells if classes == "grown" else bisected_cells
    return _labels(points, plan, cells(points, plan, distance, seed, progress))


def grown_cells(points: Floats, plan: Plan, distance: RowDistance, seed: int, progress: Progress = silent) -> Ints:
    """Return the rows of each cell, cells × rows."""
    layered = np.flatnonzero(plan.fragments < len(plan.layers))
    left = layered[np.argsort(plan.fragments[layered], kind="stable")]
    random = np.random.default_rng(seed)
    cells = np.empty((plan.cells, int(plan.layers.sum())), dtype=np.int64)
    for number in range(plan.cells):
        progress(number / plan.cells)
        row = left[random.integers(len(left))]
        away = np.where(left == row, -1.0, distance(points[left], points[row]))  # itself before its equals
        nearest = np.lexsort((away, plan.fragments[left]))
        in_fragment = plan.layers * (plan.cells - number)  # rows that are left of each
        firsts = np.cumsum(in_fragment) - in_fragment
        taken = nearest[np.concatenate([first + np.arange(e) for first, e in zip(firsts, plan.layers, strict=True)])]
        cells[number] = left[taken]
        left = np.delete(left, taken)
    return cells


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
