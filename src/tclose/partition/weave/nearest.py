"""The nearest rows of each row: where squared distances count, better candidates for a swap than those in any order."""

from __future__ import annotations

import numpy as np

from tclose.partition.shared.kernels import kernel
from tclose.types import Floats, Ints, SmallInts

NEAREST = 30  # rows that are found for each row
WINDOW = 2048  # places along the first principal component, to either side, among which they are searched


def no_nearest_rows(rows: int) -> SmallInts:
    """Return the nearest rows where none are searched."""
    return np.empty((rows, 0), dtype=np.int32)


def nearest_rows(points: Floats) -> SmallInts:
    """Return the nearest rows of each row, the nearest first; of many rows, those of a wide strip."""
    rows, count = len(points), min(NEAREST, len(points) - 1)
    centred = points - points.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    order = np.argsort(centred @ axes[:, -1], kind="stable")
    nearest = np.zeros((rows, count), dtype=np.int32)
    if count:
        _search(np.ascontiguousarray(centred[order]), order, WINDOW, np.empty(count), nearest)
    return nearest


@kernel
def _search(points: Floats, order: Ints, window: int, distances: Floats, nearest: SmallInts) -> None:
    """Note the nearest rows of each row, by insertion; the points come in the order."""
    rows, count = nearest.shape
    for i in range(rows):
        found = 0
        mine = nearest[order[i]]
        for step in range(1, window + 1):  # the nearest places first, so that far rows are given up early
            for side in range(2):
                j = i + step if side else i - step
                if j < 0 or j >= rows:
                    continue
                most = distances[count - 1] if found == count else np.inf
                away = 0.0
                for q in range(points.shape[1]):
                    away += (points[i, q] - points[j, q]) ** 2
                    if away >= most:
                        break
                if away >= most:
                    continue
                place = found if found < count else count - 1
                while place > 0 and distances[place - 1] > away:
                    distances[place] = distances[place - 1]
                    mine[place] = mine[place - 1]
                    place -= 1
                distances[place] = away
                mine[place] = order[j]
                if found < count:
                    found += 1
