"""temper: a last stage of random swaps, against an adversary who knows that weave stops when no exchange pays.

Two rows of different classes are swapped by the rule of Metropolis et al. (1953) at one fixed temperature, a share of
the mean loss of a class. Which two rows are proposed does not depend on the classes, so a swap and its reverse are
equally likely to be proposed. Every limit is a wall, and the last state is the result, never the best one. This is a
mitigation and no guarantee (docs/decisions/063-temper.md).
"""

from __future__ import annotations

import numpy as np

from tclose.partition.problem import Problem
from tclose.partition.shared.kernels import part, slow_kernel
from tclose.partition.shared.loss import LossTable, loss_change
from tclose.partition.shared.merge import along_curve
from tclose.partition.shared.workers import Flag, in_parallel, raised
from tclose.partition.weave.bisection import orders_of, ranks_of
from tclose.partition.weave.limits import Limits
from tclose.partition.weave.state import ClassState, Generator, exchange, integer_below, seeded, state_of, uniform
from tclose.partition.weave.table import WeaveTable
from tclose.partition.weave.transport import allowed_work, keeps_persons, work_after_exchange
from tclose.types import Floats, Ints, Progress, SmallInts, stretch

SWAPS = 200  # proposed per row
REACH = 24  # rows to either side in an order, among which the other row is drawn
CURVES = 6  # orders along curves through all quasi-identifiers, beside the order of each quasi-identifier
STREAM = 12  # of random numbers, apart from those by which the classes were formed
TURNS = 50  # parts of the work, between which progress is reported
LOOK = 64  # swaps between two looks at the flag


def tempered(problem: Problem, labels: Ints, share: float, seed: int, progress: Progress) -> Ints:
    """Return the classes after random swaps of rows; every class keeps its number of rows and stays within its limits.

    The temperature is `share` times the mean loss of a class, which is its loss per row times its rows.
    """
    table = WeaveTable.of(problem, stretch(progress, 0.0, 0.0))
    state = state_of(table.losses, table.limits, labels, 0)
    heat = share * mean_class_loss(state, table.losses)
    if heat == 0.0:
        return labels
    orders = proposal_orders(table.losses, problem.points, np.random.default_rng([seed, STREAM, 1]))
    ranks, generator = ranks_of(orders), seeded(int(np.random.default_rng([seed, STREAM, 2]).integers(2**62)))
    work = np.empty((2, len(table.limits.attributes)), dtype=np.int64)
    swaps = -(-SWAPS * problem.rows // TURNS)

    def swapped(_: int) -> int:
        common = (table.losses, table.limits, state, orders, ranks)
        return int(swap_at_random(*common, swaps, heat, work, generator, table.stop))

    for turn in range(TURNS):
        part_of_work = stretch(progress, turn / TURNS, (turn + 1) / TURNS, "tempering")
        list(in_parallel(swapped, [turn], part_of_work, table.stop))
    return state.label.astype(np.int64)


def mean_class_loss(state: ClassState, losses: LossTable) -> float:
    """Return the mean of loss per row times rows; the loss that classes have by their sizes alone does not count.

    Swaps cannot change sizes. Where the policy lowers these (discernibility), swaps cost what breaks ties.
    """
    by_size = losses.size_loss * float((state.size**2).sum())
    return max(float(state.size @ state.loss) - by_size, 0.0) / len(state.size)


def proposal_orders(losses: LossTable, points: Floats, random: np.random.Generator) -> SmallInts:
    """Return several orders of the rows; rows that are near in one of them are proposed for a swap.

    Along one quasi-identifier, near rows may differ in all others. So most orders follow a curve through all of them,
    each time from another corner; rows in the same place come in random order.
    """
    curves = [
        np.lexsort((random.random(len(points)), along_curve((points + random.random(points.shape[1])) / 2)))
        for _ in range(CURVES)
    ]
    return np.concatenate([orders_of(losses), np.array(curves, dtype=np.int32)])


@slow_kernel(1.0)
def swap_at_random(
    table: LossTable,
    limits: Limits,
    state: ClassState,
    orders: SmallInts,
    ranks: SmallInts,
    swaps: int,
    heat: float,
    work: Ints,
    generator: Generator,
    stop: Flag,
) -> int:
    """Propose swaps of two rows that are near each other in one of the orders; return how many were made."""
    rows, made = len(state.label), 0
    for number in range(swaps):
        if number % LOOK == 0 and raised(stop):
            break
        row = integer_below(generator, rows)
        order = integer_below(generator, len(orders))
        away = 1 + integer_below(generator, REACH)
        place = ranks[order, row] + (away if uniform(generator) < 0.5 else -away)
        bound = -heat * np.log(uniform(generator))
        if 0 <= place < rows:
            other = int(orders[order, place])
            if state.label[row] != state.label[other] and _is_allowed(table, limits, state, row, other, bound, work):
                exchange(table, limits, state, row, other, work)
                made += 1
    return made


@part
def _is_allowed(
    table: LossTable, limits: Limits, state: ClassState, row: int, other: int, bound: float, work: Ints
) -> bool:
    """Tell whether a swap adds at most `bound` to the loss and keeps both classes within every limit.

    The work that both classes would have is written to `work`.
    """
    x, y = int(state.label[row]), int(state.label[other])
    size_x, size_y = state.size[x], state.size[y]
    cost = size_x * loss_change(table, state.extents, x, row, other)
    cost += size_y * loss_change(table, state.extents, y, other, row)
    if cost > bound:
        return False
    for a in range(len(limits.attributes)):
        leaving, joining = int(limits.codes[row, a]), int(limits.codes[other, a])
        work_x, work_y = state.work[x, a], state.work[y, a]
        if leaving != joining:
            work_x = work_after_exchange(limits, state.counts, x, size_x, work_x, a, leaving, joining)
            work_y = work_after_exchange(limits, state.counts, y, size_y, work_y, a, joining, leaving)
        if work_x > allowed_work(limits, size_x, a) or work_y > allowed_work(limits, size_y, a):
            return False
        work[0, a] = work_x
        work[1, a] = work_y
    if not keeps_persons(limits, state.members, x, size_x, row, other):
        return False
    return bool(keeps_persons(limits, state.members, y, size_y, other, row))
