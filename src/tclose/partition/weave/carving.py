"""Carve classes out of some rows, one after the other; each grows from a seed row by the row that costs least.

The carved class and the remaining rows are both within every limit, so the remaining rows always form a class.
"""

from __future__ import annotations

import numpy as np

from tclose.partition.shared.kernels import part, slow_kernel
from tclose.partition.shared.loss import (
    Extents,
    LossTable,
    clear_extent,
    empty_extents,
    extend,
    loss_growth,
)
from tclose.partition.shared.structs import array, kernel_struct, structure
from tclose.partition.shared.workers import Flag, raised
from tclose.partition.weave.limits import Limits
from tclose.partition.weave.persons import enough_persons
from tclose.partition.weave.transport import add_excess, count_row, within_limits
from tclose.types import Bools, Floats, Ints, SmallInts

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
