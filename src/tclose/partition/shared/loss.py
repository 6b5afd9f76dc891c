"""The information loss of classes, compiled: the one implementation that every method uses.

A class publishes an extent on every quasi-identifier. Of numbers and labels the extent is the two smallest and the two
largest codes, of texts the set of values that occur and of those that occur once, and where squared distances count,
the count, sum and sum of squares of the numbers. So the loss after one row leaves and another joins follows without a
look at the other rows.

The loss per row of a class is a sum over quasi-identifiers, each with its weight. It is the NCP, the squared distance
to the class mean, or the chance that a random range cuts the extent (`table/random_ranges.py`). Where the size of
classes is the loss, a last column without values adds it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.partition.shared.kernels import array, kernel, kernel_struct, part, rare_part
from tclose.partition.shared.loss_table import CUT, CUT_SET, LINE, MEAN, SET, TREE, LossTable, loss_table
from tclose.types import Floats, Ints, SmallInts

__all__ = [
    "Extents",
    "LossTable",
    "class_loss",
    "clear_extent",
    "empty_extents",
    "extend",
    "loss_change",
    "loss_growth",
    "loss_of_classes",
    "loss_table",
    "total_loss",
    "update_extent",
]

Bits = NDArray[np.uint64]

NO_CODE = 2**31 - 1  # as the smallest code of a class that publishes none


@kernel_struct
class Extents:
    """What each of several classes publishes on each quasi-identifier."""

    ends: SmallInts = array(np.int32, 3)  # classes × quasi-identifiers × (two smallest codes, two largest codes)
    sets: Bits = array(np.uint64, 3)  # classes × words × (values that occur, values that occur once)
    sums: Floats = array(np.float64, 3)  # classes × quasi-identifiers × (count, sum, sum of squares)


def empty_extents(table: LossTable, classes: int) -> Extents:
    """Return room for the extents of some classes; a kernel clears each before use."""
    return Extents(
        np.empty((classes, len(table.columns), 4), dtype=np.int32),
        np.empty((classes, max(table.words, 1), 2), dtype=np.uint64),
        np.empty((classes, len(table.columns), 3)),
    )


def total_loss(table: LossTable, labels: Ints) -> float:
    """Return the loss of all classes 0, 1, 2, …, summed over rows and quasi-identifiers.

    Where the size of classes is the loss, the squares of the sizes; the loss of the quasi-identifiers, as a share of
    one, breaks ties.
    """
    classes = int(labels.max(initial=-1)) + 1
    rows, small, sizes = np.arange(len(labels)), labels.astype(np.int32), np.empty(classes, dtype=np.int64)
    loss = float(loss_of_classes(table, empty_extents(table, classes), rows, small, len(labels), sizes, classes))
    if table.size_loss == 0.0:
        return loss
    squares = float((sizes**2).sum())
    ties = max(loss - table.size_loss * squares, 0.0) / (1.0 + len(labels) * float(_most(table)))
    return squares + ties


def _most(table: LossTable) -> float:
    """Return a loss per row that no class exceeds, all quasi-identifiers together."""
    numbers, squared = [0.0], table.columns["kind"] == MEAN
    for column in table.columns[squared]:
        places = table.places["low"][column["start"] : column["start"] + column["leaves"]]
        numbers.append(float(np.ptp(places)) ** 2 if len(places) else 0.0)
    return sum(numbers) + float(table.quasi)


@part
def clear_extent(extents: Extents, c: int) -> None:
    """Make the extent of a class empty."""
    ends, sets, sums = extents.ends, extents.sets, extents.sums
    for q in range(ends.shape[1]):
        ends[c, q, 0] = NO_CODE
        ends[c, q, 1] = NO_CODE
        ends[c, q, 2] = -1
        ends[c, q, 3] = -1
        for i in range(3):
            sums[c, q, i] = 0.0
    for word in range(sets.shape[1]):
        sets[c, word, 0] = 0
        sets[c, word, 1] = 0


@part
def extend(table: LossTable, extents: Extents, c: int, row: int) -> None:
    """Add a row to the extent of a class."""
    for q in range(len(table.columns)):
        _extend_column(table, extents, c, q, int(table.codes[row, q]))


@part
def _extend_column(table: LossTable, extents: Extents, c: int, q: int, x: int) -> None:
    column = table.columns[q]
    if column.kind <= TREE or column.kind == CUT:
        if x >= 0:
            _extend_range(extents.ends, c, q, x)
    elif column.kind <= CUT_SET:
        _extend_set(extents.sets, c, column.start + x // 64, x % 64)
    else:
        _extend_sums(table, extents.sums, c, q, x)


@part
def _extend_sums(table: LossTable, sums: Floats, c: int, q: int, x: int) -> None:
    sums[c, q, 0] += 1.0
    if table.columns[q].kind == MEAN:
        place = table.places[table.columns[q].start + x].low
        sums[c, q, 1] += place
        sums[c, q, 2] += place * place


@part
def _extend_set(sets: Bits, c: int, word: int, place: int) -> None:
    bit = np.uint64(1) << np.uint64(place)
    if sets[c, word, 0] & bit:
        sets[c, word, 1] &= ~bit
    else:
        sets[c, word, 0] |= bit
        sets[c, word, 1] |= bit


@part
def _extend_range(ends: SmallInts, c: int, q: int, x: int) -> None:
    if x < ends[c, q, 0]:
        ends[c, q, 1] = ends[c, q, 0]
        ends[c, q, 0] = x
    elif x < ends[c, q, 1]:
        ends[c, q, 1] = x
    if x > ends[c, q, 3]:
        ends[c, q, 2] = ends[c, q, 3]
        ends[c, q, 3] = x
    elif x > ends[c, q, 2]:
        ends[c, q, 2] = x


@part
def _bits_set(x: np.uint64) -> int:
    """Return how many bits are set."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@part
