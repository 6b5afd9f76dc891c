"""Groups of neighbouring classes and cells; every pass has other groups.

Within a group of classes, classes are carved again and rows are exchanged.

Groups of whole cells are bisected anew, and the new cells stay where they lose less. The first cuts of a large table
suit the table, not each of its corners. Groups of neighbouring cells are cut in other places, because they begin and
end elsewhere. A union of cells within their share of t is within it as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.partition.shared.kernels import array, kernel, kernel_struct, part, slow_kernel, structure
from tclose.partition.shared.loss import Extents, LossTable, class_loss, clear_extent, empty_extents, extend
from tclose.partition.shared.workers import Flag, in_parallel
from tclose.partition.weave.bisection import CutRoom, Sides, copy_sides, cut, cut_room, ranks_of, strata_of
from tclose.partition.weave.carving import recarve, recarving_room
from tclose.partition.weave.exchange import (
    MANY_TRIES,
    Neighbours,
    Schedule,
    anneal,
    mend,
    nearest_rows,
    no_nearest_rows,
    sampled_costs,
    schedule,
    step_room,
)
from tclose.partition.weave.limits import Limits
from tclose.partition.weave.state import ClassState, seeded, state_of
from tclose.table.classes import ranked, rows_by_label
from tclose.types import Bools, Floats, Ints, Progress, SmallInts

# Which classes are neighbours


Rows = NDArray[np.signedinteger[Any]]


def groups_of(labels: Ints, table: LossTable, most: int, random: np.random.Generator) -> list[Ints]:
    """Return the rows of each group of classes: up to `most`, or a single larger class."""
    sizes = np.bincount(labels)
    groups = _bisect(_centres(labels, sizes, table), sizes, most, random)
    group_of = np.empty(len(sizes), dtype=np.int64)
    for number, classes in enumerate(groups):
        group_of[classes] = number
    of_row = group_of[labels]
    ends = np.cumsum(np.bincount(of_row, minlength=len(groups)))
    return np.split(rows_by_label(of_row, len(groups)), ends[:-1])


def orders_within(orders: SmallInts, groups: Sequence[Ints]) -> list[SmallInts]:
    """Return, per group, the places of its rows in the order of each quasi-identifier; other rows are left out."""
    sizes = [len(rows) for rows in groups]
    place = np.zeros(orders.shape[1], dtype=np.int32)
    place[np.concatenate(groups)] = np.concatenate([np.arange(size, dtype=np.int32) for size in sizes])
    within = place[arranged(orders, group_of_rows(groups, orders.shape[1]), len(groups) + 1)]
    parts = np.split(within, np.cumsum(sizes), axis=1)
    return [np.ascontiguousarray(part) for part in parts[: len(groups)]]


def group_of_rows(groups: Sequence[Rows], rows: int) -> SmallInts:
    """Return the number of each row's group; a row that is in none of them has the next number."""
    numbers = np.full(rows, len(groups), dtype=np.int32)
    numbers[np.concatenate(groups)] = np.repeat(np.arange(len(groups), dtype=np.int32), [len(each) for each in groups])
    return numbers


def arranged(orders: SmallInts, group_of: SmallInts, groups: int) -> SmallInts:
    """Return the rows group by group, in the order of each quasi-identifier."""
    return np.stack([order[rows_by_label(group_of[order], groups)] for order in orders])


def _centres(labels: Ints, sizes: Ints, table: LossTable) -> Floats:
    columns = (column / max(int(column.max()), 1) for column in table.codes.T)
    centres = [np.bincount(labels, weights=column) / sizes for column in columns]
    return np.stack(centres or [np.zeros(len(sizes))], axis=1)


def _bisect(centres: Floats, sizes: Ints, most: int, random: np.random.Generator) -> list[Ints]:
    """Bisect the classes, each time along one of the coordinates on which they are spread most, into small groups."""
    stack, groups = [np.arange(len(sizes))], []
    while stack:
        classes = stack.pop()
        rows = int(sizes[classes].sum())
        if rows <= most or len(classes) < 2:
            groups.append(classes)
            continue
        # the axis and the place vary from pass to pass, so that every class meets all its neighbours
        spread = centres[classes].std(axis=0) * random.uniform(0.3, 1, size=centres.shape[1])
        ordered = classes[np.argsort(centres[classes, int(spread.argmax())], kind="stable")]
        cut = int(np.searchsorted(np.cumsum(sizes[ordered]), rows * random.uniform(0.35, 0.65)))
        cut = min(max(cut, 1), len(classes) - 1)
        stack += [ordered[cut:], ordered[:cut]]
    return groups


# One group of classes: classes are carved again, rows are exchanged


