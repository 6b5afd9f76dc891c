"""The ball bound: a class that holds a row and loses little lies near that row, and so must everything it needs.

If a class holds a row of cell i and loses r, then every other cell of the class lies in a box with i that loses at most
r. So r is at least the least loss within which there are enough rows, and enough sensitive values for every t. The
compiled kernels tell how far from a cell one has to go until a class could be formed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tclose.measure.bound.problem import UNIT, BoundProblem, GroundDistance, least_rows
from tclose.partition.shared.kernels import kernel, part
from tclose.types import Ints

# Compiled kernels


FAR = 2**60


@kernel
def pair_losses(
    numbers: Ints, low: Ints, high: Ints, meeting: Ints, codes: Ints, groups: Ints, cell: int, losses: Ints
) -> None:
    """Set the loss of the smallest box that holds a given cell and each other cell; FAR if no class may hold both."""
    for j in range(len(codes)):
        total = 0 if groups[j] == groups[cell] else FAR
        for q in range(codes.shape[1]):
            a = min(codes[cell, q], codes[j, q])
            b = max(codes[cell, q], codes[j, q])
            if a >= 0:
                total += max(0, high[q, b] - low[q, a]) if numbers[q] else meeting[q, a, b]
        losses[j] = total


@kernel
def loss_to_rows(losses: Ints, rows: Ints, least: int, kept: Ints, kept_rows: Ints) -> int:
    """Return the least loss within which there are at least so many rows; FAR if there are too few."""
    size = total = 0
    for j in range(len(losses)):
        if losses[j] >= FAR or (total >= least and losses[j] >= kept[size - 1]):
            continue
        place = size
        while place > 0 and kept[place - 1] > losses[j]:
            kept[place] = kept[place - 1]
            kept_rows[place] = kept_rows[place - 1]
            place -= 1
        kept[place] = losses[j]
        kept_rows[place] = rows[j]
        total += rows[j]
        size += 1
        while total - kept_rows[size - 1] >= least:
            size -= 1
            total -= kept_rows[size]
    return kept[size - 1] if total >= least else FAR


@part
def _work(parents: Ints, lengths: Ints, costs: Ints, counts: Ints, first: Ints, radius: int, near: Ints) -> int:
    """Return rows × units of the way from every row of the table to the nearest value within the radius."""
    nodes = len(counts)
    if costs.shape[0]:
        for q in range(nodes):
            near[q] = FAR
            for v in range(nodes):
                if first[v] <= radius and costs[q, v] < near[q]:
                    near[q] = costs[q, v]
    else:
        for i in range(nodes):
            near[i] = 0 if first[i] <= radius else FAR
        for i in range(nodes - 1, 0, -1):
            near[parents[i]] = min(near[parents[i]], near[i] + lengths[i])
        for i in range(1, nodes):
            near[i] = min(near[i], near[parents[i]] + lengths[i])
    total = 0
    for i in range(nodes):
        if counts[i]:
            total += counts[i] * near[i]
    return total


@kernel
def loss_to_values(
    parents: Ints,
    lengths: Ints,
    costs: Ints,
    counts: Ints,
    allowed: int,
    losses: Ints,
    cell_of_group: Ints,
    node_of_group: Ints,
    first: Ints,
    rising: Ints,
    near: Ints,
) -> int:
    """Return the least loss within which there are values enough for a class within t; FAR if there never are."""
    first[:] = FAR
    for g in range(len(cell_of_group)):
        loss = losses[cell_of_group[g]]
        if loss < first[node_of_group[g]]:
            first[node_of_group[g]] = loss
    rising[:] = first
    rising.sort()
    known = 0
    while known < len(rising) and rising[known] < FAR:
        known += 1
    if not known or _work(parents, lengths, costs, counts, first, rising[known - 1], near) > allowed:
        return FAR
    low, high = -1, known - 1
    # more loss lets more values in, so the work falls: bisection finds the least loss
    while high - low > 1:
        middle = (low + high) // 2
        if _work(parents, lengths, costs, counts, first, rising[middle], near) <= allowed:
            high = middle
        else:
            low = middle
    return int(rising[high])


# The balls and their bound


@dataclass(frozen=True, eq=False)
class BallTable:
    """The different rows of quasi-identifiers (cells), with losses between any two of them."""

    problem: BoundProblem

    @cached_property
    def least(self) -> int:
        """How many rows every class has."""
        return least_rows(self.problem)

    @cached_property
    def grounds(self) -> tuple[GroundDistance, ...]:
        """The ground distance of each attribute."""
        return tuple(map(GroundDistance.of, self.problem.attributes))

    @cached_property
    def _unique(self) -> tuple[Ints, Ints]:
        codes = np.stack([self.problem.groups, *(losses.codes for losses in self.problem.losses)], axis=1)
        cells, cell_of_row = np.unique(codes, axis=0, return_inverse=True)
        return cells, cell_of_row.reshape(-1).astype(np.int64)

    @property
    def cell_of_row(self) -> Ints:
        """The cell of every row."""
        return self._unique[1]

    @cached_property
    def rows(self) -> Ints:
        """How many rows each cell has."""
        return np.bincount(self.cell_of_row)

    @cached_property
    def _value_groups(self) -> list[tuple[Ints, Ints]]:
        """Per attribute, each pair of a cell and a value that occurs: the cell, and the value's node."""
        pairs = []
        for attribute, ground in zip(self.problem.attributes, self.grounds, strict=True):
            key = np.unique(self.cell_of_row * len(attribute.reference) + attribute.codes)
            pairs.append((key // len(attribute.reference), ground.node_of_value[key % len(attribute.reference)]))
        return pairs

    @cached_property
    def _tables(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Which axes are numbers, their ends, and what two codes of any other axis lose together."""
        axes = self.problem.losses
        values = max((len(axis.low) for axis in axes), default=0)
        others = [axis for axis in axes if not axis.is_number]
        codes = max((int(axis.codes.max(initial=-1)) + 1 for axis in others), default=0)
        numbers = np.array([axis.is_number for axis in axes], dtype=np.int64)
        low, high = np.zeros((2, len(axes), values), dtype=np.int64)
        meeting = np.zeros((len(axes), codes, codes), dtype=np.int64)
        for q, axis in enumerate(axes):
            low[q, : len(axis.low)], high[q, : len(axis.high)] = axis.low, axis.high
            if axis.is_label:
                meeting[q] = _meeting(axis.levels, [axis.shares(h) for h in range(len(axis.levels))], codes)
            elif not axis.is_number:
                meeting[q] = UNIT // axis.steps * (1 - np.eye(codes, dtype=np.int64))
        return numbers, low, high, meeting

    @cached_property
    def _work(self) -> tuple[Ints, ...]:
        nodes = max((len(ground.counts) for ground in self.grounds), default=0)
        return (*np.empty((3, nodes), dtype=np.int64), *np.empty((2, self.least + 2), dtype=np.int64))

    def radius(self, cell: int) -> int:
        """Return what every class that holds a row of this cell loses at least."""
        cells = self._unique[0]
        losses = np.empty(len(cells), dtype=np.int64)
        codes = np.ascontiguousarray(cells[:, 1:])
        pair_losses(*self._tables, codes, np.ascontiguousarray(cells[:, 0]), cell, losses)
        radius = int(loss_to_rows(losses, self.rows, self.least, *self._work[3:]))
        for ground, (cell_of_group, node_of_group) in zip(self.grounds, self._value_groups, strict=True):
            work = [array[: len(ground.counts)] for array in self._work[:3]]
            allowed = int(ground.t * int(ground.counts.sum()) * ground.unit)
            shape = (ground.parents, ground.lengths, ground.costs, ground.counts)
            radius = max(radius, int(loss_to_values(*shape, allowed, losses, cell_of_group, node_of_group, *work)))
        return 0 if radius >= FAR else radius


def _meeting(levels: tuple[Ints, ...], shares: list[Ints], codes: int) -> Ints:
    """Return the loss of the lowest node above two leaves, for the first leaves."""
    meeting = np.full((codes, codes), UNIT, dtype=np.int64)
    shown = min(codes, len(levels[0]))
    for level, share in zip(reversed(levels), reversed(shares), strict=True):
        node = level[:shown]
        same = node[:, None] == node[None, :]
        meeting[:shown, :shown] = np.where(same, share[node][:, None], meeting[:shown, :shown])
    return meeting
