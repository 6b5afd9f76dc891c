"""Join a few classes near each other and carve them anew; keep what loses less.

The joined rows are within every t, since merging never raises closeness, so carving always starts from a class.
"""

from __future__ import annotations

import numpy as np

from tclose.partition.shared.kernels import kernel
from tclose.partition.weave.aims import Aims
from tclose.partition.weave.anneal import Weft, join, leave, look_again
from tclose.partition.weave.chance import State, below, seeded, uniform
from tclose.partition.weave.grow import carve
from tclose.partition.weave.loss import Axes, loss_with, show, shown
from tclose.types import Ints, SmallInts

MOST_ROWS = 120  # carved anew together: the work grows with their square
CHEAP, DEAR = 0.1, 5.0  # prices of work between which each carving draws its own


@kernel
def _shuffle(order: Ints, chance: State) -> None:
    for i in range(len(order) - 1, 0, -1):
        j = below(chance, i + 1)
        order[i], order[j] = order[j], order[i]


@kernel
def _neighbours(woven: Weft, view: SmallInts, where: SmallInts, row: int, most: int, found: SmallInts) -> int:
    """Gather the classes of the rows around one in a view; return how many there are."""
    classes = 0
    rows = len(view)
    for step in range(2 * most * 8):
        near = where[row] + (step // 2 + 1 if step % 2 else -(step // 2))
        if near < 0 or near >= rows:
            continue
        c = woven.label[view[near]]
        known = False
        for i in range(classes):
            known |= found[i] == c
        if not known:
            found[classes] = c
            classes += 1
            if classes == most:
                break
    return classes


@kernel
def _loss_of(axes: Axes, rows: Ints, labels: SmallInts, classes: int) -> float:
    state = shown(axes, classes)
    sizes = np.zeros(classes)
    for i in range(len(rows)):
        show(axes, state, labels[i], rows[i])
        sizes[labels[i]] += 1
    loss = 0.0
    for c in range(classes):
        loss += sizes[c] * loss_with(axes, state, c, -1, -1)
    return loss


@kernel
def _members(woven: Weft, classes: SmallInts) -> Ints:
    """Return the rows of some classes."""
    rows = np.empty(np.sum(woven.size[classes]), dtype=np.int64)
    place = 0
    for c in classes:
        for i in range(woven.size[c]):
            rows[place] = woven.member[c, i]
            place += 1
    return rows


@kernel
def _arranged(rows: Ints, where: SmallInts, chance: State) -> Ints:
    """Return the rows in an order from which seeds are taken: by chance, or along a view, one way or the other."""
    _shuffle(rows, chance)
    if uniform(chance) < 0.5:
        rows = rows[np.argsort(where[rows])]
        if uniform(chance) < 0.5:
            rows = rows[::-1].copy()
    return rows


@kernel
def _few(woven: Weft, classes: SmallInts) -> int:
    """Return how many of the classes, the first ones, can be carved anew together."""
    few, rows = 0, 0
    while few < len(classes) and rows + woven.size[classes[few]] <= MOST_ROWS:
        rows += woven.size[classes[few]]
        few += 1
    return few


@kernel
def _replace(
    axes: Axes, aims: Aims, woven: Weft, old: SmallInts, rows: Ints, labels: SmallInts, new: int, free: list[np.int64]
) -> None:
    """Put other classes in the place of some; `free` holds the numbers of classes without rows."""
    for row in rows:
        leave(aims, woven, row)
    names = [np.int64(c) for c in old]
    while len(names) < new:
        names.append(free.pop())
    while len(names) > new:
        empty = names.pop()
        free.append(empty)
        look_again(axes, aims, woven, int(empty))
    for i in range(len(rows)):
        join(aims, woven, rows[i], int(names[labels[i]]))
    for c in names:
        look_again(axes, aims, woven, int(c))


@kernel
def recarve(
    axes: Axes, aims: Aims, woven: Weft, views: SmallInts, k: int, usual: int, rounds: int, joined: int, seed: int
) -> int:
    """Carve anew around random rows; return how often that was better."""
    chance = seeded(seed)
    rows, better = len(woven.label), 0
    where = np.empty((len(views), rows), dtype=np.int32)
    for v in range(len(views)):
        for i in range(rows):
            where[v, views[v, i]] = i
    found = np.empty(joined, dtype=np.int32)
    free = [np.int64(c) for c in range(len(woven.size)) if woven.size[c] == 0]
    prices = np.empty(1)
    for _ in range(rounds):
        row = below(chance, rows)
        if woven.loss[woven.label[row]] == 0.0:
            continue
        view = below(chance, len(views))
        classes = found[: _neighbours(woven, views[view], where[view], row, joined, found)]
        classes = classes[: _few(woven, classes)]
        mine = _members(woven, classes)
        if len(mine) < 2 * k:
            continue
        mine = _arranged(mine, where[view], chance)
        prices[0] = CHEAP * (DEAR / CHEAP) ** uniform(chance)
        labels = np.zeros(len(mine), dtype=np.int32)
        new = carve(axes, aims, mine, k, usual, prices, labels)
        before = np.sum(woven.size[classes] * woven.loss[classes])
        if new > len(classes) + len(free) or _loss_of(axes, mine, labels, new) >= before - 1e-9:
            continue
        if np.bincount(labels).max() > woven.member.shape[1]:
            continue
        better += 1
        _replace(axes, aims, woven, classes, mine, labels, new, free)
    return better
