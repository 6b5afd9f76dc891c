"""Which rows look alike (the classes that a reader of the table can form), and the order of rows by their cells.

Every column becomes small integers, the columns of a row one number, and rows of equal number one class. That
needs a few integers per row, where grouping the cells themselves would copy them. To order rows, integers are sorted,
and each different text once.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import polars as pl

from tclose.errors import InputError
from tclose.types import Ints, SmallInts

SMALL = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)  # these fit into 64 bits, signed
FEW_KEYS = 4  # keys per row that are counted rather than sorted


@dataclass(frozen=True, eq=False)
class Classes:
    """The rows of every class, one class after the other, in the order in which the table first shows them."""

    rows: Ints
    sizes: Ints

    @classmethod
    def from_labels(cls, labels: Ints) -> Classes:
        """Take classes 0, 1, 2, … as they are numbered."""
        sizes = np.bincount(labels)
        return cls(rows_by_label(labels, len(sizes)), sizes)

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def starts(self) -> Ints:
        """Where each class begins in `rows`."""
        return np.cumsum(self.sizes) - self.sizes

    @property
    def labels(self) -> Ints:
        """The class, counted from 0, of each of `rows`."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def members(self, index: int) -> Ints:
        """Return the rows of one class."""
        start = self.starts[index]
        return self.rows[start : start + self.sizes[index]]

    def labels_by_row(self) -> Ints:
        """Return the class of every row of the table, in the table's order."""
        labels = np.empty(len(self.rows), dtype=np.int64)
        labels[self.rows] = self.labels
        return labels


def classes_of(frame: pl.DataFrame) -> Classes:
    """Put equal rows into one class."""
    row_bits = frame.height.bit_length()
    key, span = np.zeros(frame.height, dtype=np.int64), 1
    with ThreadPoolExecutor(threads()) as pool:
        for codes, different in pool.map(_codes, frame.iter_columns()):
            key, span = joined_keys(key, span, codes, different, most=2 ** (63 - row_bits))
    return _grouped(key, span)


def rows_by_label(labels: Ints | SmallInts, classes: int) -> Ints:
    """Return the rows label by label, of equal labels the first first; labels go from 0 up, to less than 2^32.

    numpy sorts integers of 16 bits in linear time.
    """
    rows = np.argsort(labels.astype(np.uint16), kind="stable")
    if classes > 2**16:
        rows = rows[np.argsort((labels[rows] >> 16).astype(np.uint16), kind="stable")]
    return rows


def joined_keys(key: Ints, span: int, codes: Ints, different: int, *, most: int) -> tuple[Ints, int]:
    """Return one number for each pair of numbers, in the order of the pairs, and a bound on them below `most`.

    `most` must be at least the number of rows squared.
    """
    if span * different >= most:
        key, span = ranked(key)
    if span * different >= most:
        codes, different = ranked(codes)
    joined, span = key * different + codes, span * different
    if span < most:
        return joined, span
    return ranked(joined)


def ranked(key: Ints) -> tuple[Ints, int]:
    """Return the rank of each key among the different keys, from 0, and how many of these there are."""
    low = int(key.min(initial=0))
    if int(key.max(initial=0)) - low >= FEW_KEYS * len(key):
        distinct, ranks = np.unique(key, return_inverse=True)
        return ranks.astype(np.int64), len(distinct)
    places = key - low if low else key
    rank_of_key = np.cumsum(np.bincount(places) > 0) - 1
    return rank_of_key[places], int(rank_of_key[-1]) + 1


def order_of_cells(shown: pl.DataFrame) -> Ints:
    """Return the order of rows by what they show as text, whatever order they come in; a missing cell comes first."""
    cells = (column.alias("").cast(pl.String) for column in shown.iter_columns())
    ranks = [column.rank("dense").fill_null(0).to_numpy() for column in cells]
    return np.asarray(np.lexsort(ranks[::-1]))


def forms_classes(dtype: pl.DataType) -> bool:
    """Tell whether cells of a type can be compared, so that equal ones form a class."""
    return not (dtype.is_nested() or dtype in (pl.Binary, pl.Object) or dtype == pl.Duration)


def check_cells(column: pl.Series) -> pl.Series:
    """Return a column without its name; refuse a type whose cells form no classes."""
    if not forms_classes(column.dtype):
        kind = column.dtype.base_type()
        raise InputError(
            "column '{name}' is of type {kind}: make it text, a number or a date", name=column.name, kind=kind
        )
    return column.alias("")  # polars takes names such as ^x$ for patterns


def _codes(column: pl.Series) -> tuple[Ints, int]:
    """Return an integer for each cell, equal for equal cells, and a bound on these integers."""
    column = check_cells(column)
    dtype = column.dtype
    if dtype.is_float() and not column.null_count():
        distinct, codes = np.unique(column.to_numpy(), return_inverse=True)
        return codes, len(distinct)
    if isinstance(dtype, pl.Categorical):
        return _offset_codes(column.to_physical())
    whole = column.to_physical() if dtype.is_temporal() or dtype == pl.Boolean else column
    if whole.dtype not in SMALL or span_of(whole) >= 2**40:
        text = column.cast(pl.String).replace("-0.0", "0.0") if dtype.is_float() else column.cast(pl.String)
        whole = text.cast(pl.Categorical(pl.Categories.random())).to_physical()
    return _offset_codes(whole)


