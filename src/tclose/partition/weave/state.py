"""The state of a search that kernels work on, and the random numbers (SplitMix64) that they draw."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.partition.shared.kernels import array, kernel, kernel_struct, part, structure
from tclose.partition.shared.loss import (
    Extents,
    LossTable,
    class_loss,
    clear_extent,
    empty_extents,
    extend,
    update_extent,
)
from tclose.partition.weave.limits import Limits
from tclose.partition.weave.transport import class_work, count_exchange, count_row, within_limits
from tclose.table.classes import rows_by_label
from tclose.types import Bools, Floats, Ints, SmallInts

Generator = NDArray[np.uint64]


def seeded(seed: int) -> Generator:
    """Return the state of a generator."""
    return np.array([seed], dtype=np.uint64)


@part
def uniform(generator: Generator) -> float:
    """Return a number above 0 and below 1."""
    generator[0] += np.uint64(0x9E3779B97F4A7C15)
    x = generator[0]
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return (float(x >> np.uint64(11)) + 0.5) / 9007199254740992.0


@part
def integer_below(generator: Generator, bound: int) -> int:
    """Return a whole number from 0 up to, but not including, the bound."""
    return int(uniform(generator) * bound)


@kernel_struct
class ClassState:
    """Per row its class and place; per class its members, counts, work, extent and loss. A class may be empty."""

    label: SmallInts = array(np.int32)  # the class of each row
    place: SmallInts = array(np.int32)  # of each row among the members of its class
    members: SmallInts = array(np.int32, 2)  # classes × places
    size: Ints = array(np.int64)
    counts: SmallInts = array(np.int32, 2)  # classes × edges: rows beyond the edge
    work: Ints = array(np.int64, 2)  # classes × attributes
    extents: Extents = structure(Extents)
    loss: Floats = array(np.float64)  # per row of the class


def state_of(table: LossTable, limits: Limits, labels: NDArray[np.signedinteger], spare: int) -> ClassState:
    """Return the state of the classes 0, 1, 2, … and of some spare classes without rows."""
    sizes = np.bincount(labels)
    classes, largest = len(sizes) + spare, int(sizes.max())
    state = ClassState(
        labels.astype(np.int32),
        np.empty(len(labels), dtype=np.int32),
        np.empty((classes, largest + largest // 2 + 8), dtype=np.int32),
        np.zeros(classes, dtype=np.int64),
        np.zeros((classes, len(limits.edges)), dtype=np.int32),
        np.empty((classes, len(limits.attributes)), dtype=np.int64),
        empty_extents(table, classes),
        np.empty(classes),
    )
    _fill(table, limits, state)
    return state


@kernel
def _fill(table: LossTable, limits: Limits, state: ClassState) -> None:
    for row in range(len(state.label)):
        join(limits, state, row, int(state.label[row]))
    for c in range(len(state.size)):
        derive(table, limits, state, c)


def beyond_limits(limits: Limits, labels: Ints) -> Bools:
    """Tell which of the classes 0, 1, 2, … are beyond a limit."""
    sizes = np.bincount(labels)
    beyond = np.zeros(len(sizes), dtype=np.bool_)
    counts = np.zeros((1, len(limits.edges)), dtype=np.int32)
    _mark_beyond(limits, rows_by_label(labels, len(sizes)), sizes, counts, beyond)
    return beyond


@kernel
def _mark_beyond(limits: Limits, order: Ints, sizes: Ints, counts: SmallInts, beyond: Bools) -> None:
    """Mark the classes beyond a limit; the order holds the rows of one class after the other."""
    end = 0
    for c in range(len(sizes)):
        for e in range(counts.shape[1]):
            counts[0, e] = 0
        start, end = end, end + sizes[c]
        for i in range(start, end):
            count_row(limits, counts, 0, order[i], 1)
        beyond[c] = not within_limits(limits, counts, 0, sizes[c])


@part
def join(limits: Limits, state: ClassState, row: int, c: int) -> None:
    """Put a row into a class."""
    size = state.size[c]
    state.label[row] = c
    state.place[row] = size
    state.members[c, size] = row
    state.size[c] = size + 1
    count_row(limits, state.counts, c, row, 1)


@part
def leave(limits: Limits, state: ClassState, row: int) -> None:
    """Take a row out of its class."""
    c, place = int(state.label[row]), state.place[row]
    state.size[c] -= 1
    last = state.members[c, state.size[c]]
    state.members[c, place] = last
    state.place[last] = place
    count_row(limits, state.counts, c, row, -1)


@part
def derive(table: LossTable, limits: Limits, state: ClassState, c: int) -> None:
    """Derive the extent, the loss and the work of a class from its members and counts."""
    size = state.size[c]
    clear_extent(state.extents, c)
    for i in range(size):
        extend(table, state.extents, c, int(state.members[c, i]))
    state.loss[c] = class_loss(table, state.extents, c, -1, -1)
    for a in range(len(limits.attributes)):
        state.work[c, a] = class_work(limits, state.counts, c, size, a)


@part
def move(table: LossTable, limits: Limits, state: ClassState, row: int, y: int, work: Ints) -> None:
    """Move a row to class y; `work` holds what the work of its old and its new class becomes."""
    x = int(state.label[row])
    leave(limits, state, row)
    join(limits, state, row, y)
    _update(table, state, x, row, -1, work, 0)
    _update(table, state, y, -1, row, work, 1)


@part
def exchange(table: LossTable, limits: Limits, state: ClassState, row: int, other: int, work: Ints) -> None:
    """Swap two rows of different classes; `work` holds what the work of either class becomes, the first row's first."""
    x, y = int(state.label[row]), int(state.label[other])
    place_x, place_y = state.place[row], state.place[other]
    state.members[x, place_x] = other
    state.members[y, place_y] = row
    state.place[row] = place_y
    state.place[other] = place_x
    state.label[row] = y
    state.label[other] = x
    count_exchange(limits, state.counts, x, row, other)
    count_exchange(limits, state.counts, y, other, row)
    _update(table, state, x, row, other, work, 0)
    _update(table, state, y, other, row, work, 1)


@part
def _update(table: LossTable, state: ClassState, c: int, leaving: int, joining: int, work: Ints, side: int) -> None:
    update_extent(table, state.extents, c, state.members, state.size[c], leaving, joining)
    state.loss[c] = class_loss(table, state.extents, c, -1, -1)
    for a in range(work.shape[1]):
        state.work[c, a] = work[side, a]
