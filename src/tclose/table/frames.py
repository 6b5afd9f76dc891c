"""A frame of any kind (pandas, polars, pyarrow) into a polars frame; the index plays no role."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import polars as pl

from tclose.errors import InputError


def to_polars(frame: Any) -> pl.DataFrame:
    """Return the same table as a polars frame."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    table = frame if isinstance(frame, pl.DataFrame) else _convert(frame)
    if table.height == 0:
        raise InputError("the table has no rows")
    return table


def _convert(frame: Any) -> pl.DataFrame:
    try:
        eager: nw.DataFrame[Any] = nw.from_native(frame, eager_only=True)
        names = eager.columns
    except TypeError:
        raise InputError(f"expected a pandas, polars or pyarrow frame, not {type(frame).__name__}") from None
    except nw.exceptions.DuplicateError:
        raise InputError("a column name stands in the frame twice: rename one") from None
    if eager.implementation.is_pyarrow():
        return pl.DataFrame(pl.from_arrow(frame))
    return pl.DataFrame([_column(eager[name]) for name in names])


def _column(column: nw.Series[Any]) -> pl.Series:
    name, plain = str(column.name), column.dtype.is_numeric() or column.dtype == nw.Boolean
    if plain and column.null_count() == 0:
        return pl.Series(name, column.to_numpy())
    nulls = column.is_null().to_list()
    cells = [None if null else cell for cell, null in zip(column.to_list(), nulls, strict=True)]
    try:
        return pl.Series(name, cells)
    except (TypeError, pl.exceptions.PolarsError):  # its message would quote cells
        raise InputError(f"column '{name}' mixes kinds of values: make them all text, or all numbers") from None
