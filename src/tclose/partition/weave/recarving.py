"""Join a few neighbouring classes and carve them again; keep the new classes where they lose less.

The joined rows are within every limit, since merging never raises closeness, so carving always starts from a class.
"""

from __future__ import annotations

import numpy as np

from tclose.partition.shared.kernels import part, slow_kernel
from tclose.partition.shared.loss import Extents, LossTable, empty_extents, loss_of_classes
from tclose.partition.shared.structs import array, kernel_struct, structure
from tclose.partition.shared.workers import Flag, raised
from tclose.partition.weave.carving import CarvingRoom, carve, carving_room
from tclose.partition.weave.limits import Limits
from tclose.partition.weave.splitmix import Generator, integer_below, uniform
from tclose.partition.weave.state import ClassState, derive, join, leave
from tclose.types import Ints, SmallInts

MOST_ROWS = 120  # carved again together: the time grows with their square
LOWEST_RATE, HIGHEST_RATE = 0.1, 5.0  # loss per row of excess work, between which each carving draws its own
NEIGHBOURHOOD = 16  # rows looked at in an order, per class to be joined


@kernel_struct
class RecarvingRoom:
    """Memory for carving a few classes again."""

    carving: CarvingRoom = structure(CarvingRoom)
    classes: Ints = array(np.int64)  # the classes to be joined
    rows: Ints = array(np.int64)  # their rows
    labels: SmallInts = array(np.int32)  # the new class of each of the rows
    sizes: Ints = array(np.int64)  # of the new classes
    names: Ints = array(np.int64)  # the number of each new class
    free: Ints = array(np.int64)  # numbers of classes without rows
    extents: Extents = structure(Extents)  # of the new classes


def recarving_room(table: LossTable, limits: Limits, joined: int, classes: int) -> RecarvingRoom:
    """Return memory for joining up to `joined` of so many classes."""
    return RecarvingRoom(
        carving_room(table, limits, MOST_ROWS),
        np.empty(joined, dtype=np.int64),
        np.empty(MOST_ROWS, dtype=np.int64),
        np.empty(MOST_ROWS, dtype=np.int32),
        np.empty(MOST_ROWS, dtype=np.int64),
        np.empty(MOST_ROWS, dtype=np.int64),
        np.empty(classes, dtype=np.int64),
        empty_extents(table, MOST_ROWS),
    )


@slow_kernel(2.3)
def recarve(
    table: LossTable,
    limits: Limits,
    state: ClassState,
    orders: SmallInts,
    ranks: SmallInts,
    k: int,
    usual: int,
    rounds: int,
    room: RecarvingRoom,
    generator: Generator,
    stop: Flag,
) -> int:
    """Carve again around random rows; return how many rounds were made."""
    free = _free_classes(state, room.free)
    for number in range(rounds):
        if raised(stop):
            return number
        row = integer_below(generator, len(state.label))
        if state.loss[state.label[row]] == 0.0:
            continue
        order = integer_below(generator, len(orders))
        classes = _neighbours(state, orders, ranks, order, row, room.classes)
        count = _members(state, room.classes, classes, room.rows)
        if count < 2 * k:
            continue
        _arrange(room.rows, count, ranks, order, generator)
        rate = LOWEST_RATE * (HIGHEST_RATE / LOWEST_RATE) ** uniform(generator)
        for i in range(count):
            room.labels[i] = 0
        new = carve(table, limits, room.rows, count, k, usual, MOST_ROWS, rate, room.carving, room.labels, stop)
        if new <= classes + free and _is_better(table, state, room, classes, count, new):
            free = _replace(table, limits, state, room, classes, count, new, free)
    return rounds


@part
def _free_classes(state: ClassState, free: Ints) -> int:
    """Gather the numbers of the classes without rows; return how many there are."""
    count = 0
    for c in range(len(state.size)):
        if state.size[c] == 0:
            free[count] = c
            count += 1
    return count


@part
def _neighbours(state: ClassState, orders: SmallInts, ranks: SmallInts, order: int, row: int, classes: Ints) -> int:
    """Gather the classes of the rows around a row, as many as can be carved together; return how many there are."""
    gathered, rank = 0, int(ranks[order, row])
    for step in range(NEIGHBOURHOOD * len(classes)):
        near = rank + (step // 2 + 1 if step % 2 else -(step // 2))
        if near < 0 or near >= orders.shape[1]:
            continue
        c = int(state.label[orders[order, near]])
        listed = False
        for i in range(gathered):
            listed = listed or classes[i] == c
        if not listed:
            classes[gathered] = c
            gathered += 1
            if gathered == len(classes):
                break
    fitting, rows = 0, 0
    while fitting < gathered and rows + state.size[classes[fitting]] <= MOST_ROWS:
        rows += state.size[classes[fitting]]
        fitting += 1
    return fitting


@part
def _members(state: ClassState, classes: Ints, count: int, rows: Ints) -> int:
    """Gather the rows of the first `count` classes; return how many there are."""
    gathered = 0
    for j in range(count):
        c = classes[j]
        for i in range(state.size[c]):
            rows[gathered] = state.members[c, i]
            gathered += 1
    return gathered


@part
def _arrange(rows: Ints, count: int, ranks: SmallInts, order: int, generator: Generator) -> None:
    """Arrange the rows, which are the seeds in turn: at random, or along an order, one way or the other."""
    for i in range(count - 1, 0, -1):
        j = integer_below(generator, i + 1)
        row = rows[i]
        rows[i] = rows[j]
        rows[j] = row
    if uniform(generator) < 0.5:
        backwards = uniform(generator) < 0.5
        for i in range(1, count):
            row, j = rows[i], i
            while j > 0 and (ranks[order, row] > ranks[order, rows[j - 1]]) == backwards:
                rows[j] = rows[j - 1]
                j -= 1
            rows[j] = row


@part
def _is_better(table: LossTable, state: ClassState, room: RecarvingRoom, classes: int, count: int, new: int) -> bool:
    """Tell whether the new classes lose less than the joined ones did, and there is room for all their members."""
    before = 0.0
    for i in range(classes):
        c = room.classes[i]
        before += state.size[c] * state.loss[c]
    loss = loss_of_classes(table, room.extents, room.rows, room.labels, count, room.sizes, new)
    if loss >= before - 1e-9:
        return False
    fits = True
    for c in range(new):
        fits = fits and room.sizes[c] <= state.members.shape[1]
    return fits


@part
def _replace(
    table: LossTable,
    limits: Limits,
    state: ClassState,
    room: RecarvingRoom,
    classes: int,
    count: int,
    new: int,
    free: int,
) -> int:
    """Put the new classes in the place of those that were joined; return how many numbers of classes are free then."""
    for i in range(count):
        leave(limits, state, room.rows[i])
    for i in range(new):
        if i < classes:
            room.names[i] = room.classes[i]
        else:
            free -= 1
            room.names[i] = room.free[free]
    for i in range(classes - 1, new - 1, -1):
        room.free[free] = room.classes[i]
        free += 1
        derive(table, limits, state, room.classes[i])
    for i in range(count):
        join(limits, state, room.rows[i], room.names[room.labels[i]])
    for i in range(new):
        derive(table, limits, state, room.names[i])
    return free
