"""The Hilbert curve through all rows, where near means near in space (Skilling, AIP Conference Proceedings 707, 2004).

Skilling's transform turns coordinates into the curve's index in place, bit by bit; the index is spread over the axes
and is read off across them, highest bits first. All rows go through each step at once.
"""

from __future__ import annotations

import numpy as np

from tclose.types import Floats, Ints

BITS = 16  # per axis; rows that share a cell of so fine a grid may come in any order
WORD = 62  # bits of an index that are compared at a time


def hilbert_ranks(points: Floats) -> Ints:
    """Return the place of every row along the curve, counted from 0; rows in one cell share a place.

    >>> hilbert_ranks(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [1.0, 0.0]])).tolist()
    [0, 1, 2, 3, 3]
    """
    varying = points[:, np.ptp(points, axis=0) > 0] if len(points) else points
    if not varying.shape[1] or not len(points):
        return np.zeros(len(points), dtype=np.int64)
    low, high = varying.min(axis=0), varying.max(axis=0)
    cells = np.minimum((varying - low) / (high - low) * 2**BITS, 2**BITS - 1).astype(np.int64)
    words = _words(_index_across_axes(cells, BITS), BITS)
    order = np.lexsort(words[::-1])
    steps = np.any([np.diff(word[order]) != 0 for word in words], axis=0)
    ranks = np.empty(len(points), dtype=np.int64)
    ranks[order] = np.concatenate(([0], np.cumsum(steps)))
    return ranks


def _index_across_axes(cells: Ints, bits: int) -> list[Ints]:
    """Return the curve's index of every cell: bit b of axis 0, of axis 1, …, from the highest b down."""
    x = [np.ascontiguousarray(column) for column in cells.T]
    for bit in range(bits - 1, 0, -1):
        highest, below = 1 << bit, (1 << bit) - 1
        for axis in range(len(x)):
            is_set = (x[axis] & highest) != 0
            swap = np.where(is_set, 0, (x[0] ^ x[axis]) & below)
            x[0] ^= np.where(is_set, below, swap)
            if axis:
                x[axis] ^= swap
    for axis in range(1, len(x)):
        x[axis] ^= x[axis - 1]
    flips = np.zeros_like(x[0])
    for bit in range(bits - 1, 0, -1):
        flips ^= np.where(x[-1] & (1 << bit), (1 << bit) - 1, 0)
    return [column ^ flips for column in x]


def _words(index: list[Ints], bits: int) -> list[Ints]:
    """Return the index as numbers of at most 62 bits, the most significant first."""
    words, used = [np.zeros_like(index[0])], 0
    for bit in range(bits - 1, -1, -1):
        for column in index:
            if used == WORD:
                words.append(np.zeros_like(column))
                used = 0
            words[-1] = words[-1] << 1 | column >> bit & 1
            used += 1
    return words
