"""Exchange rows between neighbouring classes: simulated annealing (Kirkpatrick et al. 1983) with t as a price.

A step moves one row or swaps two. Its cost is what it adds to the loss, and a price for every row·distance by which it
takes a class beyond a limit. A step that costs something is taken as well, with a probability that falls as the
temperature falls. The price rises meanwhile: at first, rows pass freely through classes that are beyond t, and in the
end hardly any class is.

Where squared distances count, the nearest rows of a row are better candidates for a swap than those in any order.
"""

from __future__ import annotations

import numpy as np

from tclose.partition.shared.kernels import array, kernel, kernel_struct, part, slow_kernel
from tclose.partition.shared.loss import LossTable, loss_change, loss_growth
from tclose.partition.shared.workers import Flag, raised
from tclose.partition.weave.limits import Limits
from tclose.partition.weave.state import ClassState, Generator, exchange, integer_below, move, uniform
from tclose.partition.weave.transport import allowed_work, keeps_persons, work_after_exchange, work_after_move
from tclose.types import Floats, Ints, SmallInts

# The nearest rows of each row


NEAREST = 30  # rows that are found for each row
WINDOW = 2048  # places along the first principal component, to either side, among which they are searched


def no_nearest_rows(rows: int) -> SmallInts:
    """Return the nearest rows where none are searched."""
    return np.empty((rows, 0), dtype=np.int32)


def nearest_rows(points: Floats) -> SmallInts:
    """Return the nearest rows of each row, the nearest first; of many rows, those of a wide strip."""
    rows, count = len(points), min(NEAREST, len(points) - 1)
    centred = points - points.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    order = np.argsort(centred @ axes[:, -1], kind="stable")
    nearest = np.zeros((rows, count), dtype=np.int32)
    if count:
        _search(np.ascontiguousarray(centred[order]), order, WINDOW, np.empty(count), nearest)
    return nearest


@kernel
def _search(points: Floats, order: Ints, window: int, distances: Floats, nearest: SmallInts) -> None:
    """Note the nearest rows of each row, by insertion; the points come in the order."""
    rows, count = nearest.shape
    for i in range(rows):
        found = 0
        mine = nearest[order[i]]
        for step in range(1, window + 1):  # the nearest places first, so that far rows are given up early
            for side in range(2):
                j = i + step if side else i - step
                if j < 0 or j >= rows:
                    continue
                most = distances[count - 1] if found == count else np.inf
                away = 0.0
                for q in range(points.shape[1]):
                    away += (points[i, q] - points[j, q]) ** 2
                    if away >= most:
                        break
                if away >= most:
                    continue
                place = found if found < count else count - 1
                while place > 0 and distances[place - 1] > away:
                    distances[place] = distances[place - 1]
                    mine[place] = mine[place - 1]
                    place -= 1
                distances[place] = away
                mine[place] = order[j]
                if found < count:
                    found += 1


# Steps at a falling temperature


MOVES = 0.25  # of the steps, unless a schedule has more; the others are swaps
TRIES = 16  # rows of the other class that a swap tries, unless a schedule has fewer
REACH = 16  # rows to either side in an order that count as near
TURN = 64  # steps between two looks at the flag, the temperature and the price
FAR_REACH, MANY_TRIES, MANY_CANDIDATES = 48, 64, 12  # of steps that mend classes beyond a limit
FROM_BEYOND = 0.6  # of the mending steps begin with a row of a class beyond a limit, the others with one near it


@kernel_struct
class Schedule:
    """How temperature and price change, and how many rows and classes a step chooses from."""

    heat: Floats = array(np.float64)  # from, to
    price: Floats = array(np.float64)  # from, to
    choices: Ints = array(np.int64)  # neighbouring classes for a row, rows for a step, rows that a swap tries
    moves: Floats = array(np.float64)  # one number: the share of the steps that are moves


