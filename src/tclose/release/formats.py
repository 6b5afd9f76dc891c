"""The formats in which a release is written; each declares its file endings and how it writes a table.

Excel: a workbook of one sheet, text as text, numbers as numbers. Stata and SPSS: a file with the labels that the table
came with. In every format, the same table gives the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from tclose.errors import InputError, MissingExtra
from tclose.messages import say
from tclose.table.sources import parse
from tclose.table.sources.base import Labels
from tclose.words import legible

# Excel workbooks


SHEET = "release"
MOST_ROWS, MOST_COLUMNS, LONGEST = 1_048_576, 16_384, 32_767  # of a sheet, and the characters of a cell
WHOLE = 2**53  # beyond which a sheet, whose numbers are floats, rounds whole numbers
FIRST_DAY = date(1900, 3, 1)  # Excel counts a day before it that never was
MADE = datetime(2000, 1, 1, tzinfo=UTC)
CONTROL = r"[\x00-\x08\x0b-\x1f\x7f]"

CellWriter = Callable[[int, int, Any], object]


class _Exact(float):
    """A float that is written with as many digits as it takes to read it back."""

    def __format__(self, spec: str) -> str:
        return repr(float(self))


def check_sheet(frame: pl.DataFrame) -> None:
    """Refuse what a sheet cannot hold."""
    if frame.height >= MOST_ROWS:
        raise InputError(
            "an Excel sheet holds {most_rows:,} rows, and the release has {height:,}: use .csv",
            most_rows=MOST_ROWS - 1,
            height=frame.height,
        )
    if frame.width > MOST_COLUMNS:
        raise InputError(
            "an Excel sheet holds {most_columns:,} columns, and the release has {width:,}",
            most_columns=MOST_COLUMNS,
            width=frame.width,
        )
    for column in frame.iter_columns():
        if (why := _sheet_refusal(column.alias(""))) is not None:
            raise InputError("column '{name}' cannot be written as Excel: {why}", name=legible(column.name), why=why)
    names = pl.Series(frame.columns)
    if names.str.contains(CONTROL).any() or names.str.len_chars().max() > LONGEST:  # type: ignore[operator]
        raise InputError("a column's name cannot be written as Excel: it is too long, or holds a control character")


def _sheet_refusal(cells: pl.Series) -> str | None:
    kind = cells.dtype
    if kind in (pl.String, pl.Categorical, pl.Enum):
        text = cells.cast(pl.String)
        if (text.str.len_chars().max() or 0) > LONGEST:  # type: ignore[operator]
            return say("a cell has over {longest:,} characters", longest=LONGEST)
        return "a cell holds a control character" if text.str.contains(CONTROL).any() else None
    if kind.is_integer():
        return "whole numbers beyond 2^53 would be rounded" if (cells.cast(pl.Float64).abs() > WHOLE).any() else None
    if kind.is_decimal():
        return None if (cells.cast(pl.Float64).cast(kind) == cells).all() else "its decimals would be rounded"
    if kind.is_float():
        return None if cells.drop_nulls().is_finite().all() else "it has NaN or infinity"
    if kind == pl.Date or (isinstance(kind, pl.Datetime) and kind.time_zone is None):
        if (cells.cast(pl.Date) < FIRST_DAY).any():
            return say("it has dates before {first_day}", first_day=FIRST_DAY)
        exact = kind == pl.Date or (cells.dt.truncate("1ms") == cells).all()
        return None if exact else "its moments are finer than a millisecond"
    return None if kind in (pl.Boolean, pl.Null) else say("it is of type {kind}", kind=kind)


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


def _put(workbook: Any, sheet: Any, kind: pl.DataType) -> CellWriter:
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


def _fill(put: CellWriter, place: int, cells: Sequence[Any]) -> None:
    for row, cell in enumerate(cells, start=1):
        if cell is not None and cell != "":
            put(row, place, cell)


# Files of Stata and SPSS


STATA_WORDS = frozenset(
    [
        "_all",
        "_b",
        "_coef",
        "_cons",
        "_n",
        "_N",
        "_pi",
        "_pred",
        "_rc",
        "_skip",
        "byte",
        "double",
        "float",
        "if",
        "in",
        "int",
        "long",
        "strL",
        "using",
        "with",
    ]
)
SPSS_WORDS = frozenset(["ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH"])


@dataclass(frozen=True)
class Package:
    """A statistics package: what it allows, how its files are written, and how their time is set to a fixed one."""

    name: str
    writer: str
    longest_name: int  # characters of Stata, bytes of SPSS
    longest_text: int  # bytes
    fine: re.Pattern[str]  # names of columns
    words: frozenset[str]
    options: Mapping[str, Any]
    timeless: Callable[[bytes], bytes]
    label_bytes: int  # of a value's label


def _timeless_stata(data: bytes) -> bytes:
    return re.sub(rb"<timestamp>\x11.{17}</timestamp>", b"<timestamp>\x1101 Jan 2000 00:00</timestamp>", data, count=1)


def _timeless_spss(data: bytes) -> bytes:
    return data[:92] + b"01 Jan 0000:00:00" + data[109:]


STATA = Package(
    "Stata", "write_dta", 32, 2045, re.compile(r"[^\W\d]\w*"), STATA_WORDS, {"version": 14}, _timeless_stata, 32_000
)
SPSS = Package(
    "SPSS", "write_sav", 64, 32_767, re.compile(r"[^\W\d_](?:[\w.@#$]*[\w@#$])?"), SPSS_WORDS, {}, _timeless_spss, 120
)


def check_names(package: Package, names: Sequence[str]) -> None:
    """Refuse columns whose names the package does not allow."""
    seen: dict[str, str] = {}
    for name in names:
        length = len(name) if package is STATA else len(name.encode())
        word = name if package is STATA else name.upper()
        unit = "characters" if package is STATA else "bytes"
        if length > package.longest_name:
            raise InputError(
                "{name} allows names of {longest_name} {unit}: '{name_2}' is longer, rename it",
                name=package.name,
                longest_name=package.longest_name,
                unit=unit,
                name_2=legible(name),
            )
        if not package.fine.fullmatch(name) or word in package.words or re.fullmatch(r"str\d+", name):
            raise InputError(
                "{name} does not allow a column to be called '{name_2}': rename it",
                name=package.name,
                name_2=legible(name),
            )
        key = name if package is STATA else name.casefold()
        if key in seen:
            raise InputError(
                "to {name}, '{seen}' and '{name_2}' are one name: rename one",
                name=package.name,
                seen=legible(seen[key]),
                name_2=legible(name),
            )
        seen[key] = name


def check_cells(package: Package, frame: pl.DataFrame) -> None:
    """Refuse cells that the package cannot hold."""
    check_names(package, frame.columns)
    for column in frame.iter_columns():
        if (why := _package_refusal(package, column.alias(""))) is not None:
            raise InputError(
                "column '{name}' cannot be written for {name_2}: {why}",
                name=legible(column.name),
                name_2=package.name,
                why=why,
            )


def _package_refusal(package: Package, cells: pl.Series) -> str | None:
    kind = cells.dtype
    if kind in (pl.String, pl.Categorical, pl.Enum):
        text = cells.cast(pl.String)
        if (text.str.len_bytes().max() or 0) > package.longest_text:  # type: ignore[operator]
            return say("a cell has over {longest_text:,} bytes", longest_text=package.longest_text)
        return "a cell holds a NUL character" if text.str.contains("\0", literal=True).any() else None
    if kind.is_integer():
        return "whole numbers beyond 2^53 would be rounded" if (cells.cast(pl.Float64).abs() > WHOLE).any() else None
    if kind.is_decimal():
        return None if (cells.cast(pl.Float64).cast(kind) == cells).all() else "its decimals would be rounded"
    if kind.is_float():
        return None if cells.drop_nulls().is_finite().all() else "it has NaN or infinity"
    if isinstance(kind, pl.Datetime) and not (cells.dt.truncate("1ms") == cells).all():
        return "its moments are finer than a millisecond"
    fine = kind in (pl.Boolean, pl.Null, pl.Date) or (isinstance(kind, pl.Datetime) and kind.time_zone is None)
    return None if fine else say("it is of type {kind}", kind=kind)


def write_statistical(package: Package, frame: pl.DataFrame, file: BinaryIO, labels: Labels | None = None) -> None:
    """Write a table for a package; columns whose cells are labels get their codes back."""
    check_cells(package, frame)
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtra("pyreadstat", "stata", say("writing a file for {name}", name=package.name)) from None
    coded, values = _coded(package, frame, labels or Labels())
    described = {} if labels is None else {n: labels.columns[n] for n in frame.columns if n in labels.columns}
    with tempfile.TemporaryDirectory(prefix="tclose-") as folder:  # the library writes to named files only
        path = Path(folder) / "release"
        try:
            getattr(pyreadstat, package.writer)(
                coded, str(path), column_labels=described, variable_value_labels=values, **package.options
            )
        except (OSError, MemoryError):
            raise
        except Exception:  # its message could quote cells
            raise InputError("the release cannot be written for {name}", name=package.name) from None
        file.write(package.timeless(path.read_bytes()))


def _coded(package: Package, frame: pl.DataFrame, labels: Labels) -> tuple[pl.DataFrame, dict[str, dict[Any, str]]]:
    """Return the table as the package holds it, and the labels of its codes."""
    columns, values = [], {}
    for column in frame.iter_columns():
        codes = _codes(package, column, labels.values.get(column.name, {}))
        if codes is not None:
            values[column.name] = {int(code): text for code, text in codes.items()}
            column = _with_codes(column, codes)
        columns.append(_held(column))
    return pl.DataFrame(columns), values


def _codes(package: Package, column: pl.Series, labels: Mapping[Any, str]) -> dict[Any, str] | None:
    """Return the codes of a column whose cells are all labels; None where they are not."""
    if column.dtype != pl.String or not labels or not all(isinstance(code, int | float) for code in labels):
        return None
    shown = set(column.drop_nulls().unique()) - {""}
    used = {code: text for code, text in labels.items() if text in shown}
    whole = all(float(code).is_integer() and abs(code) < 2**31 for code in used)
    short = all(len(text.encode()) <= package.label_bytes for text in used.values())
    return used if shown and whole and short and len(used) == len(shown) and set(used.values()) == shown else None


def _with_codes(column: pl.Series, labels: Mapping[Any, str]) -> pl.Series:
    texts, codes = list(labels.values()), [int(code) for code in labels]
    cells = column.alias("").replace_strict(texts, codes, default=None, return_dtype=pl.Int32)
    return cells.alias(column.name)


def _held(column: pl.Series) -> pl.Series:
    if column.dtype in (pl.Categorical, pl.Enum, pl.Boolean, pl.Null):
        return column.cast(pl.String)
    other = column.dtype.is_decimal() or (column.dtype.is_integer() and column.dtype != pl.Int32)
    return column.cast(pl.Float64) if other else column


# All formats


MARKS = ',;\t"\r\n'
EXCEL = ("xlsxwriter", "fastexcel")
NANOSECONDS = pl.Datetime("ns")


@dataclass(frozen=True)
class OutputFormat:
    """A format of published tables: its name, the endings and the media type of its files, and how it is written."""

    name: str
    suffixes: tuple[str, ...]
    media_type: str  # in descriptions of a release
    write: Callable[[pl.DataFrame, BinaryIO], object]  # the bytes depend on the frame alone
    write_labelled: Callable[[Labels, pl.DataFrame, BinaryIO], object] | None = None  # with what codes mean
    check_names: Callable[[Sequence[str]], object] | None = None  # refuses names of columns that it does not allow
    in_parts: bool = False  # whether rows are written a part at a time, as `run/parts/files.py` does for two formats
    packages: tuple[str, ...] = ()  # that write and read it
    extra: str = ""  # which installs these
    lists: bool = False  # whether a cell can be a list
    offered: bool = True  # whether the studio offers it

    def check(self, names: Sequence[str]) -> None:
        """Refuse early what cannot be written: names that the format does not allow, packages that are missing."""
        if self.check_names is not None:
            self.check_names(names)
        for package in self.packages:
            if find_spec(package) is None:
                raise MissingExtra(package, self.extra, say("a release as {name}", name=self.name))

    def labelled(self, labels: Labels | None) -> OutputFormat:
        """Return the format that also writes the labels which a table came with, where it has such."""
        if labels is None or self.write_labelled is None:
            return self
        return replace(self, write=partial(self.write_labelled, labels))


def _write_csv(frame: pl.DataFrame, file: BinaryIO) -> None:
    file.write(_header(frame.columns))
    _as_cells(frame).write_csv(file, include_header=False)


def appended_csv(frame: pl.DataFrame, file: BinaryIO) -> None:
    """Write more rows of a CSV file, without a header."""
    written(CSV, lambda: _as_cells(frame).write_csv(file, include_header=False))


def _write_arrow(frame: pl.DataFrame, file: BinaryIO) -> None:
    frame.write_ipc(file, compat_level=pl.CompatLevel.oldest())  # newer columns of text may carry other rows' text


def _read_back(write: Callable[[pl.DataFrame, BinaryIO], object], frame: pl.DataFrame, file: BinaryIO) -> None:
    """Write a table in a format of others, once it is sure that every cell reads back as it is."""
    buffer = io.BytesIO()
    write(frame, buffer)
    if not _same_cells(frame, parse(buffer.getvalue(), written_here=True)):
        raise InputError("in this format, some cells would not read back as they are: use .csv or .parquet")
    file.write(buffer.getbuffer())


def _same_cells(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Compare tables of which one has lost the difference between 3.0 and 3, and between no text and no value."""
    if one.columns != other.columns or one.height != other.height:
        return False
    return all(
        _comparable(a).equals(_comparable(b)) for a, b in zip(one.iter_columns(), other.iter_columns(), strict=True)
    )