SAMPLED_SWAPS = 512  # whose costs tell where to begin the temperature
MENDING = 20  # steps per row that are tried at most to mend classes beyond a limit
MENDING_RISE = 1e3  # of the price, while classes are mended


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Classes as kernels see and change them: what they lose, their limits, and the rows in every order."""

    losses: LossTable
    limits: Limits
    state: ClassState
    near: Neighbours
    k: int
    stop: Flag

    @classmethod
    def of(
        cls, losses: LossTable, limits: Limits, points: Floats, orders: SmallInts, labels: Ints, k: int, stop: Flag
    ) -> Neighbourhood:
        """Gather the classes of some rows; their labels need not be consecutive."""
        labels, classes = ranked(labels)
        state = state_of(losses, limits, labels, classes // 2 + 8)
        nearest = nearest_rows(points) if losses.squared else no_nearest_rows(len(labels))
        return cls(losses, limits, state, Neighbours(orders, ranks_of(orders), nearest), k, stop)

    def recarve(self, rounds: float, joined: int, usual_size: int, seed: int) -> None:
        """Join a few classes at a time and carve them again, so many rounds for each class."""
        classes = int(np.count_nonzero(self.state.size))
        room = recarving_room(self.losses, self.limits, joined, len(self.state.size))
        common = (self.losses, self.limits, self.state, self.near.orders, self.near.ranks, self.k)
        recarve(*common, usual_size, int(rounds * classes), room, seeded(seed), self.stop)

    def anneal(self, steps_per_row: float, course: Schedule, seed: int) -> None:
        """Exchange rows; classes may end beyond a limit."""
        steps, room = int(steps_per_row * len(self.state.label)), step_room(self.limits, self.state)
        anneal(*self._arguments, steps, course, room, seeded(seed), self.stop)

    def mend(self, heat: float, price: float, seed: int) -> None:
        """Exchange rows of classes that are beyond a limit, at a rising price, until none is or it takes too long."""
        steps, room = MENDING * len(self.state.label), step_room(self.limits, self.state)
        course = schedule((heat, heat), (price, MENDING_RISE * price), 1, tries=MANY_TRIES)
        mend(*self._arguments, steps, course, room, seeded(seed), self.stop)

    def swap_costs(self, candidates: int, seed: int) -> Floats:
        """Return what some random swaps would add to the loss."""
        costs = np.empty(SAMPLED_SWAPS)
        count = sampled_costs(self.losses, self.state, self.near, candidates, costs, seeded(seed))
        return costs[:count]

    @property
    def _arguments(self) -> tuple[LossTable, Limits, ClassState, Neighbours, int]:
        return self.losses, self.limits, self.state, self.near, self.k


# Groups of cells are cut again


BATCHES = 8  # of groups that threads cut


@kernel_struct
class RecuttingRoom:
    """Memory for cutting one group: the rows of every part in every order, one part after the other."""

    rows: SmallInts = array(np.int32)
    divided: SmallInts = array(np.int32)  # the same, while a part is divided
    parts: Ints = array(np.int64, 2)  # that wait × (first row, rows, halvings of the sensitive values to begin with)
    cut: CutRoom = structure(CutRoom)
    extents: Extents = structure(Extents)  # of one cell


@dataclass(frozen=True, eq=False)
class Recutting:
    """What does not change while the cells of a table are cut again and again."""

    table: LossTable
    limits: Limits
    orders: SmallInts
    k: int
    largest: int  # rows of a cell that is not cut
    share: float  # of every limit that a cell may use up
    strata: SmallInts
    sides: Sides
    stop: Flag

    @classmethod
    def of(
        cls, table: LossTable, limits: Limits, orders: SmallInts, k: int, largest: int, share: float, stop: Flag
    ) -> Recutting:
        """Prepare to cut the cells of a table."""
        sides = Sides(np.zeros(len(table.codes), dtype=np.bool_), np.zeros(len(table.codes), dtype=np.bool_))
        return cls(table, limits, orders, k, largest, share, strata_of(limits), sides, stop)

    def recut(self, labels: Ints, groups: Sequence[Rows], progress: Progress) -> Ints:
        """Return the cell of each row after each group of whole cells, given by its rows, was cut anew."""
        group_of, cells = group_of_rows(groups, len(labels)), np.empty(len(labels), dtype=np.int32)
        before = np.bincount(group_of, weights=_losses(self.table, labels)[labels], minlength=len(groups))
        ends = np.cumsum([len(rows) for rows in groups])
        orders = np.split(arranged(self.orders, group_of, len(groups)), ends[:-1], axis=1)
        batches = [orders[first::BATCHES] for first in range(min(BATCHES, len(groups)))]

        def bisected(batch: Sequence[SmallInts]) -> list[tuple[int, float]]:
            room = self._room(max(orders.shape[1] for orders in batch))
            return [self._bisected(np.ascontiguousarray(orders), room, cells) for orders in batch]

        found, after = np.empty(len(groups), dtype=np.int64), np.empty(len(groups))
        for first, results in enumerate(in_parallel(bisected, batches, progress, self.stop)):
            found[first::BATCHES], after[first::BATCHES] = zip(*results, strict=True)
        # a union of cells keeps to their share of t, so its old cells can always stay (decision 101)
        better = after < before - 1e-9
        firsts = int(labels.max()) + 1 + np.cumsum(found) - found
        new = np.where(better[group_of], firsts[group_of] + cells, labels)
        return (np.cumsum(np.bincount(new) > 0) - 1)[new]

    def _room(self, rows: int) -> RecuttingRoom:
        views = len(self.orders)
        return RecuttingRoom(
            np.empty(views * rows, dtype=np.int32),
            np.empty(views * rows, dtype=np.int32),
            np.empty((rows + 1, 3), dtype=np.int64),
            cut_room(self.table, self.limits),
            empty_extents(self.table, 1),
        )

    def _bisected(self, orders: SmallInts, room: RecuttingRoom, cells: SmallInts) -> tuple[int, float]:
        common = (self.table, self.limits, orders, self.strata, self.k, self.largest, self.share)
        count, loss = _bisect_cells(*common, self.sides, room, cells, self.stop)
        return int(count), float(loss)


@slow_kernel(3)
def _bisect_cells(
    table: LossTable,
    limits: Limits,
    orders: SmallInts,
    strata: SmallInts,
    k: int,
    largest: int,
    share: float,
    sides: Sides,
    room: RecuttingRoom,
    cells: SmallInts,
    stop: Flag,
) -> tuple[int, float]:
    """Cut a group until no part can be cut; note the cell of each row; return how many cells there are, their loss."""
    views, found, loss = orders.shape[0], 0, 0.0
    room.rows[: orders.size] = orders.reshape(orders.size)
    waiting = _push(room.parts, 0, 0, orders.shape[1], 0)
    # waiting parts lie in `room.rows` without overlapping and are divided in place: kernels allocate nothing
    while waiting > 0:
        waiting -= 1
        first, count, halvings = room.parts[waiting, 0], room.parts[waiting, 1], room.parts[waiting, 2]
        rows = room.rows[views * first : views * (first + count)].reshape(views, count)
        taken = -1
        if count > largest:
            taken, _ = cut(table, limits, rows, strata, halvings, k, share, sides, room.cut, stop)
        if taken < 0:
            loss += _cell(table, room.extents, rows, found, cells)
            found += 1
            continue
        left = _divide(rows, sides.chosen, room, first)
        waiting = _push(room.parts, waiting, first + left, count - left, taken)
        waiting = _push(room.parts, waiting, first, left, taken)
    return found, loss


@part
def _push(parts: Ints, waiting: int, first: int, count: int, taken: int) -> int:
    """Let a part wait to be cut; return how many wait."""
    parts[waiting, 0] = first
    parts[waiting, 1] = count
    parts[waiting, 2] = taken
    return waiting + 1


@part
def _cell(table: LossTable, extents: Extents, rows: SmallInts, number: int, cells: SmallInts) -> float:
    """Note the rows of a cell; return their loss."""
    clear_extent(extents, 0)
    for i in range(rows.shape[1]):
        extend(table, extents, 0, int(rows[0, i]))
        cells[rows[0, i]] = number
    return float(rows.shape[1] * class_loss(table, extents, 0, -1, -1))


@part
def _divide(rows: SmallInts, right: Bools, room: RecuttingRoom, first: int) -> int:
    """Put the left rows of a part before the right ones, in every order; return how many go left."""
    views, count = rows.shape
    left = 0
    for i in range(count):
        left += 0 if right[rows[0, i]] else 1
    start, middle, end = views * first, views * (first + left), views * (first + count)
    copy_sides(
        rows,
        right,
        room.divided[start:middle].reshape(views, left),
        room.divided[middle:end].reshape(views, count - left),
    )
    room.rows[start:end] = room.divided[start:end]
    return left


def _losses(table: LossTable, labels: Ints) -> Floats:
    """Return the loss per row of each of the classes 0, 1, 2, …."""
    losses = np.empty(int(labels.max()) + 1)
    _fill_losses(table, labels, empty_extents(table, len(losses)), losses)
    return losses


@kernel
def _fill_losses(table: LossTable, labels: Ints, extents: Extents, losses: Floats) -> None:
    for c in range(len(losses)):
        clear_extent(extents, c)
    for row in range(len(labels)):
        extend(table, extents, labels[row], row)
    for c in range(len(losses)):
        losses[c] = class_loss(table, extents, c, -1, -1)
