"""Exchange rows between the cells of GENERATE-CLASSES where that shortens the published ranges.

`members[cell, place]` is a row; the places are numbered by fragment. Two places of one fragment may exchange rows
without a change to any count that the guarantee rests on.
"""

from __future__ import annotations

import numpy as np

from tclose.partition.shared.kernels import kernel, part
from tclose.types import Floats, Ints, Progress, silent

LEAST_GAIN = 1e-12
LOOKS_PER_CALL = 2_000_000  # rows compared between two reports of progress, at most, or one cell


def exchange(
    points: Floats,
    members: Ints,
    fragment_of: Ints,
    window: int,
    enough: float,
    random: Ints,
    progress: Progress = silent,
) -> float:
    """Exchange rows at the ends of a cell's ranges with rows of nearby cells and of random cells.

    The last pass shortens the ranges by no more than the fraction `enough`. Return the sum of the ranges.
    """
    cells, size = members.shape
    ends = np.empty((cells, points.shape[1], 4))
    sum_of_ranges = float(_find_ends(points, members, ends))
    nearby = cells if cells <= 2 * window else 2 * window
    others, step = np.empty(nearby, dtype=np.int64), max(1, LOOKS_PER_CALL // (size * size * nearby))
    draws, share = 0, 0.0
    while True:
        gained = 0.0
        for first in range(0, cells, step):
            progress(share)
            last = min(first + step, cells)
            gained = float(
                _exchange_some(points, members, fragment_of, ends, window, random, others, first, last, draws, gained)
            )
            draws += (last - first) * window
        share = (1 + share) / 2  # nobody knows how many passes there will be
        sum_of_ranges = float(_sum_of_ranges(ends))
        if gained <= enough * sum_of_ranges:
            return sum_of_ranges


@kernel
def _find_ends(points: Floats, members: Ints, ends: Floats) -> float:
    for x in range(len(members)):
        _set_ends(points, members, ends, x)
    return _ranges(ends, 0, len(ends))


@kernel
def _sum_of_ranges(ends: Floats) -> float:
    return _ranges(ends, 0, len(ends))


@part
def _ranges(ends: Floats, first: int, last: int) -> float:
    """Return the sum of the ranges of some cells."""
    total = 0.0
    for x in range(first, last):
        for q in range(ends.shape[1]):
            total += ends[x, q, 3] - ends[x, q, 0]
    return total


@part
def _set_ends(points: Floats, members: Ints, ends: Floats, x: int) -> None:
    """Note the two smallest and the two largest coordinates of a cell, for each quasi-identifier."""
    for q in range(points.shape[1]):
        ends[x, q, 0] = ends[x, q, 1] = np.inf
        ends[x, q, 2] = ends[x, q, 3] = -np.inf
        for i in range(members.shape[1]):
            value = points[members[x, i], q]
            if value < ends[x, q, 0]:
                ends[x, q, 1] = ends[x, q, 0]
                ends[x, q, 0] = value
            elif value < ends[x, q, 1]:
                ends[x, q, 1] = value
            if value > ends[x, q, 3]:
                ends[x, q, 2] = ends[x, q, 3]
                ends[x, q, 3] = value
            elif value > ends[x, q, 2]:
                ends[x, q, 2] = value


@kernel
def _exchange_some(
    points: Floats,
    members: Ints,
    fragment_of: Ints,
    ends: Floats,
    window: int,
    random: Ints,
    others: Ints,
    first: int,
    last: int,
    draws: int,
    gained: float,
) -> float:
    """Exchange rows of the cells from first to last; return the gain so far, which `gained` begins."""
    cells, size = members.shape
    for x in range(first, last):
        if cells <= 2 * window:
            for y in range(cells):
                others[y] = y
        else:
            for w in range(window):
                others[w] = (x - window // 2 + w) % cells
                others[window + w] = random[draws % len(random)]
                draws += 1
        for place in range(size):
            if _alone_at_an_end(points, ends, x, members[x, place]):
                gained += _improve(points, members, fragment_of, ends, x, place, others)
    return gained


@part
def _alone_at_an_end(points: Floats, ends: Floats, x: int, row: int) -> bool:
    """Tell whether some range of a cell would shrink without this row."""
    for q in range(points.shape[1]):
        value = points[row, q]
        if value == ends[x, q, 0] < ends[x, q, 1] or value == ends[x, q, 3] > ends[x, q, 2]:
            return True
    return False


@part
def _range_after(points: Floats, ends: Floats, x: int, leaving: int, joining: int) -> float:
    """Return the sum of the ranges of a cell that one row leaves and another joins."""
    total = 0.0
    for q in range(points.shape[1]):
        old, new = points[leaving, q], points[joining, q]
        low = ends[x, q, 1] if old == ends[x, q, 0] else ends[x, q, 0]
        high = ends[x, q, 2] if old == ends[x, q, 3] else ends[x, q, 3]
        total += (new if new > high else high) - (new if new < low else low)
    return total


@part
def _improve(points: Floats, members: Ints, fragment_of: Ints, ends: Floats, x: int, place: int, others: Ints) -> float:
    """Exchange this place's row with the row of the same fragment that shortens the ranges most; return the gain."""
    row = members[x, place]
    first = last = place
    while first > 0 and fragment_of[first - 1] == fragment_of[place]:
        first -= 1
    while last + 1 < len(fragment_of) and fragment_of[last + 1] == fragment_of[place]:
        last += 1
    range_x = _ranges(ends, x, x + 1)
    most, best_cell, best_place = LEAST_GAIN, -1, -1
    for j in range(len(others)):
        y = others[j]
        if y == x:
            continue
        range_y = _ranges(ends, y, y + 1)
        for other in range(first, last + 1):
            partner = members[y, other]
            gain = range_x - _range_after(points, ends, x, row, partner)
            if gain + range_y <= most:
                continue
            gain += range_y - _range_after(points, ends, y, partner, row)
            if gain > most:
                most, best_cell, best_place = gain, y, other
    if best_cell < 0:
        return 0.0
    members[x, place] = members[best_cell, best_place]
    members[best_cell, best_place] = row
    _set_ends(points, members, ends, x)
    _set_ends(points, members, ends, best_cell)
    return most