def _range_loss(table: LossTable, q: int, low: int, high: int) -> float:
    """Return the loss of a class whose codes of a number or a hierarchy reach from low to high."""
    if high < 0:
        return 0.0
    column = table.columns[q]
    start = column.start
    if column.kind == LINE:
        return float(table.places[start + high].high - table.places[start + low].low)
    if low == high:
        return 0.0
    nodes = table.nodes
    for h in range(1, column.depth):
        level = start + h * column.leaves
        if nodes[level + low].node == nodes[level + high].node:
            return float(nodes[level + low].share)
    return float(column.steps)


@part
def _cut_range_loss(table: LossTable, ends: SmallInts, c: int, q: int, leaving: int, joining: int) -> float:
    """Return the chance that a random range cuts the range of a class that one code leaves and another joins."""
    low, high = _changed_ends(ends, c, q, leaving, joining)
    if high < 0 or low == high:
        return 0.0
    low, high = table.chance_start[q] + low, table.chance_start[q] + high
    return float(table.chances[high, 0] - table.chances[low, 1] - _covered(table, low, high))


@part
def _covered(table: LossTable, low: int, high: int) -> float:
    """Return the chance that a random range covers two values, given by their places among all chances."""
    chances, covered = table.chances, 0.0
    kinds = (chances.shape[1] - 2) // 2
    for kind in range(2, 2 + kinds):
        chance = chances[low, kind] - chances[high, kind + kinds]
        if chance > 0.0:
            covered += chance
    return covered


@part
def _set_loss(table: LossTable, sets: Bits, c: int, q: int, leaving: int, joining: int) -> float:
    """Return the loss of a set that one value leaves (where it occurs once) and another joins."""
    column = table.columns[q]
    start, different = column.start, 0
    for word in range(start, start + column.depth):
        different += _bits_set(_changed_word(sets, c, start, word, leaving, joining))
    return float((different - 1 if different > 1 else 0) / column.steps)


@part
def _cut_set_loss(table: LossTable, sets: Bits, c: int, q: int, leaving: int, joining: int) -> float:
    """Return the chance that a random range covers some but not all values of a set; see `RangeChances.cut_set`."""
    column, start = table.columns[q], table.chance_start[q]
    loss, first, last = 0.0, -1, -1
    for word in range(column.start, column.start + column.depth):
        bits = _changed_word(sets, c, column.start, word, leaving, joining)
        if word == column.start and column.steps > 0.0:
            bits &= ~np.uint64(1)  # the missing value, which no range covers
        while bits != np.uint64(0):
            x = start + (word - column.start) * 64 + _bits_set((bits & (~bits + np.uint64(1))) - np.uint64(1))
            bits &= bits - np.uint64(1)
            loss += table.chances[x, 0] - table.chances[x, 1]
            if last >= 0:
                loss -= _covered(table, last, x)
            else:
                first = x
            last = x
    if first == last:
        return 0.0
    return float(loss - _covered(table, first, last))


@part
def _changed_word(sets: Bits, c: int, start: int, word: int, leaving: int, joining: int) -> np.uint64:
    """Return 64 values of a set that one value leaves (where it occurs once) and another joins."""
    bits: np.uint64 = sets[c, word, 0]
    if leaving >= 0 and start + leaving // 64 == word:
        bits &= ~(sets[c, word, 1] & (np.uint64(1) << np.uint64(leaving % 64)))
    if joining >= 0 and start + joining // 64 == word:
        bits |= np.uint64(1) << np.uint64(joining % 64)
    return bits