def schedule(
    heat: tuple[float, float],
    price: tuple[float, float],
    candidates: int,
    drawn: int = 1,
    tries: int = TRIES,
    moves: float = MOVES,
) -> Schedule:
    """Lay a schedule out for the kernels."""
    choices = np.array([candidates, drawn, tries])
    return Schedule(np.array(heat, dtype=np.float64), np.array(price, dtype=np.float64), choices, np.array([moves]))


@kernel_struct
class Neighbours:
    """The rows in several orders, the place of each row in each order, and for some losses the nearest rows of each."""

    orders: SmallInts = array(np.int32, 2)  # orders × rows
    ranks: SmallInts = array(np.int32, 2)  # orders × rows
    nearest: SmallInts = array(np.int32, 2)  # rows × nearest rows, which may be none


@kernel_struct
class StepRoom:
    """Memory for steps: the work that two classes would have, classes beyond a limit, and how much work is allowed."""

    work: Ints = array(np.int64, 2)  # two classes × attributes
    beyond: Ints = array(np.int64)  # numbers of classes
    allowed: Ints = array(np.int64, 2)  # attributes × sizes of a class


def step_room(limits: Limits, state: ClassState) -> StepRoom:
    """Return memory for the steps between some classes."""
    attributes, (classes, largest) = len(limits.attributes), state.members.shape
    allowed = np.empty((attributes, largest + 1), dtype=np.int64)
    _fill_allowed(limits, allowed)
    return StepRoom(np.empty((2, attributes), dtype=np.int64), np.empty(classes, dtype=np.int64), allowed)


@kernel
def _fill_allowed(limits: Limits, allowed: Ints) -> None:
    for a in range(allowed.shape[0]):
        for size in range(allowed.shape[1]):
            allowed[a, size] = allowed_work(limits, size, a)


@slow_kernel(1.7)
def anneal(
    table: LossTable,
    limits: Limits,
    state: ClassState,
    near: Neighbours,
    k: int,
    steps: int,
    plan: Schedule,
    room: StepRoom,
    generator: Generator,
    stop: Flag,
) -> int:
    """Try steps between classes that hold rows near each other; return how many were tried."""
    heat, price = plan.heat[0], plan.price[0]
    for step in range(steps):
        if step % TURN == 0:
            if raised(stop):
                return step
            # while it is hot, classes may pass beyond a limit cheaply; in the end hardly any may (decision 059)
            heat = plan.heat[0] * (plan.heat[1] / plan.heat[0]) ** (step / steps)
            price = plan.price[0] * (plan.price[1] / plan.price[0]) ** (step / steps)
        row = _random_row(state, plan.choices[1], generator)
        y = _nearest_class(table, state, near, row, REACH, plan.choices[0], generator)
        if y >= 0:
            _try_step(table, limits, state, row, y, k, plan, heat, price, room, generator)
    return steps


@part
def _random_row(state: ClassState, drawn: int, generator: Generator) -> int:
    """Return, of some random rows, the one whose class loses most."""
    row = integer_below(generator, len(state.label))
    for _ in range(drawn - 1):
        other = integer_below(generator, len(state.label))
        if state.loss[state.label[other]] > state.loss[state.label[row]]:
            row = other
    return row


@kernel
def sampled_costs(
    table: LossTable,
    state: ClassState,
    near: Neighbours,
    candidates: int,
    costs: Floats,
    generator: Generator,
) -> int:
    """Note what random swaps would add to the loss; return how many costs were noted."""
    count = 0
    for _ in range(4 * len(costs)):
        row = integer_below(generator, len(state.label))
        y = _nearest_class(table, state, near, row, REACH, candidates, generator)
        if y < 0 or count == len(costs):
            continue
        x = int(state.label[row])
        other = int(state.members[y, integer_below(generator, state.size[y])])
        cost = state.size[x] * loss_change(table, state.extents, x, row, other)
        costs[count] = cost + state.size[y] * loss_change(table, state.extents, y, other, row)
        count += 1
    return count


