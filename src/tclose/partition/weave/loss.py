"""What a class loses on the quasi-identifiers, kept so that one row more or less is answered at once.

Of numbers and labels a class keeps its two smallest and two largest codes, of sets the values that it shows and
those that it shows just once, as bits, and of numbers published as means their count, sum and sum of squares.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.partition.shared.axes import Axis, Line, Tree
from tclose.partition.shared.kernels import kernel
from tclose.types import Floats, Ints, SmallInts

Bits = NDArray[np.uint64]

LINE, TREE, SET, MEAN = 0, 1, 2, 3
NOTHING = np.int32(2**31 - 1)  # as the smallest code of a class that shows none


class Axes(NamedTuple):
    """All quasi-identifiers in flat arrays, as compiled loops want them."""

    kinds: Ints
    codes: SmallInts  # rows × axes
    start: Ints  # of an axis in the flat arrays: low and high, nodes and shares, or bits
    leaves: Ints
    depth: Ints  # levels of a tree, words of a set
    steps: Floats  # of a set: values of the domain − 1
    low: Floats
    high: Floats
    nodes: SmallInts
    shares: Floats
    words: int


class Shown(NamedTuple):
    """What each class shows: per axis the smallest, next, next to largest and largest, the bits of sets, the sums."""

    ends: SmallInts
    bits: Bits
    once: Bits
    sums: Floats  # classes × axes × (count, sum, sum of squares)


def flat_axes(axes: tuple[Axis, ...], rows: int) -> Axes:
    """Lay all axes out in flat arrays."""
    low, nodes, words = 0, 0, 0
    columns: list[tuple[int, int, int, int, float]] = []
    lows, highs, levels, shares = [np.zeros(0)], [np.zeros(0)], [np.zeros(0, np.int32)], [np.zeros(0)]
    for axis in axes:
        if isinstance(axis, Line):
            columns.append((LINE if axis.deviation is None else MEAN, low, len(axis.low), 0, 1.0))
            lows.append(axis.low / (axis.deviation or 1.0))
            highs.append(axis.high)
            low += len(axis.low)
        elif isinstance(axis, Tree):
            leaves = len(axis.levels[0])
            columns.append((TREE, nodes, leaves, len(axis.levels), 1.0))
            levels += [level.astype(np.int32) for level in axis.levels]
            shares += [np.bincount(level)[level] / leaves for level in axis.levels]
            nodes += leaves * len(axis.levels)
        else:
            used = (axis.domain_size + 63) // 64
            columns.append((SET, words, axis.domain_size, used, float(max(axis.domain_size - 1, 1))))
            words += used
    kinds, start, leaf, depth, steps = zip(*columns, strict=True) if columns else ((), (), (), (), ())
    codes = np.empty((rows, len(axes)), dtype=np.int32)
    for q, axis in enumerate(axes):
        codes[:, q] = axis.codes
    return Axes(
        np.array(kinds, dtype=np.int64),
        codes,
        np.array(start, dtype=np.int64),
        np.array(leaf, dtype=np.int64),
        np.array(depth, dtype=np.int64),
        np.array(steps, dtype=np.float64),
        np.concatenate(lows),
        np.concatenate(highs),
        np.concatenate(levels),
        np.concatenate(shares),
        words,
    )


@kernel
def shown(axes: Axes, classes: int) -> Shown:
    """Return the state of classes that show nothing yet."""
    ends = np.empty((classes, len(axes.kinds), 4), dtype=np.int32)
    words = max(axes.words, 1)
    bits, once = np.zeros((classes, words), dtype=np.uint64), np.zeros((classes, words), dtype=np.uint64)
    state = Shown(ends, bits, once, np.zeros((classes, len(axes.kinds), 3)))
    for c in range(classes):
        clear(state, c)
    return state


@kernel
def clear(state: Shown, c: int) -> None:
    """Make a class show nothing."""
    state.ends[c, :, 0] = state.ends[c, :, 1] = NOTHING
    state.ends[c, :, 2] = state.ends[c, :, 3] = -1
    state.bits[c] = 0
    state.once[c] = 0
    state.sums[c] = 0.0


@kernel
def show(axes: Axes, state: Shown, c: int, row: int) -> None:
    """Add a row to what a class shows."""
    for q in range(len(axes.kinds)):
        x = axes.codes[row, q]
        if axes.kinds[q] == SET:
            word = axes.start[q] + x // 64
            bit = np.uint64(1) << np.uint64(x % 64)
            if state.bits[c, word] & bit:
                state.once[c, word] &= ~bit
            else:
                state.once[c, word] |= bit
                state.bits[c, word] |= bit
        elif axes.kinds[q] == MEAN:
            _add(axes, state.sums[c, q], q, x, 1.0)
        elif x >= 0:
            ends = state.ends[c, q]
            if x < ends[0]:
                ends[0], ends[1] = x, ends[0]
            elif x < ends[1]:
                ends[1] = x
            if x > ends[3]:
                ends[3], ends[2] = x, ends[3]
            elif x > ends[2]:
                ends[2] = x


@kernel
def _add(axes: Axes, sums: Floats, q: int, x: int, sign: float) -> None:
    """Add a value to the sums of a class, or take it away."""
    if x >= 0:
        place = axes.low[axes.start[q] + x]
        sums[0] += sign
        sums[1] += sign * place
        sums[2] += sign * place * place


@kernel
def _variance(axes: Axes, sums: Floats, q: int, gone: int, new: int) -> float:
    """Return the mean squared distance to the mean of a class that one value leaves and another joins."""
    after = sums.copy()
    _add(axes, after, q, gone, -1.0)
    _add(axes, after, q, new, 1.0)
    mean = after[1] / max(after[0], 1.0)
    return float(max(after[2] / max(after[0], 1.0) - mean * mean, 0.0))


@kernel
def _ones(x: np.uint64) -> int:
    """Count the bits that are set."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def _between(axes: Axes, q: int, low: int, high: int) -> float:
    """Return what a class loses whose codes reach from low to high."""
    if high < 0:
        return 0.0
    start = axes.start[q]
    if axes.kinds[q] == LINE:
        return float(axes.high[start + high] - axes.low[start + low])
    if low == high:
        return 0.0
    for h in range(1, axes.depth[q]):
        level = start + h * axes.leaves[q]
        if axes.nodes[level + low] == axes.nodes[level + high]:
            return float(axes.shares[level + low])
    return 1.0


