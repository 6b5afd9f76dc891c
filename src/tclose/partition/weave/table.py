"""The table as weave sees it, and the two things that weave does to it: form classes, then improve them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.partition.problem import Problem
from tclose.partition.shared.loss import LossTable, loss_table, total_loss
from tclose.partition.shared.merging import merged
from tclose.partition.shared.workers import Flag, in_parallel, lowered_flag
from tclose.partition.weave.bisection import cells_of, orders_of, ranks_of
from tclose.partition.weave.carving import carve, carving_room
from tclose.partition.weave.effort import Effort, Pass
from tclose.partition.weave.exchange import anneal, mend, sampled_costs, schedule, step_room
from tclose.partition.weave.groups import groups_of
from tclose.partition.weave.limits import Limits, limits_of
from tclose.partition.weave.recarving import recarve, recarving_room
from tclose.partition.weave.splitmix import seeded
from tclose.partition.weave.state import ClassState, state_of
from tclose.partition.weave.transport import smallest_class_size
from tclose.types import Bools, Floats, Ints, Progress, SmallInts, stretch

Rows = NDArray[np.signedinteger[Any]]

BISECTED = 0.3  # of the progress of forming classes, made when the rows are in cells
MOST_EDGES = 4096  # of an attribute whose classes are still carved and improved
USUAL_SIZE = 4  # times k, of a class to begin with
SAMPLED_SWAPS = 512  # whose costs tell where to begin the temperature
MENDING = 20  # steps per row that are tried at most to mend classes beyond a limit
SQUARED_PRICE = 10.0  # times the price, where the loss is a squared distance
SIZE_LOSS = 100.0  # per row of a class as small as can be, where the size of classes is the loss
MENDING_PRICE = (1e3, 1e6)  # the first and the last


@dataclass(frozen=True, eq=False)
class WeaveTable:
    """Rows with their losses and limits, the smallest possible class size, and the flag that stops all work on them."""

    losses: LossTable
    limits: Limits
    points: Floats
    k: int
    usual_size: int  # rows of a class, to begin with
    stop: Flag

    @classmethod
    def of(cls, problem: Problem, progress: Progress) -> WeaveTable:
        """Lay a problem out in arrays; where t is strict, small classes are ruled out at once."""
        limits, stop = limits_of(problem.sensitive, problem.rows), lowered_flag()
        end = max(problem.rows // 2 + 1, problem.k)
        [smallest] = in_parallel(lambda k: int(smallest_class_size(limits, k, end, stop)), [problem.k], progress, stop)
        size_loss = SIZE_LOSS / smallest if problem.by_size else 0.0
        losses = loss_table(problem.all_axes, problem.rows, size_loss)
        return cls(losses, limits, problem.points, smallest, USUAL_SIZE * problem.k, stop)

    def __len__(self) -> int:
        return len(self.losses.codes)

    @property
    def wide(self) -> bool:
        """Whether an attribute has so many values that classes must be large and testing one takes long."""
        attributes = self.limits.attributes
        return bool((attributes["edge_end"] - attributes["edge"] > MOST_EDGES).any())

    def part(self, rows: Rows) -> WeaveTable:
        """Return some of the rows, in this order."""
        losses = replace(self.losses, codes=np.ascontiguousarray(self.losses.codes[rows]))
        limits = replace(self.limits, codes=np.ascontiguousarray(self.limits.codes[rows]))
        return WeaveTable(losses, limits, self.points[rows], self.k, self.usual_size, self.stop)

    def loss(self, labels: Ints) -> float:
        """Return the loss of the classes, summed over rows and quasi-identifiers."""
        return total_loss(self.losses, labels)

    def form_classes(self, share: float, effort: Effort, progress: Progress) -> Ints:
        """Bisect the rows into cells that use up a share of t, and carve classes out of each cell."""
        largest = 2 * self.k if self.wide else max(effort.cell, 2 * self.k)
        bisecting = stretch(progress, 0.0, BISECTED, "forming cells")
        cells = cells_of(self.losses, self.limits, orders_of(self.losses), self.k, largest, share, bisecting, self.stop)
        if self.wide:
            return _numbered(len(self), cells, (np.zeros(len(rows), dtype=np.int32) for rows in cells))

        def carved(rows: SmallInts) -> SmallInts:
            return self.part(rows)._carved(np.array(effort.rates))

        carving = stretch(progress, BISECTED, 1.0, "carving classes")
        return _numbered(len(self), cells, in_parallel(carved, cells, carving, self.stop))

    def _carved(self, rates: NDArray[np.float64]) -> SmallInts:
        """Return the classes that are carved out of all rows, which form a class."""
        rows, labels = len(self), np.zeros(len(self), dtype=np.int32)
        room = carving_room(self.losses, self.limits, rows)
        order = np.arange(rows)
        carve(self.losses, self.limits, order, rows, self.k, self.usual_size, rates, room, labels, self.stop)
        return labels

    def improve(self, labels: Ints, effort: Effort, plan: Pass, seed: int, progress: Progress) -> Ints:
        """Exchange rows between neighbouring classes, group by group; return the new labels, within every limit."""
        groups = groups_of(labels, self.losses, effort.group, np.random.default_rng([seed, 1]))
        seeds = np.random.default_rng([seed, 2]).integers(2**31, size=len(groups))

        def improved(job: tuple[Ints, int]) -> SmallInts:
            rows, group_seed = job
            return self.part(rows)._improved(labels[rows], effort, plan, group_seed)

        jobs = list(zip(groups, seeds.tolist(), strict=True))
        exchanging = stretch(progress, 0.0, 1.0, "exchanging rows")
        labels = _numbered(len(self), groups, in_parallel(improved, jobs, exchanging, self.stop))
        return merged(labels, np.zeros_like(labels), self.points, self.beyond)

    def beyond(self, labels: Ints) -> Bools:
        """Tell which classes are beyond a limit."""
        state = state_of(self.losses, self.limits, labels, 0)
        attributes = self.limits.attributes
        most = attributes["allowed"] * state.size[:, None].astype(object) // attributes["allowed_per"]
        free = state.size[:, None] >= attributes["free_size"]
        return np.asarray(((state.work > most) & ~free).any(axis=1), dtype=bool)

    def _improved(self, labels: Ints, effort: Effort, plan: Pass, seed: int) -> SmallInts:
        """Return better classes of all rows, which are one group."""
        numbers, labels = np.unique(labels, return_inverse=True)
        orders = orders_of(self.losses)
        ranks, classes = ranks_of(orders), len(numbers)
        state = state_of(self.losses, self.limits, labels, classes // 2 + 8)
        common = (self.losses, self.limits, state, orders, ranks, self.k)
        room = recarving_room(self.losses, self.limits, effort.joined, len(state.size))
        recarve(*common, self.usual_size, int(plan.rounds * classes), room, seeded(seed), self.stop)
        steps, spare = int(plan.steps * len(self)), step_room(self.limits, len(state.size))
        if steps:
            heat = self._heat(state, orders, ranks, plan, seed)
            course = schedule(heat, self._price(plan), plan.candidates)
            anneal(*common, steps, course, spare, seeded(seed), self.stop)
            focus = schedule((heat[1], heat[1]), MENDING_PRICE, 1)
            mend(*common, MENDING * len(self), focus, spare, seeded(seed + 1), self.stop)
        return state.label

    def _price(self, plan: Pass) -> tuple[float, float]:
        """Return the first and the last price; squared distances of far rows cost more than any range can."""
        factor = SQUARED_PRICE if self.losses.squared else 1.0
        return factor * plan.price[0], factor * plan.price[1]

    def _heat(
        self, state: ClassState, orders: SmallInts, ranks: SmallInts, plan: Pass, seed: int
    ) -> tuple[float, float]:
        """Return the first and the last temperature: a pass begins hot, but not where random swaps cost little."""
        costs = np.empty(SAMPLED_SWAPS)
        count = sampled_costs(self.losses, state, orders, ranks, plan.candidates, costs, seeded(seed))
        dear = costs[:count][costs[:count] > 0]
        first = min(plan.heat[0], 2.0 * float(np.median(dear))) if len(dear) else plan.heat[0]
        return first, first * plan.heat[1] / plan.heat[0]


def _numbered(rows: int, parts: Sequence[Rows], labels: Iterator[SmallInts]) -> Ints:
    """Return one label per row, from the labels of each part's rows; no two parts share a class."""
    all_labels, first = np.empty(rows, dtype=np.int64), 0
    for part, part_labels in zip(parts, labels, strict=True):
        all_labels[part] = first + part_labels
        first += int(part_labels.max()) + 1
    return np.unique(all_labels, return_inverse=True)[1].astype(np.int64)