def _comparable(column: pl.Series) -> pl.Series:
    cells = column.alias("")
    if cells.null_count() == len(cells):
        return cells.cast(pl.String, strict=False)
    if cells.dtype.is_numeric():
        return cells.cast(pl.Float64)
    if cells.dtype == pl.Date or isinstance(cells.dtype, pl.Datetime):
        return cells.cast(pl.Datetime("us"))
    text = cells.cast(pl.String)
    return text.set(text == "", None)


def _statistical(name: str, suffix: str, media_type: str, package: Package) -> OutputFormat:
    def labelled(labels: Labels, frame: pl.DataFrame, file: BinaryIO) -> None:
        _read_back(partial(write_statistical, package, labels=labels), frame, file)

    plain = partial(_read_back, partial(write_statistical, package))
    names = partial(check_names, package)
    packages = ("pyreadstat",)
    return OutputFormat(name, (suffix,), media_type, plain, labelled, names, packages=packages, extra="stata")


OUTPUT_FORMATS = (
    OutputFormat("CSV", (".csv",), "text/csv", _write_csv, in_parts=True),
    OutputFormat(
        "Parquet",
        (".parquet",),
        "application/vnd.apache.parquet",
        lambda frame, file: frame.write_parquet(file),
        in_parts=True,
        lists=True,
    ),
    OutputFormat(
        "Arrow",
        (".arrow", ".feather", ".ipc"),
        "application/vnd.apache.arrow.file",
        _write_arrow,
        lists=True,
        offered=False,
    ),
    OutputFormat(
        "Excel",
        (".xlsx",),
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        partial(_read_back, write_excel),
        packages=EXCEL,
        extra="excel",
    ),
    _statistical("Stata", ".dta", "application/x-stata-dta", STATA),
    _statistical("SPSS", ".sav", "application/x-spss-sav", SPSS),
)
CSV, PARQUET, ARROW = OUTPUT_FORMATS[:3]
*_BEFORE, _LAST = (each.suffixes[0] for each in OUTPUT_FORMATS)
ENDINGS_IN_WORDS = f"{', '.join(_BEFORE)} or {_LAST}"  # in the help of commands
AT_ONCE = tuple(suffix for each in OUTPUT_FORMATS if not each.in_parts for suffix in each.suffixes)


