"""Compiled, in integers: the highest mean price of a class within t, for every box of a lattice (see lattice.py).

Shares are counted in units of 1/(rows of the table × rows of the smallest class). A value's share up to the table's own
is free, the excess is limited by t, and no group has more than its rows over the rows of the smallest class.
"""

from __future__ import annotations

import numpy as np

from tclose.partition.shared.kernels import kernel, part
from tclose.types import Ints, SmallInts

NONE = -(2**62)  # the price of a value that a box does not show, and the value of a box that no class fits


@part
def _insert(best: Ints, prices: Ints, group: int) -> None:
    """Put a group into the list of the dearest groups of its value, by falling price."""
    j = len(best) - 1
    if best[j] >= 0 and prices[best[j]] >= prices[group]:
        return
    while j > 0 and (best[j - 1] < 0 or prices[best[j - 1]] < prices[group]):
        best[j] = best[j - 1]
        j -= 1
    best[j] = group


@part
def _sort(keys: Ints, others: Ints, groups: Ints, size: int) -> None:
    """Sort the first entries by rising key."""
    for i in range(1, size):
        key, other, group = keys[i], others[i], groups[i]
        j = i
        while j > 0 and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            others[j] = others[j - 1]
            groups[j] = groups[j - 1]
            j -= 1
        keys[j] = key
        others[j] = other
        groups[j] = group


@part
def _fill(best: Ints, prices: Ints, caps: Ints, shares: Ints, whole: int, base: Ints, excess: Ints) -> tuple[int, int]:
    """List the masses of the dearest groups: those within the table's share of their value, and those beyond it.

    Of a list that is full the last group counts as unlimited, so that the groups left out are not missed.
    """
    bases = extras = 0
    for v in range(best.shape[0]):
        free = shares[v]
        for j in range(best.shape[1]):
            g = best[v, j]
            if g < 0:
                break
            cap = caps[g] if j < best.shape[1] - 1 else whole
            inside = min(cap, free)
            if inside > 0:
                base[0, bases] = prices[g]
                base[1, bases] = inside
                base[2, bases] = g
                bases += 1
                free -= inside
            if cap > inside:
                excess[0, extras] = -prices[g]
                excess[1, extras] = cap - inside
                excess[2, extras] = g
                extras += 1
    return bases, extras


@part
def _highest(
    best: Ints,
    prices: Ints,
    caps: Ints,
    shares: Ints,
    whole: int,
    allowed: int,
    base: Ints,
    excess: Ints,
    masses: Ints,
    covered: Ints,
) -> int:
    """Return the highest Σ mass·price of a class, or NONE; with room for `masses`, set them and their groups."""
    bases, extras = _fill(best, prices, caps, shares, whole, base, excess)
    _sort(base[0], base[1], base[2], bases)
    _sort(excess[0], excess[1], excess[2], extras)
    total = value = 0
    for i in range(bases):
        total += base[1, i]
        value += base[1, i] * base[0, i]
    lacking = whole - total
    if lacking > allowed:
        return NONE
    left = allowed - lacking
    keep = len(masses) > 0
    used = i = 0
    taken = 0  # of the worst base, mass that was given up
    for k in range(extras):
        room = excess[1, k]
        moved = min(room, lacking)
        value -= moved * excess[0, k]
        lacking -= moved
        room -= moved
        while room > 0 and lacking == 0 and left > 0 and i < bases and -excess[0, k] > base[0, i]:
            swap = min(min(room, left), base[1, i] - taken)
            value += swap * (-excess[0, k] - base[0, i])
            moved += swap
            room -= swap
            left -= swap
            taken += swap
            if taken == base[1, i]:
                i += 1
                taken = 0
        if moved == 0:
            break
        if keep:
            masses[used] = moved
            covered[used] = excess[2, k]
            used += 1
    if lacking > 0:
        return NONE
    if keep:
        for k in range(i, bases):
            masses[used] = base[1, k] - (taken if k == i else 0)
            covered[used] = base[2, k]
            used += 1
        covered[used] = -1
    return value


@part
def _may_exceed(best: Ints, prices: Ints, shares: Ints, whole: int, allowed: int, loss: int) -> bool:
    """Tell quickly whether the mean price of a class in a box may exceed the box's loss; caps are left out."""
    total = value = 0
    top, low = NONE, -NONE
    for v in range(best.shape[0]):
        if best[v, 0] >= 0:
            price = prices[best[v, 0]]
            total += shares[v]
            value += shares[v] * price
            top = max(top, price)
            low = min(low, price)
    if top <= loss or whole - total > allowed:
        return False
    return value + (whole - total) * top + (allowed - whole + total) * (top - low) > loss * whole