@part
def _mean_loss(table: LossTable, sums: Floats, c: int, q: int, leaving: int, joining: int) -> float:
    """Return the mean squared distance to the mean of a class that one value leaves and another joins."""
    start = table.columns[q].start
    count, total, squares = sums[c, q, 0], sums[c, q, 1], sums[c, q, 2]
    if leaving >= 0:
        place = table.places[start + leaving].low
        count -= 1.0
        total -= place
        squares -= place * place
    if joining >= 0:
        place = table.places[start + joining].low
        count += 1.0
        total += place
        squares += place * place
    if count < 1.0:
        count = 1.0
    mean = total / count
    variance = squares / count - mean * mean
    return variance if variance > 0.0 else 0.0


@part
def class_loss(table: LossTable, extents: Extents, c: int, leaving: int, joining: int) -> float:
    """Return the loss per row of a class when one row leaves and another joins; -1 for none."""
    loss = 0.0
    for q in range(len(table.columns)):
        kind = table.columns[q].kind
        old = int(table.codes[leaving, q]) if leaving >= 0 else -1
        new = int(table.codes[joining, q]) if joining >= 0 else -1
        if kind <= TREE:
            loss += _changed_range_loss(table, extents.ends, c, q, old, new)
        elif kind == SET:
            loss += _set_loss(table, extents.sets, c, q, old, new)
        else:
            loss += _other_loss(table, extents, c, q, old, new)
    return loss


@rare_part
def _other_loss(table: LossTable, extents: Extents, c: int, q: int, leaving: int, joining: int) -> float:
    """Return the loss of a class on a column that does not lose its NCP."""
    kind = table.columns[q].kind
    if kind == MEAN:
        return _mean_loss(table, extents.sums, c, q, leaving, joining)
    if kind == CUT:
        return _cut_range_loss(table, extents.ends, c, q, leaving, joining)
    if kind == CUT_SET:
        return _cut_set_loss(table, extents.sets, c, q, leaving, joining)
    change = (1.0 if joining >= 0 else 0.0) - (1.0 if leaving >= 0 else 0.0)
    return float(table.columns[q].steps * (extents.sums[c, q, 0] + change))


@part
def loss_change(table: LossTable, extents: Extents, c: int, leaving: int, joining: int) -> float:
    """Return by how much the loss per row of a class changes when one row leaves and another joins; -1 for none."""
    change = 0.0
    for q in range(len(table.columns)):
        old = int(table.codes[leaving, q]) if leaving >= 0 else -1
        new = int(table.codes[joining, q]) if joining >= 0 else -1
        if old == new:
            continue
        kind = table.columns[q].kind
        if kind <= TREE:
            change += _range_change(table, extents.ends, c, q, old, new)
        elif kind == SET:
            change += _set_change(table, extents.sets, c, q, old, new)
        else:
            change += _other_loss(table, extents, c, q, old, new) - _other_loss(table, extents, c, q, -1, -1)
    return change


