"""The compiled loops of GENERATE-CLASSES: bisect the rows of every fragment alike, then exchange rows between cells.

`members[cell, place]` is a row; the places are numbered by fragment, so a place means the same fragment in every
cell, and exchanging rows between two places of one fragment changes no count that the guarantee rests on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.partition.shared.kernels import kernel
from tclose.types import Floats, Ints


@kernel
def _mark(order: Ints, layers: Ints, count: int, left: int, side: NDArray[np.bool_]) -> None:
    """Mark which rows go right when, of every fragment, the first left/count of its rows in this order go left."""
    place = 0
    for f in range(len(layers)):
        for i in range(layers[f] * count):
            side[order[place]] = i >= layers[f] * left
            place += 1


@kernel
def _scatter(points: Floats, rows: Ints, side: NDArray[np.bool_], left: int) -> float:
    """Return the squared distances from the means of the two sides, added up."""
    right = len(rows) - left
    scatter = 0.0
    for q in range(points.shape[1]):
        sums = np.zeros(2)
        squares = 0.0
        for row in rows:
            sums[int(side[row])] += points[row, q]
            squares += points[row, q] ** 2
        scatter += squares - sums[0] ** 2 / left - sums[1] ** 2 / right
    return scatter


@kernel
def _part(order: Ints, side: NDArray[np.bool_], spare: Ints) -> None:
    """Move the left rows to the front, keeping the order within both sides."""
    front = back = 0
    for row in order:
        if side[row]:
            spare[back] = row
            back += 1
        else:
            order[front] = row
            front += 1
    order[front:] = spare[:back]


@kernel
def _choose(points: Floats, orders: Ints, layers: Ints, shares: Floats, side: NDArray[np.bool_]) -> tuple[int, int]:
    """Return the coordinate along which to part these cells, and how many go left, for the least scatter."""
    size = layers.sum()
    count = orders.shape[1] // size
    axis, part, least = 0, 1, np.inf
    for share in shares:
        left = max(1, int(count * share))
        for q in range(len(orders)):
            _mark(orders[q], layers, count, left, side)
            scatter = _scatter(points, orders[q], side, left * size)
            if scatter < least:
                axis, part, least = q, left, scatter
    return axis, part


@kernel
def bisect(points: Floats, orders: Ints, layers: Ints, cells: int, shares: Floats) -> Ints:
    """Return members[cell, place]; `orders[q]` holds the rows by fragment, then by coordinate q, and is used up.

    `shares` are the parts of the cells that may go left.
    """
    size = int(layers.sum())
    side = np.zeros(len(points), dtype=np.bool_)
    spare = np.empty(orders.shape[1], dtype=np.int64)
    stack = [(0, cells)]
    while len(stack):
        first, count = stack.pop()
        if count == 1:
            continue
        low, high = first * size, (first + count) * size
        axis, left = _choose(points, orders[:, low:high], layers, shares, side)
        _mark(orders[axis, low:high], layers, count, left, side)
        for q in range(len(orders)):
            _part(orders[q, low:high], side, spare)
        stack.append((first, left))
        stack.append((first + left, count - left))
    members: Ints = orders[0].copy().reshape((cells, size))
    return members


@kernel
def _ends(points: Floats, rows: Ints, ends: Floats) -> None:
    """Note the two smallest and the two largest coordinates of a cell, for each quasi-identifier."""
    for q in range(points.shape[1]):
        ends[q, 0] = ends[q, 1] = np.inf
        ends[q, 2] = ends[q, 3] = -np.inf
        for row in rows:
            x = points[row, q]
            if x < ends[q, 0]:
                ends[q, 0], ends[q, 1] = x, ends[q, 0]
            elif x < ends[q, 1]:
                ends[q, 1] = x
            if x > ends[q, 3]:
                ends[q, 3], ends[q, 2] = x, ends[q, 3]
            elif x > ends[q, 2]:
                ends[q, 2] = x


@kernel
def _extent(ends: Floats, without: Floats, plus: Floats) -> float:
    """Return the sum of the ranges of a cell that loses one point and gains another."""
    extent = 0.0
    for q in range(len(without)):
        low = ends[q, 1] if without[q] == ends[q, 0] else ends[q, 0]
        high = ends[q, 2] if without[q] == ends[q, 3] else ends[q, 3]
        extent += max(high, plus[q]) - min(low, plus[q])
    return extent


@kernel
def _alone_at_an_end(point: Floats, ends: Floats) -> bool:
    """Tell whether some range would shrink without this point."""
    alone = False
    for q in range(len(point)):
        alone |= point[q] == ends[q, 0] < ends[q, 1] or point[q] == ends[q, 3] > ends[q, 2]
    return alone


@kernel
def _improve(points: Floats, members: Ints, fragment_of: Ints, ends: Floats, x: int, place: int, others: Ints) -> float:
    """Exchange this place's row with the one of the same fragment that shortens the ranges most; return by how much."""
    row = members[x, place]
    first = last = place
    while first > 0 and fragment_of[first - 1] == fragment_of[place]:
        first -= 1
    while last + 1 < len(fragment_of) and fragment_of[last + 1] == fragment_of[place]:
        last += 1
    here = (ends[x, :, 3] - ends[x, :, 0]).sum()
    most, best_y, best_place = 1e-12, -1, -1
    for y in others:
        if y == x:
            continue
        there = (ends[y, :, 3] - ends[y, :, 0]).sum()
        for other in range(first, last + 1):
            partner = members[y, other]
            gain = here - _extent(ends[x], points[row], points[partner])
            if gain + there <= most:
                continue
            gain += there - _extent(ends[y], points[partner], points[row])
            if gain > most:
                most, best_y, best_place = gain, y, other
    if best_y < 0:
        return 0.0
    members[x, place], members[best_y, best_place] = members[best_y, best_place], row
    _ends(points, members[x], ends[x])
    _ends(points, members[best_y], ends[best_y])
    return most


@kernel
def exchange(points: Floats, members: Ints, fragment_of: Ints, window: int, enough: float, random: Ints) -> float:
    """Exchange rows at the ends of a cell's ranges with those of nearby and of random other cells.

    End with a pass that shortens the ranges by no more than the fraction `enough`; return the sum of those left.
    """
    draw = 0
    cells, size = members.shape
    ends = np.empty((cells, points.shape[1], 4))
    for x in range(cells):
        _ends(points, members[x], ends[x])
    while True:
        gained = 0.0
        for x in range(cells):
            if cells <= 2 * window:
                others = np.arange(cells)
            else:
                others = np.empty(2 * window, dtype=np.int64)
                for w in range(window):
                    others[w] = (x - window // 2 + w) % cells
                    others[window + w] = random[draw % len(random)]
                    draw += 1
            for place in range(size):
                row = members[x, place]
                if _alone_at_an_end(points[row], ends[x]):
                    gained += _improve(points, members, fragment_of, ends, x, place, others)
        if gained <= enough * (ends[:, :, 3] - ends[:, :, 0]).sum():
            break
    return float((ends[:, :, 3] - ends[:, :, 0]).sum())
