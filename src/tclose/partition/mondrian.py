"""Mondrian (LeFevre et al. 2006) with t-closeness and (n,t)-closeness as its models (Li et al. 2007, 2010).

Rows are cut in two at the median of the quasi-identifier on which they are spread widest, and each part again, as long
as both sides are admitted by every model; where a cut is not, the next widest is tried. All parts of one depth are cut
and judged together, so the work per depth is a few sorts of the rows. Strict cuts keep equal values on one side;
relaxed cuts share the rows of the median value out, so that both sides are equally large.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Counts
from tclose.errors import PolicyError, did_you_mean
from tclose.partition.problem import Problem
from tclose.partition.shared.axes import Axis, LabelAxis, NumberAxis, SetAxis, range_loss, set_loss
from tclose.partition.shared.pulse import Pulse
from tclose.types import Floats, Ints, Progress, silent

Cuts: TypeAlias = Literal["strict", "relaxed"]

CUTS = ("strict", "relaxed")
UNCUT = -1.0  # the width of parts that show one value only


def partition(problem: Problem, *, cuts: Cuts = "strict", seed: int = 0, progress: Progress = silent) -> Ints:
    """Return a class label per row: 0, 1, 2, …; the method is deterministic, so the seed changes nothing."""
    if cuts not in CUTS:
        raise PolicyError(
            "there is no cut '{cuts}'{hint}", cuts=cuts, hint=did_you_mean(cuts, CUTS) or "; use strict or relaxed"
        )
    problem.check_feasible()
    pulse, labels, classes = Pulse(progress), np.zeros(problem.rows, dtype=np.int64), 0
    parts, done = Parts(np.arange(problem.rows), np.array([0, problem.rows])), 0
    while len(parts):
        parts, whole = _halved(problem, parts, cuts, pulse)
        labels[whole.rows] = classes + whole.of_row()
        classes, done = classes + len(whole), done + len(whole.rows)
        pulse(done / problem.rows)
    return labels


@dataclass(frozen=True, eq=False)
class Parts:
    """Rows in parts: part i holds `rows[bounds[i]:bounds[i + 1]]`."""

    rows: Ints
    bounds: Ints

    @classmethod
    def of_sizes(cls, rows: Ints, sizes: Ints) -> Parts:
        """Take the rows of one part after the other."""
        return cls(rows, np.concatenate(([0], np.cumsum(sizes))).astype(np.int64))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def starts(self) -> Ints:
        """Where each part begins."""
        return self.bounds[:-1]

    @cached_property
    def sizes(self) -> Ints:
        """How many rows each part has."""
        return np.diff(self.bounds)

    def of_row(self) -> Ints:
        """Return the part that each of the rows is in."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def only(self, chosen: NDArray[np.bool_]) -> Parts:
        """Keep some of the parts."""
        return Parts.of_sizes(self.rows[np.repeat(chosen, self.sizes)], self.sizes[chosen])

    def with_all(self, others: list[Parts]) -> Parts:
        """Return these parts and more."""
        every = [self, *others]
        return Parts.of_sizes(
            np.concatenate([parts.rows for parts in every]),
            np.concatenate([parts.sizes for parts in every]),
        )


def _halved(problem: Problem, parts: Parts, cuts: Cuts, pulse: Pulse) -> tuple[Parts, Parts]:
    """Return the halves of the parts that could be cut, and the parts that stay whole."""
    axes, none = problem.all_axes, Parts(np.zeros(0, np.int64), np.zeros(1, np.int64))
    small = parts.sizes < 2 * problem.k
    whole, pending = parts.only(small), parts.only(~small)
    widths = np.array([_widths(axis, pending) for axis in axes]).reshape(len(axes), len(pending)).T
    widest_first = np.argsort(-widths, axis=1, kind="stable")
    halves: list[Parts] = []
    for turn in range(len(axes)):
        pulse.beat()
        axis_of = widest_first[:, turn]
        spread = widths[np.arange(len(pending)), axis_of] > UNCUT
        cut = _cut(axes, pending.only(spread), axis_of[spread], cuts)
        passed = np.zeros(len(pending), dtype=bool)
        passed[spread] = _both_admitted(problem, cut)
        halves.append(cut.only(np.repeat(passed[spread], 2)))
        pending, widths, widest_first = pending.only(~passed), widths[~passed], widest_first[~passed]
    return none.with_all(halves), whole.with_all([pending])


def _both_admitted(problem: Problem, halves: Parts) -> NDArray[np.bool_]:
    """Tell for each two halves whether both could be classes."""
    admitted = np.asarray((halves.sizes >= problem.k).reshape(-1, 2).all(axis=1))
    for attribute in problem.sensitive:
        left = halves.only(np.repeat(admitted, 2))  # halves that one attribute refuses are not shown to the next
        if len(left):
            codes = attribute.codes[left.rows]
            counts = Counts.from_codes(left.of_row(), codes, len(attribute.reference))
            admitted[admitted] = attribute.admits(counts).reshape(-1, 2).all(axis=1)
    return admitted