def span_of(column: pl.Series) -> int:
    """Return how far the largest integer of a column is from its smallest."""
    return int(column.max() or 0) - int(column.min() or 0)  # type: ignore[arg-type]


def _offset_codes(column: pl.Series) -> tuple[Ints, int]:
    """Count integers from their smallest; nulls come last."""
    low, span = int(column.min() or 0), span_of(column)  # type: ignore[arg-type]
    codes = column.fill_null(low).to_numpy()
    if column.dtype != pl.UInt32 or low or column.null_count():
        codes = codes.astype(np.int64) - low
    if column.null_count():
        codes[column.is_null().to_numpy()] = span + 1
    return codes, span + 2


def rows_by_key(key: Ints, span: int) -> tuple[Ints, Ints]:
    """Return the rows in the order of their keys below `span`, of equal keys the first first, and where each begins."""
    if span <= FEW_KEYS * len(key):
        counts = np.bincount(key)
        present = counts > 0
        sizes = counts[present]
        return rows_by_label((np.cumsum(present) - 1)[key], len(sizes)), np.cumsum(sizes) - sizes
    row_bits = len(key).bit_length()
    packed = key << row_bits
    packed |= np.arange(len(key))
    packed.sort()
    rows = packed & ((1 << row_bits) - 1)
    packed >>= row_bits
    return rows, np.flatnonzero(np.concatenate(([True], packed[1:] != packed[:-1])))


def _grouped(key: Ints, span: int) -> Classes:
    """Group rows of equal keys, the classes in the order of their first rows."""
    rows, starts = rows_by_key(key, span)
    lengths = np.diff(starts, append=len(rows))

    order = np.argsort(rows[starts])
    number = np.empty(len(order), dtype=np.int32)
    number[order] = np.arange(len(order))
    labels = np.empty(len(rows), dtype=np.int32)
    labels[rows] = np.repeat(number, lengths)
    return Classes(rows_by_label(labels, len(order)), lengths[order])


# The order of rows by their cells, column after column


MOST_SPAN = 2**40  # between the smallest and the largest integer of a column that is taken as it is


def rows_in_order(frame: pl.DataFrame) -> Ints:
    """Return the rows sorted by their first cell, then by their second, and so on; of equal rows the first first.

    A missing cell comes before all others, and text is compared byte by byte.
    """
    row_bits = frame.height.bit_length()
    key, span = np.zeros(frame.height, dtype=np.int64), 1
    for column in frame.iter_columns():
        key, span = joined_keys(key, span, *_ranks(column.alias("")), most=2 ** (63 - row_bits))
    return rows_by_key(key, span)[0]


def _ranks(column: pl.Series) -> tuple[Ints, int]:
    """Return integers from 0 up in the order of the cells, 0 for a missing one, and a bound on them."""
    whole = _whole(column)
    low, span = int(whole.min() or 0), span_of(whole)  # type: ignore[arg-type]
    ranks = whole.fill_null(low).to_numpy().astype(np.int64)
    ranks -= low - 1
    if whole.null_count():
        ranks[whole.is_null().to_numpy()] = 0
    return ranks, span + 2


def _whole(column: pl.Series) -> pl.Series:
    """Return integers in the order of the cells."""
    dtype = column.dtype
    if dtype == pl.String or isinstance(dtype, pl.Categorical):
        return _ranked_texts(column)
    whole = column.to_physical() if dtype.is_temporal() else column
    if dtype == pl.Boolean:
        whole = column.cast(pl.UInt8)
    return whole if whole.dtype in SMALL and span_of(whole) < MOST_SPAN else column.rank("dense")


def _ranked_texts(column: pl.Series) -> pl.Series:
    """Rank the different texts, and look every row's rank up."""
    categories = column.cast(pl.Categorical(pl.Categories.random())) if column.dtype == pl.String else column
    distinct = categories.unique().drop_nulls()
    numbers = distinct.to_physical().to_numpy()
    rank_of_number = np.zeros(int(numbers.max(initial=0)) + 1, dtype=np.uint32)
    rank_of_number[numbers] = distinct.cast(pl.String).rank("dense").to_numpy()
    return pl.Series(rank_of_number).gather(categories.to_physical())


# Threads


THREADS = "TCLOSE_THREADS"


def threads() -> int:
    """Return how many threads work side by side: one per core, unless TCLOSE_THREADS says otherwise.

    >>> threads() >= 1
    True
    """
    chosen = os.environ.get(THREADS, "")
    return int(chosen) if chosen.isdecimal() and int(chosen) else os.cpu_count() or 1
