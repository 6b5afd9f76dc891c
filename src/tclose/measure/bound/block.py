"""Prices on a block of quasi-identifiers and one attribute: their bound R(u), and the direction in which it rises.

For any prices u, the bound is the mean over rows of u − δ, where δ is the largest violation of a box that holds the
row, and a box is violated by the highest mean price of a class within t in it, less its loss. (docs/bound.md)

A class lies in the smallest box that holds its cells, and loses at least the box's loss. What a class can publish on
one quasi-identifier is coarsened so that all boxes can be listed: coarser cells have smaller losses, never larger ones.
The order of the boxes is part of a proof's format (verifier.py lists them again): intervals by first and last cell;
nodes level by level; sets by their bits; then the missing cells alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from tclose.measure.bound.kernels import ABSENT, best_class, price_boxes, roll_down, roll_up
from tclose.measure.bound.problem import UNIT, AxisLosses, BoundProblem, GroundDistance
from tclose.types import Beat, Bools, Floats, Ints

# Cells and boxes of one quasi-identifier


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


# Prices on all boxes of a block


EXTRA = 200  # violated boxes besides those that lower a price, of which columns are made
STEPS = 24  # λ that are tried for one box
PER_CALL = 3_000_000  # nodes × boxes that one call of the kernel prices: well below a second


@dataclass(frozen=True, eq=False)
class PricedClass:
    """The class with the highest mean price in one box: which groups it holds in which shares, and its loss."""

    groups: Ints
    shares: Floats
    loss: float


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The bound of some prices, the prices after they were lowered by δ, and the box that is violated most per cell."""

    bound: float
    lowered: Floats  # per group
    violations: Floats  # per box
    worst_box: Ints  # per group
    delta: Floats  # per group


