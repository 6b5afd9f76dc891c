"""Compiled: the highest mean price of a class within t, box by box (see docs/bound.md).

With prices U(v) of the values shown in a box, f = min over λ ≥ 0 of λ·t + Σ Q(q) · max over v of (U(v) − λ·d(q, v)).
The inner maximum takes one pass up and one pass down the tree of values. f is convex in λ and piecewise linear, so
the crossing of two tangents is the next λ to try.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.partition.shared.kernels import kernel, part
from tclose.types import Floats, Ints

Cube = NDArray[np.float64]  # three dimensions
IntCube = NDArray[np.int64]

ABSENT = -1e18  # the price of a value that a box does not show
LARGEST = 1e9  # the largest λ that is tried
SMALLEST = 1e-7


@part
def _spread_on_tree(parents: Ints, lengths: Floats, multiplier: float, best: Floats, way: Floats, origin: Ints) -> None:
    """Let every node take the best price less the way to it; `best` comes in as the nodes' own prices."""
    nodes = len(parents)
    for i in range(nodes):
        way[i] = 0.0
        origin[i] = i
    for i in range(nodes - 1, 0, -1):
        offer = best[i] - multiplier * lengths[i]
        j = parents[i]
        if offer > best[j]:
            best[j] = offer
            way[j] = way[i] + lengths[i]
            origin[j] = origin[i]
    for i in range(1, nodes):
        j = parents[i]
        offer = best[j] - multiplier * lengths[i]
        if offer > best[i]:
            best[i] = offer
            way[i] = way[j] + lengths[i]
            origin[i] = origin[j]


@part
def _spread_on_metric(
    costs: Floats, multiplier: float, prices: Floats, best: Floats, way: Floats, origin: Ints
) -> None:
    """Let every value take the best price less its distance."""
    for q in range(len(prices)):
        best[q] = ABSENT * 2
        for v in range(len(prices)):
            if prices[v] > ABSENT:
                offer = prices[v] - multiplier * costs[q, v]
                if offer > best[q] or (offer == best[q] and costs[q, v] < way[q]):
                    best[q] = offer
                    way[q] = costs[q, v]
                    origin[q] = v


@part
def _value(
    parents: Ints,
    lengths: Floats,
    costs: Floats,
    shares: Floats,
    multiplier: float,
    prices: Floats,
    best: Floats,
    way: Floats,
    origin: Ints,
) -> tuple[float, float]:
    """Return Σ Q(q)·max(U(v) − λ·d(q, v)), and how far the chosen values lie from q on average."""
    if costs.shape[0]:
        _spread_on_metric(costs, multiplier, prices, best, way, origin)
    else:
        for i in range(len(prices)):
            best[i] = prices[i]
        _spread_on_tree(parents, lengths, multiplier, best, way, origin)
    total = 0.0
    far = 0.0
    for i in range(len(shares)):
        if shares[i] > 0.0:
            total += shares[i] * best[i]
            far += shares[i] * way[i]
    return total, far


@part
def _search(
    parents: Ints,
    lengths: Floats,
    costs: Floats,
    shares: Floats,
    t: float,
    prices: Floats,
    loss: float,
    start: float,
    steps: int,
    best: Floats,
    way: Floats,
    origin: Ints,
) -> tuple[float, float, float, float]:
    """Return the least value that was found and its λ, and two λ around the optimum (the second −1 if unknown).

    The search ends early where the value does not exceed the box's loss.
    """
    low = 0.0
    low_value = ABSENT
    for i in range(len(prices)):
        if prices[i] > low_value:
            low_value = prices[i]
    least, chosen = low_value, 0.0
    low_slope = t - 1.0  # nothing is farther than 1
    high = -1.0
    high_value = 0.0
    high_slope = 0.0
    multiplier = max(start, 1e-3)
    for _ in range(steps):
        if least <= loss:
            break
        total, far = _value(parents, lengths, costs, shares, multiplier, prices, best, way, origin)
        value = total + multiplier * t
        if value < least:
            least = value
            chosen = multiplier
        if far > t:
            low = multiplier
            low_value = value
            low_slope = t - far
        else:
            high = multiplier
            high_value = value
            high_slope = t - far
        if high < 0.0:
            multiplier = low * 2.0
            if multiplier > LARGEST:
                break
            continue
        if high < SMALLEST or high - low < 1e-9 * high:
            break
        if low == 0.0:
            multiplier = high * 0.5
            continue
        crossing = (low_value - low_slope * low - high_value + high_slope * high) / (high_slope - low_slope)
        if least - (low_value + low_slope * (crossing - low)) < 1e-9:
            break
        multiplier = min(max(crossing, low + 1e-3 * (high - low)), high - 1e-3 * (high - low))
    return least, chosen, low, high


