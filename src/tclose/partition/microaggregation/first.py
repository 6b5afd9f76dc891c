"""t-closeness first (algorithm 3 of Soria-Comas et al. 2015): a class takes one row from every stratum.

Rows in the order of the sensitive attribute are cut into strata of equal size, as many as t asks for. A class of
one row from each is then near the whole table, and which rows it takes is free: the nearest ones.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tclose.partition.microaggregation.mdav import apart, centre, farthest
from tclose.partition.shared.kernels import kernel
from tclose.types import Floats, Ints, Progress


def strata_needed(rows: int, k: int, t: Fraction) -> int:
    """Return how many strata keep n different values within t: (n − k)/(2(n − 1)k) ≤ t, at least k of them.

    Where more rows are left over than there are classes, every class takes one more.

    >>> [strata_needed(1080, 2, Fraction(t)) for t in ("0.05", "0.25", "0")]
    [10, 2, 1080]
    """
    needed = -(-rows // (2 * (rows - 1) * t + 1))
    strata = min(max(k, int(needed)), rows)
    return strata + rows % strata // (rows // strata)


def strata_of(codes: Ints, strata: int) -> Ints:
    """Return the stratum of every row; leftover rows, fewer than there are classes, lie in the middle."""
    sizes = np.full(strata, len(codes) // strata)
    left = len(codes) - strata * int(sizes[0])
    sizes[(strata - 1) // 2] += left - left // 2
    sizes[strata // 2] += left // 2
    stratum = np.empty(len(codes), dtype=np.int64)
    stratum[np.argsort(codes, kind="stable")] = np.repeat(np.arange(strata), sizes)
    return stratum


def stratified(points: Floats, stratum: Ints, progress: Progress) -> Ints:
    """Return classes with one row of every stratum, two where rows would be left over, from the outside in."""
    rows, sizes = len(points), np.bincount(stratum)
    classes = int(sizes.min())
    spare = sizes - classes
    labels, alive = np.full(rows, -1, dtype=np.int64), np.arange(rows)
    origin = np.zeros(points.shape[1])
    for number in range(classes):
        progress(1 - len(alive) / rows)
        if number % 2 == 0:
            origin = centre(points, alive)
        origin = points[farthest(points, alive, origin)]
        takes = np.ones(len(sizes), dtype=np.int64)
        if spare.any():
            takes[spare.argmax()] += 1
            spare[spare.argmax()] -= 1
        alive = _one_of_each(points, alive, origin, stratum, takes, labels, number)
    return labels


@kernel
def _one_of_each(
    points: Floats, alive: Ints, origin: Floats, stratum: Ints, takes: Ints, labels: Ints, number: int
) -> Ints:
    """Put the nearest row of each stratum (or the nearest two) into a class, and return those that are left."""
    strata = len(takes)
    gaps, nearest = np.full((strata, 2), np.inf), np.full((strata, 2), -1, dtype=np.int64)
    for row in alive:
        f, gap = stratum[row], apart(points, row, origin)
        if gap < gaps[f, 0]:
            gaps[f, 1], nearest[f, 1] = gaps[f, 0], nearest[f, 0]
            gaps[f, 0], nearest[f, 0] = gap, row
        elif gap < gaps[f, 1]:
            gaps[f, 1], nearest[f, 1] = gap, row
    for f in range(strata):
        for i in range(takes[f]):
            labels[nearest[f, i]] = number
    return alive[labels[alive] < 0]
