"""MDAV (Domingo-Ferrer & Torra, Data Mining and Knowledge Discovery 11, 2005): groups of k rows from the outside in.

The row farthest from the centre and the row farthest from that one each gather their k − 1 nearest, and so on with
the rows that are left; the last group has up to 2k − 1. Every group costs one pass over the rows left: n²/k in all.
"""

from __future__ import annotations

import numpy as np

from tclose.partition.shared.kernels import kernel
from tclose.types import Floats, Ints, Progress


def standardised(points: Floats) -> Floats:
    """Return every column with mean 0 and deviation 1; one that does not vary is 0."""
    deviation = points.std(axis=0) if len(points) else np.ones(points.shape[1])
    varies = deviation > 0
    return np.ascontiguousarray((points - points.mean(axis=0)) / np.where(varies, deviation, 1) * varies)


def mdav(points: Floats, k: int, progress: Progress) -> Ints:
    """Return groups of k to 2k − 1 rows that lie near each other."""
    rows = len(points)
    labels, alive = np.full(rows, -1, dtype=np.int64), np.arange(rows)
    group = 0
    while len(alive) >= 3 * k:
        progress(1 - len(alive) / rows)
        first = farthest(points, alive, centre(points, alive))
        second = farthest(points, alive, points[first])
        for seed in (first, second):
            alive = gather(points, alive, points[seed], k, labels, group)
            group += 1
    if len(alive) >= 2 * k:
        seed = farthest(points, alive, centre(points, alive))
        alive = gather(points, alive, points[seed], k, labels, group)
        group += 1
    labels[alive] = group
    return labels


@kernel
def centre(points: Floats, alive: Ints) -> Floats:
    """Return the mean of the rows that are left."""
    total = np.zeros(points.shape[1])
    for row in alive:
        for q in range(points.shape[1]):
            total[q] += points[row, q]
    return total / len(alive)


@kernel
def apart(points: Floats, row: int, origin: Floats) -> float:
    """Return the squared distance of a row from a place."""
    squares = 0.0
    for q in range(points.shape[1]):
        gap = points[row, q] - origin[q]
        squares += gap * gap
    return squares


@kernel
def distances(points: Floats, alive: Ints, origin: Floats) -> Floats:
    """Return the squared distance of every row that is left from a place."""
    gaps = np.empty(len(alive))
    for i in range(len(alive)):
        gaps[i] = apart(points, alive[i], origin)
    return gaps


@kernel
def farthest(points: Floats, alive: Ints, origin: Floats) -> int:
    """Return the row farthest from a place, the first of equals."""
    farthest_row, most = alive[0], -1.0
    for row in alive:
        gap = apart(points, row, origin)
        if gap > most:
            farthest_row, most = row, gap
    return int(farthest_row)


@kernel
def gather(points: Floats, alive: Ints, origin: Floats, k: int, labels: Ints, group: int) -> Ints:
    """Put the k rows nearest to a place into a group, and return those that are left."""
    gaps, nearest = np.full(k, np.inf), np.full(k, -1, dtype=np.int64)
    for row in alive:
        gap = apart(points, row, origin)
        if gap >= gaps[k - 1]:
            continue
        place = k - 1
        while place > 0 and gaps[place - 1] > gap:
            gaps[place], nearest[place] = gaps[place - 1], nearest[place - 1]
            place -= 1
        gaps[place], nearest[place] = gap, row
    for row in nearest:
        labels[row] = group
    return alive[labels[alive] < 0]
