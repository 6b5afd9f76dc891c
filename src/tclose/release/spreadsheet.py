"""A release as an Excel workbook of one sheet: text as text, numbers as numbers; the same table, the same bytes."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, BinaryIO

import polars as pl

from tclose.errors import InputError, MissingExtra
from tclose.words import legible

SHEET = "release"
MOST_ROWS, MOST_COLUMNS, LONGEST = 1_048_576, 16_384, 32_767  # of a sheet, and the characters of a cell
WHOLE = 2**53  # beyond which a sheet, whose numbers are floats, rounds whole numbers
FIRST_DAY = date(1900, 3, 1)  # Excel counts a day before it that never was
MADE = datetime(2000, 1, 1, tzinfo=UTC)
CONTROL = r"[\x00-\x08\x0b-\x1f\x7f]"

Put = Callable[[int, int, Any], object]


class _Exact(float):
    """A float that is written with as many digits as it takes to read it back."""

    def __format__(self, spec: str) -> str:
        return repr(float(self))


def check_sheet(frame: pl.DataFrame) -> None:
    """Refuse what a sheet cannot hold."""
    if frame.height >= MOST_ROWS:
        raise InputError(f"an Excel sheet holds {MOST_ROWS - 1:,} rows, and the release has {frame.height:,}: use .csv")
    if frame.width > MOST_COLUMNS:
        raise InputError(f"an Excel sheet holds {MOST_COLUMNS:,} columns, and the release has {frame.width:,}")
    for column in frame.iter_columns():
        if (why := _refusal(column.alias(""))) is not None:
            raise InputError(f"column '{legible(column.name)}' cannot be written as Excel: {why}")
    names = pl.Series(frame.columns)
    if names.str.contains(CONTROL).any() or names.str.len_chars().max() > LONGEST:  # type: ignore[operator]
        raise InputError("a column's name cannot be written as Excel: it is too long, or holds a control character")


def _refusal(cells: pl.Series) -> str | None:
    kind = cells.dtype
    if kind in (pl.String, pl.Categorical, pl.Enum):
        text = cells.cast(pl.String)
        if (text.str.len_chars().max() or 0) > LONGEST:  # type: ignore[operator]
            return f"a cell has over {LONGEST:,} characters"
        return "a cell holds a control character" if text.str.contains(CONTROL).any() else None
    if kind.is_integer():
        return "whole numbers beyond 2^53 would be rounded" if (cells.cast(pl.Float64).abs() > WHOLE).any() else None
    if kind.is_decimal():
        return None if (cells.cast(pl.Float64).cast(kind) == cells).all() else "its decimals would be rounded"
    if kind.is_float():
        return None if cells.drop_nulls().is_finite().all() else "it has NaN or infinity"
    if kind == pl.Date or (isinstance(kind, pl.Datetime) and kind.time_zone is None):
        if (cells.cast(pl.Date) < FIRST_DAY).any():
            return f"it has dates before {FIRST_DAY}"
        exact = kind == pl.Date or (cells.dt.truncate("1ms") == cells).all()
        return None if exact else "its moments are finer than a millisecond"
    return None if kind in (pl.Boolean, pl.Null) else f"it is of type {kind}"


def write_excel(frame: pl.DataFrame, file: BinaryIO) -> None:
    """Write a table to a workbook of one sheet."""
    check_sheet(frame)
    try:
        import xlsxwriter
    except ImportError:
        raise MissingExtra("xlsxwriter", "excel", "writing an Excel workbook") from None
    buffer = io.BytesIO()
    workbook = xlsxwriter.Workbook(buffer, {"in_memory": True})
    workbook.set_properties({"created": MADE, "author": "tclose"})
    sheet = workbook.add_worksheet(SHEET)
    for place, column in enumerate(frame.iter_columns()):
        sheet.write_string(0, place, column.name)
        _fill(_put(workbook, sheet, column.dtype), place, _cells(column))
    sheet.freeze_panes(1, 0)
    workbook.close()
    file.write(buffer.getvalue())


def _put(workbook: Any, sheet: Any, kind: pl.DataType) -> Put:
    """Return what writes a cell of a column."""
    if kind == pl.Date or isinstance(kind, pl.Datetime):
        form = workbook.add_format({"num_format": "yyyy-mm-dd" if kind == pl.Date else "yyyy-mm-dd hh:mm:ss.000"})
        return lambda row, place, cell: sheet.write_datetime(row, place, cell, form)
    if kind == pl.Boolean:
        return partial(_call, sheet.write_boolean)
    if kind.is_numeric():
        return lambda row, place, cell: sheet.write_number(row, place, _Exact(cell))
    return partial(_call, sheet.write_string)


def _call(write: Callable[..., object], row: int, place: int, cell: Any) -> None:
    write(row, place, cell)


def _cells(column: pl.Series) -> Sequence[Any]:
    text = column.dtype in (pl.Categorical, pl.Enum)
    return list((column.cast(pl.String) if text else column).to_list())


def _fill(put: Put, place: int, cells: Sequence[Any]) -> None:
    for row, cell in enumerate(cells, start=1):
        if cell is not None and cell != "":
            put(row, place, cell)
