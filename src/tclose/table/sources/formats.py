"""The file formats that tables are read from: Parquet and Arrow, JSON lines, Excel, Stata, SPSS, SAS; `csv.py` has CSV.

`SOURCES` lists them all, in the order in which a file's first bytes are compared.

Workbooks (.xlsx, .xlsm, .xlsb, .xls, .ods) are read by fastexcel. A sheet's first row that is not empty is the header.
Columns of numbers, dates and truth values have these types; a column that mixes them is text. An empty cell of text is
empty text, as in CSV.

Files of Stata (.dta), SPSS (.sav, .zsav) and SAS (.sas7bdat, .xpt) are read by pyreadstat. Where every value of a
column has a label, the labels become the cells, since these are what people read. Labels of some values only, such as
of codes for "refused", leave the numbers as they are. Values that the file declares missing are missing.
"""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from tclose.errors import InputError
from tclose.messages import say
from tclose.policy.source import SourceSettings
from tclose.table.sources.base import (
    GZIP,
    OLE,
    ZIP,
    ZSTANDARD,
    Labels,
    Source,
    TableRead,
    check_names,
    check_width,
    column_of,
    missing_reader,
    refuse_named,
    tidied,
)
from tclose.table.sources.csv import CSV
from tclose.words import counted, legible

# Parquet and Arrow: formats whose columns have types


TWICE = "a column name stands in the table twice: rename one"
SMALL = 1 << 20  # bytes of a file whose columns are read all at once
GROUPS = 16  # of columns: with one column each, a file of 50,000 would be opened as often
DAMAGED_TABLE = (
    "the table looks like Parquet or Arrow but cannot be read: it is damaged, or a column is of an unusual type"
)


def _columnar_source(name: str, begins: bytes, reader: str) -> Source:
    """Return the source that one of polars' readers makes."""
    return Source(name, begins, partial(_read_by_polars, reader), declared=name.partition(" ")[0].lower())


def _read_by_polars(reader: str, data: bytes, repeated: Collection[str]) -> pl.DataFrame:
    with _refusals():
        return pl.DataFrame(getattr(pl, reader)(io.BytesIO(data)))


def _read_parquet(data: bytes, repeated: Collection[str]) -> pl.DataFrame:
    """Read column by column where cells repeat, so that text is in memory once, as categories."""
    if not repeated:
        return _read_by_polars("read_parquet", data, repeated)
    with _refusals():
        columns = (_columns(data, [place]).to_series() for place in range(len(_names(data))))
        return pl.DataFrame([_categories(column) if column.name in repeated else column for column in columns])


def _read_only(data: bytes, only: Collection[str]) -> pl.DataFrame:
    """Read some of the columns of a Parquet file; all of them if it lacks one, so that a message can name others."""
    with _refusals():
        names = _names(data)
        if not set(only) <= set(names):
            return _read_by_polars("read_parquet", data, ())
        return _columns(data, [place for place, name in enumerate(names) if name in only])


