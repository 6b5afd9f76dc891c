"""The information loss (NCP) of classes, compiled: the one implementation that every method uses.

A class publishes an extent on every quasi-identifier. Of numbers and labels the extent is the two smallest and the two
largest codes, of texts the set of values that occur and of those that occur once, and of numbers published as means
their count, sum and sum of squares. So the loss after one row leaves and another joins follows without a look at the
other rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.partition.shared.axes import Axis, LabelAxis, NumberAxis
from tclose.partition.shared.kernels import kernel, part
from tclose.partition.shared.structs import array, kernel_struct
from tclose.types import Floats, Ints, SmallInts

Bits = NDArray[np.uint64]
Records = NDArray[np.void]

LINE, TREE, SET, MEAN = 0, 1, 2, 3
NO_CODE = 2**31 - 1  # as the smallest code of a class that publishes none

COLUMN = np.dtype(
    [("kind", "i8"), ("start", "i8"), ("leaves", "i8"), ("depth", "i8"), ("steps", "f8")], align=True
)  # start: in places, nodes or set words; depth: levels of a tree, words of a set; steps: of a set, its values − 1
PLACE = np.dtype([("low", "f8"), ("high", "f8")], align=True)
NODE = np.dtype([("node", "i4"), ("share", "f8")], align=True)  # share: of the leaves, below the node


@kernel_struct
class LossTable:
    """The quasi-identifiers of all rows as kernels read them."""

    columns: Records = array(COLUMN)  # per quasi-identifier
    codes: SmallInts = array(np.int32, 2)  # rows × quasi-identifiers
    places: Records = array(PLACE)  # per value of a number
    nodes: Records = array(NODE)  # per level and leaf of a hierarchy

    @property
    def squared(self) -> bool:
        """Whether some quasi-identifier loses the squared distance to its class's mean."""
        return bool((self.columns["kind"] == MEAN).any())

    @property
    def words(self) -> int:
        """The numbers of 64 bits that hold the sets of one class."""
        return int(self.columns["depth"][self.columns["kind"] == SET].sum())


@kernel_struct
class Extents:
    """What each of several classes publishes on each quasi-identifier."""

    ends: SmallInts = array(np.int32, 3)  # classes × quasi-identifiers × (two smallest codes, two largest codes)
    sets: Bits = array(np.uint64, 3)  # classes × words × (values that occur, values that occur once)
    sums: Floats = array(np.float64, 3)  # classes × quasi-identifiers × (count, sum, sum of squares)


def loss_table(axes: tuple[Axis, ...], rows: int) -> LossTable:
    """Lay all quasi-identifiers out in arrays."""
    columns, places, nodes, words = np.zeros(len(axes), COLUMN), [np.zeros(0, PLACE)], [np.zeros(0, NODE)], 0
    codes = np.empty((rows, len(axes)), dtype=np.int32)
    for q, axis in enumerate(axes):
        codes[:, q] = axis.codes
        if isinstance(axis, NumberAxis):
            kind = LINE if axis.deviation is None else MEAN
            columns[q] = (kind, sum(map(len, places)), len(axis.low), 0, 1.0)
            places.append(_places(axis))
        elif isinstance(axis, LabelAxis):
            columns[q] = (TREE, sum(map(len, nodes)), len(axis.levels[0]), len(axis.levels), 1.0)
            nodes += [_nodes(level) for level in axis.levels]
        else:
            used = (axis.domain_size + 63) // 64
            columns[q] = (SET, words, axis.domain_size, used, max(axis.domain_size - 1, 1))
            words += used
    return LossTable(columns, codes, np.concatenate(places), np.concatenate(nodes))


def _places(axis: NumberAxis) -> Records:
    places = np.empty(len(axis.low), PLACE)
    places["low"], places["high"] = axis.low / (axis.deviation or 1.0), axis.high
    return places


def _nodes(level: Ints) -> Records:
    nodes = np.empty(len(level), NODE)
    nodes["node"], nodes["share"] = level, np.bincount(level)[level] / len(level)
    return nodes


def empty_extents(table: LossTable, classes: int) -> Extents:
    """Return room for the extents of some classes; a kernel clears each before use."""
    return Extents(
        np.empty((classes, len(table.columns), 4), dtype=np.int32),
        np.empty((classes, max(table.words, 1), 2), dtype=np.uint64),
        np.empty((classes, len(table.columns), 3)),
    )


