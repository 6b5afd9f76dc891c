"""What a source of tables declares: by which first bytes it is known, and how it is read.

Files that are known by their first bytes and are no table tclose reads as such are refused by name; none is called bad
UTF-8.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from tclose.errors import InputError, MissingExtra
from tclose.messages import joined, say
from tclose.policy.source import SourceSettings
from tclose.words import legible

# First bytes of files


LONGEST = 512  # bytes that tell what a file is
GZIP, ZSTANDARD, ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", (b"PK\x03\x04", b"PK\x05\x06")
SQLITE, DUCKDB = b"SQLite format 3\0", b"DUCK"  # the latter behind a checksum of eight bytes
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_NAMED = (
    (b"%PDF", "this is a PDF document: a table cannot be read from it; export it as CSV or Excel"),
    ((b"BZh", b"\xfd7zXZ\0", b"7z\xbc\xaf\x27\x1c", b"Rar!"), "this is an archive of another kind: unpack it first"),
    ((b"RDX", b"RDA", b"X\n\0\0", b"A\n"), "this is a file of R: write the table as CSV or Parquet"),
    ((b"\x89PNG", b"\xff\xd8\xff", b"GIF8"), "this is a picture, not a table"),
    (b"\x89HDF", "this is an HDF5 file: write the table as Parquet"),
    (b"\x7fELF", "this is a program, not a table"),
)
_MARKUP = (b"<!doctype html", b"<html", b"<table")


def refuse_named(beginning: bytes) -> None:
    """Refuse a file that is known, but not as a table."""
    for begins, what in _NAMED:
        if beginning.startswith(begins):
            raise InputError(what)
    if beginning.startswith(SQLITE):
        raise InputError("this is an SQLite database: name a table in it, as in sqlite:///FILE#TABLE")
    if beginning[8:12] == DUCKDB:
        raise InputError("this is a DuckDB database: name a table in it, as in duckdb:///FILE#TABLE")
    text = beginning.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if text.startswith(_MARKUP):
        raise InputError("this is an HTML page, also where its name ends in .xls: export the table as CSV or Excel")
    if text.startswith(b"<?xml"):
        raise InputError("this is an XML file: save the table as CSV or as an Excel workbook (.xlsx)")
    if text.startswith((b'[{"', b"[\n", b"[\r\n", b"[ {", b"[]")):
        raise InputError("this is a JSON list: write one object per line (JSON lines, .jsonl)")
    if text.startswith((b"{\n", b"{\r\n")):
        raise InputError("this is JSON over several lines: write one object per line (JSON lines, .jsonl)")


def missing_reader(what: str, extra: str) -> MissingExtra:
    """Say which kind of file it is, and what installs its reader."""
    return MissingExtra.of_file(what, extra)


# Sources, and the tables that come from them


NOTHING = SourceSettings()
MOST_COLUMNS = 50_000
LARGEST = 2**63
ROWS, FIRST = "rows", "first"  # of a group of equal cells: how many rows show them, and the first of these
WHOLE = 2**53  # up to which floats hold every whole number


@dataclass(frozen=True)
class Source:
    """One file format that tables are read from.

    `read` takes the bytes, and the names of columns that hold few different cells and may come as categories.
    """

    name: str
    begins: bytes | tuple[bytes, ...]  # the first bytes of such a file; empty for the format that takes all the rest
    read: Callable[[bytes, Collection[str]], pl.DataFrame]
    read_only: Callable[[bytes, Collection[str]], pl.DataFrame] | None = None  # these columns, if it has them all
    declared: str = ""  # what `format` in [source] calls it
    read_as: Callable[[bytes, SourceSettings], TableRead] | None = None  # by what a policy says, or what is detected
    spelled: bool = False  # text cells may hold numbers and dates in any notation, as people type them

    def fits(self, beginning: bytes) -> bool:
        """Tell whether a file that begins so is of this format."""
        return beginning.startswith(self.begins)


@dataclass(frozen=True)
class Labels:
    """What statistics packages keep beside the cells: what columns are called, and what codes mean."""

    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)  # per column, from code to text

    def only(self, names: Collection[str]) -> Labels | None:
        """Return the labels of some columns; None where they have none."""
        columns = {name: text for name, text in self.columns.items() if name in names}
        values = {name: texts for name, texts in self.values.items() if name in names}
        return Labels(columns, values) if columns or values else None


@dataclass(frozen=True, eq=False, repr=False)
class TableRead:
    """A table as it was read, how its file is written beyond plain CSV, and what could not be decided."""

    frame: pl.DataFrame
    found: SourceSettings = NOTHING
    remarks: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    labels: Labels = field(default_factory=Labels)

    @property
    def sentence(self) -> str | None:
        """What was detected beyond plain CSV, and what the steward should know, in one line; None if nothing."""
        words = self.found.words
        said = [*([say("read as {words}", words=words)] if words else []), *self.remarks]
        return joined("; ", said) if said else None


def check_width(columns: int) -> None:
    """Refuse a table with more columns than any about people has."""
    if columns > MOST_COLUMNS:
        raise InputError(
            "the table has {columns:,} columns, and at most {most_columns:,} are read: keep fewer",
            columns=columns,
            most_columns=MOST_COLUMNS,
        )


def check_names(names: list[str | None]) -> list[str]:
    """Refuse columns without a name, and names that stand twice."""
    check_width(len(names))
    first: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if name is None or not name.strip():
            raise InputError("column {number} of {count} has no name in the header", number=number, count=len(names))
        if name in first:
            raise InputError(
                "columns {first} and {number} have the same name in the header: rename one",
                first=first[name],
                number=number,
                detail=f"the name is '{legible(name)}'",
            )
        first[name] = number
    return list(first)


def column_of(name: str, cells: list[Any]) -> pl.Series:
    """Return a column of Python values; numbers of both kinds are floats, and any other mixture is refused."""
    kinds = {type(cell) for cell in cells} - {type(None)}
    if not name.strip():
        raise InputError("a column of the table has no name")
    if kinds & {dict, list, bytes}:
        raise InputError(
            "column '{name}' holds lists, objects or bytes: make it text, a number or a date", name=legible(name)
        )
    if kinds <= {str} or kinds == {bool}:
        return pl.Series(name, cells, dtype=pl.Boolean if kinds == {bool} else pl.String)
    if kinds <= {int, float} and all(abs(cell) < LARGEST for cell in cells if isinstance(cell, int)):
        return pl.Series(name, cells, dtype=pl.Float64 if float in kinds else pl.Int64, strict=False)
    raise InputError("column '{name}' mixes kinds of values: make them all text, or all numbers", name=legible(name))


def tidied(frame: pl.DataFrame) -> pl.DataFrame:
    """Return whole numbers as such, and moments at midnight as dates: some formats know neither."""
    return pl.DataFrame([_tidied(column) for column in frame.iter_columns()])


def _tidied(column: pl.Series) -> pl.Series:
    cells = column.alias("")
    if column.dtype == pl.Null:
        return column.cast(pl.String)
    if column.dtype.is_float() and bool(((cells.floor() == cells) & (cells.abs() <= WHOLE)).all()):
        return column.cast(pl.Int64)
    if isinstance(column.dtype, pl.Datetime) and bool((cells.dt.truncate("1d") == cells).all()):
        return column.cast(pl.Date) if cells.null_count() < len(cells) else column.cast(pl.String)
    return column
