"""Exchange rows between classes near each other: every step keeps both classes within every t, exactly.

Steps that cost something are taken too, seldom and ever more seldom: simulated annealing (Kirkpatrick et al. 1983).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tclose.partition.shared.kernels import kernel
from tclose.partition.weave.aims import Aims
from tclose.partition.weave.chance import below, seeded, uniform
from tclose.partition.weave.loss import Axes, Shown, clear, loss_with, show, shown
from tclose.partition.weave.work import count, limit, moved_work, swapped_work, work_of
from tclose.types import Floats, Ints, SmallInts

MOVES = 0.25  # of the steps; the others are swaps
TRIES = 16  # rows of the other class that a swap tries


class Weft(NamedTuple):
    """The classes of some rows and all that is known about them."""

    label: SmallInts  # class of each row
    place: SmallInts  # of each row in its class
    member: SmallInts  # classes × places
    size: Ints
    counts: SmallInts  # classes × edges
    work: Ints  # classes × attributes
    state: Shown
    loss: Floats  # per class


@kernel
def weft(axes: Axes, aims: Aims, labels: SmallInts, classes: int) -> Weft:
    """Gather what is known about classes."""
    size = np.bincount(labels, minlength=classes).astype(np.int64)
    room = int(size.max() + size.max() // 2 + 8)
    rows = len(labels)
    found = Weft(
        labels.copy(),
        np.zeros(rows, dtype=np.int32),
        np.zeros((classes, room), dtype=np.int32),
        np.zeros(classes, dtype=np.int64),
        np.zeros((classes, len(aims.weight)), dtype=np.int32),
        np.zeros((classes, len(aims.kinds)), dtype=np.int64),
        shown(axes, classes),
        np.zeros(classes),
    )
    for row in range(rows):
        join(aims, found, row, labels[row])
    for c in range(classes):
        look_again(axes, aims, found, c)
    return found


@kernel
def join(aims: Aims, woven: Weft, row: int, c: int) -> None:
    """Put a row into a class."""
    woven.label[row] = c
    woven.place[row] = woven.size[c]
    woven.member[c, woven.size[c]] = row
    woven.size[c] += 1
    count(aims, woven.counts[c], row, 1)


@kernel
def leave(aims: Aims, woven: Weft, row: int) -> None:
    """Take a row out of its class."""
    c, place = woven.label[row], woven.place[row]
    woven.size[c] -= 1
    last = woven.member[c, woven.size[c]]
    woven.member[c, place] = last
    woven.place[last] = place
    count(aims, woven.counts[c], row, -1)


@kernel
def look_again(axes: Axes, aims: Aims, woven: Weft, c: int) -> None:
    """Renew what is derived from the members of a class."""
    clear(woven.state, c)
    for i in range(woven.size[c]):
        show(axes, woven.state, c, woven.member[c, i])
    woven.loss[c] = loss_with(axes, woven.state, c, -1, -1)
    for a in range(len(aims.kinds)):
        woven.work[c, a] = work_of(aims, woven.counts[c], woven.size[c], a)


@kernel
def _may_swap(aims: Aims, woven: Weft, c: int, gone: int, new: int) -> bool:
    for a in range(len(aims.kinds)):
        x, y = aims.codes[gone, a], aims.codes[new, a]
        if x == y:
            continue
        work = swapped_work(aims, woven.counts[c], woven.size[c], woven.work[c, a], a, x, y)
        if work > limit(aims, woven.size[c], a):
            return False
    return True


@kernel
def _may_move(aims: Aims, woven: Weft, c: int, row: int, sign: int) -> bool:
    for a in range(len(aims.kinds)):
        work = moved_work(aims, woven.counts[c], woven.size[c], a, aims.codes[row, a], sign)
        if work > limit(aims, woven.size[c] + sign, a):
            return False
    return True


@kernel
def _move(axes: Axes, aims: Aims, woven: Weft, row: int, y: int, k: int, bound: float) -> bool:
    """Move a row to another class, unless that costs more than `bound` or breaks a limit."""
    x = woven.label[row]
    if woven.size[x] <= k or woven.size[y] >= woven.member.shape[1]:
        return False
    here, there = woven.size[x], woven.size[y]
    cost = (here - 1) * loss_with(axes, woven.state, x, row, -1) - here * woven.loss[x]
    cost -= there * woven.loss[y]
    if cost + (there + 1) * woven.loss[y] > bound:
        return False
    cost += (there + 1) * loss_with(axes, woven.state, y, -1, row)
    if cost > bound or not _may_move(aims, woven, x, row, -1) or not _may_move(aims, woven, y, row, 1):
        return False
    leave(aims, woven, row)
    join(aims, woven, row, y)
    look_again(axes, aims, woven, x)
    look_again(axes, aims, woven, y)
    return True


@kernel
def _swap(axes: Axes, aims: Aims, woven: Weft, row: int, other: int, bound: float) -> bool:
    """Exchange two rows of different classes, unless that costs more than `bound` or breaks a limit."""
    x, y = woven.label[row], woven.label[other]
    cost = woven.size[x] * (loss_with(axes, woven.state, x, row, other) - woven.loss[x])
    if cost - woven.size[y] * woven.loss[y] > bound:
        return False
    cost += woven.size[y] * (loss_with(axes, woven.state, y, other, row) - woven.loss[y])
    if cost > bound or not _may_swap(aims, woven, x, row, other) or not _may_swap(aims, woven, y, other, row):
        return False
    leave(aims, woven, row)
    leave(aims, woven, other)
    join(aims, woven, row, y)
    join(aims, woven, other, x)
    look_again(axes, aims, woven, x)
    look_again(axes, aims, woven, y)
    return True


@kernel
def anneal(
    axes: Axes,
    aims: Aims,
    woven: Weft,
    orders: SmallInts,
    k: int,
    steps: int,
    hot: float,
    cold: float,
    reach: int,
    seed: int,
) -> None:
    """Try steps between classes that hold rows near each other in one of the orders."""
    chance = seeded(seed)
    rows, views = len(woven.label), len(orders)
    where = np.empty((views, rows), dtype=np.int32)
    for view in range(views):
        for i in range(rows):
            where[view, orders[view, i]] = i
    for step in range(steps):
        heat = hot * (cold / hot) ** (step / steps)
        row = below(chance, rows)
        view = below(chance, views)
        near = where[view, row] + below(chance, 2 * reach + 1) - reach
        if near < 0 or near >= rows:
            continue
        y = woven.label[orders[view, near]]
        x = woven.label[row]
        if y == x:
            continue
        bound = -heat * np.log(uniform(chance))
        if uniform(chance) < MOVES:
            _move(axes, aims, woven, row, y, k, bound)
            continue
        size = woven.size[y]
        first = below(chance, size)
        for i in range(min(size, TRIES)):
            other = woven.member[y, (first + i) % size]
            if _swap(axes, aims, woven, row, other, bound):
                break
