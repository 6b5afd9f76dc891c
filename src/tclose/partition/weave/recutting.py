"""Cut cells again: groups of whole cells are bisected anew, and the new cells stay where they lose less.

The first cuts of a large table suit the table, not each of its corners. Groups of neighbouring cells are cut in other
places, because they begin and end elsewhere. A union of cells within their share of t is within it as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tclose.partition.shared.kernels import kernel, part, slow_kernel
from tclose.partition.shared.loss import Extents, LossTable, class_loss, clear_extent, empty_extents, extend
from tclose.partition.shared.structs import array, kernel_struct, structure
from tclose.partition.shared.workers import Flag, in_parallel
from tclose.partition.weave.bisection import CutRoom, Sides, copy_sides, cut, cut_room, strata_of
from tclose.partition.weave.groups import Rows, arranged, group_of_rows
from tclose.partition.weave.limits import Limits
from tclose.types import Bools, Floats, Ints, Progress, SmallInts

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
        count, loss = _bisect(*common, self.sides, room, cells, self.stop)
        return int(count), float(loss)


@slow_kernel(3)
def _bisect(
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
