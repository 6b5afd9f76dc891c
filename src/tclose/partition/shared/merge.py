"""Classes that some model does not admit, merged with a neighbour until all are admitted.

It is how a method that only knows t-closeness keeps the other models of a policy. Where every group of rows is admitted
as one class, `merged` always ends, at worst there.

A group of rows may not be admitted as one class although smaller classes are: that happens where merging can break a
model (docs/method.md, "What merging keeps"). A few rows are then divided in every possible way (`best_division`).
Classes of more rows are merged step by step, each failing class with the nearest class that mends it
(`merged_with_care`).

A reader cannot tell two classes with the same text apart, so they are one class to every measure and every model
(`merged_alike`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tclose.errors import InternalError
from tclose.partition.problem import Problem
from tclose.partition.shared.axes import Axis, LabelAxis, NumberAxis, SetAxis
from tclose.table.classes import ranked, rows_by_label
from tclose.types import Beat, Bools, Floats, Ints, Progress, silent

# Groups of rows that are admitted as one class


BITS = 10  # per coordinate, along the curve that orders classes


def merged(labels: Ints, groups: Ints, points: Floats, failing: Callable[[Ints], NDArray[np.bool_]]) -> Ints:
    """Merge classes within their groups until `failing(labels)` marks none; labels go from 0 up."""
    # every round leaves fewer classes, so it ends, at the latest with one class for each group
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


# Groups of rows that are not admitted as one class


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
    # every round takes one class away; a union that holds is no longer looked at, unless another joins it
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
    # dynamic programming over subsets: a smaller mask is done before every mask that holds it
    best: list[tuple[float, int]] = [(0.0, 0)]  # of the rows of each mask: the least loss, and its first class
    for mask in range(1, 1 << count):
        options = [(loss + best[mask ^ part][0], part) for part, loss in _parts(mask, losses)]
        best.append(min(options, default=(np.inf, 0)))
    return _labels_of(best, count) if np.isfinite(best[-1][0]) else None


def _parts(mask: int, losses: dict[int, float]) -> Iterator[tuple[int, float]]:
    """Yield the admitted classes within a mask that hold its lowest row, with their losses."""
    lowest = mask & -mask
    # its lowest row is in exactly one class, so each division is looked at once
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


# Verdicts on classes that only ever grow


ROUNDS = 64  # of joining pairs; each halves the failing classes, and those that still fail then are stubborn


class Verdicts:
    """Judges classes that only ever grow, each of them once."""

    def __init__(self, problem: Problem, rounds: int = ROUNDS, progress: Progress = silent) -> None:
        self._problem, self._progress = replace(problem, axes=()), progress  # losses are not judged
        self._rounds = rounds
        self._size = np.zeros(problem.rows, dtype=np.int64)  # per first row of a class: its size when last judged
        self._fails = np.zeros(problem.rows, dtype=bool)

    def failing(self, labels: Ints) -> Bools:
        """Tell for each class whether to join it: whether it fails, while rounds are left."""
        self._progress(0.0)
        self._rounds -= 1
        return self.judged(labels) & (self._rounds >= 0)

    def judged(self, labels: Ints) -> Bools:
        """Tell for each class whether the problem does not admit it."""
        sizes, first = np.bincount(labels), np.empty(int(labels.max()) + 1, dtype=np.int64)
        first[labels[::-1]] = np.arange(len(labels))[::-1]
        new = self._size[first] != sizes
        if new.any():
            rows = np.flatnonzero(new[labels])
            number = np.cumsum(new) - 1
            self._fails[first[new]] = ~self._problem.part(rows).admitted(number[labels[rows]])
            self._size[first] = sizes
        return np.asarray(self._fails[first])


# Classes that look alike


FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)  # of SplitMix64 (Steele et al. 2014)


def equality_classes(axes: tuple[Axis, ...], rows: int) -> Ints:
    """Return the classes of rows that publish the same values by themselves; no partition has a smaller GCP."""
    return _numbers_of_keys([_value(axis) for axis in axes], rows)


def merged_alike(axes: tuple[Axis, ...], labels: Ints) -> Ints:
    """Merge classes that publish the same text on every quasi-identifier.

    Classes that publish means stay apart unless their rows are equal: their texts are rounded.
    """
    sizes = np.bincount(labels)
    order = rows_by_label(labels, len(sizes))
    starts = np.cumsum(sizes) - sizes
    shown = [key for axis in axes for key in _shown(axis, axis.codes[order], starts)]
    return _numbers_of_keys(shown, len(sizes))[labels]


def _numbers_of_keys(keys: list[Ints], count: int) -> Ints:
    """Return a number from 0 for each tuple of keys, the same for equal ones."""
    number = np.zeros(count, dtype=np.int64)
    for key in keys:
        dense, different = ranked(key)
        number, _ = ranked(number * different + dense)
    return number


def _value(axis: Axis) -> Ints:
    """Return a number for what each row publishes by itself."""
    if not isinstance(axis, NumberAxis) or axis.shown is None or not len(axis.low):
        return axis.codes
    low, high = axis.shown
    return np.append(low * (high.max() + 1) + high, -1)[axis.codes]


def _shown(axis: Axis, codes: Ints, starts: Ints) -> list[Ints]:
    """Return numbers for each class, of codes that stand class by class, that are equal where its text is."""
    if isinstance(axis, SetAxis):
        return [_set(codes, starts)]
    high = np.maximum.reduceat(codes, starts)
    low = np.where(high < 0, -1, np.minimum.reduceat(np.where(codes < 0, np.iinfo(np.int64).max, codes), starts))
    missing = (np.minimum.reduceat(codes, starts) < 0).astype(np.int64)
    if isinstance(axis, LabelAxis):
        return [missing, *_node(axis, low, high)]
    if axis.shown is None and axis.deviation is not None:
        return [missing, np.where(low == high, low, np.arange(len(starts)) + len(axis.low))]
    if axis.shown is None:
        return [missing, low, high]
    return [missing, np.append(axis.shown[0], -1)[low], np.append(axis.shown[1], -1)[high]]


def _node(axis: LabelAxis, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Return the height and the number of the lowest node that covers each class."""
    height = np.zeros(len(low), dtype=np.int64)
    for level in axis.levels[:-1]:
        height += level[low] != level[high]
    return height, np.where(high < 0, -1, np.stack(axis.levels)[height, low])


def _set(codes: Ints, starts: Ints) -> Ints:
    """Return a number for the set of codes in each class: the sum of a hash of each member."""
    class_of = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(codes))))
    members = np.unique(class_of * (codes.max(initial=0) + 1) + codes)
    class_of, values = np.divmod(members, codes.max(initial=0) + 1)
    mixed = (values.astype(np.uint64) + np.uint64(1)) * FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * SECOND
    mixed ^= mixed >> np.uint64(31)
    return np.add.reduceat(mixed, np.searchsorted(class_of, np.arange(len(starts)))).view(np.int64)