@kernel
def price_boxes(
    parents: Ints,
    lengths: Floats,
    costs: Floats,
    shares: Floats,
    t: float,
    prices: Floats,
    losses: Floats,
    multipliers: Floats,
    violations: Floats,
    first: int,
    last: int,
    steps: int,
    work: Floats,
    origin: Ints,
) -> None:
    """Set how far the highest mean price of a class in each box exceeds the box's loss; helpers never do."""
    for b in range(first, last):
        violations[b] = 0.0
        if losses[b] >= 0.0:
            least, multiplier, _, _ = _search(
                *(parents, lengths, costs, shares, t, prices[b], losses[b], multipliers[b], steps),
                *(work[0], work[1], origin),
            )
            if multiplier > 0.0:
                multipliers[b] = multiplier
            if least > losses[b]:
                violations[b] = least - losses[b]


@kernel
def best_class(
    parents: Ints,
    lengths: Floats,
    costs: Floats,
    shares: Floats,
    t: float,
    prices: Floats,
    loss: float,
    multiplier: float,
    work: Floats,
    origin: Ints,
    distribution: Floats,
) -> float:
    """Find the distribution of the class with the highest mean price; return that price."""
    least, chosen, low, high = _search(
        parents, lengths, costs, shares, t, prices, loss, multiplier, 40, work[0], work[1], origin
    )
    distribution[:] = 0.0
    if high < 0.0:
        high = max(chosen, low, 1e-3)
    _, far_high = _value(parents, lengths, costs, shares, high, prices, work[0], work[1], origin)
    for i in range(len(shares)):
        distribution[origin[i]] += shares[i]
    _, far_low = _value(parents, lengths, costs, shares, max(low, 1e-9), prices, work[0], work[1], origin)
    if far_low > t and far_low > far_high:
        mixed = min(max((t - far_high) / (far_low - far_high), 0.0), 1.0)
        for i in range(len(shares)):
            distribution[i] *= 1.0 - mixed
        for i in range(len(shares)):
            distribution[origin[i]] += mixed * shares[i]
    return least


@kernel
def roll_up(cells: Cube, unions: Ints, rolled: Cube) -> None:
    """Set the highest price in every box of one axis (the middle one), given those in its cells."""
    count = cells.shape[1]
    for x in range(cells.shape[0]):
        for i in range(count):
            for y in range(cells.shape[2]):
                rolled[x, i, y] = cells[x, i, y]
        for i in range(len(unions)):
            for y in range(cells.shape[2]):
                rolled[x, count + i, y] = max(rolled[x, unions[i, 0], y], rolled[x, unions[i, 1], y])


@kernel
def roll_down(worst: Cube, box: IntCube, unions: Ints, count: int) -> None:
    """Let every cell of one axis (the middle one) know the worst box that holds it."""
    for x in range(worst.shape[0]):
        for i in range(len(unions) - 1, -1, -1):
            for side in range(2):
                below = unions[i, side]
                for y in range(worst.shape[2]):
                    if worst[x, count + i, y] > worst[x, below, y]:
                        worst[x, below, y] = worst[x, count + i, y]
                        box[x, below, y] = box[x, count + i, y]
