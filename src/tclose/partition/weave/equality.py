"""Equality classes of a large table: rows with equal quasi-identifiers that stay together, so that they lose nothing.

A point is one combination of quasi-identifiers. The rows of a point are a class of their own if they are within every
limit. If not, the point sheds the rows that take it furthest beyond a limit, until the others are within all of them.
What all points shed is the rest, of which other classes are formed. The rest must be within the limits, too, so points
give it the rows that it lacks most, as many as they can spare. Rows that are equal in everything count as one, with
their number as its weight.
"""

from __future__ import annotations

import numpy as np

from tclose.partition.shared.kernels import array, kernel_struct, part, slow_kernel
from tclose.partition.shared.loss import LossTable
from tclose.partition.shared.workers import Flag, raised
from tclose.partition.weave.limits import Limits
from tclose.partition.weave.transport import add_excess, allowed_work, class_work, count_row, within_limits
from tclose.table.classes import joined_keys, ranked, rows_by_key
from tclose.types import Bools, Floats, Ints, SmallInts

FEW_EQUAL = 16  # rows of a point that all go to the rest
LOOKED_AT = 256  # kinds of rows of a point, for each row that it sheds or gives
REST_SHARE = 0.8  # of what cells may use up of a limit, for the rest; more only where all rows together need more
BEYOND = 2.0  # times a limit: the use of a class that is beyond one that allows nothing
FIRST_USE, LAST_USE, USE_STEP = 0.5, 1.0, 0.1  # of its limits that a class may use up when it gives a row


@kernel_struct
class EqualRows:
    """Rows that are equal in everything, point by point."""

    example: Ints = array(np.int64)  # one of the equal rows
    kept: Ints = array(np.int64)  # how many of them are in the class of their point
    starts: Ints = array(np.int64)  # where each point begins; then the end


@kernel_struct
class PointRoom:
    """What is known of the class of each point and, in the last place, of the rest; and memory."""

    counts: SmallInts = array(np.int32, 2)  # classes × edges
    sizes: Ints = array(np.int64)
    closed: Bools = array(np.bool_)  # whether a class has just refused to give a row
    prices: Floats = array(np.float64)  # per value: the excess work with a row more or less


def points_of(table: LossTable) -> Ints:
    """Return the number of each row's point, from 0 up, in the order of the quasi-identifiers."""
    return ranked(_key(table.codes, np.zeros(len(table.codes), dtype=np.int64), 1)[0])[0]


def equality_classes(table: LossTable, limits: Limits, k: int, share: float, stop: Flag) -> Ints:
    """Return the class of each row, from 0 up, and -1 for the rest.

    The rows of a class are equal, at least k, and within every limit. The rest has no rows or at least k; it is within
    the share of every limit that its cells may use up, unless all rows are the rest.
    """
    points = points_of(table)
    rows, starts = rows_by_key(*_key(limits.codes, points, int(points.max()) + 1))
    weights, point_of = np.diff(starts, append=len(rows)), points[rows[starts]]
    many = np.bincount(points) >= max(k, FEW_EQUAL)
    number = np.where(many, np.cumsum(many) - 1, -1)[point_of]
    kept = _kept(limits, rows[starts], weights, number, k, share, stop)
    stays = np.arange(len(rows)) - np.repeat(starts, weights) < np.repeat(kept, weights)
    labels = np.full(len(rows), -1, dtype=np.int64)
    labels[rows[stays]] = ranked(np.repeat(point_of, weights)[stays])[0]
    return labels


def _key(columns: SmallInts, key: Ints, span: int) -> tuple[Ints, int]:
    """Return a number for each row, in the order of a key and of further columns, and a bound on these numbers."""
    most = 2 ** (63 - len(key).bit_length())
    for column in columns.T:
        codes = column.astype(np.int64) - int(column.min(initial=0))
        key, span = joined_keys(key, span, codes, int(codes.max(initial=0)) + 1, most=most)
    return key, span