@part
def _ceiling(value: int, whole: int) -> int:
    return -((-value) // whole)


@part
def _losses_of_boxes(losses: Ints, levels: Ints, boxes: SmallInts, delta: Ints, loss: Ints, limit: Ints) -> int:
    """Set the loss of every box of a combination, and the mean price above which it raises δ of one of its cells.

    Return the least of these.
    """
    least = -NONE
    for b in range(len(limit)):
        limit[b] = -NONE
    for c in range(len(boxes)):
        total = 0
        for q in range(len(levels)):
            total += losses[q, levels[q], c]
        b = boxes[c]
        loss[b] = total
        limit[b] = min(limit[b], total + delta[c])
        least = min(least, limit[b])
    return least


@kernel
def sweep(
    boxes: SmallInts,
    sizes: Ints,
    levels: Ints,
    losses: Ints,
    cells: Ints,
    values: Ints,
    prices: Ints,
    caps: Ints,
    shares: Ints,
    whole: int,
    allowed: int,
    order: Ints,
    first: int,
    last: int,
    dearest: Ints,
    lists: Ints,
    loss: Ints,
    place: Ints,
    limit: Ints,
    base: Ints,
    excess: Ints,
    delta: Ints,
    worst: Ints,
) -> None:
    """Raise `delta`, per cell, to the largest violation of a box of some combinations.

    A box that cannot raise δ of any of its cells is passed over, so combinations that are violated most come first.
    """
    highest_price = prices.max()
    none = np.empty(0, dtype=np.int64)
    for z in order[first:last]:
        size = sizes[z]
        if _losses_of_boxes(losses, levels[z], boxes[z], delta, loss, limit[:size]) >= highest_price:
            continue
        for b in range(size):
            place[b] = -1
            dearest[b, :, 0] = -1
        for g in range(len(cells)):
            b = boxes[z, cells[g]]
            top = dearest[b, values[g], 0]
            if top < 0 or prices[g] > prices[top]:
                dearest[b, values[g], 0] = g
        bad = 0
        for b in range(size):
            if not _may_exceed(dearest[b], prices, shares, whole, allowed, limit[b]):
                continue
            value = _highest(dearest[b], prices, caps, shares, whole, allowed, base, excess, none, none)
            if value > limit[b] * whole:
                place[b] = bad
                lists[bad] = -1
                bad += 1
        if not bad:
            continue
        for g in range(len(cells)):
            b = place[boxes[z, cells[g]]]
            if b >= 0:
                _insert(lists[b, values[g]], prices, g)
        for b in range(size):
            if place[b] >= 0:
                value = _highest(lists[place[b]], prices, caps, shares, whole, allowed, base, excess, none, none)
                over = _ceiling(value, whole) - loss[b] if value > NONE else 0
                loss[b] = max(over, 0)
            else:
                loss[b] = 0
        for c in range(boxes.shape[1]):
            if loss[boxes[z, c]] > delta[c]:
                delta[c] = loss[boxes[z, c]]
                worst[c] = z * np.int64(2**32) + boxes[z, c]


@kernel
def dearest_classes(
    boxes: SmallInts,
    sizes: Ints,
    cells: Ints,
    values: Ints,
    prices: Ints,
    caps: Ints,
    shares: Ints,
    whole: int,
    allowed: int,
    active: Ints,
    lists: Ints,
    place: Ints,
    base: Ints,
    excess: Ints,
    masses: Ints,
    groups: Ints,
) -> None:
    """Set the groups and masses of the dearest class in each active box; a group of −1 ends the list of a box.

    `active` holds pairs of a combination and a box, sorted.
    """
    i = 0
    while i < len(active):
        z = active[i, 0]
        last = i
        for b in range(sizes[z]):
            place[b] = -1
        while last < len(active) and active[last, 0] == z:
            place[active[last, 1]] = last - i
            lists[last - i] = -1
            last += 1
        for g in range(len(cells)):
            b = place[boxes[z, cells[g]]]
            if b >= 0:
                _insert(lists[b, values[g]], prices, g)
        for k in range(i, last):
            groups[k, 0] = -1
            _highest(lists[k - i], prices, caps, shares, whole, allowed, base, excess, masses[k], groups[k])
        i = last
