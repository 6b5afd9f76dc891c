"""Classes that some model does not admit, merged with a neighbour until all are admitted.

It is how a method that only knows t-closeness keeps the other models of a policy. Every group of rows must be admitted
as one class, so this always ends, at worst there. `dividing.py` is for the groups that are not admitted as one class.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tclose.errors import InternalError
from tclose.types import Floats, Ints

BITS = 10  # per coordinate, along the curve that orders classes


def merged(labels: Ints, groups: Ints, points: Floats, failing: Callable[[Ints], NDArray[np.bool_]]) -> Ints:
    """Merge classes within their groups until `failing(labels)` marks none; labels go from 0 up."""
    while (bad := failing(labels)).any():
        before, labels = labels.max(), _merge_once(labels, groups, points, bad)
        if labels.max() == before:
            raise InternalError("a class fails although it is all of its group, which was found to hold")
    return labels


def _merge_once(labels: Ints, groups: Ints, points: Floats, bad: NDArray[np.bool_]) -> Ints:
    """Join every failing class with the nearer of its two neighbours on a curve through all classes."""
    sizes = np.bincount(labels)
    centres = np.stack([np.bincount(labels, weights=column) / sizes for column in points.T], axis=1)
    group_of = np.zeros(len(sizes), dtype=np.int64)
    group_of[labels] = groups
    order = np.lexsort((along_curve(centres), group_of))
    gaps = np.abs(np.diff(centres[order], axis=0)).sum(axis=1)
    gaps[np.diff(group_of[order]) != 0] = np.inf
    target = _joined(order, gaps, bad)
    remains = np.bincount(target, minlength=len(order)) > 0
    return (np.cumsum(remains) - 1)[target][labels]


def _joined(order: Ints, gaps: Floats, bad: NDArray[np.bool_]) -> Ints:
    """Return for each class the class that it becomes part of."""
    target, taken, chosen = list(range(len(order))), [False] * len(order), order.tolist()
    before, after = [np.inf, *gaps.tolist()], [*gaps.tolist(), np.inf]
    for place in np.flatnonzero(bad[order]).tolist():
        if taken[place] or before[place] == after[place] == np.inf:
            continue
        other = place - 1 if before[place] <= after[place] else place + 1
        target[chosen[place]] = target[chosen[other]]
        taken[place] = taken[other] = True
    return np.array(target, dtype=np.int64)


def along_curve(centres: Floats) -> Ints:
    """Return each centre's place along a Morton curve, which keeps neighbours together."""
    dimensions = centres.shape[1]
    bits = min(BITS, 62 // max(dimensions, 1))
    cells = np.clip(centres * 2**bits, 0, 2**bits - 1).astype(np.int64)
    code = np.zeros(len(centres), dtype=np.int64)
    for bit in range(bits - 1, -1, -1):
        for axis in range(dimensions):
            code = code << 1 | cells[:, axis] >> bit & 1
    return code