@slow_kernel(1.7)
def mend(
    table: LossTable,
    limits: Limits,
    state: ClassState,
    near: Neighbours,
    k: int,
    steps: int,
    plan: Schedule,
    room: StepRoom,
    generator: Generator,
    stop: Flag,
) -> int:
    """Try steps of rows in classes that are beyond a limit, or near one; return how many were tried until none is.

    The price rises slowly here as well: the first step that helps a class would often cost more than a later one.
    """
    beyond = 0
    heat, price = plan.heat[0], plan.price[0]
    for step in range(steps):
        if step % TURN == 0:
            beyond = _classes_beyond(limits, state, room)
            if beyond == 0 or raised(stop):
                return step
            price = plan.price[0] * (plan.price[1] / plan.price[0]) ** (step / steps)
        c = room.beyond[integer_below(generator, beyond)]
        if state.size[c] == 0:
            continue
        row = int(state.members[c, integer_below(generator, state.size[c])])
        y = -1
        if uniform(generator) < FROM_BEYOND:
            y = _nearest_class(table, state, near, row, FAR_REACH, MANY_CANDIDATES, generator)
        else:
            other = _near_row(near, row, FAR_REACH, generator)
            if other >= 0 and state.label[other] != c:
                row = other
                y = c
        if y >= 0:
            _try_step(table, limits, state, row, y, k, plan, heat, price, room, generator)
    return steps


@part
def _classes_beyond(limits: Limits, state: ClassState, room: StepRoom) -> int:
    """Gather the classes that are beyond a limit; return how many there are."""
    count = 0
    for c in range(len(state.size)):
        if state.size[c] > 0:
            within = True
            for a in range(len(limits.attributes)):
                within = within and state.work[c, a] <= room.allowed[a, state.size[c]]
            if not within:
                room.beyond[count] = c
                count += 1
    return count


@part
def _near_row(near: Neighbours, row: int, reach: int, generator: Generator) -> int:
    """Return a random row near a row, in one of the orders or in space; -1 if there is none."""
    nearest = near.nearest.shape[1]
    order = integer_below(generator, len(near.orders) if nearest == 0 else 2 * len(near.orders))
    if order >= len(near.orders):
        return int(near.nearest[row, integer_below(generator, nearest)])
    place = near.ranks[order, row] + integer_below(generator, 2 * reach + 1) - reach
    if place < 0 or place >= near.orders.shape[1]:
        return -1
    return int(near.orders[order, place])


@part
def _nearest_class(
    table: LossTable,
    state: ClassState,
    near: Neighbours,
    row: int,
    reach: int,
    candidates: int,
    generator: Generator,
) -> int:
    """Return, of some classes near a row, the one that loses least when the row joins it; -1 if there is none."""
    x, best, least = int(state.label[row]), -1, np.inf
    for _ in range(candidates):
        other = _near_row(near, row, reach, generator)
        if other < 0:
            continue
        c = int(state.label[other])
        if c == x:
            continue
        if candidates == 1:
            return c
        if c == best:
            continue
        size = state.size[c]
        growth = size * loss_growth(table, state.extents, c, row, least / size)
        if growth < least:
            best = c
            least = growth
    return best


@part
def _try_step(
    table: LossTable,
    limits: Limits,
    state: ClassState,
    row: int,
    y: int,
    k: int,
    plan: Schedule,
    heat: float,
    price: float,
    room: StepRoom,
    generator: Generator,
) -> None:
    """Move a row to class y, or swap it with one of its members, if the step does not cost too much."""
    x = int(state.label[row])
    # the rule of Metropolis in one draw: taken if what it adds to loss and charges is at most −heat·ln(u)
    bound = -heat * np.log(uniform(generator))
    bound += _charge(limits, state, x, price, room) + _charge(limits, state, y, price, room)  # what both pay now
    if uniform(generator) < plan.moves[0]:
        _move(table, limits, state, row, y, k, bound, price, room)
        return
    size, tries = state.size[y], plan.choices[2]
    first = integer_below(generator, size)
    for i in range(size if size < tries else tries):
        if _swap(table, limits, state, row, int(state.members[y, (first + i) % size]), bound, price, room):
            return