def _cut(axes: tuple[Axis, ...], parts: Parts, axis_of: Ints, cuts: Cuts) -> Parts:
    """Cut every part in two on its axis: at the border nearest to the median, or at the median itself."""
    part_of, labels = parts.of_row(), np.zeros(len(parts.rows), dtype=np.int64)
    shared = np.zeros(len(parts), dtype=bool)
    for number, axis in enumerate(axes):
        on_axis = axis_of == number
        if not on_axis.any():
            continue
        labels[np.repeat(on_axis, parts.sizes)] = _labels(axis, parts.only(on_axis))
        shared |= on_axis & (cuts == "relaxed" and not isinstance(axis, LabelAxis))
    order = np.argsort(part_of * (int(labels.max(initial=0)) + 1) + labels, kind="stable")
    borders = 1 + np.flatnonzero((np.diff(labels[order]) != 0) & (np.diff(part_of) == 0))
    middle = parts.starts + parts.sizes // 2
    place = np.where(shared, middle, _nearest(borders, part_of[borders], parts))
    sizes = np.stack([place - parts.starts, parts.bounds[1:] - place], axis=1).ravel()
    return Parts.of_sizes(parts.rows[order], sizes)


def _nearest(borders: Ints, part_of: Ints, parts: Parts) -> Ints:
    """Return for each part the border nearest to its middle, the first of two."""
    beyond = len(parts.rows) + 1
    away = np.abs(2 * borders - (parts.bounds[:-1] + parts.bounds[1:])[part_of])
    firsts = np.searchsorted(part_of, np.arange(len(parts)))
    return np.minimum.reduceat(away * beyond + borders, firsts) % beyond if len(parts) else firsts


def _labels(axis: Axis, parts: Parts) -> Ints:
    """Return a label per row of the parts, in the axis's order; where it changes, the part may be cut.

    Of a hierarchy these are the nodes just below the one that covers the part; missing values go with the first of
    them, and by themselves where there is but one leaf.
    """
    codes = axis.codes[parts.rows]
    if isinstance(axis, NumberAxis):
        return np.append(_published(axis), -1)[codes] + 1
    if isinstance(axis, SetAxis):
        return codes
    ends = _ends_of(codes, parts)
    below = np.repeat(np.maximum(_height(axis, ends) - 1, 0), parts.sizes)
    first = np.repeat(np.where(ends.low == ends.high, -1, ends.low), parts.sizes)
    leaves = np.where(codes < 0, first, codes)
    return np.where(leaves < 0, -1, np.stack(axis.levels)[below, leaves]) + 1


def _widths(axis: Axis, parts: Parts) -> Floats:
    """Return what each part would lose on an axis if it were a class; `UNCUT` where it shows only one value."""
    codes = axis.codes[parts.rows]
    if isinstance(axis, SetAxis):
        shown = np.unique(parts.of_row() * axis.domain_size + codes) // axis.domain_size
        different = np.bincount(shown, minlength=len(parts))
        return np.where(different > 1, set_loss(axis, different), UNCUT)
    ends = _ends_of(codes, parts)
    if isinstance(axis, NumberAxis):
        published = np.append(_published(axis), -1)
        several = published[ends.low] != published[ends.high]
    else:
        several = ends.low != ends.high
    return np.where(
        several, range_loss(axis, ends.low, ends.high), np.where(ends.missing & (ends.high >= 0), 0.0, UNCUT)
    )


def _published(axis: NumberAxis) -> Ints:
    """Give the same number to values that are published as the same range."""
    changes = (np.diff(axis.low) != 0) | (np.diff(axis.high) != 0)
    return np.concatenate(([0], np.cumsum(changes))).astype(np.int64)[: len(axis.low)]


@dataclass(frozen=True, eq=False)
class _CodeExtents:
    """The smallest and the largest code of each part (-1 where all are missing), and where some are missing."""

    low: Ints
    high: Ints
    missing: NDArray[np.bool_]


def _ends_of(codes: Ints, parts: Parts) -> _CodeExtents:
    least, high = np.minimum.reduceat(codes, parts.starts), np.maximum.reduceat(codes, parts.starts)
    present = np.minimum.reduceat(np.where(codes < 0, np.iinfo(np.int64).max, codes), parts.starts)
    return _CodeExtents(np.where(high < 0, -1, present), high, least < 0)


def _height(axis: LabelAxis, ends: _CodeExtents) -> Ints:
    """Return the height of the lowest node that covers each part."""
    height = np.zeros(len(ends.low), dtype=np.int64)
    for level in axis.levels[:-1]:
        height += level[ends.low] != level[ends.high]
    return height
