"""Prices on a block of quasi-identifiers and one attribute: their bound R(u), and the direction in which it rises.

For any prices u, the bound is the mean over rows of u − δ, where δ is the largest violation of a box that holds the
row, and a box is violated by the highest mean price of a class within t in it, less its loss. (docs/bound.md)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import prod

import numpy as np

from tclose.measure.bound.boxes import HELPER, AxisBoxes
from tclose.measure.bound.ground import Ground
from tclose.measure.bound.kernels import ABSENT, best_class, price_boxes, roll_down, roll_up
from tclose.measure.bound.problem import UNIT, BoundProblem
from tclose.types import Beat, Bools, Floats, Ints

EXTRA = 200  # violated boxes besides those that lower a price, of which columns are made
STEPS = 24  # λ that are tried for one box
PER_CALL = 3_000_000  # nodes × boxes that one call of the kernel prices: well below a second


@dataclass(frozen=True, eq=False)
class Column:
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
    def ground(self) -> Ground:
        """The ground distance of the attribute."""
        return Ground.of(self.problem.attributes[self.attribute])

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

    def with_columns(self, prices: Floats) -> tuple[Evaluation, list[Column]]:
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

    def _column(self, box: int, prices: Floats, highest: Floats) -> Column:
        self.beat()
        distribution, work = np.empty(len(highest)), np.empty((2, len(highest)))
        loss, multiplier = self._float_losses[box], self.multipliers[box]
        origin = np.empty(len(highest), dtype=np.int64)
        best_class(*self._kernel_shape, highest, loss, multiplier, work, origin, distribution)
        groups = np.flatnonzero(self._inside(box) & (prices >= highest[self.nodes]) & (distribution[self.nodes] > 0))
        nodes = self.nodes[groups]
        tied = np.bincount(nodes, weights=self.weights[groups], minlength=len(highest))
        return Column(groups, distribution[nodes] * self.weights[groups] / tied[nodes], float(loss))

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