def format_of(path: Path) -> OutputFormat:
    """Return the format that a release's name asks for."""
    known = {suffix: each for each in OUTPUT_FORMATS for suffix in each.suffixes}
    if path.suffix.lower() not in known:
        raise InputError(
            "a release is written as {known}, not as '{suffix}'", known=", ".join(known), suffix=path.suffix
        )
    return known[path.suffix.lower()]


def write_table(frame: pl.DataFrame, kind: OutputFormat, file: BinaryIO) -> None:
    """Write a published table."""
    written(kind, lambda: kind.write(frame, file))


def written(kind: OutputFormat, write: Callable[[], object]) -> None:
    """Write a release, and say why it could not be done without quoting a cell."""
    try:
        write()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError("the release cannot be written: {reason}", reason=_reason(error)) from None
    except pl.exceptions.PanicException:  # over a date in the year 300,000, say; its message could quote a cell
        raise InputError(
            "the release cannot be written as {name}: a cell has no spelling in it", name=kind.name
        ) from None


def _reason(error: Exception) -> str:
    """Say what the system said; polars wraps it up in many ways, and its own words could quote cells."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    number = re.search(r"\(os error (\d+)\)", str(error))
    return os.strerror(int(number[1])) if number else "is there space left on the disk?"


def _header(names: Sequence[str]) -> bytes:
    """Spell the header; a name that holds any separator is quoted, or it would be taken for several."""
    quoted = ('"' + name.replace('"', '""') + '"' if any(mark in name for mark in MARKS) else name for name in names)
    return (",".join(quoted) + "\n").encode()


def _as_cells(frame: pl.DataFrame) -> pl.DataFrame:
    """Spell moments as they are read back, and empty text as nothing; where that is all of a record, as ""."""
    if frame.width == 1:
        return frame.select(pl.all().cast(pl.String).fill_null(""))
    text = pl.col(pl.String)
    cells = frame.with_columns(pl.when(text != "").then(text).name.keep())
    return cells.with_columns(_moments(cells[name]) for name, dtype in cells.schema.items() if dtype == NANOSECONDS)


def _moments(column: pl.Series) -> pl.Series:
    """Drop the nanoseconds of pandas where they say nothing."""
    short = column.cast(pl.Datetime("us"))
    return short if (short.cast(NANOSECONDS) == column).all() else column


def fingerprint(frame: pl.DataFrame, kind: OutputFormat) -> str:
    """Return the fingerprint of the file that a table would make, without the file."""
    digest = _Digest()
    write_table(frame, kind, digest)  # type: ignore[arg-type]
    return digest.sha256.hexdigest()


class _Digest(io.RawIOBase):
    def __init__(self) -> None:
        self.sha256 = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.sha256.update(data)
        return len(data)
