"""Exchange rows between neighbouring classes; every step keeps both classes within every limit, exactly.

A step moves one row or swaps two. A step that raises the loss is taken as well, with a probability that falls as the
temperature falls: simulated annealing (Kirkpatrick et al. 1983).
"""

from __future__ import annotations

import numpy as np

from tclose.partition.shared.kernels import part, slow_kernel
from tclose.partition.shared.loss import LossTable, class_loss
from tclose.partition.shared.workers import Flag, raised
from tclose.partition.weave.limits import Limits
from tclose.partition.weave.splitmix import Generator, integer_below, uniform
from tclose.partition.weave.state import ClassState, derive, join, leave
from tclose.partition.weave.transport import allowed_work, work_after_exchange, work_after_move
from tclose.types import SmallInts

MOVES = 0.25  # of the steps; the others are swaps
TRIES = 16  # rows of the other class that a swap tries
REACH = 16  # rows to either side in an order that count as near


@slow_kernel(1.7)
def anneal(
    table: LossTable,
    limits: Limits,
    state: ClassState,
    orders: SmallInts,
    ranks: SmallInts,
    k: int,
    steps: int,
    hot: float,
    cold: float,
    generator: Generator,
    stop: Flag,
) -> int:
    """Try steps between classes that hold rows near each other in one of the orders; return how many were tried.

    `ranks` holds the place of each row in each order. The temperature falls from hot to cold.
    """
    rows = len(state.label)
    for step in range(steps):
        if raised(stop):
            return step
        temperature = hot * (cold / hot) ** (step / steps)
        row = integer_below(generator, rows)
        order = integer_below(generator, len(orders))
        near = ranks[order, row] + integer_below(generator, 2 * REACH + 1) - REACH
        if near < 0 or near >= rows:
            continue
        other_class = int(state.label[orders[order, near]])
        if other_class == state.label[row]:
            continue
        bound = -temperature * np.log(uniform(generator))
        if uniform(generator) < MOVES:
            _move(table, limits, state, row, other_class, k, bound)
        else:
            first = integer_below(generator, state.size[other_class])
            _swap_with_any(table, limits, state, row, other_class, first, bound)
    return steps


@part
def _move(table: LossTable, limits: Limits, state: ClassState, row: int, y: int, k: int, bound: float) -> None:
    """Move a row to class y, unless that raises the loss by more than `bound` or breaks a limit."""
    x = int(state.label[row])
    size_x, size_y = state.size[x], state.size[y]
    if size_x <= k or size_y >= state.members.shape[1]:
        return
    cost = (size_x - 1) * class_loss(table, state.extents, x, row, -1) - size_x * state.loss[x]
    cost -= size_y * state.loss[y]
    if cost + (size_y + 1) * state.loss[y] > bound:
        return
    cost += (size_y + 1) * class_loss(table, state.extents, y, -1, row)
    if cost <= bound and _may_move(limits, state, x, row, -1) and _may_move(limits, state, y, row, 1):
        leave(limits, state, row)
        join(limits, state, row, y)
        derive(table, limits, state, x)
        derive(table, limits, state, y)


@part
def _may_move(limits: Limits, state: ClassState, c: int, row: int, sign: int) -> bool:
    """Tell whether a class is within every limit with the row (sign 1) or without it (-1)."""
    size = state.size[c]
    for a in range(len(limits.attributes)):
        value = int(limits.codes[row, a])
        if work_after_move(limits, state.counts, c, size, a, value, sign) > allowed_work(limits, size + sign, a):
            return False
    return True


@part
def _swap_with_any(
    table: LossTable, limits: Limits, state: ClassState, row: int, y: int, first: int, bound: float
) -> None:
    """Swap a row with the first member of class y, from place `first` on, with which that is possible."""
    size = state.size[y]
    for i in range(size if size < TRIES else TRIES):
        if _swap(table, limits, state, row, int(state.members[y, (first + i) % size]), bound):
            return


@part
def _swap(table: LossTable, limits: Limits, state: ClassState, row: int, other: int, bound: float) -> bool:
    """Swap two rows of different classes, unless that raises the loss by more than `bound` or breaks a limit."""
    x, y = int(state.label[row]), int(state.label[other])
    cost = state.size[x] * (class_loss(table, state.extents, x, row, other) - state.loss[x])
    if cost - state.size[y] * state.loss[y] > bound:
        return False
    cost += state.size[y] * (class_loss(table, state.extents, y, other, row) - state.loss[y])
    if cost > bound or not _may_swap(limits, state, x, row, other) or not _may_swap(limits, state, y, other, row):
        return False
    leave(limits, state, row)
    leave(limits, state, other)
    join(limits, state, row, y)
    join(limits, state, other, x)
    derive(table, limits, state, x)
    derive(table, limits, state, y)
    return True


@part
def _may_swap(limits: Limits, state: ClassState, c: int, leaving: int, joining: int) -> bool:
    """Tell whether a class is within every limit after one row leaves and another joins."""
    size = state.size[c]
    for a in range(len(limits.attributes)):
        x, y = int(limits.codes[leaving, a]), int(limits.codes[joining, a])
        if x != y:
            work = work_after_exchange(limits, state.counts, c, size, state.work[c, a], a, x, y)
            if work > allowed_work(limits, size, a):
                return False
    return True
