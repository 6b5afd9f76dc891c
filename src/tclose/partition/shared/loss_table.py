"""What a class loses by its range on each axis, as tables that kernels read; stars count hidden cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tclose.partition.problem import Problem
from tclose.partition.shared.axes import Axis, LabelAxis, NumberAxis, SetAxis
from tclose.partition.shared.kernels import array, kernel_struct
from tclose.types import Floats, Ints, SmallInts


def star_cost(codes: Ints, labels: Ints) -> int:
    """Return how many cells are starred; `codes` is rows × columns, `labels` holds 0, 1, 2, … with none left out.

    >>> star_cost(np.array([[1, 5], [1, 6], [2, 7]]), np.array([0, 0, 1]))
    2
    """
    if not codes.size:
        return 0
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    grouped = codes[order]
    differs = np.minimum.reduceat(grouped, starts) != np.maximum.reduceat(grouped, starts)
    return int(np.diff(starts, append=len(labels)) @ differs.sum(axis=1))


def columns_of(problem: Problem) -> Ints:
    """Return the rows × columns that suppression stars: a code per quasi-identifier, a missing cell being one too."""
    return np.array([axis.codes for axis in problem.all_axes], dtype=np.int64).reshape(-1, problem.rows).T


Records = NDArray[np.void]

LINE, TREE, SET = 0, 1, 2  # kinds of columns that lose their NCP: by a width, a label, a number of values
CUT, CUT_SET = 3, 4  # columns that lose the chance that a random range cuts their range or set
MEAN = 5  # squared distance to the mean
SIZE = 6  # of the class; the column has no values
COLUMN = np.dtype(
    [("kind", "i8"), ("start", "i8"), ("leaves", "i8"), ("depth", "i8"), ("steps", "f8")], align=True
)  # start: in places, nodes or set words; depth: levels of a tree, words of a set
# steps: of a set, its values − 1 over the weight; of a tree, the weight; of the size, the loss per row of a class
PLACE = np.dtype([("low", "f8"), ("high", "f8")], align=True)
NODE = np.dtype([("node", "i4"), ("share", "f8")], align=True)  # share: of the leaves, below the node


@kernel_struct
class LossTable:
    """The quasi-identifiers of all rows as kernels read them."""

    columns: Records = array(COLUMN)  # per quasi-identifier
    codes: SmallInts = array(np.int32, 2)  # rows × quasi-identifiers
    places: Records = array(PLACE)  # per value of a number
    nodes: Records = array(NODE)  # per level and leaf of a hierarchy
    chances: Floats = array(np.float64, 2)  # per value of a column that ranges cut × (touched by a range that ends at
    # it, by one that starts at it, starts before it ends per kind of range, ends before it begins per kind of range)
    chance_start: Ints = array(np.int64)  # per quasi-identifier: where its chances begin
    rising: Floats = array(np.float64)  # one number: 1 if no row that joins lowers the loss per row of a class, else 0

    @property
    def quasi(self) -> int:
        """How many columns are quasi-identifiers."""
        return int((self.columns["kind"] != SIZE).sum())

    @property
    def size_loss(self) -> float:
        """What a class loses per row for each of its rows."""
        return float(self.columns["steps"][self.columns["kind"] == SIZE].sum())

    @property
    def squared(self) -> bool:
        """Whether some quasi-identifier loses the squared distance to its class's mean."""
        return bool((self.columns["kind"] == MEAN).any())

    @property
    def words(self) -> int:
        """The numbers of 64 bits that hold the sets of one class."""
        sets = (self.columns["kind"] == SET) | (self.columns["kind"] == CUT_SET)
        return int(self.columns["depth"][sets].sum())


