"""The different values of one column, and which kind they are: the first step from cells to codes.

Everything that costs is done once per different value, never per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from tclose.errors import InputError
from tclose.table import numbers
from tclose.words import counted

Kind = Literal["number", "date", "boolean", "text", "mixed"]

MOMENT = r"^([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}:[0-9]{2})(:[0-9]{2}(?:\.[0-9]{1,6})?)?)?$"


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
    scale: int  # one unit is 10^-scale, of a microsecond for dates
    codes: NDArray[np.int64]  # per row; -1 where missing
    rows: NDArray[np.int64] | None = None  # where each row stood before some were withheld

    @property
    def missing(self) -> int:
        """How many rows have no value."""
        return int(np.count_nonzero(self.codes < 0))

    def rows_with(self, codes: ArrayLike) -> tuple[int, int]:
        """Return how many rows have one of these codes, and the number of the first, as people count."""
        found = np.flatnonzero(np.isin(self.codes, codes))
        return len(found), row_number(int(found[0]), self.rows)


def row_number(row: int, rows: NDArray[np.int64] | None) -> int:
    """Return what people call a row: counted from 1 in the table as it was read."""
    return (row if rows is None else int(rows[row])) + 1


def values_of(column: pl.Series, missing: Sequence[str], rows: NDArray[np.int64] | None = None) -> Values:
    """Find the different values of a column, leaving out nulls and cells that mean "missing"."""
    cells = _as_text_or_plain(column.alias(""), column.name, rows)  # polars takes names such as ^x$ for patterns
    distinct = cells.unique().drop_nulls()
    texts = _texts(distinct)
    markers = pl.Series(["", *missing], dtype=pl.String)
    present = ~_shortest(texts).is_in(_shortest(markers).implode())
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
        rows=rows,
    )


def _as_text_or_plain(column: pl.Series, name: str, rows: NDArray[np.int64] | None) -> pl.Series:
    """Return the column with a type that can be compared: text, number, boolean, date."""
    dtype = column.dtype
    if isinstance(dtype, pl.Categorical | pl.Enum | pl.Null):
        return column.cast(pl.String)
    if dtype == pl.Duration or dtype == pl.Time or dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        raise InputError(f"column '{name}' is of type {dtype.base_type()}: make it text, a number or a date")
    if dtype.is_float() and not column.drop_nulls().is_finite().all():
        odd = (~column.is_finite()).fill_null(False).arg_true()
        raise InputError(
            f"column '{name}' has NaN or infinity in {counted(len(odd), 'row')}, first in row "
            f"{row_number(int(odd[0]), rows):,}: make it missing or a number"
        )
    return column


def _texts(distinct: pl.Series) -> pl.Series:
    """Spell each value as a CSV would."""
    return distinct.cast(pl.String)  # a float as the shortest decimal that reads back as the same float


def _shortest(texts: pl.Series) -> pl.Series:
    """Spell whole numbers without decimals: where 999 means "missing", 999.0 does."""
    return texts.str.replace(r"^(-?[0-9]+)\.0+$", "$1")


def _read(distinct: pl.Series, texts: pl.Series) -> tuple[Kind, NDArray[Any] | None, int]:
    """Decide the kind of the values and give numbers, dates and booleans their units."""
    if distinct.dtype == pl.Boolean:
        return "boolean", distinct.cast(pl.Int64).to_numpy(), 0
    if distinct.dtype.is_temporal():
        fine = isinstance(distinct.dtype, pl.Datetime) and distinct.dtype.time_unit == "ns"
        return "date", distinct.dt.epoch("ns" if fine else "us").to_numpy(), 3 if fine else 0
    numeric = numbers.are_numbers(texts)
    if texts.len() and numeric.all():
        read = numbers.read(texts)
        return "number", read.units, read.scale
    moments = _moments(texts)
    if texts.len() and moments.null_count() == 0:
        return "date", moments.to_numpy(), 0
    if numeric.any() or moments.null_count() < texts.len():
        return "mixed", None, 0
    if texts.len() and texts.str.to_lowercase().is_in(["false", "true"]).all():
        return "boolean", (texts.str.to_lowercase() == "true").cast(pl.Int64).to_numpy(), 0
    return "text", None, 0


def exact_values(texts: Sequence[str], kind: Kind) -> list[Fraction | None]:
    """Read texts as values of a kind, as `units` count them; none where a text is no such value."""
    known = pl.Series(texts, dtype=pl.String)
    if kind == "number":
        return [Fraction(text) if fits else None for text, fits in zip(texts, numbers.are_numbers(known), strict=True)]
    if kind == "date":
        return [None if moment is None else Fraction(moment) for moment in _moments(known)]
    if kind == "boolean":
        return [{"false": Fraction(0), "true": Fraction(1)}.get(text.lower()) for text in texts]
    return [None] * len(texts)


def _moments(texts: pl.Series) -> pl.Series:
    """Read ISO dates and moments as microseconds; null where a text is neither."""
    if not texts.str.contains(MOMENT).any():
        return pl.Series([None], dtype=pl.Int64).new_from_index(0, texts.len())
    parts = texts.str.extract_groups(MOMENT).struct
    day, time, seconds = parts.field("1"), parts.field("2").fill_null("00:00"), parts.field("3").fill_null(":00")
    moments = (day + " " + time + seconds).str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False, time_unit="us")
    return moments.to_physical()


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
