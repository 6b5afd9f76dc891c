"""The lattice bound: all boxes of a table with hierarchies, for attributes whose values are equally far apart.

A box is a node on every axis, so a combination of heights splits the rows into boxes. On top of t, a class of s rows
gives each row the share 1/s, and s is at least `least_rows`; so no group has a larger share than its rows over that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, product
from math import prod

import numpy as np

from tclose.distance import Tree
from tclose.measure.bound.block import Evaluation
from tclose.measure.bound.lattice_kernels import dearest_classes, sweep
from tclose.measure.bound.problem import UNIT, AxisLosses, BoundProblem
from tclose.measure.bound.sizes import least_rows
from tclose.types import Beat, Bools, Floats, Ints, SmallInts

LISTED = 4  # groups of each value in a box that are looked at one by one
MOST_BOXES = 60_000_000  # combinations × cells
MOST_LISTED = 12_000_000  # numbers in the lists of one combination
PER_CALL = 1_500_000  # groups × combinations in one call of a kernel


@dataclass(frozen=True, eq=False)
class LatticeAxis:
    """The nodes of one axis: per height, the node of every row, and the loss of each node."""

    axis: int
    lowest: int  # the height of the cells
    nodes: tuple[Ints, ...]
    losses: tuple[Ints, ...]

    @classmethod
    def of(cls, axis: int, losses: AxisLosses, lowest: int = 0) -> LatticeAxis | None:
        """Return the nodes of a hierarchy; a set has its values and "more than one value". None for other axes."""
        if losses.is_number or (losses.codes < 0).any():
            return None
        codes = losses.codes
        if not losses.is_label:
            several = np.array([UNIT // losses.steps])
            nodes, costs = [codes, np.zeros_like(codes)], [np.zeros(int(codes.max()) + 1, dtype=np.int64), several]
        else:
            nodes = [level[codes] for level in losses.levels]
            costs = [losses.shares(height) for height in range(len(losses.levels))]
        costs[lowest] = np.zeros_like(costs[lowest])
        return cls(axis, lowest, tuple(nodes[lowest:]), tuple(costs[lowest:]))


@dataclass(frozen=True, eq=False)
class Lattice:
    """All boxes, and the groups of rows that share a cell and a value; prices are whole millionths."""

    problem: BoundProblem
    attribute: int
    axes: tuple[LatticeAxis, ...]
    beat: Beat
    least: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "least", least_rows(self.problem))

    @cached_property
    def _cells(self) -> tuple[Ints, Ints]:
        """The first row of each cell, and the cell of every row."""
        keys = np.stack([self.problem.groups, *(axis.nodes[0] for axis in self.axes)], axis=1)
        _, first, cell = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        return first, cell.reshape(-1)

    @cached_property
    def levels(self) -> Ints:
        """Each combination of heights."""
        return np.array(list(product(*(range(len(axis.nodes)) for axis in self.axes))), dtype=np.int64)

    @cached_property
    def _boxes(self) -> tuple[SmallInts, Ints]:
        """The box of each cell in every combination, and how many boxes each combination has."""
        first, kept = self._cells[0], self.problem.groups[self._cells[0]]
        boxes, sizes = np.empty((len(self.levels), len(first)), dtype=np.int32), []
        for z, heights in enumerate(self.levels.tolist()):
            self.beat()
            key = kept
            for axis, height in zip(self.axes, heights, strict=True):
                nodes = axis.nodes[height][first]
                key = key * (int(nodes.max()) + 1) + nodes
                if key.max() > 2**40:  # before it overflows
                    key = np.unique(key, return_inverse=True)[1]
            different, boxes[z] = np.unique(key, return_inverse=True)
            sizes.append(len(different))
        return boxes, np.array(sizes, dtype=np.int64)

    @cached_property
    def _losses(self) -> Ints:
        """Axes × heights × cells: the loss of the cell's node."""
        first = self._cells[0]
        losses = np.zeros((len(self.axes), max(len(axis.nodes) for axis in self.axes), len(first)), dtype=np.int64)
        for q, axis in enumerate(self.axes):
            for height, (nodes, loss) in enumerate(zip(axis.nodes, axis.losses, strict=True)):
                losses[q, height] = loss[nodes[first]]
        return losses

    @cached_property
    def _groups(self) -> tuple[Ints, Ints, Ints]:
        attribute = self.problem.attributes[self.attribute]
        values = len(attribute.reference)
        key, counts = np.unique(self._cells[1] * values + attribute.codes, return_counts=True)
        return key // values, key % values, counts.astype(np.int64)

    @property
    def counts(self) -> Ints:
        """The rows of each group."""
        return self._groups[2]

    @cached_property
    def weights(self) -> Floats:
        """The share of each group in the table."""
        return self.counts / self.problem.rows

    @cached_property
    def _shares(self) -> tuple[Ints, Ints, int, int]:
        """The largest share of each group and the table's share of each value, the whole, and what t allows."""
        attribute = self.problem.attributes[self.attribute]
        assert attribute.t is not None
        total = int(attribute.reference.sum())
        whole = total * self.least
        return self.counts * total, attribute.reference * self.least, whole, -int(-attribute.t * whole // 1)

    @cached_property
    def _order(self) -> Ints:
        """All combinations, those first that lowered most prices the last time."""
        return np.arange(len(self.levels))

    @cached_property
    def _lowering(self) -> Bools:
        """Which combinations have ever lowered a price."""
        return np.zeros(len(self.levels), dtype=bool)

    @cached_property
    def _room(self) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints]:
        values, boxes = len(self._shares[1]), int(self._boxes[1].max())
        lists = np.empty((boxes, values, LISTED), dtype=np.int64)
        base, excess = np.empty((2, 3, values * LISTED + 1), dtype=np.int64)
        dearest = np.empty((boxes, values, 1), dtype=np.int64)
        return dearest, lists, *np.empty((3, boxes), dtype=np.int64), base, excess

    def _swept(self, prices: Ints, combinations: Ints) -> tuple[Ints, Ints]:
        """Return δ and the worst box of each cell, over some combinations."""
        (boxes, sizes), (cells, values, _) = self._boxes, self._groups
        delta, worst = np.zeros(boxes.shape[1], dtype=np.int64), np.zeros(boxes.shape[1], dtype=np.int64)
        table = (boxes, sizes, self.levels, self._losses, cells, values, prices, *self._shares)
        for first, last in pairwise([*range(0, len(combinations), max(1, PER_CALL // len(cells))), len(combinations)]):
            self.beat()
            sweep(*table, combinations, first, last, *self._room, delta, worst)
        return delta, worst

    def total(self, prices: Ints) -> int:
        """Return Σ over rows of u − δ in millionths, exactly."""
        delta, _ = self._swept(prices, self._order)
        return int(((prices - delta[self._groups[0]]) * self.counts).sum())

    def evaluate(self, prices: Floats) -> Evaluation:
        """Return the bound of prices, one per group."""
        evaluation = self._evaluated(prices, self._order)
        lowered = np.bincount(evaluation.worst_box[evaluation.delta > 0] >> 32, minlength=len(self.levels))
        self._order[:] = np.argsort(-lowered, kind="stable")
        self._lowering[lowered > 0] = True
        return evaluation

    def _evaluated(self, prices: Floats, combinations: Ints) -> Evaluation:
        whole = np.rint(prices * UNIT).astype(np.int64)
        delta, worst = self._swept(whole, combinations)
        lowered, per_group = (whole - delta[self._groups[0]]) / UNIT, delta[self._groups[0]] / UNIT
        none = np.zeros(0)
        return Evaluation(float(self.weights @ lowered), lowered, none, worst[self._groups[0]], per_group)

    def _dearest(self, prices: Floats, boxes: Ints) -> tuple[Ints, Floats]:
        """Return, per box, the groups of its dearest class (−1 after the last) and their shares."""
        active = np.stack([boxes >> 32, boxes & (2**32 - 1)], axis=1)
        cells, values, _ = self._groups
        _, lists, _, room, _, base, excess = self._room
        masses, groups = np.zeros((2, len(active), 2 * base.shape[1]), dtype=np.int64)
        table = (*self._boxes, cells, values, np.rint(prices * UNIT).astype(np.int64), *self._shares)
        self.beat()
        dearest_classes(*table, active, lists, room, base, excess, masses, groups)
        ended = np.logical_or.accumulate(groups < 0, axis=1)
        return np.where(ended, -1, groups), np.where(ended, 0, masses) / self._shares[2]

    def gradient(self, prices: Floats) -> tuple[Evaluation, Floats]:
        """Return the bound, and how it changes with each price, per row of the group.

        Only combinations that `evaluate` has seen to lower a price are looked at, so the bound may be too high.
        """
        evaluation = self._evaluated(prices, self._order[self._lowering[self._order]])
        lowered = evaluation.delta > 0
        boxes, place = np.unique(evaluation.worst_box[lowered], return_inverse=True)
        rows = np.bincount(place, weights=self.counts[lowered], minlength=len(boxes))
        groups, shares = self._dearest(prices, boxes)
        inside = groups >= 0
        weights = (shares * rows[:, None])[inside]
        return evaluation, 1.0 - np.bincount(groups[inside], weights, minlength=len(prices)) / self.counts


def _is_star(problem: BoundProblem, attribute: int) -> bool:
    geometry = problem.attributes[attribute].geometry
    return isinstance(geometry, Tree) and geometry.is_star


def lattice_of(problem: BoundProblem, attribute: int, beat: Beat) -> Lattice | None:
    """Return the lattice of all axes with hierarchies or sets; None where no axis has a hierarchy."""
    axes = [made for q, losses in enumerate(problem.losses) if (made := LatticeAxis.of(q, losses)) is not None]
    if not _is_star(problem, attribute) or not any(problem.losses[made.axis].is_label for made in axes):
        return None
    values = len(problem.attributes[attribute].reference)
    while axes:
        cells = len(np.unique(np.stack([problem.groups, *(axis.nodes[0] for axis in axes)], axis=1), axis=0))
        if prod(len(axis.nodes) for axis in axes) * cells <= MOST_BOXES and cells * values * LISTED <= MOST_LISTED:
            return Lattice(problem, attribute, tuple(axes), beat)
        axes = _coarser(axes, problem)
    return None


def _coarser(axes: list[LatticeAxis], problem: BoundProblem) -> list[LatticeAxis]:
    """Give the axis of most heights coarser cells; where all have two heights, leave the last axis out."""
    highest = max(axes, key=lambda axis: (len(axis.nodes), int(axis.nodes[0].max())))
    if len(highest.nodes) <= 2:
        return axes[:-1]
    coarser = LatticeAxis.of(highest.axis, problem.losses[highest.axis], highest.lowest + 1)
    return [coarser if axis is highest and coarser is not None else axis for axis in axes]
