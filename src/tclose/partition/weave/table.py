"""The table as weave sees it, and the two things that weave does to it: form classes, then improve them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, pairwise

import numpy as np

from tclose.partition.problem import Problem
from tclose.partition.shared.loss import LossTable, loss_table, total_loss
from tclose.partition.shared.merge import merged
from tclose.partition.shared.workers import Flag, in_parallel, lowered_flag
from tclose.partition.weave.bisection import Bisection, orders_of
from tclose.partition.weave.carving import LOOKED_AT, CarvingRoom, carve, carving_room
from tclose.partition.weave.equality import equality_classes, points_of
from tclose.partition.weave.exchange import Schedule, schedule
from tclose.partition.weave.groups import Neighbourhood, Recutting, Rows, groups_of, orders_within
from tclose.partition.weave.limits import Effort, Limits, Pass, limits_of
from tclose.partition.weave.state import beyond_limits
from tclose.partition.weave.transport import smallest_class_size
from tclose.partition.weave.trees import RULE
from tclose.table.classes import ranked, rows_by_label
from tclose.types import Bools, Floats, Ints, Progress, SmallInts, stretch

FEW_ROWS = 500  # of a table on which a thread takes longer to start than to end
BISECTED = 0.3  # of the progress of forming classes, made when the rows are in cells
REGION = 100_000  # rows of a region, in which equality classes are made, about
DIVIDED, COUNTED = 0.05, 0.1  # of the progress of forming classes, made when rows are in regions, in equality classes
LEAST_EQUAL = 0.3  # of all rows, in equality classes, or else there are none
EQUAL_ROWS = 100  # of an equality class on average, or else there are none
CELL = 100  # rows of a cell, out of which classes are carved
BATCH = 32  # cells that a thread carves in one go
FEW_LOOKED_AT = 256  # rows of a cell of a large table, for each row that a class grows by
RATE = 1.0  # loss per row of excess work, at which classes are carved
MOST_EDGES = 4096  # of an attribute whose classes are still carved and improved
USUAL_SIZE = 4  # times k, of a class to begin with
CANDIDATES = 2  # classes that a row chooses from in one order, at most
CARVED = 0.1  # of the progress of an improvement, made when classes have been carved again
SQUARED_PRICE = 10.0  # times the price, where the loss is a squared distance
SQUARED_HEAT = (10.0, 3.0)  # times the first and the last temperature, where the loss is a squared distance
SIZE_LOSS = 100.0  # per row of a class as small as can be, where the size of classes is the loss


@dataclass(frozen=True, eq=False)
class WeaveTable:
    """Rows with their losses and limits, the smallest possible class size, and the flag that stops all work on them."""

    losses: LossTable
    limits: Limits
    points: Floats
    k: int
    usual_size: int  # rows of a class, to begin with
    stop: Flag
    formed: dict[float, Ints] = field(default_factory=dict)  # classes, by the share of t

    @classmethod
    def of(cls, problem: Problem, progress: Progress) -> WeaveTable:
        """Lay a problem out in arrays; where t is strict, small classes are ruled out at once."""
        limits = limits_of(problem.sensitive, problem.rows, problem.repeated_persons, problem.k)
        stop = lowered_flag()
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

    @property
    def _is_small(self) -> bool:
        """Whether each step of the work takes milliseconds."""
        return len(self) <= FEW_ROWS

    def part(self, rows: Rows) -> WeaveTable:
        """Return some of the rows, in this order."""
        losses = replace(self.losses, codes=self.losses.codes.take(rows, axis=0))
        return WeaveTable(
            losses, self.limits.part(rows), self.points.take(rows, axis=0), self.k, self.usual_size, self.stop
        )

    def loss(self, labels: Ints) -> float:
        """Return the loss of the classes, summed over rows and quasi-identifiers."""
        return total_loss(self.losses, labels)

    @cached_property
    def orders(self) -> SmallInts:
        """The rows in the order of each quasi-identifier."""
        return orders_of(self.losses)

    def form_classes(self, share: float, progress: Progress, recuts: Sequence[int] = ()) -> Ints:
        """Bisect the rows into cells that use up a share of t, and carve classes out of each cell.

        Before they are carved, cells are cut again in groups of so many rows. A larger effort may begin with the same
        classes as a smaller one, so they are kept.
        """
        if share not in self.formed:
            self.formed[share] = self._form(share, progress, recuts)
        return self.formed[share]

    def _form(self, share: float, progress: Progress, recuts: Sequence[int]) -> Ints:
        if not recuts or not self._may_keep_equal_rows:
            return self._cut_and_carved(share, progress, recuts)
        regions = self._regions(share, stretch(progress, 0.0, DIVIDED, "forming cells"))
        tables = [self.part(rows) for rows in regions]

        def classes_of(table: WeaveTable) -> Ints:
            return equality_classes(table.losses, table.limits, self.k, share, self.stop)

        counting, progress = stretch(progress, DIVIDED, COUNTED, "forming cells"), stretch(progress, COUNTED, 1.0)
        equal = list(in_parallel(classes_of, tables, counting, self.stop))
        rows, classes = (sum(map(count, equal)) for count in (_rows_in_classes, _classes))
        if not self._are_worthwhile(rows, classes):
            return self._cut_and_carved(share, progress, recuts)
        ends = np.cumsum([0, *(len(table) for table in tables)]) / len(self)
        parts = zip(tables, equal, pairwise(ends.tolist()), strict=True)
        labels = (table._completed(known, share, stretch(progress, *own), recuts) for table, known, own in parts)
        return _numbered(len(self), regions, labels)

    def _are_worthwhile(self, rows: int, classes: int) -> bool:
        """Tell whether equality classes with so many rows in all are kept: small ones do better with other rows."""
        return rows >= max(LEAST_EQUAL * len(self), EQUAL_ROWS * classes)

    def _regions(self, share: float, progress: Progress) -> list[SmallInts]:
        """Return the rows of each region in which equality classes are made."""
        return self._cells(share, REGION, progress) if len(self) > REGION else [np.arange(len(self), dtype=np.int32)]

    def _completed(self, labels: Ints, share: float, progress: Progress, recuts: Sequence[int]) -> Ints:
        """Return some classes, and those that are formed of the rest, the rows whose label is -1."""
        labels, rest = labels.copy(), np.flatnonzero(labels < 0)
        if len(rest):
            labels[rest] = _classes(labels) + self.part(rest)._cut_and_carved(share, progress, recuts)
        return labels

    @property
    def _may_keep_equal_rows(self) -> bool:
        """Whether equal rows may lose least in one class, and each counts as a person of its own.

        Where all values are equally far apart, a rest without the common values needs classes that are too large; where
        the loss is a squared distance, a rest of far rows loses too much.
        """
        if self.wide or self.losses.size_loss or self.losses.squared or len(self.limits.persons):
            return False
        distances = self.limits.attributes[self.limits.attributes["kind"] != RULE]
        return not len(distances) or bool((distances["path_end"] > distances["edge"]).any())

    def _cut_and_carved(self, share: float, progress: Progress, recuts: Sequence[int]) -> Ints:
        bisecting = stretch(progress, 0.0, BISECTED, "forming cells")
        if self.wide:
            cells = self._cells(share, 2 * self.k, bisecting)
            return _numbered(len(self), cells, (np.zeros(len(rows), dtype=np.int32) for rows in cells))
        largest = max(CELL, 2 * self.k)
        cells = self._recut(share, largest, recuts, bisecting) if recuts else self._cells(share, largest, bisecting)

        def carved(batch: Sequence[SmallInts]) -> list[SmallInts]:
            room = carving_room(self.losses, self.limits, max(len(rows) for rows in batch))
            return [self._carved(rows, FEW_LOOKED_AT if recuts else LOOKED_AT, room) for rows in batch]

        carving = stretch(progress, BISECTED, 1.0, "carving classes")
        batches = [cells[first : first + BATCH] for first in range(0, len(cells), BATCH)]
        labels = in_parallel(carved, batches, carving, self.stop, quick=self._is_small)
        return _numbered(len(self), cells, chain.from_iterable(labels))

    def _cells(self, share: float, largest: int, progress: Progress) -> list[SmallInts]:
        bisection = Bisection(self.losses, self.limits, self.k, share, self.stop)
        return bisection.cells(self.orders, largest, progress, quick=self._is_small)

    def _recut(self, share: float, largest: int, recuts: Sequence[int], progress: Progress) -> list[SmallInts]:
        """Return the rows of each cell of a large table, in the first order, after cells were cut again."""
        bounds = pairwise(np.linspace(0.0, 1.0, len(recuts) + 3).tolist())
        parts = [stretch(progress, *ends) for ends in bounds]
        cells = self._cells(share, max(recuts), parts[0])
        recutting = Recutting.of(self.losses, self.limits, self.orders, self.k, largest, share, self.stop)
        labels = _numbered(len(self), cells, (np.zeros(len(rows), dtype=np.int32) for rows in cells))
        labels, random = recutting.recut(labels, cells, parts[1]), np.random.default_rng(len(self))
        for rows, part in zip(recuts, parts[2:], strict=True):
            labels = recutting.recut(labels, groups_of(labels, self.losses, rows, random), part)
        ends = np.cumsum(np.bincount(labels))
        return np.split(self.orders[0][rows_by_label(labels[self.orders[0]], len(ends))], ends[:-1])

    def _carved(self, rows: SmallInts, looked_at: int, room: CarvingRoom) -> SmallInts:
        """Return the classes that are carved out of some rows, which form a class."""
        order, labels = rows.astype(np.int64), np.zeros(len(rows), dtype=np.int32)
        common = (self.losses, self.limits, order, len(rows), self.k, self.usual_size, looked_at)
        carve(*common, RATE, room, labels, self.stop)
        return labels

    def improve(self, labels: Ints, effort: Effort, plan: Pass, seed: int, progress: Progress) -> Ints:
        """Carve some classes again, then exchange rows; return the new labels, within every limit."""
        if effort.recuts and self._may_keep_equal_rows and (rows := self._unequal(labels)) is not None:
            return self._improved_only(rows, labels, effort, plan, seed, progress)
        plan = self.suited(plan)
        random, carved = np.random.default_rng(seed), CARVED if plan.rounds else 0.0
        if plan.rounds:
            carving = stretch(progress, 0.0, carved, "carving classes")
            labels = self._recarved(labels, effort, plan, random, carving)
        if plan.steps:
            exchanging = stretch(progress, carved, 1.0, "exchanging rows")
            labels = self._annealed(labels, effort, plan, random, exchanging)
        return labels

    def _unequal(self, labels: Ints) -> Ints | None:
        """Return the rows that are not in equality classes; None where such classes would not be kept."""
        points = points_of(self.losses)
        point_of = np.empty(int(labels.max()) + 1, dtype=np.int64)
        point_of[labels] = points
        equal = np.bincount(labels, weights=points != point_of[labels]) == 0
        rows = np.flatnonzero(~equal[labels])
        classes = int(np.count_nonzero(equal))
        return rows if classes and self._are_worthwhile(len(self) - len(rows), classes) else None

    def _improved_only(
        self, rows: Ints, labels: Ints, effort: Effort, plan: Pass, seed: int, progress: Progress
    ) -> Ints:
        """Return the labels after some rows, which are whole classes, were improved."""
        if not len(rows):
            return labels
        improved, part = labels.copy(), self.part(rows)
        improved[rows] = labels.max() + 1 + part.improve(ranked(labels[rows])[0], effort, plan, seed, progress)
        return ranked(improved)[0]

    def suited(self, plan: Pass) -> Pass:
        """Return the plan for so many quasi-identifiers: few allow few candidates, many a hotter beginning."""
        axes = len(self.losses.columns)
        hottest = 0.0 if self.losses.squared else plan.axis_heat * axes
        heat = (max(plan.heat[0], hottest), plan.heat[1])
        return replace(plan, heat=heat, candidates=min(plan.candidates, CANDIDATES * axes))

    def _recarved(
        self, labels: Ints, effort: Effort, plan: Pass, random: np.random.Generator, progress: Progress
    ) -> Ints:
        """Join a few classes at a time and carve them again."""

        def recarve(group: Neighbourhood, seed: int) -> None:
            group.recarve(plan.rounds, effort.joined, self.usual_size, seed)

        return self._in_groups(labels, effort, random, recarve, progress)

    def _annealed(
        self, labels: Ints, effort: Effort, plan: Pass, random: np.random.Generator, progress: Progress
    ) -> Ints:
        """Exchange rows while temperature falls and price rises; the groups change several times on the way."""
        heat, price = self._heat(labels, effort, plan, random), self._price(plan)
        bounds = np.linspace(0.0, 1.0, plan.slices + 1).tolist()
        for start, end in pairwise(bounds):
            ends = (_between(heat, start, end), _between(price, start, end))
            course = schedule(*ends, plan.candidates, plan.drawn, plan.tries, plan.moves)

            def exchange(group: Neighbourhood, seed: int, course: Schedule = course, end: float = end) -> None:
                group.anneal(plan.steps / plan.slices, course, seed)
                if end == 1.0:
                    group.mend(heat[1], price[1], seed + 1)

            labels = self._in_groups(labels, effort, random, exchange, stretch(progress, start, end))
        return merged(labels, np.zeros_like(labels), self.points, self._failing)

    def _failing(self, labels: Ints) -> Bools:
        """Tell which classes are beyond a limit; all rows are one, also where a tree is stricter than its distance."""
        return beyond_limits(self.limits, labels) if labels.max() > 0 else np.zeros(1, dtype=np.bool_)

    def _in_groups(
        self,
        labels: Ints,
        effort: Effort,
        random: np.random.Generator,
        work: Callable[[Neighbourhood, int], None],
        progress: Progress,
    ) -> Ints:
        """Do some work on every group of neighbouring classes, each with a seed; return the new labels."""
        groups = groups_of(labels, self.losses, effort.group, random)
        seeds = random.integers(2**31, size=len(groups))

        def worked(job: tuple[Ints, SmallInts, int]) -> SmallInts:
            rows, orders, seed = job
            group = self._group(labels, rows, orders)
            work(group, seed)
            return group.state.label

        jobs = list(zip(groups, orders_within(self.orders, groups), seeds.tolist(), strict=True))
        return _numbered(len(self), groups, in_parallel(worked, jobs, progress, self.stop, quick=self._is_small))

    def _group(self, labels: Ints, rows: Rows, orders: SmallInts) -> Neighbourhood:
        part = self.part(rows)
        points = part._scaled_points if part.losses.squared else part.points
        return Neighbourhood.of(part.losses, part.limits, points, orders, labels[rows], self.k, self.stop)

    @property
    def _scaled_points(self) -> Floats:
        """The rows as points whose squared distances are what a class of both loses."""
        deviation = self.points.std(axis=0)
        return self.points / np.where(deviation > 0, deviation, 1.0)

    def _price(self, plan: Pass) -> tuple[float, float]:
        """Return the first and the last price; squared distances of far rows cost more than any range can."""
        factor = SQUARED_PRICE if self.losses.squared else 1.0
        return factor * plan.price[0], factor * plan.price[1]

    def _heat(self, labels: Ints, effort: Effort, plan: Pass, random: np.random.Generator) -> tuple[float, float]:
        """Return the first and the last temperature: a pass begins hot, but not where random swaps cost little."""
        groups = groups_of(labels, self.losses, effort.group, random)[:1]
        [orders] = orders_within(self.orders, groups)
        costs = self._group(labels, groups[0], orders).swap_costs(plan.candidates, int(random.integers(2**31)))
        dear = costs[costs > 0]
        first = min(plan.heat[0], 2.0 * float(np.median(dear))) if len(dear) else plan.heat[0]
        hotter, colder = SQUARED_HEAT if self.losses.squared else (1.0, 1.0)
        return hotter * first, colder * first * plan.heat[1] / plan.heat[0]


def _between(ends: tuple[float, float], start: float, end: float) -> tuple[float, float]:
    """Return the part of a geometric course from one share of its way to another."""
    first, last = ends
    return first * (last / first) ** start, first * (last / first) ** end


def _classes(labels: Ints) -> int:
    return int(labels.max()) + 1


def _rows_in_classes(labels: Ints) -> int:
    return int(np.count_nonzero(labels >= 0))


def _numbered(rows: int, parts: Sequence[Rows], labels: Iterable[Rows]) -> Ints:
    """Return one label per row, from the labels of each part's rows; no two parts share a class."""
    all_labels, first = np.empty(rows, dtype=np.int64), 0
    for part, part_labels in zip(parts, labels, strict=True):
        all_labels[part] = first + part_labels
        first += int(part_labels.max()) + 1
    numbers = np.cumsum(np.bincount(all_labels, minlength=1) > 0) - 1  # a part may leave numbers out
    return numbers[all_labels].astype(np.int64)
