"""Redistribution, the second half of SABRE and of BUREL (Cao, Karras, Kalnis & Tan 2011; Cao & Karras 2012).

Buckets of rows are given, and what a class may take from each. The ECTree halves the whole table, bucket by bucket, as
long as both halves may be classes; its leaves are the classes' sizes. Then every class is filled around a seed row
with the rows of each bucket that are nearest to it: in space, or faster along a Hilbert curve.

On the Hilbert curve through all rows, near means near in space (Skilling, AIP Conference Proceedings 707, 2004).
Skilling's transform turns coordinates into the curve's index in place, bit by bit; the index is spread over the axes
and is read off across them, highest bits first. All rows go through each step at once.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Literal

import numpy as np

from tclose.errors import PolicyError, did_you_mean
from tclose.partition.shared.kernels import kernel
from tclose.partition.shared.pulse import QUIET, Pulse
from tclose.types import Bools, Floats, Ints, Progress

# The Hilbert curve


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


# Near rows


Near = Literal["hilbert", "nearest"]

NEAR = 1e-9  # floats decide only beyond this
CHUNK = 256  # classes filled between two calls of progress, at most
LOOKS = 2_000_000  # distances measured between two calls of progress
NEARS = ("hilbert", "nearest")


def check_near(near: str) -> None:
    """Refuse a way to find near rows that does not exist."""
    if near not in NEARS:
        raise PolicyError("rows cannot be near by '{near}'{hint}", near=near, hint=did_you_mean(near, NEARS))


# --- the ECTree -------------------------------------------------------------------------------------------------------


def leaves(sizes: Ints, admits: Callable[[Ints], Bools], k: int, pulse: Pulse = QUIET) -> Ints:
    """Return classes × buckets: how many rows each leaf of the ECTree takes from each bucket.

    >>> leaves(np.array([16, 32, 64]), lambda nodes: nodes.min(axis=1) > 0, 4)[:2].tolist()
    [[1, 2, 4], [1, 2, 4]]
    """
    nodes, done = sizes[None, :], []
    while len(nodes):
        pulse.beat()
        left, right = _halves(nodes)
        parted = np.minimum(left.sum(axis=1), right.sum(axis=1)) >= k
        parted[parted] = admits(left[parted])
        parted[parted] = admits(right[parted])
        done.append(nodes[~parted])
        nodes = np.concatenate((left[parted], right[parted]))
    return np.concatenate(done)


def _halves(nodes: Ints) -> tuple[Ints, Ints]:
    """Halve every bucket's share; the halves take turns in getting the odd row of an odd share."""
    odd = nodes & 1
    left = nodes // 2 + (odd & np.cumsum(odd, axis=1) & 1)
    return left, nodes - left


def within(excess: Floats, nodes: Ints, exactly: Callable[[list[int]], Fraction]) -> Bools:
    """Tell which nodes have an excess of at most 0; `exactly` decides where floats are too close to call."""
    admitted = excess <= 0
    doubtful = np.flatnonzero(np.abs(excess) <= NEAR)
    if len(doubtful):
        different, which = np.unique(nodes[doubtful], axis=0, return_inverse=True)
        answers = np.array([exactly(node) <= 0 for node in different.tolist()])
        admitted[doubtful] = answers[which.ravel()]
    return admitted


# --- filling the classes ----------------------------------------------------------------------------------------------


def filled(points: Floats, bucket: Ints, takes: Ints, near: Near, seed: int, progress: Progress) -> Ints:
    """Return a class per row: class c has takes[c, f] rows of bucket f, near a row that chance picked."""
    seeds = np.random.default_rng(seed).permutation(len(points))
    labels, state = np.full(len(points), -1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    starts = np.concatenate(([0], np.cumsum(takes.sum(axis=0)))).astype(np.int64)
    if near == "hilbert":
        place = hilbert_ranks(points)
        order = np.lexsort((place, bucket)).astype(np.int64)
        after, before = np.arange(len(points) + 1), np.arange(len(points) + 1)
    else:
        order, points = np.argsort(bucket, kind="stable").astype(np.int64), np.ascontiguousarray(points)
        ends = starts[1:].copy()
    chunk = CHUNK if near == "hilbert" else max(1, min(CHUNK, LOOKS // max(len(points), 1)))
    for first in range(0, len(takes), chunk):
        progress(first / len(takes))
        some = takes[first : first + chunk]
        if near == "hilbert":
            _fill_along(place, order, starts, some, first, seeds, state, after, before, labels)
        else:
            _fill_nearest(points, order, starts, ends, some, first, seeds, state, labels)
    progress(1.0)
    return labels


@kernel
def _next_seed(seeds: Ints, state: Ints, labels: Ints) -> int:
    """Return the first row, in the order of chance, that has no class yet."""
    while labels[seeds[state[0]]] >= 0:
        state[0] += 1
    return int(seeds[state[0]])


@kernel
def _end_of(links: Ints, at: int) -> int:
    """Return where a chain of links ends, and shorten it for the next time."""
    end = at
    while links[end] != end:
        end = links[end]
    while links[at] != end:
        links[at], at = end, links[at]
    return end


@kernel
def _fill_along(
    place: Ints,
    order: Ints,
    starts: Ints,
    takes: Ints,
    first: int,
    seeds: Ints,
    state: Ints,
    after: Ints,
    before: Ints,
    labels: Ints,
) -> None:
    """Fill some classes with the rows nearest along the curve.

    `order` sorts rows by bucket and curve. `after[i]` links to the first free place from i on, `before[i]` to the
    last one under i, counted from 1, so that 0 means none.
    """
    for c in range(len(takes)):
        origin = place[_next_seed(seeds, state, labels)]
        for f in range(takes.shape[1]):
            if takes[c, f] == 0:
                continue
            low, high = starts[f], starts[f + 1]
            while low < high:
                middle = (low + high) // 2
                if place[order[middle]] < origin:
                    low = middle + 1
                else:
                    high = middle
            for _ in range(takes[c, f]):
                up = _end_of(after, low)
                down = _end_of(before, low) - 1
                if up >= starts[f + 1]:
                    taken = down
                elif down < starts[f]:
                    taken = up
                else:
                    above, below = place[order[up]] - origin, origin - place[order[down]]
                    taken = up if above <= below else down
                labels[order[taken]] = first + c
                after[taken] = taken + 1
                before[taken + 1] = taken


@kernel
def _fill_nearest(
    points: Floats,
    order: Ints,
    starts: Ints,
    ends: Ints,
    takes: Ints,
    first: int,
    seeds: Ints,
    state: Ints,
    labels: Ints,
) -> None:
    """Fill some classes with the rows nearest in space; `order` holds each bucket's free rows from its start on."""
    for c in range(len(takes)):
        origin = points[_next_seed(seeds, state, labels)]
        for f in range(takes.shape[1]):
            wanted = takes[c, f]
            if wanted == 0:
                continue
            free = order[starts[f] : ends[f]]
            gaps = np.empty(len(free))
            for i in range(len(free)):
                gaps[i] = np.sum((points[free[i]] - origin) ** 2)
            limit = np.partition(gaps, wanted - 1)[wanted - 1]
            wanted -= np.sum(gaps < limit)
            kept = 0
            for i in range(len(free)):
                row = free[i]
                if gaps[i] < limit or (gaps[i] == limit and wanted > 0):
                    wanted -= gaps[i] == limit
                    labels[row] = first + c
                else:
                    free[kept] = row
                    kept += 1
            ends[f] = starts[f] + kept