@dataclass(frozen=True, eq=False)
class Block:
    """All rows of one cell that show one value form a group, which has one price."""

    problem: BoundProblem
    axes: tuple[int, ...]  # the quasi-identifiers of this block
    attribute: int
    boxes: tuple[AxisBoxes, ...]  # of these, and of the kept values first if there are any
    beat: Beat
    multipliers: Floats = field(init=False)  # the λ of each box that was best so far

    def __post_init__(self) -> None:
        object.__setattr__(self, "multipliers", np.full(self.size, 2.0))

    @cached_property
    def ground(self) -> GroundDistance:
        """The ground distance of the attribute."""
        return GroundDistance.of(self.problem.attributes[self.attribute])

    @property
    def shape(self) -> tuple[int, ...]:
        """The boxes of each axis."""
        return tuple(boxes.size for boxes in self.boxes)

    @property
    def size(self) -> int:
        """How many boxes there are, helpers included."""
        return prod(self.shape)

    @cached_property
    def _groups(self) -> tuple[Ints, Ints, Ints]:
        values = len(self.problem.attributes[self.attribute].reference)
        key = np.ravel_multi_index([boxes.cells for boxes in self.boxes], [boxes.count for boxes in self.boxes])
        key = key * values + self.problem.attributes[self.attribute].codes
        different, counts = np.unique(key, return_counts=True)
        return different // values, different % values, counts.astype(np.int64)

    @property
    def cells(self) -> Ints:
        """The cell of each group, counted through all axes of the block."""
        return self._groups[0]

    @property
    def values(self) -> Ints:
        """The sensitive value of each group."""
        return self._groups[1]

    @property
    def counts(self) -> Ints:
        """The rows of each group."""
        return self._groups[2]

    @cached_property
    def nodes(self) -> Ints:
        """The node of each group's value."""
        return self.ground.node_of_value[self.values]

    @cached_property
    def weights(self) -> Floats:
        """The share of each group in the table."""
        return self.counts / self.problem.rows

    @cached_property
    def losses(self) -> Ints:
        """The loss of each box in millionths; HELPER for one that only helps."""
        total, helper = np.zeros((), dtype=np.int64), np.zeros((), dtype=bool)
        for boxes in self.boxes:
            total, helper = np.add.outer(total, boxes.losses), np.logical_or.outer(helper, boxes.losses == HELPER)
        return np.where(helper, HELPER, total).ravel()

    @cached_property
    def _float_losses(self) -> Floats:
        return np.where(self.losses == HELPER, -1.0, self.losses / UNIT)

    @cached_property
    def _kernel_shape(self) -> tuple[Ints, Floats, Floats, Floats, float]:
        ground = self.ground
        return ground.parents, ground.float_lengths, ground.float_costs, ground.shares, float(ground.t)

    @cached_property
    def _members(self) -> tuple[Bools, ...]:
        return tuple(boxes.members() for boxes in self.boxes)

    def highest(self, prices: Floats) -> Floats:
        """Return boxes × nodes: the highest price of a row in the box with this value."""
        counts = [boxes.count for boxes in self.boxes]
        nodes = len(self.ground.parents)
        table = np.full((prod(counts), nodes), ABSENT)
        table[self.cells, self.nodes] = prices
        before, after = 1, prod(counts) * nodes
        for boxes in self.boxes:
            self.beat()
            after //= boxes.count
            cells, table = table.reshape(before, boxes.count, after), np.empty((before, boxes.size, after))
            roll_up(cells, boxes.unions, table)
            before *= boxes.size
        return table.reshape(self.size, nodes)

    def _worst(self, violations: Floats) -> tuple[Floats, Ints]:
        """Return, per cell, the largest violation of a box that holds it, and that box."""
        worst, box = violations.copy(), np.arange(self.size)
        before, after = 1, self.size
        for boxes in self.boxes:
            after //= boxes.size
            shape = (before, boxes.size, after)
            worst, box = worst.reshape(shape), box.reshape(shape)
            roll_down(worst, box, boxes.unions, boxes.count)
            worst, box = np.ascontiguousarray(worst[:, : boxes.count]), np.ascontiguousarray(box[:, : boxes.count])
            before *= boxes.count
        return worst.ravel(), box.ravel()

    def price(self, highest: Floats) -> Floats:
        """Return the violation of each box."""
        violations, nodes = np.empty(self.size), highest.shape[1]
        work, origin = np.empty((2, nodes)), np.empty(nodes, dtype=np.int64)
        stops = [*range(0, self.size, max(1, PER_CALL // nodes)), self.size]
        for first, last in pairwise(stops):
            self.beat()
            arrays = (highest, self._float_losses, self.multipliers, violations)
            price_boxes(*self._kernel_shape, *arrays, first, last, STEPS, work, origin)
        return violations

    def evaluate(self, prices: Floats) -> Evaluation:
        """Return the bound of prices, one per group."""
        return self._evaluated(prices, self.highest(prices))

    def _evaluated(self, prices: Floats, highest: Floats) -> Evaluation:
        violations = self.price(highest)
        worst, box = self._worst(violations)
        delta = worst[self.cells]
        lowered = prices - delta
        return Evaluation(float(self.weights @ lowered), lowered, violations, box[self.cells], delta)

    def with_columns(self, prices: Floats) -> tuple[Evaluation, list[PricedClass]]:
        """Return the bound and, per box that lowers a price, the class that does; also those of other bad boxes."""
        highest = self.highest(prices)
        evaluation = self._evaluated(prices, highest)
        boxes = np.unique(evaluation.worst_box[evaluation.delta > 0])
        worst = np.argsort(-evaluation.violations, kind="stable")[:EXTRA]
        boxes = np.union1d(boxes, worst[evaluation.violations[worst] > 0])
        return evaluation, [self._column(int(box), prices, highest[box]) for box in boxes]

    def gradient(self, prices: Floats) -> tuple[Evaluation, Floats]:
        """Return the bound, and how it changes with each price, per row of the group."""
        highest = self.highest(prices)
        evaluation = self._evaluated(prices, highest)
        covered, lowered = np.zeros(len(prices)), evaluation.delta > 0
        boxes, place = np.unique(evaluation.worst_box[lowered], return_inverse=True)
        masses = np.bincount(place, weights=self.weights[lowered], minlength=len(boxes))
        for box, mass in zip(boxes.tolist(), masses.tolist(), strict=True):
            column = self._column(box, prices, highest[box])
            covered[column.groups] += mass * column.shares
        return evaluation, 1.0 - covered / self.weights

    def _column(self, box: int, prices: Floats, highest: Floats) -> PricedClass:
        self.beat()
        distribution, work = np.empty(len(highest)), np.empty((2, len(highest)))
        loss, multiplier = self._float_losses[box], self.multipliers[box]
        origin = np.empty(len(highest), dtype=np.int64)
        best_class(*self._kernel_shape, highest, loss, multiplier, work, origin, distribution)
        groups = np.flatnonzero(self._inside(box) & (prices >= highest[self.nodes]) & (distribution[self.nodes] > 0))
        nodes = self.nodes[groups]
        tied = np.bincount(nodes, weights=self.weights[groups], minlength=len(highest))
        return PricedClass(groups, distribution[nodes] * self.weights[groups] / tied[nodes], float(loss))

    @cached_property
    def coordinates(self) -> tuple[Ints, ...]:
        """The cell of each group on each axis."""
        return tuple(np.unravel_index(self.cells, [boxes.count for boxes in self.boxes]))

    def _inside(self, box: int) -> Bools:
        inside = np.ones(len(self.cells), dtype=bool)
        places = np.unravel_index(box, self.shape)
        for members, place, cells in zip(self._members, places, self.coordinates, strict=True):
            inside &= members[place][cells]
        return inside