def _kept(limits: Limits, example: Ints, weights: Ints, points: Ints, k: int, share: float, stop: Flag) -> Ints:
    """Return how many of the equal rows stay in the class of their point; point -1 is the rest already."""
    chosen, classes = points >= 0, int(points.max()) + 1
    starts = np.searchsorted(points[chosen], np.arange(classes + 1))
    equal = EqualRows(example[chosen], weights[chosen], starts)
    room = PointRoom(
        np.zeros((classes + 1, len(limits.edges)), dtype=np.int32),
        np.zeros(classes + 1, dtype=np.int64),
        np.zeros(classes, dtype=np.bool_),
        np.empty(int(limits.attributes["values"].sum())),
    )
    _keep(limits, equal, example[~chosen], weights[~chosen], k, share, room, stop)
    kept = np.zeros(len(points), dtype=np.int64)
    kept[chosen] = equal.kept
    return kept


@slow_kernel(2)
def _keep(
    limits: Limits,
    equal: EqualRows,
    others: Ints,
    weights: Ints,
    k: int,
    share: float,
    room: PointRoom,
    stop: Flag,
) -> None:
    """Decide how many of the equal rows stay in the class of their point; the `others` are in the rest already."""
    points = len(room.closed)
    # every row is counted once, in the class of its point or in the rest: `_send` moves it between them
    for i in range(len(others)):
        count_row(limits, room.counts, points, others[i], weights[i])
        room.sizes[points] += weights[i]
    limit = _limit_of_rest(limits, equal, share, room)
    for point in range(points):
        if raised(stop):
            _give_up(limits, equal, point, room)
        else:
            _shed(limits, equal, point, k, room)
    _balance(limits, equal, k, limit, room, stop)


@part
def _limit_of_rest(limits: Limits, equal: EqualRows, share: float, room: PointRoom) -> float:
    """Count all rows, and return the share of every limit that the rest may use up: more where all rows use much."""
    points = len(room.closed)
    for point in range(points):
        for i in range(equal.starts[point], equal.starts[point + 1]):
            count_row(limits, room.counts, point, equal.example[i], equal.kept[i])
            count_row(limits, room.counts, points, equal.example[i], equal.kept[i])
            room.sizes[point] += equal.kept[i]
            room.sizes[points] += equal.kept[i]
    # the rest has all rows for a moment, which tells what the table itself uses up
    used = _use(limits, room.counts, points, room.sizes[points])
    for point in range(points):
        for i in range(equal.starts[point], equal.starts[point + 1]):
            count_row(limits, room.counts, points, equal.example[i], -equal.kept[i])
            room.sizes[points] -= equal.kept[i]
    limit = 0.5 * (used + share)
    if limit < REST_SHARE * share:
        limit = REST_SHARE * share
    return limit if limit < 1.0 else 1.0


@part
def _use(limits: Limits, counts: SmallInts, c: int, size: int) -> float:
    """Return the largest share of a limit that a class uses up; more than 1 if it is beyond one."""
    used = 0.0
    for a in range(len(limits.attributes)):
        work, allowed = class_work(limits, counts, c, size, a), allowed_work(limits, size, a)
        use = work / allowed if allowed > 0 else (BEYOND if work > 0 else 0.0)
        if use > used:
            used = use
    return used


@part
def _shed(limits: Limits, equal: EqualRows, point: int, k: int, room: PointRoom) -> None:
    """Let a class lose rows until it is within every limit; give it up if fewer than k would be left."""
    while not within_limits(limits, room.counts, point, room.sizes[point]):
        if room.sizes[point] <= k:
            _give_up(limits, equal, point, room)
            return
        for v in range(len(room.prices)):
            room.prices[v] = 0.0
        add_excess(limits, room.counts, point, room.sizes[point], -1, 1.0, room.prices)
        _send(limits, equal, point, _cheapest(limits, equal, point, room), 1, room)