@part
def _set_change(table: LossTable, sets: Bits, c: int, q: int, leaving: int, joining: int) -> float:
    """Return the change of the loss of a set; it stays where no value is lost or gained."""
    start, lost, gained = table.columns[q].start, False, False
    if leaving >= 0:
        lost = (sets[c, start + leaving // 64, 1] >> np.uint64(leaving % 64)) & np.uint64(1) != 0
    if joining >= 0:
        gained = (sets[c, start + joining // 64, 0] >> np.uint64(joining % 64)) & np.uint64(1) == 0
    if lost == gained or not _has_value(table, sets, c, q, leaving if lost else -1):
        return 0.0
    step = float(1.0 / table.columns[q].steps)
    return step if gained else -step


@part
def _has_value(table: LossTable, sets: Bits, c: int, q: int, leaving: int) -> bool:
    """Tell whether a set has a value after one leaves, which occurs once; -1 for none."""
    start = table.columns[q].start
    for word in range(start, start + table.columns[q].depth):
        if _changed_word(sets, c, start, word, leaving, -1) != np.uint64(0):
            return True
    return False


@part
def _range_change(table: LossTable, ends: SmallInts, c: int, q: int, leaving: int, joining: int) -> float:
    """Return the change of the loss of a range; it stays where both its ends stay."""
    first, last = int(ends[c, q, 0]), int(ends[c, q, 3])
    low, high = _changed_ends(ends, c, q, leaving, joining)
    if low == first and high == last:
        return 0.0
    return _range_loss(table, q, low, high) - _range_loss(table, q, first, last)


@part
def update_extent(
    table: LossTable, extents: Extents, c: int, members: SmallInts, size: int, leaving: int, joining: int
) -> None:
    """Bring the extent of a class up to date after one row left and another joined; -1 for none.

    Only quasi-identifiers on which that may matter are looked at, and all members only where they must be.
    """
    for q in range(len(table.columns)):
        old = int(table.codes[leaving, q]) if leaving >= 0 else -1
        new = int(table.codes[joining, q]) if joining >= 0 else -1
        if old == new:
            continue
        kind = table.columns[q].kind
        if kind <= TREE or kind == CUT:
            ends = extents.ends
            if old >= 0 and (old <= ends[c, q, 1] or old >= ends[c, q, 2]):
                _rescan(table, extents, c, members, size, q)
            elif new >= 0:
                _extend_range(ends, c, q, new)
        else:
            _rescan(table, extents, c, members, size, q)


@part
def _rescan(table: LossTable, extents: Extents, c: int, members: SmallInts, size: int, q: int) -> None:
    """Make the extent of a class on one quasi-identifier anew from its members."""
    column = table.columns[q]
    if column.kind <= TREE or column.kind == CUT:
        for i in range(4):
            extents.ends[c, q, i] = NO_CODE if i < 2 else -1
        for i in range(size):
            x = int(table.codes[members[c, i], q])
            if x >= 0:
                _extend_range(extents.ends, c, q, x)
    elif column.kind <= CUT_SET:
        for word in range(column.start, column.start + column.depth):
            extents.sets[c, word, 0] = 0
            extents.sets[c, word, 1] = 0
        for i in range(size):
            x = int(table.codes[members[c, i], q])
            _extend_set(extents.sets, c, column.start + x // 64, x % 64)
    else:
        _rescan_sums(table, extents, c, members, size, q)


@rare_part
def _rescan_sums(table: LossTable, extents: Extents, c: int, members: SmallInts, size: int, q: int) -> None:
    for i in range(3):
        extents.sums[c, q, i] = 0.0
    for i in range(size):
        _extend_sums(table, extents.sums, c, q, int(table.codes[members[c, i], q]))


@part
def _changed_range_loss(table: LossTable, ends: SmallInts, c: int, q: int, leaving: int, joining: int) -> float:
    """Return the loss of a range that one code leaves and another joins."""
    low, high = _changed_ends(ends, c, q, leaving, joining)
    return _range_loss(table, q, low, high)


@part
def _changed_ends(ends: SmallInts, c: int, q: int, leaving: int, joining: int) -> tuple[int, int]:
    """Return the smallest and the largest code of a class that one code leaves and another joins."""
    low, high = int(ends[c, q, 0]), int(ends[c, q, 3])
    if leaving >= 0 and leaving == low:
        low = int(ends[c, q, 1])
    if leaving >= 0 and leaving == high:
        high = int(ends[c, q, 2])
    if joining >= 0:
        if joining < low:
            low = joining
        if joining > high:
            high = joining
    return low, high


@part
def loss_growth(table: LossTable, extents: Extents, c: int, row: int, bound: float) -> float:
    """Return by how much the loss of a class grows when a row joins, or some number above `bound` if that is more."""
    growth = 0.0
    for q in range(len(table.columns)):
        column = table.columns[q]
        x = int(table.codes[row, q])
        if column.kind == SET:
            bit = np.uint64(1) << np.uint64(x % 64)
            if not extents.sets[c, column.start + x // 64, 0] & bit:
                growth += 1.0 / column.steps
        elif column.kind > SET:
            growth += _other_growth(table, extents, c, q, x)
        elif x >= 0:
            low, high = int(extents.ends[c, q, 0]), int(extents.ends[c, q, 3])
            if x < low:
                growth += _range_loss(table, q, x, x if x > high else high) - _range_loss(table, q, low, high)
            elif x > high:
                growth += _range_loss(table, q, low, x) - _range_loss(table, q, low, high)
        if growth > bound:
            break
    return growth


@rare_part
def _other_growth(table: LossTable, extents: Extents, c: int, q: int, joining: int) -> float:
    """Return by how much the loss grows on a column that does not lose its NCP; the mean of squares never falls."""
    if table.columns[q].kind == MEAN:
        count = extents.sums[c, q, 0]
        if count == 0.0:
            return 0.0
        away = table.places[table.columns[q].start + joining].low - extents.sums[c, q, 1] / count
        return float(away * away * count / ((count + 1.0) * (count + 1.0)))
    return float(_other_loss(table, extents, c, q, -1, joining) - _other_loss(table, extents, c, q, -1, -1))


@kernel
def loss_of_classes(
    table: LossTable, extents: Extents, rows: Ints, labels: SmallInts, count: int, sizes: Ints, classes: int
) -> float:
    """Return the loss of the first `count` rows, summed over rows and quasi-identifiers, and note the sizes."""
    for c in range(classes):
        clear_extent(extents, c)
        sizes[c] = 0
    for i in range(count):
        extend(table, extents, int(labels[i]), rows[i])
        sizes[labels[i]] += 1
    loss = 0.0
    for c in range(classes):
        loss += sizes[c] * class_loss(table, extents, c, -1, -1)
    return loss