def total_loss(table: LossTable, labels: Ints) -> float:
    """Return the loss of all classes 0, 1, 2, …, summed over rows and quasi-identifiers."""
    classes = int(labels.max(initial=-1)) + 1
    rows, small, sizes = np.arange(len(labels)), labels.astype(np.int32), np.empty(classes, dtype=np.int64)
    return float(loss_of_classes(table, empty_extents(table, classes), rows, small, len(labels), sizes, classes))


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
        column = table.columns[q]
        x = int(table.codes[row, q])
        if column.kind == SET:
            _extend_set(extents.sets, c, column.start + x // 64, x % 64)
        elif column.kind == MEAN:
            if x >= 0:
                place = table.places[column.start + x].low
                extents.sums[c, q, 0] += 1.0
                extents.sums[c, q, 1] += place
                extents.sums[c, q, 2] += place * place
        elif x >= 0:
            _extend_range(extents.ends, c, q, x)


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
    return 1.0


@part
def _set_loss(table: LossTable, sets: Bits, c: int, q: int, leaving: int, joining: int) -> float:
    """Return the loss of a set that one value leaves (where it occurs once) and another joins."""
    column = table.columns[q]
    start, different = column.start, 0
    for word in range(start, start + column.depth):
        bits = sets[c, word, 0]
        if leaving >= 0 and start + leaving // 64 == word:
            bits &= ~(sets[c, word, 1] & (np.uint64(1) << np.uint64(leaving % 64)))
        if joining >= 0 and start + joining // 64 == word:
            bits |= np.uint64(1) << np.uint64(joining % 64)
        different += _bits_set(bits)
    return float((different - 1 if different > 1 else 0) / column.steps)


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
        if kind == SET:
            loss += _set_loss(table, extents.sets, c, q, old, new)
        elif kind == MEAN:
            loss += _mean_loss(table, extents.sums, c, q, old, new)
        else:
            loss += _changed_range_loss(table, extents.ends, c, q, old, new)
    return loss


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
        if kind == SET:
            change += _set_change(table, extents.sets, c, q, old, new)
        elif kind == MEAN:
            change += _mean_loss(table, extents.sums, c, q, old, new) - _mean_loss(table, extents.sums, c, q, -1, -1)
        else:
            change += _range_change(table, extents.ends, c, q, old, new)
    return change


@part
def _set_change(table: LossTable, sets: Bits, c: int, q: int, leaving: int, joining: int) -> float:
    """Return the change of the loss of a set; it stays where no value is lost or gained."""
    start, lost, gained = table.columns[q].start, False, False
    if leaving >= 0:
        lost = (sets[c, start + leaving // 64, 1] >> np.uint64(leaving % 64)) & np.uint64(1) != 0
    if joining >= 0:
        gained = (sets[c, start + joining // 64, 0] >> np.uint64(joining % 64)) & np.uint64(1) == 0
    if lost == gained:
        return 0.0
    return _set_loss(table, sets, c, q, leaving, joining) - _set_loss(table, sets, c, q, -1, -1)


@part
def _range_change(table: LossTable, ends: SmallInts, c: int, q: int, leaving: int, joining: int) -> float:
    """Return the change of the loss of a range; it stays where both its ends stay."""
    first, last = int(ends[c, q, 0]), int(ends[c, q, 3])
    low, high = first, last
    if leaving >= 0 and leaving == low:
        low = int(ends[c, q, 1])
    if leaving >= 0 and leaving == high:
        high = int(ends[c, q, 2])
    if joining >= 0:
        if joining < low:
            low = joining
        if joining > high:
            high = joining
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
        if kind < SET:  # LINE or TREE
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
    if column.kind == SET:
        for word in range(column.start, column.start + column.depth):
            extents.sets[c, word, 0] = 0
            extents.sets[c, word, 1] = 0
    for i in range(4):
        extents.ends[c, q, i] = NO_CODE if i < 2 else -1
    for i in range(3):
        extents.sums[c, q, i] = 0.0
    for i in range(size):
        x = int(table.codes[members[c, i], q])
        if column.kind == SET:
            _extend_set(extents.sets, c, column.start + x // 64, x % 64)
        elif column.kind == MEAN:
            if x >= 0:
                place = table.places[column.start + x].low
                extents.sums[c, q, 0] += 1.0
                extents.sums[c, q, 1] += place
                extents.sums[c, q, 2] += place * place
        elif x >= 0:
            _extend_range(extents.ends, c, q, x)


@part
def _changed_range_loss(table: LossTable, ends: SmallInts, c: int, q: int, leaving: int, joining: int) -> float:
    """Return the loss of a range that one code leaves and another joins."""
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
    return _range_loss(table, q, low, high)


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
        elif column.kind == MEAN:
            count = extents.sums[c, q, 0]
            if x >= 0 and count != 0.0:
                away = table.places[column.start + x].low - extents.sums[c, q, 1] / count
                growth += away * away * count / ((count + 1.0) * (count + 1.0))
        elif x >= 0:
            low, high = int(extents.ends[c, q, 0]), int(extents.ends[c, q, 3])
            if x < low:
                growth += _range_loss(table, q, x, x if x > high else high) - _range_loss(table, q, low, high)
            elif x > high:
                growth += _range_loss(table, q, low, x) - _range_loss(table, q, low, high)
        if growth > bound:
            break
    return growth


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