@kernel
def loss_with(axes: Axes, state: Shown, c: int, leaves: int, joins: int) -> float:
    """Return the loss of a class, summed over the axes, when one row leaves and another joins; -1 for none."""
    loss = 0.0
    for q in range(len(axes.kinds)):
        gone = axes.codes[leaves, q] if leaves >= 0 else -1
        new = axes.codes[joins, q] if joins >= 0 else -1
        if axes.kinds[q] == SET:
            different = 0
            for word in range(axes.start[q], axes.start[q] + axes.depth[q]):
                bits = state.bits[c, word]
                if gone >= 0 and axes.start[q] + gone // 64 == word:
                    bits &= ~(state.once[c, word] & (np.uint64(1) << np.uint64(gone % 64)))
                if new >= 0 and axes.start[q] + new // 64 == word:
                    bits |= np.uint64(1) << np.uint64(new % 64)
                different += _ones(bits)
            loss += max(different - 1, 0) / axes.steps[q]
        elif axes.kinds[q] == MEAN:
            loss += _variance(axes, state.sums[c, q], q, gone, new)
        else:
            ends = state.ends[c, q]
            low = ends[1] if gone >= 0 and gone == ends[0] else ends[0]
            high = ends[2] if gone >= 0 and gone == ends[3] else ends[3]
            if new >= 0:
                low = min(low, new)
                high = max(high, new)
            loss += _between(axes, q, low, high)
    return loss


@kernel
def _pull(axes: Axes, sums: Floats, q: int, x: int) -> float:
    """Return by how much the squared distances of a class grow with a value, per row."""
    count = sums[0]
    if x < 0 or count == 0.0:
        return 0.0
    away = axes.low[axes.start[q] + x] - sums[1] / count
    return float(away * away * count / ((count + 1.0) * (count + 1.0)))


@kernel
def growth(axes: Axes, state: Shown, c: int, row: int, most: float) -> float:
    """Return by how much the loss of a class grows when a row joins; beyond `most`, no matter how much."""
    more = 0.0
    for q in range(len(axes.kinds)):
        x = axes.codes[row, q]
        if axes.kinds[q] == SET:
            bit = np.uint64(1) << np.uint64(x % 64)
            if not state.bits[c, axes.start[q] + x // 64] & bit:
                more += 1.0 / axes.steps[q]
        elif axes.kinds[q] == MEAN:
            more += _pull(axes, state.sums[c, q], q, x)
        elif x >= 0:
            low, high = state.ends[c, q, 0], state.ends[c, q, 3]
            if x < low or x > high:
                more += _between(axes, q, min(low, x), max(high, x)) - _between(axes, q, low, high)
        if more > most:
            break
    return more


@kernel
def total_loss(axes: Axes, labels: Ints, classes: int) -> float:
    """Return what all classes lose, summed over rows and axes."""
    state = shown(axes, classes)
    sizes = np.zeros(classes)
    for row in range(len(labels)):
        show(axes, state, labels[row], row)
        sizes[labels[row]] += 1
    loss = 0.0
    for c in range(classes):
        loss += sizes[c] * loss_with(axes, state, c, -1, -1)
    return loss
