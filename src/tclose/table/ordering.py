"""The order of rows by their cells, column after column: integers are sorted, and each different text once."""

from __future__ import annotations

import numpy as np
import polars as pl

from tclose.table.classes import SMALL, joined_keys, rows_by_key, span_of
from tclose.types import Ints

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