@part
def _send(limits: Limits, equal: EqualRows, point: int, i: int, number: int, room: PointRoom) -> None:
    """Send some of the equal rows from the class of their point to the rest."""
    rest = len(room.closed)
    count_row(limits, room.counts, point, equal.example[i], -number)
    count_row(limits, room.counts, rest, equal.example[i], number)
    room.sizes[point] -= number
    room.sizes[rest] += number
    equal.kept[i] -= number


@part
def _give_up(limits: Limits, equal: EqualRows, point: int, room: PointRoom) -> None:
    """Send all rows of a class to the rest."""
    for i in range(equal.starts[point], equal.starts[point + 1]):
        _send(limits, equal, point, i, equal.kept[i], room)


@part
def _cheapest(limits: Limits, equal: EqualRows, point: int, room: PointRoom) -> int:
    """Return the equal rows of a class whose values have the lowest prices, among some if there are very many."""
    first, kinds = equal.starts[point], equal.starts[point + 1] - equal.starts[point]
    begin = room.sizes[len(room.closed)] * LOOKED_AT % kinds if kinds > LOOKED_AT else 0
    best, least, looked = -1, np.inf, 0
    for step in range(kinds):
        i = first + (begin + step) % kinds
        if equal.kept[i] == 0:
            continue
        price = 0.0
        for a in range(len(limits.attributes)):
            price += room.prices[limits.attributes[a].value + limits.codes[equal.example[i], a]]
        if price < least:
            best, least = i, price
        looked += 1
        if looked == LOOKED_AT:
            break
    return int(best)


@part
def _balance(limits: Limits, equal: EqualRows, k: int, limit: float, room: PointRoom, stop: Flag) -> None:
    """Let classes give rows to the rest, in turn, until it is within its limit.

    At first only classes that stay far within their own limits give rows. If no class can, the smallest are given up.
    """
    points, use = len(room.closed), FIRST_USE
    # a closed class has nothing to give at this use; when all are closed, they may come nearer to their limits
    while not _rest_holds(limits, k, limit, room):
        given = False
        for point in range(points):
            if room.sizes[point] > k and not room.closed[point] and not raised(stop):
                gives = _gives(limits, equal, point, use, room)
                room.closed[point] = not gives
                given = given or gives
                if gives and _rest_holds(limits, k, limit, room):
                    return
        if not given:
            if use < LAST_USE:
                use = use + USE_STEP if use + USE_STEP < LAST_USE else LAST_USE
            elif not _give_up_smallest(limits, equal, room):
                return
            for point in range(points):
                room.closed[point] = False


@part
def _rest_holds(limits: Limits, k: int, limit: float, room: PointRoom) -> bool:
    """Tell whether the rest is empty, or a class within its limit."""
    rest = len(room.closed)
    size = room.sizes[rest]
    return bool(size == 0 or (size >= k and _use(limits, room.counts, rest, size) <= limit))


@part
def _gives(limits: Limits, equal: EqualRows, point: int, use: float, room: PointRoom) -> bool:
    """Let a class give the row that the rest lacks most, if it stays within a share of its limits; tell whether."""
    rest = len(room.closed)
    for v in range(len(room.prices)):
        room.prices[v] = 0.0
    add_excess(limits, room.counts, rest, room.sizes[rest], 1, 0.0, room.prices)
    i = _cheapest(limits, equal, point, room)
    count_row(limits, room.counts, point, equal.example[i], -1)
    stays = _use(limits, room.counts, point, room.sizes[point] - 1) <= use
    count_row(limits, room.counts, point, equal.example[i], 1)
    if stays:
        _send(limits, equal, point, i, 1, room)
    return bool(stays)


@part
def _give_up_smallest(limits: Limits, equal: EqualRows, room: PointRoom) -> bool:
    """Give up the classes that have up to twice the rows of the smallest; tell whether there was one."""
    points, smallest = len(room.closed), 0
    for point in range(points):
        size = room.sizes[point]
        if size > 0 and (smallest == 0 or size < smallest):
            smallest = size
    for point in range(points):
        if 0 < room.sizes[point] <= 2 * smallest:
            _give_up(limits, equal, point, room)
    return bool(smallest > 0)