@part
def _charge(limits: Limits, state: ClassState, c: int, price: float, room: StepRoom) -> float:
    """Return what a class pays for the limits that it is beyond."""
    charge = 0.0
    for a in range(len(limits.attributes)):
        charge += _excess_charge(limits, state.work[c, a], state.size[c], a, price, room)
    return charge


@part
def _excess_charge(limits: Limits, work: int, size: int, a: int, price: float, room: StepRoom) -> float:
    excess = work - room.allowed[a, size]
    return price * excess / limits.attributes[a].scale if excess > 0 else 0.0


@part
def _move(
    table: LossTable,
    limits: Limits,
    state: ClassState,
    row: int,
    y: int,
    k: int,
    bound: float,
    price: float,
    room: StepRoom,
) -> None:
    """Move a row to class y, unless that costs more than `bound`."""
    x = int(state.label[row])
    size_x, size_y = state.size[x], state.size[y]
    if size_x <= k or size_y >= state.members.shape[1]:
        return
    cost = (size_x - 1) * loss_change(table, state.extents, x, row, -1) - state.loss[x]
    # refuse early what the other class cannot make up for: its loss and all limits need not be looked at
    if cost + table.rising[0] * state.loss[y] > bound:
        return
    cost += (size_y + 1) * loss_change(table, state.extents, y, -1, row) + state.loss[y]
    for a in range(len(limits.attributes)):
        if cost > bound:
            return
        value = int(limits.codes[row, a])
        work_x = work_after_move(limits, state.counts, x, size_x, a, value, -1)
        work_y = work_after_move(limits, state.counts, y, size_y, a, value, 1)
        cost += _excess_charge(limits, work_x, size_x - 1, a, price, room)
        cost += _excess_charge(limits, work_y, size_y + 1, a, price, room)
        room.work[0, a] = work_x
        room.work[1, a] = work_y
    if cost <= bound and keeps_persons(limits, state.members, x, size_x, row, -1):
        move(table, limits, state, row, y, room.work)


@part
def _swap(
    table: LossTable,
    limits: Limits,
    state: ClassState,
    row: int,
    other: int,
    bound: float,
    price: float,
    room: StepRoom,
) -> bool:
    """Swap two rows of different classes, unless that costs more than `bound`."""
    x, y = int(state.label[row]), int(state.label[other])
    size_x, size_y = state.size[x], state.size[y]
    cost = size_x * loss_change(table, state.extents, x, row, other)
    # the other class gains its whole loss at most
    if cost - size_y * state.loss[y] > bound:
        return False
    cost += size_y * loss_change(table, state.extents, y, other, row)
    for a in range(len(limits.attributes)):
        if cost > bound:
            return False
        mine, others = int(limits.codes[row, a]), int(limits.codes[other, a])
        work_x, work_y = state.work[x, a], state.work[y, a]
        if mine != others:
            work_x = work_after_exchange(limits, state.counts, x, size_x, work_x, a, mine, others)
            work_y = work_after_exchange(limits, state.counts, y, size_y, work_y, a, others, mine)
        cost += _excess_charge(limits, work_x, size_x, a, price, room)
        cost += _excess_charge(limits, work_y, size_y, a, price, room)
        room.work[0, a] = work_x
        room.work[1, a] = work_y
    if cost > bound or not keeps_persons(limits, state.members, x, size_x, row, other):
        return False
    if not keeps_persons(limits, state.members, y, size_y, other, row):
        return False
    exchange(table, limits, state, row, other, room.work)
    return True