def loss_table(axes: tuple[Axis, ...], rows: int, size_loss: float = 0.0) -> LossTable:
    """Lay all quasi-identifiers out in arrays; with a `size_loss`, a class loses this much per row and row."""
    axes = tuple(_with_missing_in_the_middle(axis) for axis in axes)
    columns = np.zeros(len(axes) + (size_loss > 0), COLUMN)
    places, nodes, words, chances = [np.zeros(0, PLACE)], [np.zeros(0, NODE)], 0, _ChanceRows()
    codes = np.zeros((rows, len(columns)), dtype=np.int32)
    for q, axis in enumerate(axes):
        codes[:, q] = axis.codes
        chances.add(axis)
        if isinstance(axis, NumberAxis):
            columns[q] = (_number_kind(axis), sum(map(len, places)), len(axis.low), 0, 1.0)
            places.append(_places(axis))
        elif isinstance(axis, LabelAxis):
            columns[q] = (TREE, sum(map(len, nodes)), len(axis.levels[0]), len(axis.levels), axis.weight)
            nodes += [_nodes(level, axis) for level in axis.levels]
        else:
            used = (axis.domain_size + 63) // 64
            columns[q] = (SET, words, axis.domain_size, used, max(axis.domain_size - 1, 1) / axis.weight)
            if axis.chances is not None:
                columns[q]["kind"], columns[q]["steps"] = CUT_SET, float(axis.missing)
            words += used
    if size_loss > 0:
        columns[-1] = (SIZE, 0, 1, 0, size_loss)
    starts = np.array([*chances.starts, 0][: len(columns)], dtype=np.int64)
    rising = np.array([float(not (columns["kind"] == MEAN).any())])  # a row near the mean lowers the mean of squares
    return LossTable(columns, codes, np.concatenate(places), np.concatenate(nodes), chances.array(), starts, rising)


def _number_kind(axis: NumberAxis) -> int:
    if axis.deviation is not None:
        return MEAN
    return LINE if axis.chances is None else CUT


def _with_missing_in_the_middle(axis: Axis) -> Axis:
    """Give missing numbers the place in the middle where the squared error of a release has them."""
    if not isinstance(axis, NumberAxis) or axis.deviation is None or not (axis.codes < 0).any():
        return axis
    places, codes = np.unique(np.append(axis.low, 0.5)[axis.codes], return_inverse=True)
    return replace(axis, codes=codes.astype(np.int64), low=places, high=places)


def _places(axis: NumberAxis) -> Records:
    """Return where values begin and end ranges, such that differences (or their squares) are weighted losses."""
    places = np.empty(len(axis.low), PLACE)
    if axis.deviation is not None:
        places["low"] = places["high"] = axis.low * np.sqrt(axis.weight) / axis.deviation
    elif axis.chances is not None:  # where cells are cut: ranges cover shares of the rows
        places["low"] = places["high"] = axis.chances.ranks[1:] * axis.weight
    else:
        places["low"], places["high"] = axis.low * axis.weight, axis.high * axis.weight
    return places


def _nodes(level: Ints, axis: LabelAxis) -> Records:
    nodes, sizes = np.empty(len(level), NODE), np.bincount(level)
    nodes["node"], nodes["share"] = level, axis.weight * sizes[level] / len(level)
    if axis.chances is not None:
        last = np.cumsum(sizes) - 1
        cut = axis.chances.cut_box(last - sizes + 1, last)
        nodes["share"] = axis.weight * cut[level]
    return nodes


class _ChanceRows:
    """The chances of all columns that random ranges may cut, one column after the other."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self._tables: list[Floats] = []
        self._length = 0

    def add(self, axis: Axis) -> None:
        """Add a quasi-identifier; labels need no chances, since every label has its own."""
        missing = isinstance(axis, SetAxis) and axis.missing  # it has code 0, and no chances
        self.starts.append(self._length - missing)
        if axis.chances is None or isinstance(axis, LabelAxis):
            return
        chances = axis.chances
        touched_until = chances.starts_before.sum(axis=1) + chances.alone[1:]
        touched_from = chances.ends_before.sum(axis=1) + chances.alone[:-1]
        columns = (touched_until[:, None], touched_from[:, None], chances.starts_before, chances.ends_before)
        self._tables.append(axis.weight * np.concatenate(columns, axis=1))
        self._length += len(touched_from)

    def array(self) -> Floats:
        """Return the chances, for all columns."""
        return np.concatenate(self._tables) if self._tables else np.zeros((0, 2))
