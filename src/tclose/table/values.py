"""The different values of one column, and which kind they are: the first step from cells to codes.

Everything that costs is done once per different value, never per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import InputError
from tclose.table import numbers

Kind = Literal["number", "date", "boolean", "text", "mixed"]

DATE = r"^\d{4}-\d{2}-\d{2}$"
MOMENT = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?$"


@dataclass(frozen=True, eq=False)
class Values:
    """The different values of a column (missing ones left out) and the value of every row.

    `units` are exact integers that order numbers, dates and booleans; text has none. Values of equal units
    (1.0 and 1) are one value, spelled as the shortest of them.
    """

    name: str
    kind: Kind
    texts: tuple[str, ...]
    units: NDArray[Any] | None
    scale: int  # one unit is 10^-scale; for dates, a day or a microsecond
    codes: NDArray[np.int64]  # per row; -1 where missing

    @property
    def missing(self) -> int:
        """How many rows have no value."""
        return int(np.count_nonzero(self.codes < 0))


def values_of(column: pl.Series, missing: Sequence[str]) -> Values:
    """Find the different values of a column, leaving out nulls and cells that mean "missing"."""
    cells = _as_text_or_plain(column)
    distinct = cells.unique().drop_nulls()
    texts = _texts(distinct)
    present = ~texts.is_in(list(missing))
    distinct, texts = distinct.filter(present), texts.filter(present)
    kind, units, scale = _read(distinct, texts)
    rank, order = _ranked(texts, units)
    codes = cells.replace_strict(distinct, pl.Series(rank, dtype=pl.Int64), default=-1, return_dtype=pl.Int64)
    return Values(
        name=column.name,
        kind=kind,
        texts=tuple(texts[order].to_list()),
        units=None if units is None else units[order],
        scale=scale,
        codes=codes.fill_null(-1).to_numpy(),
    )


def _as_text_or_plain(column: pl.Series) -> pl.Series:
    """Return the column with a type that can be compared: text, number, boolean, date."""
    dtype = column.dtype
    if dtype in (pl.Categorical, pl.Enum, pl.Null):
        return column.cast(pl.String)
    if dtype == pl.Duration or dtype == pl.Time or dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        raise InputError(f"column '{column.name}' is of type {dtype}: make it text, a number or a date")
    if dtype.is_float() and not column.drop_nulls().is_finite().all():
        row = int((~column.is_finite()).fill_null(False).arg_true()[0]) + 1
        raise InputError(
            f"column '{column.name}' has NaN or infinity, first in row {row:,}: make it missing or a number"
        )
    return column


def _texts(distinct: pl.Series) -> pl.Series:
    """Spell each value as a CSV would."""
    if distinct.dtype.is_float():  # shortest decimal that reads back as the same float
        return pl.Series([repr(value) for value in distinct.to_list()], dtype=pl.String)
    return distinct.cast(pl.String)


def _read(distinct: pl.Series, texts: pl.Series) -> tuple[Kind, NDArray[Any] | None, int]:
    """Decide the kind of the values and give numbers, dates and booleans their units."""
    if distinct.dtype == pl.Boolean:
        return "boolean", distinct.cast(pl.Int64).to_numpy(), 0
    if distinct.dtype.is_temporal():
        return "date", distinct.to_physical().cast(pl.Int64).to_numpy(), 0
    numeric = numbers.are_numbers(texts)
    if texts.len() and numeric.all() and (read := numbers.read(texts)) is not None:
        return "number", read.units, read.scale
    if numeric.any():
        return "mixed", None, 0
    if texts.len() and (units := _dates(texts)) is not None:
        return "date", units, 0
    return "text", None, 0


def _dates(texts: pl.Series) -> NDArray[np.int64] | None:
    """Read ISO dates as days, ISO moments as microseconds."""
    if texts.str.contains(DATE).all():
        parsed = texts.str.to_date("%Y-%m-%d", strict=False)
    elif texts.str.contains(MOMENT).all():
        parsed = texts.str.replace("T", " ").str.to_datetime(strict=False, time_unit="us")
    else:
        return None
    return None if parsed.null_count() else parsed.to_physical().cast(pl.Int64).to_numpy()


def _ranked(texts: pl.Series, units: NDArray[Any] | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each value's code and, for each code, the place of the value that spells it."""
    if units is None:
        order = texts.arg_sort().to_numpy().astype(np.int64)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return rank, order
    spelling = np.lexsort((texts.to_numpy(), texts.str.len_bytes().to_numpy())) if len(units) else np.array([], int)
    _, first, rank = np.unique(units[spelling], return_index=True, return_inverse=True)
    back = np.empty(len(units), dtype=np.int64)
    back[spelling] = rank
    return back, spelling[first].astype(np.int64)
