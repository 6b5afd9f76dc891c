"""Bisect the rows into cells, each of which could be a class, with as few strata as the exact test needs.

A cut without strata is Mondrian's (LeFevre et al. 2006). A cut with strata sends the same share of every stratum of the
sensitive values to both sides, as the fragmentation methods do. Every part is cut with the fewest strata for which both
sides are within the limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np

from tclose.partition.shared.kernels import array, kernel, kernel_struct, part, slow_kernel
from tclose.partition.shared.loss_table import CUT_SET, MEAN, SET, SIZE, TREE, LossTable
from tclose.partition.shared.workers import Flag, in_parallel, raised
from tclose.partition.weave.limits import Limits
from tclose.partition.weave.transport import allowed_work, class_work, count_beyond_edges, enough_persons_on_side
from tclose.table.classes import ranked, rows_by_label
from tclose.types import Bools, Floats, Ints, Progress, SmallInts

DEPTH = 8  # times that the sensitive values are halved into strata, at most
BATCHES = 32  # in which threads cut parts; a thread that takes one part at a time spends much of its time on waiting
STRATA_STEP = 2  # halvings that are added when no cut passes


def orders_of(table: LossTable) -> SmallInts:
    """Return the rows in the order of each quasi-identifier in turn; the quasi-identifiers after it break ties."""
    columns = table.quasi
    if not columns:
        return np.arange(len(table.codes), dtype=np.int32)[None, :]
    orders = np.empty((columns, len(table.codes)), dtype=np.int32)
    ranks = [ranked(table.codes[:, q].astype(np.int64)) for q in range(columns)]
    for q, order in enumerate(orders):
        order[:] = _sorted_by([ranks[(q + step) % columns] for step in range(columns)])
    return orders


def _sorted_by(keys: list[tuple[Ints, int]]) -> Ints:
    """Return the rows in the order of the first key, then of the second, and so on; each key with a bound."""
    rows = np.arange(len(keys[0][0]))
    for key, different in reversed(keys):
        rows = rows[rows_by_label(key[rows], different)]
    return rows


def ranks_of(orders: SmallInts) -> SmallInts:
    """Return the place of each row in each order."""
    ranks = np.empty_like(orders)
    np.put_along_axis(ranks, orders, np.arange(orders.shape[1], dtype=np.int32)[None, :], axis=1)
    return ranks


def strata_of(limits: Limits) -> SmallInts:
    """Return a number per row; its first bits are the half, quarter, … of the sensitive values that the row is in."""
    rows, attributes = limits.codes.shape
    strata = np.zeros(rows, dtype=np.int32)
    if not attributes:
        return strata
    orders = [rows_by_label(column, int(column.max()) + 1) for column in limits.codes.T]
    # the attributes take turns, so that none is halved twice before every other was halved once
    for level in range(DEPTH):
        sizes = np.bincount(strata, minlength=1 << level)
        _halve_strata(strata, orders[level % attributes], sizes, np.zeros(1 << level, dtype=np.int64))
    return strata


@kernel
def _halve_strata(strata: SmallInts, order: Ints, sizes: Ints, seen: Ints) -> None:
    """Halve every stratum in the order of one attribute."""
    for i in range(len(order)):
        row = order[i]
        stratum = strata[row]
        strata[row] = 2 * stratum + (1 if 2 * seen[stratum] >= sizes[stratum] else 0)
        seen[stratum] += 1


@kernel_struct
class Sides:
    """Which rows go to the right; a part of the bisection writes to its own rows only."""

    tried: Bools = array(np.bool_)
    chosen: Bools = array(np.bool_)


@kernel_struct
class CutRoom:
    """Memory for judging one cut."""

    strata: Ints = array(np.int64)  # per stratum: rows that still go left
    sizes: Ints = array(np.int64)  # per side
    values: Ints = array(np.int64, 2)  # sides × values of the attributes
    counts: SmallInts = array(np.int32, 2)  # sides × edges
    shares: Floats = array(np.float64, 2)  # sides × values of a quasi-identifier, missing values last


def cut_room(table: LossTable, limits: Limits) -> CutRoom:
    """Return memory for judging one cut after the other."""
    return CutRoom(
        np.empty(1 << DEPTH, dtype=np.int64),
        np.empty(2, dtype=np.int64),
        np.empty((2, int(limits.attributes["values"].sum())), dtype=np.int64),
        np.empty((2, len(limits.edges)), dtype=np.int32),
        np.empty((2, int(table.columns["leaves"].max(initial=0)) + 1)),
    )


_Part = tuple[SmallInts, int]  # the rows in every order; halvings of the sensitive values that its cut needed


@dataclass(frozen=True, eq=False)
class Bisection:
    """What every cut of a table keeps to: k rows, and a share of every limit, on both sides."""

    table: LossTable
    limits: Limits
    k: int
    share: float
    stop: Flag

    def cells(self, orders: SmallInts, largest: int, progress: Progress, *, quick: bool = False) -> list[SmallInts]:
        """Return the rows of each cell, in the first order.

        A cell has up to `largest` rows, or more where no cut keeps to the limits.
        """
        strata, rows = strata_of(self.limits), len(self.table.codes)
        sides = Sides(np.zeros(rows, dtype=np.bool_), np.zeros(rows, dtype=np.bool_))
        cells: list[SmallInts] = []
        parts: list[_Part] = [(orders, 0)]

        def halves(part: _Part) -> list[_Part]:
            orders, depth = part
            if orders.shape[1] <= largest:
                return [part]
            depth, _ = self.cut(orders, strata, depth, sides)
            return [part] if depth < 0 else [(half, depth) for half in divide(orders, sides.chosen)]

        def all_halves(batch: list[_Part]) -> list[list[_Part]]:
            return [halves(part) for part in batch]

        # every part keeps to the limits; one that no cut can divide stays a cell, however large it is
        while parts:
            size = max(orders.shape[1] for orders, _ in parts)
            done = 1.0 - np.log2(max(size / largest, 1.0)) / max(np.log2(rows / largest), 1.0)
            batches = [parts[first::BATCHES] for first in range(min(BATCHES, len(parts)))]
            quiet = partial(_stay, progress, done)
            divided = list(chain.from_iterable(in_parallel(all_halves, batches, quiet, self.stop, quick=quick)))
            cells += [result[0][0][0] for result in divided if len(result) == 1]
            parts = [half for result in divided if len(result) == 2 for half in result]
        return cells

    def cut(self, orders: SmallInts, strata: SmallInts, depth: int, sides: Sides) -> tuple[int, int]:
        """Choose the rows of a part that go right; return the halvings that it took, and the order.

        The halvings are -1 if no cut passes.
        """
        room = cut_room(self.table, self.limits)
        return cut(self.table, self.limits, orders, strata, depth, self.k, self.share, sides, room, self.stop)


def _stay(progress: Progress, done: float, share: float, phase: str = "") -> None:
    """Report the progress of all parts, whatever their share."""
    progress(done, phase)


def divide(orders: SmallInts, right: Bools) -> tuple[SmallInts, SmallInts]:
    """Return the left and the right rows in every order."""
    views, rows = orders.shape
    count = int(np.count_nonzero(right[orders[0]]))
    halves = np.empty((views, rows - count), dtype=np.int32), np.empty((views, count), dtype=np.int32)
    copy_sides(orders, right, *halves)
    return halves


@kernel
def copy_sides(orders: SmallInts, right: Bools, left_half: SmallInts, right_half: SmallInts) -> None:
    """Copy the left and the right rows, in every order."""
    for q in range(orders.shape[0]):
        copied = 0
        for i in range(orders.shape[1]):
            row = orders[q, i]
            if right[row]:
                right_half[q, copied] = row
                copied += 1
            else:
                left_half[q, i - copied] = row


@slow_kernel(2.3)
def cut(
    table: LossTable,
    limits: Limits,
    orders: SmallInts,
    strata: SmallInts,
    depth: int,
    k: int,
    share: float,
    sides: Sides,
    room: CutRoom,
    stop: Flag,
) -> tuple[int, int]:
    """Choose the rows that go right; return the halvings of the sensitive values that it took, and the order.

    If no cut passes, there were -1 halvings.
    """
    least, best = np.inf, 0
    # few strata first: more of them mix rows that are farther apart; a half needs at least as many as its parent
    for bits in range(depth, DEPTH + 1, STRATA_STEP):
        for q in range(len(orders)):
            if raised(stop):
                return -1, best
            _send(table, orders, q, strata, bits, sides.tried, room.strata)
            if _passes(limits, orders, sides.tried, k, share, room):
                scatter = _scatter(table, orders, sides.tried, room)
                if scatter < least:
                    least, best = scatter, q
                    for i in range(orders.shape[1]):
                        sides.chosen[orders[0, i]] = sides.tried[orders[0, i]]
        if least < np.inf:
            return bits, best
    return -1, best


@part
def _send(table: LossTable, orders: SmallInts, q: int, strata: SmallInts, bits: int, right: Bools, left: Ints) -> None:
    """Send the later half of every stratum, in one order, to the right."""
    rows, shift = orders.shape[1], DEPTH - bits
    if bits == 0:
        middle = _label_change(table, orders, q) if len(table.columns) else rows // 2
        for i in range(rows):
            right[orders[q, i]] = i >= middle
        return
    for stratum in range(1 << bits):
        left[stratum] = 0
    for i in range(rows):
        left[strata[orders[q, i]] >> shift] += 1
    # strata round down and up in turn, so that neither side gets all the odd rows
    odd = 0
    for stratum in range(1 << bits):
        if left[stratum] > 0:
            left[stratum] = (left[stratum] + odd) // 2
            odd = 1 - odd
    for i in range(rows):
        row = orders[q, i]
        stratum = strata[row] >> shift
        left[stratum] -= 1
        right[row] = left[stratum] < 0


@part
def _label_change(table: LossTable, orders: SmallInts, q: int) -> int:
    """Return the place within the middle half, nearest to its centre, where the highest label changes or the value."""
    rows = orders.shape[1]
    best, highest, centre = rows // 2, -1, rows // 2
    for step in range(rows // 4):
        for side in range(2):
            i = centre + step if side else centre - step
            height = _changed_height(table, q, orders[q, i - 1], orders[q, i])
            if height > highest:
                best, highest = i, height
    return int(best)


@part
def _changed_height(table: LossTable, q: int, row: int, next_row: int) -> int:
    """Return the greatest height at which two rows have different labels: 0 for the value itself, -1 for none."""
    column = table.columns[q]
    before, after = table.codes[row, q], table.codes[next_row, q]
    if before == after:
        return -1
    height = 0
    if column.kind == TREE and before >= 0:
        for h in range(1, column.depth):
            level = column.start + h * column.leaves
            if table.nodes[level + before].node != table.nodes[level + after].node:
                height = h
    return height


@part
def _passes(limits: Limits, orders: SmallInts, right: Bools, k: int, share: float, room: CutRoom) -> bool:
    """Tell whether both sides have k rows (of enough persons) and are within their share of every limit."""
    values, sizes = room.values, room.sizes
    for side in range(2):
        sizes[side] = 0
        for v in range(values.shape[1]):
            values[side, v] = 0
    for i in range(orders.shape[1]):
        row = orders[0, i]
        side = 1 if right[row] else 0
        sizes[side] += 1
        for a in range(len(limits.attributes)):
            values[side, limits.attributes[a].value + limits.codes[row, a]] += 1
    if sizes[0] < k or sizes[1] < k:
        return False
    for side in range(2):
        if not enough_persons_on_side(limits, orders, right, side):
            return False
        count_beyond_edges(limits, values, room.counts, side)
        for a in range(len(limits.attributes)):
            work = class_work(limits, room.counts, side, sizes[side], a)
            if work > share * allowed_work(limits, sizes[side], a):
                return False
    return True


@part
def _scatter(table: LossTable, orders: SmallInts, right: Bools, room: CutRoom) -> float:
    """Return the mean loss of two random rows of the same side, summed over all rows."""
    scatter = 0.0
    for q in range(len(table.columns)):
        column = table.columns[q]
        if column.kind == SIZE:
            continue
        _share_values(table, orders, right, q, room.shares)
        for side in range(2):
            size = room.sizes[side]
            if column.kind == SET or column.kind == CUT_SET:
                same = 0.0
                for v in range(column.leaves):
                    same += room.shares[side, v] * room.shares[side, v]
                scatter += size * (1.0 - same) / (column.steps if column.kind == SET else 1.0)
            elif column.kind == TREE:
                scatter += size * _label_scatter(table, q, room.shares, side)
            elif column.kind == MEAN:
                scatter += size * _variance(table, q, room.shares, side)
            else:
                scatter += size * _mean_distance(table, q, room.shares, side)
    return scatter


@part
def _share_values(table: LossTable, orders: SmallInts, right: Bools, q: int, shares: Floats) -> None:
    """Set the share of each value among the rows of each side; missing values come last."""
    leaves = table.columns[q].leaves
    for side in range(2):
        for v in range(leaves + 1):
            shares[side, v] = 0.0
    for i in range(orders.shape[1]):
        row = orders[0, i]
        x = int(table.codes[row, q])
        shares[1 if right[row] else 0, x if x >= 0 else leaves] += 1.0
    for side in range(2):
        size = 0.0
        for v in range(leaves + 1):
            size += shares[side, v]
        for v in range(leaves + 1):
            shares[side, v] /= size


@part
def _variance(table: LossTable, q: int, shares: Floats, side: int) -> float:
    """Return the mean squared distance to the mean."""
    column = table.columns[q]
    mean, variance = 0.0, 0.0
    for v in range(column.leaves):
        mean += shares[side, v] * table.places[column.start + v].low
    for v in range(column.leaves):
        away = table.places[column.start + v].low - mean
        variance += shares[side, v] * (away * away)
    return variance


@part
def _mean_distance(table: LossTable, q: int, shares: Floats, side: int) -> float:
    """Return the mean distance of two random values on a line."""
    column = table.columns[q]
    distance, below = 0.0, 0.0
    for v in range(column.start, column.start + column.leaves - 1):
        below += shares[side, v - column.start]
        distance += 2 * below * (1 - below) * (table.places[v + 1].low - table.places[v].low)
    return distance


@part
def _label_scatter(table: LossTable, q: int, shares: Floats, side: int) -> float:
    """Return the mean share of leaves below the lowest label of two random values."""
    column = table.columns[q]
    scatter = 0.0
    for h in range(1, column.depth):
        level = column.start + h * column.leaves
        meet_at = _meetings(table, q, level, level, shares, side)
        meet_below = _meetings(table, q, level - column.leaves, level, shares, side)
        scatter += meet_at - meet_below
    return scatter


@part
def _meetings(table: LossTable, q: int, nodes: int, level: int, shares: Floats, side: int) -> float:
    """Return how often two random values have the same node, weighted by the share of their label at a level."""
    leaves = table.columns[q].leaves
    meetings, mass = 0.0, 0.0
    for v in range(leaves):
        mass += shares[side, v]
        if v == leaves - 1 or table.nodes[nodes + v + 1].node != table.nodes[nodes + v].node:
            meetings += table.nodes[level + v].share * mass * mass
            mass = 0.0
    return meetings
