"""Carve classes out of some rows, one after the other: each grows from a seed by the row that costs least.

What is carved and what remains are both within every t, so that the rows that remain are always a class themselves.
"""

from __future__ import annotations

import numpy as np

from tclose.partition.shared.kernels import kernel
from tclose.partition.weave.aims import Aims
from tclose.partition.weave.loss import Axes, Shown, growth, loss_with, show, shown
from tclose.partition.weave.work import admitted, count, excess
from tclose.types import Floats, Ints, SmallInts

LOOKED_AT = 8192  # rows, for each that a class grows by


@kernel
def _next(axes: Axes, aims: Aims, state: Shown, rest: Ints, alive: int, prices: Floats, near: int) -> int:
    """Return the place in `rest` of the row that costs least: loss gained, and how far the class is from being one.

    Of very many rows only those around the place `near` are looked at: the work must not grow with their square.
    """
    best, least, lowest = 0, np.inf, _lowest(aims, prices)
    first = max(0, min(near - LOOKED_AT // 2, alive - LOOKED_AT))
    for i in range(first, min(alive, first + LOOKED_AT)):
        row = rest[i]
        price = 0.0
        for a in range(len(aims.kinds)):
            price += prices[aims.value[a] + aims.codes[row, a]]
        if price < least:
            price += growth(axes, state, 0, row, least - price)
            if price < least:
                best, least = i, price
                if least <= lowest:
                    break
    return best


@kernel
def _lowest(aims: Aims, prices: Floats) -> float:
    """Return what no row can cost less than."""
    lowest = 0.0
    for a in range(len(aims.kinds)):
        lowest += prices[aims.value[a] : aims.value[a + 1]].min()
    return lowest


@kernel
def _grow(
    axes: Axes, aims: Aims, rest: Ints, left: SmallInts, seed: int, k: int, price: float, share: float, most: int
) -> tuple[int, float]:
    """Move a class to the end of `rest`; return its size (0 where none was found) and its loss.

    `left` counts the rows of `rest` and is left as it was.
    """
    alive = len(rest)
    state = shown(axes, 1)
    counts = np.zeros(len(left), dtype=np.int32)
    prices = np.empty(aims.value[-1])
    place = seed
    while True:
        row = rest[place]
        alive -= 1
        rest[place], rest[alive] = rest[alive], row
        show(axes, state, 0, row)
        count(aims, counts, row, 1)
        count(aims, left, row, -1)
        size = len(rest) - alive
        if size >= k and alive >= k and admitted(aims, counts, size) and admitted(aims, left, alive):
            break
        if alive <= k or size >= most:
            size = 0
            break
        prices[:] = 0.0
        excess(aims, left, alive, -1, share, prices)
        excess(aims, counts, size, 1, 1.0, prices)
        prices *= price
        place = _next(axes, aims, state, rest, alive, prices, seed)
    for i in range(alive, len(rest)):
        count(aims, left, rest[i], 1)
    return size, loss_with(axes, state, 0, -1, -1)


@kernel
def carve(axes: Axes, aims: Aims, order: Ints, k: int, usual: int, prices: Floats, labels: SmallInts) -> int:
    """Give each row of `order`, which must be a class, a label from 0 up; return how many classes there are.

    The first row in `order` that remains is the next seed. Each class is grown at several prices, and the one with
    least loss is kept. Classes are expected to have about `usual` rows, and more once three times that does not do.
    """
    place_of = np.empty(len(axes.codes), dtype=np.int32)
    done = np.zeros(len(order), dtype=np.bool_)
    rest = order.copy()
    left = np.zeros(len(aims.weight), dtype=np.int32)
    for i in range(len(order)):
        place_of[order[i]] = i
        count(aims, left, order[i], 1)
    classes, first = 0, 0
    most = len(order)
    best = rest.copy()
    while len(rest) >= 2 * k:
        while done[first]:
            first += 1
        least, found = np.inf, 0
        share = 1.0 - 0.5 * len(rest) / len(order)
        for price in prices:
            seed = 0
            while rest[seed] != order[first]:
                seed += 1
            size, loss = _grow(axes, aims, rest, left, seed, k, price, share, min(most, 3 * usual))
            if size > 0 and loss < least:
                least, found = loss, size
                best[: len(rest)] = rest
        if found == 0:
            if usual > most:
                break
            usual *= 2
            continue
        usual = max(found, usual // 2)
        rest[:] = best[: len(rest)]
        for i in range(len(rest) - found, len(rest)):
            labels[place_of[rest[i]]] = classes
            done[place_of[rest[i]]] = True
            count(aims, left, rest[i], -1)
        rest = rest[: len(rest) - found]
        classes += 1
    for row in rest:
        labels[place_of[row]] = classes
    return classes + 1
