"""Carve classes out of some rows, one after the other; each grows from a seed row by the row that costs least.

The carved class and the remaining rows are both within every limit, so the remaining rows always form a class.

Later, a few neighbouring classes are joined and carved again; the new classes stay where they lose less. The joined
rows are within every limit, since merging never raises closeness, so carving always starts from a class.
"""

from __future__ import annotations

import numpy as np

from tclose.partition.shared.kernels import array, kernel_struct, part, slow_kernel, structure
from tclose.partition.shared.loss import (
    Extents,
    LossTable,
    clear_extent,
    empty_extents,
    extend,
    loss_growth,
    loss_of_classes,
)
from tclose.partition.shared.workers import Flag, raised
from tclose.partition.weave.limits import Limits
from tclose.partition.weave.state import ClassState, Generator, derive, integer_below, join, leave, uniform
from tclose.partition.weave.transport import add_excess, count_row, enough_persons, within_limits
from tclose.types import Bools, Floats, Ints, SmallInts

# Carve rows


LOOKED_AT = 8192  # rows, for each row that a class grows by, at most
CLASS, REST = 0, 1  # whose counts


@kernel_struct
class CarvingRoom:
    """Memory for carving up to so many rows."""

    rest: Ints = array(np.int64)  # the rows that are left, then the class that grows
    carved: Bools = array(np.bool_)  # per place in the order
    place: Ints = array(np.int64)  # per row of the table: its place in the order
    counts: SmallInts = array(np.int32, 2)  # of the class and of the rest
    prices: Floats = array(np.float64)  # per value: the cost of a row with it
    extents: Extents = structure(Extents)  # of the class


def carving_room(table: LossTable, limits: Limits, rows: int) -> CarvingRoom:
    """Return memory for carving up to `rows` rows."""
    return CarvingRoom(
        np.empty(rows, dtype=np.int64),
        np.empty(rows, dtype=np.bool_),
        np.empty(len(table.codes), dtype=np.int64),
        np.empty((2, len(limits.edges)), dtype=np.int32),
        np.empty(int(limits.attributes["values"].sum())),
        empty_extents(table, 1),
    )


@slow_kernel(3)
def carve(
    table: LossTable,
    limits: Limits,
    order: Ints,
    count: int,
    k: int,
    usual: int,
    looked_at: int,
    rate: float,
    room: CarvingRoom,
    labels: SmallInts,
    stop: Flag,
) -> int:
    """Give each of the first `count` rows of the order, which must form a class, a label; return how many classes.

    The first row that is left is the next seed. Its class grows by the rows that cost least: their loss, and `rate` for
    each row of excess work. Classes have about `usual` rows to begin with; `usual` doubles when three times as many
    rows are not enough. Up to `looked_at` rows are compared for each row that a class grows by.
    """
    _begin(limits, order, count, room)
    classes, first, left = 0, 0, count
    # the rows that are left are always a class themselves, so none is left over in the end
    while left >= 2 * k and not raised(stop):
        while room.carved[first]:
            first += 1
        share, largest = 1.0 - 0.5 * left / count, 3 * usual if 3 * usual < count else count
        start = 0
        while room.rest[start] != order[first]:
            start += 1
        size = _grow(table, limits, start, left, k, rate, share, largest, looked_at, room, stop)
        if size == 0:
            if usual > count:
                break
            usual *= 2
            continue
        # falls by half at most: one small class says little about the next
        usual = size if size > usual // 2 else usual // 2
        for i in range(left - size, left):
            row = room.rest[i]
            labels[room.place[row]] = classes
            room.carved[room.place[row]] = True
            count_row(limits, room.counts, REST, row, -1)
        left -= size
        classes += 1
    for i in range(left):
        labels[room.place[room.rest[i]]] = classes
    return classes + 1


@part
def _begin(limits: Limits, order: Ints, count: int, room: CarvingRoom) -> None:
    for e in range(room.counts.shape[1]):
        room.counts[REST, e] = 0
    for i in range(count):
        room.rest[i] = order[i]
        room.carved[i] = False
        room.place[order[i]] = i
        count_row(limits, room.counts, REST, order[i], 1)


