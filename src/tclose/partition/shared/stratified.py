"""Bisect the rows of every stratum alike, until each cell holds the same number of rows of every stratum.

A stratum is a fragment, or a bucket of rows with similar sensitive values. Every cell then spreads over the sensitive
values as the table does, and holds rows that are near each other: O(n log n).
"""

from __future__ import annotations

import numpy as np

from tclose.partition.shared.kernels import kernel, part
from tclose.types import Bools, Floats, Ints, Progress, silent

ROWS_PER_CALL = 1_000_000  # bisected between two reports of progress, or one larger part


def bisect(points: Floats, orders: Ints, layers: Ints, cells: int, shares: Floats, progress: Progress = silent) -> Ints:
    """Return members[cell, place]; `orders[q]` holds the rows by stratum, then by coordinate q, and is overwritten.

    A cell takes `layers[s]` rows of stratum s, whose places follow each other. `shares` are the shares of the cells
    that a cut may send to the left.
    """
    side, spare = np.zeros(len(points), dtype=np.bool_), np.empty(orders.shape[1], dtype=np.int64)
    parts, waiting, done = np.zeros((cells + 1, 2), dtype=np.int64), 1, 0
    parts[0] = 0, cells
    while waiting:
        progress(done / cells)
        waiting = int(_bisect_some(points, orders, layers, shares, side, spare, parts, waiting))
        done = cells - int(parts[:waiting, 1].sum())
    members: Ints = orders[0].copy().reshape(cells, int(layers.sum()))
    return members


@kernel
def _bisect_some(
    points: Floats, orders: Ints, layers: Ints, shares: Floats, side: Bools, spare: Ints, parts: Ints, waiting: int
) -> int:
    """Bisect the parts that wait, the last first, for so many rows; return how many parts wait then."""
    size = 0
    for s in range(len(layers)):
        size += layers[s]
    rows, sums = 0, np.empty((3, points.shape[1]))
    while waiting > 0 and rows < ROWS_PER_CALL:
        waiting -= 1
        first, count = parts[waiting, 0], parts[waiting, 1]
        if count == 1:
            continue
        rows += count * size
        low = first * size
        axis, left = _best_cut(points, orders, low, count, layers, shares, sums)
        _mark(orders, axis, low, layers, count, left, side)
        for q in range(len(orders)):
            _divide(orders, q, low, low + count * size, side, spare)
        parts[waiting, 0] = first
        parts[waiting, 1] = left
        parts[waiting + 1, 0] = first + left
        parts[waiting + 1, 1] = count - left
        waiting += 2
    return waiting


@part
def _best_cut(
    points: Floats, orders: Ints, low: int, count: int, layers: Ints, shares: Floats, sums: Floats
) -> tuple[int, int]:
    """Return the coordinate along which to cut the cells from a place on, and how many go left, for least scatter."""
    axis, best_left, least = 0, 1, np.inf
    for i in range(len(shares)):
        left = int(count * shares[i])
        if left < 1:
            left = 1
        for q in range(len(orders)):
            scatter = _scatter(points, orders, q, low, layers, count, left, sums)
            if scatter < least:
                axis, best_left, least = q, left, scatter
    return axis, best_left


@part
def _scatter(
    points: Floats, orders: Ints, q: int, low: int, layers: Ints, count: int, left: int, sums: Floats
) -> float:
    """Return the squared distances from the means of the two sides, added up.

    The first left/count of every stratum's rows in the order go left. `sums` are those of either side's coordinates
    and those of all squares.
    """
    sums[:] = 0.0
    begin, left_rows = low, 0
    for s in range(len(layers)):
        turn, end = begin + layers[s] * left, begin + layers[s] * count
        _add_up(points, orders, q, begin, turn, sums, 0)
        _add_up(points, orders, q, turn, end, sums, 1)
        begin, left_rows = end, left_rows + layers[s] * left
    right_rows, scatter = begin - low - left_rows, 0.0
    for p in range(points.shape[1]):
        scatter += sums[2, p] - sums[0, p] * sums[0, p] / left_rows - sums[1, p] * sums[1, p] / right_rows
    return scatter


@part
def _add_up(points: Floats, orders: Ints, q: int, begin: int, end: int, sums: Floats, side: int) -> None:
    for i in range(begin, end):
        row = orders[q, i]
        for p in range(points.shape[1]):
            x = points[row, p]
            sums[side, p] += x
            sums[2, p] += x * x


@part
def _mark(orders: Ints, q: int, low: int, layers: Ints, count: int, left: int, side: Bools) -> None:
    """Mark the rows that go right when the first left/count of every stratum's rows in an order go left."""
    place = low
    for s in range(len(layers)):
        for i in range(layers[s] * count):
            side[orders[q, place]] = i >= layers[s] * left
            place += 1


@part
def _divide(orders: Ints, q: int, low: int, high: int, side: Bools, spare: Ints) -> None:
    """Move the left rows to the front, and keep the order within both sides.

    Every row is written to both places, of which one is then overwritten: no processor can guess sides.
    """
    front, back = low, 0
    for i in range(low, high):
        row = orders[q, i]
        orders[q, front] = row
        spare[back] = row
        goes_right = int(side[row])
        back += goes_right
        front += 1 - goes_right
    for i in range(back):
        orders[q, front + i] = spare[i]
