"""Excel workbooks (.xlsx, .xlsm, .xlsb, .xls) and OpenDocument sheets (.ods), read by fastexcel.

A sheet's first row that is not empty is the header. Columns of numbers, dates and truth values have these types; a
column that mixes them is text. An empty cell of text is empty text, as in CSV.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Any

import polars as pl

from tclose.errors import InputError
from tclose.policy.source import SourceSettings
from tclose.table.sources.base import Source, TableRead, check_names, check_width, tidied
from tclose.table.sources.magic import OLE, ZIP, missing_reader
from tclose.words import counted, legible

DAMAGED = "the Excel workbook cannot be read: it is damaged, cut off, or locked with a password"
MOST_NAMED = 20


def read_sheet(data: bytes, said: SourceSettings) -> TableRead:
    """Return the table of one sheet; a workbook of several needs its name."""
    workbook = _opened(data)
    sheet = _chosen(list(workbook.sheet_names), said.sheet)
    found = SourceSettings(format="excel", sheet=sheet)
    return TableRead(_table(workbook, sheet), found)


def sheets_in(data: bytes) -> list[str]:
    """Return the names of a workbook's sheets."""
    return list(_opened(data).sheet_names)


def _opened(data: bytes) -> Any:
    try:
        import fastexcel
    except ImportError:
        raise missing_reader("this is an Excel workbook", "excel") from None
    logging.getLogger("fastexcel").addHandler(logging.NullHandler())  # or it prints by itself
    logging.getLogger("fastexcel").propagate = False
    try:
        return fastexcel.read_excel(data)
    except MemoryError:
        raise
    except Exception:
        raise InputError(DAMAGED) from None


def _chosen(sheets: list[str], asked: str | None) -> str:
    listed = ", ".join(f"'{legible(sheet)}'" for sheet in sheets[:MOST_NAMED])
    if asked is not None:
        if asked not in sheets:
            raise InputError(f"the workbook has no sheet '{legible(asked)}'; it has {listed}")
        return asked
    if len(sheets) != 1:
        example = f", as in FILE#{legible(sheets[0])}" if sheets else ""
        raise InputError(f"the workbook has {counted(len(sheets), 'sheet')}: {listed}; name one{example}")
    return sheets[0]


def _table(workbook: Any, sheet: str) -> pl.DataFrame:
    try:
        head = workbook.load_sheet(sheet, header_row=None, n_rows=1, dtypes="string").to_polars()
        check_width(head.width)
        if head.height == 0:
            raise InputError(f"the sheet '{legible(sheet)}' is empty: it has neither a header nor rows")
        names = check_names(list(head.row(0)))
        rows = workbook.load_sheet(
            sheet, header_row=None, skip_rows=1, column_names=[str(n) for n in range(len(names))],
            schema_sample_rows=None,
        ).to_polars()  # fmt: skip
    except (InputError, MemoryError):
        raise
    except Exception:  # its message could quote cells
        raise InputError(DAMAGED) from None
    if rows.height == 0:
        raise InputError("the table has a header but no rows")
    frame = tidied(pl.DataFrame([cells.alias(name) for cells, name in zip(rows.iter_columns(), names, strict=True)]))
    return pl.DataFrame([each.fill_null("") if each.dtype == pl.String else each for each in frame.iter_columns()])


def _read(data: bytes, repeated: Collection[str]) -> pl.DataFrame:
    return read_sheet(data, SourceSettings()).frame


EXCEL = Source("Excel workbook", (*ZIP, OLE), _read, declared="excel", read_as=read_sheet, spelled=True)