@part
def _grow(
    table: LossTable,
    limits: Limits,
    start: int,
    left: int,
    k: int,
    rate: float,
    share: float,
    largest: int,
    looked_at: int,
    room: CarvingRoom,
    stop: Flag,
) -> int:
    """Move a class to the end of the rows that are left; return its size, 0 if no class came about.

    The counts of the rest are restored afterwards.
    """
    rest, counts = room.rest, room.counts
    clear_extent(room.extents, 0)
    for e in range(counts.shape[1]):
        counts[CLASS, e] = 0
    alive, place = left, start
    # rest[:alive] are the rows that are left, rest[alive:left] is the class; `counts` fit both in every round
    while True:
        row = rest[place]
        alive -= 1
        rest[place] = rest[alive]
        rest[alive] = row
        extend(table, room.extents, 0, row)
        count_row(limits, counts, CLASS, row, 1)
        count_row(limits, counts, REST, row, -1)
        size = left - alive
        if _is_complete(limits, counts, rest, left, alive, k):
            break
        if alive <= k or size >= largest or raised(stop):
            size = 0
            break
        _set_prices(limits, counts, size, alive, rate, share, room.prices)
        place = _cheapest(table, limits, room, alive, start, looked_at)
    for i in range(alive, left):
        count_row(limits, counts, REST, rest[i], 1)
    return size


@part
def _is_complete(limits: Limits, counts: SmallInts, rest: Ints, left: int, alive: int, k: int) -> bool:
    """Tell whether the class and the rows that are left have k rows of enough persons and are within every limit."""
    size = left - alive
    if size < k or alive < k or not within_limits(limits, counts, CLASS, size):
        return False
    if not enough_persons(limits, rest, alive, left) or not enough_persons(limits, rest, 0, alive):
        return False
    return bool(within_limits(limits, counts, REST, alive))


@part
def _set_prices(
    limits: Limits, counts: SmallInts, size: int, alive: int, rate: float, share: float, prices: Floats
) -> None:
    """Set the price of each value: the excess work of the class and of the rest when a row with it changes over."""
    for v in range(len(prices)):
        prices[v] = 0.0
    add_excess(limits, counts, REST, alive, -1, share, prices)
    add_excess(limits, counts, CLASS, size, 1, 1.0, prices)
    for v in range(len(prices)):
        prices[v] *= rate


@part
def _cheapest(table: LossTable, limits: Limits, room: CarvingRoom, alive: int, near: int, looked_at: int) -> int:
    """Return the place of the row that costs least: the loss that it adds, and the prices of its values.

    Of very many rows only those around the place `near` are looked at; otherwise the time would grow with the square of
    their number.
    """
    best, least, lowest = 0, np.inf, _lowest_price(limits, room.prices)
    first = near - looked_at // 2
    if first > alive - looked_at:
        first = alive - looked_at
    if first < 0:
        first = 0
    for i in range(first, alive if alive < first + looked_at else first + looked_at):
        row = room.rest[i]
        cost = 0.0
        for a in range(len(limits.attributes)):
            cost += room.prices[limits.attributes[a].value + limits.codes[row, a]]
        # the prices of values are looked up, a loss is computed: most rows are ruled out by their prices
        if cost < least:
            cost += loss_growth(table, room.extents, 0, row, least - cost)
            if cost < least:
                best = i
                least = cost
                if least <= lowest:
                    break
    return best


@part
def _lowest_price(limits: Limits, prices: Floats) -> float:
    """Return a price below which no row can cost."""
    lowest = 0.0
    for a in range(len(limits.attributes)):
        attribute = limits.attributes[a]
        least = prices[attribute.value]
        for v in range(attribute.value + 1, attribute.value + attribute.values):
            if prices[v] < least:
                least = prices[v]
        lowest += least
    return lowest


# Carve neighbouring classes again


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
        # any rate may be tried, since the new classes stay only if they lose less
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
