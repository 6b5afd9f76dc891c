"""Classes for a group of rows that is not admitted as one class although smaller classes may be.

That happens where merging can break a model (docs/method.md, "What merging keeps"). A few rows are divided in every
possible way. Classes of more rows are merged step by step, each failing class with the nearest class that mends it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tclose.types import Beat, Bools, Floats, Ints

NEIGHBOURS = 16  # that are tried before a failing class joins the nearest

Admitted = Callable[[list[Ints]], Bools]  # judges classes, each given as its rows


def merged_with_care(labels: Ints, points: Floats, admitted: Admitted, beat: Beat) -> Ints | None:
    """Merge failing classes, each with the nearest class that mends it; return None if one class is left and fails.

    A class that no neighbour mends joins the nearest. The smallest failing class comes first.
    """
    sizes = np.bincount(labels)
    classes = np.split(np.argsort(labels, kind="stable"), np.cumsum(sizes)[:-1])
    sums = np.stack([np.bincount(labels, weights=column) for column in points.T], axis=1)
    failing, alive = ~admitted(classes), np.ones(len(classes), dtype=bool)
    while failing.any():
        beat()
        chosen = int(np.where(failing, sizes, len(labels) + 1).argmin())
        alive[chosen] = failing[chosen] = False
        near = _nearest(sums[chosen] / sizes[chosen], sums / sizes[:, None], alive)
        if not len(near):
            return None
        unions = [np.append(classes[chosen], classes[place]) for place in near.tolist()]
        holds = admitted(unions)
        best = int(holds.argmax())
        place = int(near[best])
        classes[place], failing[place] = unions[best], not holds[best]
        sums[place] += sums[chosen]
        sizes[place] += sizes[chosen]
    return _numbered([rows for rows, remains in zip(classes, alive.tolist(), strict=True) if remains], len(labels))


def _nearest(centre: Floats, centres: Floats, alive: Bools) -> Ints:
    """Return the classes, of those that are left, whose centres are nearest, the nearest first."""
    gaps = np.where(alive, np.abs(centres - centre).sum(axis=1), np.inf)
    return np.argsort(gaps, kind="stable")[: min(NEIGHBOURS, int(np.count_nonzero(alive)))]


def _numbered(classes: list[Ints], rows: int) -> Ints:
    labels = np.empty(rows, dtype=np.int64)
    for label, members in enumerate(classes):
        labels[members] = label
    return labels


def best_division(points: Floats, admitted: Admitted) -> Ints | None:
    """Return the admitted classes of a few rows that lie closest together, or None if no division is admitted.

    Every subset of the rows is judged, and every division into admitted subsets is compared.
    """
    count = len(points)
    subsets = [np.flatnonzero(mask >> np.arange(count) & 1) for mask in range(1, 1 << count)]
    losses = {
        mask: len(rows) * float(np.ptp(points[rows], axis=0).sum())
        for mask, (rows, holds) in enumerate(zip(subsets, admitted(subsets).tolist(), strict=True), start=1)
        if holds
    }
    best: list[tuple[float, int]] = [(0.0, 0)]  # of the rows of each mask: the least loss, and its first class
    for mask in range(1, 1 << count):
        options = [(loss + best[mask ^ part][0], part) for part, loss in _parts(mask, losses)]
        best.append(min(options, default=(np.inf, 0)))
    return _labels_of(best, count) if np.isfinite(best[-1][0]) else None


def _parts(mask: int, losses: dict[int, float]) -> Iterator[tuple[int, float]]:
    """Yield the admitted classes within a mask that hold its lowest row, with their losses."""
    lowest = mask & -mask
    rest = part = mask ^ lowest
    while True:
        if (loss := losses.get(part | lowest)) is not None:
            yield part | lowest, loss
        if not part:
            return
        part = (part - 1) & rest


def _labels_of(best: list[tuple[float, int]], count: int) -> Ints:
    labels, mask, label = np.empty(count, dtype=np.int64), (1 << count) - 1, 0
    while mask:
        part = best[mask][1]
        labels[(part >> np.arange(count) & 1).astype(bool)] = label
        mask, label = mask ^ part, label + 1
    return labels