def parquet_groups(
    data: bytes, *, repeated: Collection[str] = (), only: Collection[str] = ()
) -> Iterator[pl.DataFrame]:
    """Yield the columns of a Parquet file in groups, read as `_read_parquet` and `_read_only` read all of them."""
    with _refusals():
        names = _names(data)
        whole = not only or not set(only) <= set(names)
        places = [place for place, name in enumerate(names) if whole or name in only]
        size = len(places) if len(data) < SMALL else -(-len(places) // GROUPS)
        for start in range(0, len(places), max(size, 1)):
            frame = _columns(data, places[start : start + size])
            yield frame.with_columns(_categories(column) for column in frame if column.name in repeated)


def _names(data: bytes) -> list[str]:
    return list(pl.read_parquet_schema(io.BytesIO(data)))


def _columns(data: bytes, places: list[int]) -> pl.DataFrame:
    """Read columns by their places: polars takes a name such as ^x$ for a pattern."""
    return pl.read_parquet(io.BytesIO(data), columns=places)


def _categories(column: pl.Series) -> pl.Series:
    if column.dtype != pl.String:
        return column
    return column.alias("").cast(pl.Categorical(pl.Categories.random())).alias(column.name)


@contextmanager
def _refusals() -> Iterator[None]:
    """Refuse what cannot be read, in words that quote no cell."""
    try:
        yield
    except pl.exceptions.DuplicateError:
        raise InputError(TWICE) from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        raise InputError(DAMAGED_TABLE) from None


PARQUET = replace(_columnar_source("Parquet", b"PAR1", "read_parquet"), read=_read_parquet, read_only=_read_only)
ARROW_FILE = _columnar_source("Arrow file", b"ARROW1", "read_ipc")
ARROW_STREAM = _columnar_source("Arrow stream", b"\xff\xff\xff\xff", "read_ipc_stream")


# JSON lines (.jsonl, .ndjson): one object per line; an absent key, and null, are missing values


def parse_json_lines(data: bytes, repeated: Collection[str] = ()) -> pl.DataFrame:
    """Return the table that these bytes hold."""
    columns: dict[str, list[Any]] = {}
    rows = 0
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        for name, cell in _object(line, number).items():
            if name not in columns:
                columns[name] = [None] * rows
                check_width(len(columns))
            columns[name].append(cell)
        rows += 1
        for cells in columns.values():
            if len(cells) < rows:
                cells.append(None)
    if not columns:
        raise InputError("the table has no columns: the objects in its lines are empty")
    return pl.DataFrame([column_of(name, cells) for name, cells in columns.items()])


def _object(line: bytes, number: int) -> dict[str, Any]:
    try:
        found = json.loads(line, object_pairs_hook=_pairs)
    except (ValueError, RecursionError):  # its message could quote cells
        raise InputError("line {number:,} of the table is not a JSON object on one line", number=number) from None
    if not isinstance(found, dict):
        raise InputError("line {number:,} of the table is not a JSON object", number=number)
    return found


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _read_json_lines(data: bytes, said: SourceSettings) -> TableRead:
    return TableRead(parse_json_lines(data), SourceSettings(format="json-lines"))


JSON_LINES = Source(
    "JSON lines",
    (b'{"', b'{ "', b'\xef\xbb\xbf{"', b"{}"),
    parse_json_lines,
    declared="json-lines",
    read_as=_read_json_lines,
    spelled=True,
)


# Excel workbooks and OpenDocument sheets


DAMAGED_WORKBOOK = "the Excel workbook cannot be read: it is damaged, cut off, or locked with a password"
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
        raise InputError(DAMAGED_WORKBOOK) from None


def _chosen(sheets: list[str], asked: str | None) -> str:
    listed = ", ".join(f"'{legible(sheet)}'" for sheet in sheets[:MOST_NAMED])
    if asked is not None:
        if asked not in sheets:
            raise InputError(
                "the workbook has no sheet '{asked}'; it has {listed}", asked=legible(asked), listed=listed
            )
        return asked
    if len(sheets) != 1:
        example = say(", as in FILE#{sheet}", sheet=legible(sheets[0])) if sheets else ""
        raise InputError(
            "the workbook has {sheets}: {listed}; name one{example}",
            sheets=counted(len(sheets), "sheet"),
            listed=listed,
            example=example,
        )
    return sheets[0]


def _table(workbook: Any, sheet: str) -> pl.DataFrame:
    try:
        head = workbook.load_sheet(sheet, header_row=None, n_rows=1, dtypes="string").to_polars()
        check_width(head.width)
        if head.height == 0:
            raise InputError("the sheet '{sheet}' is empty: it has neither a header nor rows", sheet=legible(sheet))
        names = check_names(list(head.row(0)))
        rows = workbook.load_sheet(
            sheet, header_row=None, skip_rows=1, column_names=[str(n) for n in range(len(names))],
            schema_sample_rows=None,
        ).to_polars()  # fmt: skip
    except (InputError, MemoryError):
        raise
    except Exception:  # its message could quote cells
        raise InputError(DAMAGED_WORKBOOK) from None
    if rows.height == 0:
        raise InputError("the table has a header but no rows")
    frame = tidied(pl.DataFrame([cells.alias(name) for cells, name in zip(rows.iter_columns(), names, strict=True)]))
    return pl.DataFrame([_filled(each) if each.dtype == pl.String else each for each in frame.iter_columns()])


def _filled(column: pl.Series) -> pl.Series:
    """Let empty cells be empty text; a column's own name could be a pattern to polars."""
    return column.alias("").fill_null("").alias(column.name)


def _read_workbook(data: bytes, repeated: Collection[str]) -> pl.DataFrame:
    return read_sheet(data, SourceSettings()).frame


EXCEL = Source("Excel workbook", (*ZIP, OLE), _read_workbook, declared="excel", read_as=read_sheet, spelled=True)


# Files of Stata, SPSS and SAS


SAS_PAGE = bytes.fromhex("000000000000000000000000c2ea8160b31411cfbd92080009c7318c181f1011")
OLD_STATA = tuple(bytes([release, order, 1, 0]) for release in range(104, 116) for order in (1, 2))
NEVER_READ = "the table looks like a file of {name} but cannot be read: it is damaged or was cut off"


def _read_statistical(reader: str, name: str, article: str, data: bytes, said: SourceSettings) -> TableRead:
    """Read a file by one of pyreadstat's readers."""
    try:
        import pyreadstat
    except ImportError:
        raise missing_reader(say("this is {article} {name} file", article=article, name=name), "stata") from None
    read = getattr(pyreadstat, reader)
    if said.encoding is not None:
        read = partial(read, encoding=said.encoding.upper())
    try:
        frame, about = read(io.BytesIO(data), output_format="polars")
    except MemoryError:
        raise
    except Exception:  # its message could quote cells
        raise InputError(NEVER_READ, name=name) from None
    check_names(list(frame.columns))
    if frame.height == 0:
        raise InputError("the table has a header but no rows")
    described = {column: text for column, text in (about.column_names_to_labels or {}).items() if text}
    labels = Labels(described, dict(about.variable_value_labels or {}))
    labelled, remarks = _labelled(tidied(frame), labels.values)
    return TableRead(labelled, SourceSettings(format=name.lower()), tuple(remarks), labels=labels)


def _labelled(frame: pl.DataFrame, values: Mapping[str, Mapping[Any, str]]) -> tuple[pl.DataFrame, list[str]]:
    """Replace codes by their labels in columns where each code has one, and no two have the same."""
    columns, remarks = [], list[str]()
    for column in frame.iter_columns():
        labels = values.get(column.name, {})
        codes = [code for code in column.unique().to_list() if code is not None and code != ""]
        known = [code for code in codes if code in labels]
        if known and len(known) == len(codes) and len({labels[code] for code in codes}) == len(codes):
            column = _texts(column, {code: labels[code] for code in codes})
        elif known:
            remarks.append(
                say("column '{name}' keeps its codes, since not each has a label of its own", name=legible(column.name))
            )
        columns.append(column)
    return pl.DataFrame(columns), remarks


def _texts(column: pl.Series, labels: Mapping[Any, str]) -> pl.Series:
    codes = pl.Series(list(labels), dtype=column.dtype)
    texts = pl.Series(list(labels.values()), dtype=pl.String)
    return column.alias("").replace_strict(codes, texts, default=None, return_dtype=pl.String).alias(column.name)


def _statistical_source(name: str, article: str, reader: str, begins: tuple[bytes, ...]) -> Source:
    read_as = partial(_read_statistical, reader, name, article)

    def read(data: bytes, repeated: Collection[str]) -> pl.DataFrame:
        return read_as(data, SourceSettings()).frame

    return Source(say("{name} file", name=name), begins, read, declared=name.lower(), read_as=read_as, spelled=True)


STATA = _statistical_source("Stata", "a", "read_dta", (b"<stata_dta>", *OLD_STATA))
SPSS = _statistical_source("SPSS", "an", "read_sav", (b"$FL2", b"$FL3"))
SPSS_PORTABLE = _statistical_source("SPSS", "an", "read_por", (b"ASCII SPSS PORT FILE",))
SAS = _statistical_source("SAS", "a", "read_sas7bdat", (SAS_PAGE,))
SAS_TRANSPORT = _statistical_source("SAS", "a", "read_xport", (b"HEADER RECORD*******LIB",))


# All formats, and which of them a file is in


SOURCES: tuple[Source, ...] = (
    PARQUET, ARROW_FILE, ARROW_STREAM, EXCEL, STATA, SPSS, SPSS_PORTABLE, SAS, SAS_TRANSPORT, JSON_LINES, CSV,
)  # fmt: skip


def source_of(beginning: bytes) -> Source:
    """Return the format of a file, by its first bytes; the first that fits reads it."""
    return next(source for source in SOURCES if source.fits(beginning))


def named_source(beginning: bytes) -> Source | None:
    """Return the format of a file that is no archive; what is no table is refused by its name."""
    if beginning.startswith((GZIP, ZSTANDARD)):
        return None
    source = source_of(beginning)
    if source is CSV:
        refuse_named(beginning)
    return source
