"""GENERATE-CLASSES: which rows each class takes, where a plan says how many it takes from each fragment.

As printed (001, section 3.2), each class grows around a row, from the nearest rows that are left. The paper leaves
open around which row; here one is drawn. A class takes the rows of every fragment that are nearest to it, so the last
classes get the rows that no other class took. That takes O(N · classes).

In our way, each class takes its rows of every fragment from one neighbourhood, and none is last. The rows of every
fragment are bisected alike, again and again, until a cell is left: O(N log N). Rows of one fragment are then exchanged
between cells where that shortens the published ranges. `members[cell, place]` is a row; the places are numbered by
fragment. Two places of one fragment may exchange rows without a change to any count that the guarantee rests on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tclose.partition.shared.buckets import bisect
from tclose.partition.shared.kernels import kernel, part
from tclose.types import Floats, Ints, Progress, silent, stretch

# How many rows each class takes from each fragment


@dataclass(frozen=True, eq=False)
class ClassPlan:
    """A fragment per row, and for `cells` cells `layers[f]` rows of every fragment f.

    A cell is a class, except that each of the `spares` spare rows (the last fragment) goes to a class of its own
    that is made of `joined` cells.
    """

    fragments: Ints
    layers: Ints
    cells: int
    spares: int = 0
    joined: int = 1

    @property
    def count(self) -> int:
        """How many classes there are."""
        return self.cells - self.spares * (self.joined - 1)

    def vectors(self) -> list[Ints]:
        """Return the different count vectors that classes use: rows taken from each fragment."""
        if not self.spares:
            return [self.layers]
        vectors = [np.append(self.layers, 0), np.append(self.layers * self.joined, 1)]
        return vectors if self.cells > self.spares * self.joined else vectors[1:]


# How far rows are from each other by their quasi-identifiers, which the paper leaves to its user


RowDistance = Callable[[Floats, Floats], Floats]  # (points, one point) → the distance of each of them from it


def euclidean(points: Floats, point: Floats) -> Floats:
    """Return the Euclidean distance of each point from one."""
    return np.asarray(np.sqrt(((points - point) ** 2).sum(axis=1)))


# Exchange rows between cells where that shortens the published ranges


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


# Bisected cells


SHARES = ((0.5,), (0.25, 0.5, 0.75))  # of the cells that may go to one side: neither is always better
WINDOW = 32  # cells tried for an exchange: so many nearby and so many at random
ENOUGH = 0.001

DRAWS = 99_991  # random cells, drawn beforehand and used in turn; a prime, so that every cell meets others each pass


def bisected_cells(
    points: Floats, plan: ClassPlan, distance: RowDistance, seed: int, progress: Progress = silent
) -> Ints:
    """Return the rows of each cell, cells × rows."""
    layered = np.flatnonzero(plan.fragments < len(plan.layers))
    if distance is euclidean:
        return _bisect_along_axes(points, plan, layered, seed, progress)
    return _bisect_between_poles(points, plan, layered, distance, progress)


def _bisect_along_axes(points: Floats, plan: ClassPlan, layered: Ints, seed: int, progress: Progress) -> Ints:
    """Bisect along coordinates, then exchange rows; of several ways to bisect keep what leaves the shortest ranges."""
    fragments = plan.fragments[layered]
    axes = [points[layered, q] for q in range(points.shape[1])] or [np.zeros(len(layered))]
    orders = np.array([layered[np.lexsort((axis, fragments))] for axis in axes])
    fragment_of = np.repeat(np.arange(len(plan.layers)), plan.layers)
    random = np.random.default_rng(seed).integers(plan.cells, size=DRAWS)
    best: Ints = orders[0]
    shortest = np.inf
    for number, shares in enumerate(SHARES):
        begin, middle, end = ((number + half) / len(SHARES) for half in (0.0, 0.5, 1.0))
        bisecting, exchanging = stretch(progress, begin, middle), stretch(progress, middle, end)
        members = bisect(points, orders.copy(), plan.layers, plan.cells, np.array(shares), bisecting)
        left_over = exchange(points, members, fragment_of, WINDOW, ENOUGH, random, exchanging)
        if left_over < shortest:
            best, shortest = members, left_over
    return best


def _bisect_between_poles(
    points: Floats, plan: ClassPlan, layered: Ints, distance: RowDistance, progress: Progress
) -> Ints:
    """Bisect by nearness to one of two rows that are far apart: all that a row distance alone can tell."""
    members = np.empty((plan.cells, int(plan.layers.sum())), dtype=np.int64)
    stack = [(layered[np.argsort(plan.fragments[layered], kind="stable")], 0)]
    while stack:
        rows, first = stack.pop()
        progress(first / plan.cells)
        count = len(rows) // members.shape[1]
        if count == 1:
            members[first] = rows
            continue
        one = points[rows[int(distance(points[rows], points[rows[0]]).argmax())]]
        from_one = distance(points[rows], one)
        other = points[rows[int(from_one.argmax())]]
        ordered = rows[np.lexsort((from_one - distance(points[rows], other), plan.fragments[rows]))]
        left = count // 2
        place = np.concatenate([np.arange(e * count) < e * left for e in plan.layers])
        stack += [(ordered[place], first), (ordered[~place], first + left)]
    return members


# Grown cells, and the classes


Classes = Literal["bisected", "grown"]


def generate_classes(
    points: Floats, plan: ClassPlan, classes: Classes, distance: RowDistance, seed: int, progress: Progress = silent
) -> Ints:
    """Return a class label per row, in which every class takes rows as the plan says."""
    cells = grown_cells if classes == "grown" else bisected_cells
    return _labels(points, plan, cells(points, plan, distance, seed, progress))


def grown_cells(points: Floats, plan: ClassPlan, distance: RowDistance, seed: int, progress: Progress = silent) -> Ints:
    """Return the rows of each cell, cells × rows."""
    layered = np.flatnonzero(plan.fragments < len(plan.layers))
    left = layered[np.argsort(plan.fragments[layered], kind="stable")]
    random = np.random.default_rng(seed)
    cells = np.empty((plan.cells, int(plan.layers.sum())), dtype=np.int64)
    for number in range(plan.cells):
        progress(number / plan.cells)
        row = left[random.integers(len(left))]
        away = np.where(left == row, -1.0, distance(points[left], points[row]))  # itself before its equals
        nearest = np.lexsort((away, plan.fragments[left]))
        in_fragment = plan.layers * (plan.cells - number)  # rows that are left of each
        firsts = np.cumsum(in_fragment) - in_fragment
        taken = nearest[np.concatenate([first + np.arange(e) for first, e in zip(firsts, plan.layers, strict=True)])]
        cells[number] = left[taken]
        left = np.delete(left, taken)
    return cells


def _labels(points: Floats, plan: ClassPlan, members: Ints) -> Ints:
    """Join cells for the spare rows, each of which goes where it stretches the ranges least."""
    class_of = np.arange(plan.cells)
    labels = np.empty(len(points), dtype=np.int64)
    spare = np.flatnonzero(plan.fragments == len(plan.layers))
    if len(spare):
        groups = points[members[: plan.cells // plan.joined * plan.joined]].reshape(
            plan.cells // plan.joined, -1, points.shape[1]
        )
        low, high = groups.min(axis=1), groups.max(axis=1)
        free = np.ones(len(groups), dtype=np.bool_)
        for row in spare:
            stretch = (np.maximum(low - points[row], 0) + np.maximum(points[row] - high, 0)).sum(axis=1)
            group = int(np.where(free, stretch, np.inf).argmin())
            free[group] = False
            class_of[group * plan.joined : (group + 1) * plan.joined] = group * plan.joined
            labels[row] = group * plan.joined
    labels[members.ravel()] = np.repeat(class_of, members.shape[1])
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)
