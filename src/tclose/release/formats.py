"""The formats in which a release is written; each declares its file endings and how it writes a table."""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from tclose.errors import InputError, MissingExtra
from tclose.release.spreadsheet import write_excel
from tclose.release.statistical import SPSS, STATA, Package, check_names, write_statistical
from tclose.table.sources import parse
from tclose.table.sources.base import Labels

MARKS = ',;\t"\r\n'
EXCEL = ("xlsxwriter", "fastexcel")
NANOSECONDS = pl.Datetime("ns")


@dataclass(frozen=True)
class OutputFormat:
    """A format of published tables: its name, the endings of its files, and how it is written."""

    name: str
    suffixes: tuple[str, ...]
    write: Callable[[pl.DataFrame, BinaryIO], object]  # the bytes depend on the frame alone
    write_labelled: Callable[[pl.DataFrame, BinaryIO, Labels], object] | None = None  # with what codes mean
    check_names: Callable[[Sequence[str]], object] | None = None  # refuses names of columns that it does not allow
    in_parts: bool = True  # rows can be written a part at a time
    packages: tuple[str, ...] = ()  # that write and read it
    extra: str = ""  # which installs these
    lists: bool = False  # whether a cell can be a list

    def check(self, names: Sequence[str]) -> None:
        """Refuse early what cannot be written: names that the format does not allow, packages that are missing."""
        if self.check_names is not None:
            self.check_names(names)
        for package in self.packages:
            if find_spec(package) is None:
                raise MissingExtra(package, self.extra, f"a release as {self.name}")


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


def _statistical(name: str, suffixes: tuple[str, ...], package: Package) -> OutputFormat:
    def labelled(frame: pl.DataFrame, file: BinaryIO, labels: Labels) -> None:
        _read_back(partial(write_statistical, package, labels=labels), frame, file)

    plain = partial(_read_back, partial(write_statistical, package))
    return OutputFormat(name, suffixes, plain, labelled, partial(check_names, package), False, ("pyreadstat",), "stata")


FORMATS = (
    OutputFormat("CSV", (".csv",), _write_csv),
    OutputFormat("Parquet", (".parquet",), lambda frame, file: frame.write_parquet(file), lists=True),
    OutputFormat("Arrow", (".arrow", ".feather", ".ipc"), _write_arrow, in_parts=False, lists=True),
    OutputFormat("Excel", (".xlsx",), partial(_read_back, write_excel), in_parts=False, packages=EXCEL, extra="excel"),
    _statistical("Stata", (".dta",), STATA),
    _statistical("SPSS", (".sav",), SPSS),
)
CSV, PARQUET, ARROW = FORMATS[:3]
AT_ONCE = tuple(suffix for each in FORMATS if not each.in_parts for suffix in each.suffixes)


def format_of(path: Path) -> OutputFormat:
    """Return the format that a release's name asks for."""
    known = {suffix: each for each in FORMATS for suffix in each.suffixes}
    if path.suffix.lower() not in known:
        raise InputError(f"a release is written as {', '.join(known)}, not as '{path.suffix}'")
    return known[path.suffix.lower()]


def write_table(frame: pl.DataFrame, kind: OutputFormat, file: BinaryIO, labels: Labels | None = None) -> None:
    """Write a published table, with the labels that it came with where the format has such."""
    if labels is not None and kind.write_labelled is not None:
        labelled = kind.write_labelled
        written(kind, lambda: labelled(frame, file, labels))
    else:
        written(kind, lambda: kind.write(frame, file))


def written(kind: OutputFormat, write: Callable[[], object]) -> None:
    """Write a release, and say why it could not be done without quoting a cell."""
    try:
        write()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"the release cannot be written: {_reason(error)}") from None
    except pl.exceptions.PanicException:  # over a date in the year 300,000, say; its message could quote a cell
        raise InputError(f"the release cannot be written as {kind.name}: a cell has no spelling in it") from None


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
