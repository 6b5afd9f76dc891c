"""Cells and boxes: what a class can publish on one quasi-identifier, coarsened so that all boxes can be listed.

A class lies in the smallest box that holds its cells, and loses at least the box's loss. Coarser cells have smaller
losses, never larger ones. The order of the boxes is part of a proof's format (verify.py lists them again):
intervals by first and last cell; nodes level by level; sets by their bits; then the missing cells alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tclose.measure.bound.problem import UNIT, AxisLosses
from tclose.types import Bools, Floats, Ints

HELPER = -1  # the loss of a box that only helps to make others


@dataclass(frozen=True, eq=False)
class AxisBoxes:
    """The boxes of one axis. The first ones are the single cells; each later one is the union of two earlier ones."""

    cells: Ints  # the cell of every row
    count: int  # of cells
    unions: Ints  # the two parts of each box after the cells
    losses: Ints  # of each box, cells included; HELPER for one that is no box of its own
    order: Ints  # the boxes in the order of a proof
    cut: Any  # how a proof says which cells there are

    @property
    def size(self) -> int:
        """How many boxes there are, helpers included."""
        return len(self.losses)

    def members(self) -> Bools:
        """Return boxes × cells: which cells each box holds."""
        held = np.zeros((self.size, self.count), dtype=bool)
        held[np.arange(self.count), np.arange(self.count)] = True
        for box, (one, other) in enumerate(self.unions.tolist(), start=self.count):
            held[box] = held[one] | held[other]
        return held


class _Builder:
    """Collects boxes as unions of cells; a missing cell, the last one, joins every box."""

    def __init__(self, cells: int, missing: bool) -> None:
        self.losses = [HELPER] * (cells + missing)
        self.unions: list[tuple[int, int]] = []
        self.order: list[int] = []
        self.missing = cells if missing else None

    def union(self, one: int, other: int, loss: int = HELPER) -> int:
        self.unions.append((one, other))
        self.losses.append(loss)
        return len(self.losses) - 1

    def with_missing(self, cell: int) -> int:
        return cell if self.missing is None else self.union(cell, self.missing)

    def box(self, box: int, loss: int) -> None:
        if self.losses[box] != HELPER:  # the same cells again, as a node with a single child has them
            box = self.union(box, box)
        self.losses[box] = loss
        self.order.append(box)

    def built(self, cells: Ints, cut: Any) -> AxisBoxes:
        if self.missing is not None:
            self.box(self.missing, 0)
            cells = np.where(cells < 0, self.missing, cells)
        count = len(self.losses) - len(self.unions)
        order, losses = np.array(self.order, dtype=np.int64), np.array(self.losses, dtype=np.int64)
        unions = np.array(self.unions, dtype=np.int64).reshape(-1, 2)
        return AxisBoxes(cells, count, unions, losses, order, cut)


def axis_boxes(losses: AxisLosses, most: int) -> AxisBoxes:
    """List the boxes of an axis with about `most` cells; sets have at most as many as can be listed."""
    if losses.is_number:
        return interval_boxes(losses, _starts(losses, most))
    if losses.is_label:
        heights = [h for h, level in enumerate(losses.levels) if len(np.unique(level[_known(losses)])) <= most]
        return node_boxes(losses, heights[0] if heights else len(losses.levels) - 1)
    return subset_boxes(losses, most)


def interval_boxes(losses: AxisLosses, starts: Ints) -> AxisBoxes:
    """List all intervals of cells; cell i holds the codes from starts[i] on."""
    cells = np.where(losses.codes < 0, -1, np.searchsorted(starts, losses.codes, side="right") - 1)
    last = np.append(starts[1:], len(losses.low)) - 1
    narrowest = np.minimum.reduceat(losses.high - losses.low, starts)
    builder = _Builder(len(starts), bool((losses.codes < 0).any()))
    for i in range(len(starts)):
        box = builder.with_missing(i)
        builder.box(box, max(0, int(narrowest[i])))
        for j in range(i + 1, len(starts)):
            box = builder.union(box, j)
            builder.box(box, max(0, int(losses.high[starts[j]] - losses.low[last[i]])))
    return builder.built(cells, starts.tolist())


def node_boxes(losses: AxisLosses, height: int) -> AxisBoxes:
    """List the nodes of a hierarchy from a height upward; rows below one node of this height share a cell."""
    level = losses.levels[height]
    used, cell_of_row = np.unique(level[_known(losses)], return_inverse=True)
    cells = np.full(len(losses.codes), -1)
    cells[losses.codes >= 0] = cell_of_row
    leaf = np.array([int(np.flatnonzero(level == node)[0]) for node in used], dtype=np.int64)  # one below each cell
    builder = _Builder(len(used), bool((losses.codes < 0).any()))
    boxes = [builder.with_missing(cell) for cell in range(len(used))]
    for h in range(height, len(losses.levels)):
        nodes, shares = losses.levels[h][leaf], losses.shares(h)
        for node in np.unique(nodes).tolist():
            below = np.flatnonzero(nodes == node).tolist()
            builder.box(_united(builder, [boxes[cell] for cell in below]), int(shares[node]) if h > height else 0)
    return builder.built(cells, height)


def _united(builder: _Builder, boxes: Sequence[int]) -> int:
    united = boxes[0]
    for box in boxes[1:]:
        united = builder.union(united, box)
    return united


def subset_boxes(losses: AxisLosses, most: int) -> AxisBoxes:
    """List all sets of cells; the most frequent values have a cell each, all others share one."""
    counts = np.bincount(losses.codes)
    frequent = np.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
    cell_of_value = np.zeros(len(counts), dtype=np.int64)
    cell_of_value[frequent] = np.minimum(np.arange(len(frequent)), most - 1)
    cells = min(len(frequent), most)
    builder = _Builder(cells, missing=False)
    boxes = {1 << cell: cell for cell in range(cells)}
    for bits in range(1, 1 << cells):
        lowest = bits & -bits
        if bits not in boxes:
            boxes[bits] = builder.union(boxes[bits ^ lowest], boxes[lowest])
        builder.box(boxes[bits], (bits.bit_count() - 1) * UNIT // losses.steps)
    return builder.built(cell_of_value[losses.codes], cell_of_value.tolist())


def group_boxes(groups: Ints) -> AxisBoxes:
    """List the groups of kept values: each is a box of its own, and no class holds rows of two."""
    builder = _Builder(int(groups.max(initial=-1)) + 1, missing=False)
    for group in range(len(builder.losses)):
        builder.box(group, 0)
    return builder.built(groups, None)


def _known(losses: AxisLosses) -> Ints:
    return losses.codes[losses.codes >= 0]


def _starts(losses: AxisLosses, most: int) -> Ints:
    """Cut a line into cells that hold about as many rows, and are about as long, as each other."""
    values = len(losses.low)
    if values <= most:
        return np.arange(values)
    rows = np.cumsum(np.bincount(_known(losses), minlength=values))
    place: Floats = rows / max(rows[-1], 1) + (losses.low - losses.low[0]) / max(
        int(losses.high[-1] - losses.low[0]), 1
    )
    place = (place - place[0]) / max(place[-1] - place[0], 1e-12)
    return np.unique(np.minimum((place * most).astype(np.int64), most - 1), return_index=True)[1]
