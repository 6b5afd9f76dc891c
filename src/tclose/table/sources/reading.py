"""From a file to a table: unpack it, tell its format, read it as the policy says, or as it looks.

Without `[source]`, what the file is beyond plain CSV is detected. With `[source]`, nothing is guessed: what it does not
say is plain, and a table that is not so is refused with the key that is missing. Only while a policy is drafted, what a
steward has not said is detected all the same (`detect`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from tclose.errors import InputError
from tclose.policy.source import FORMAT_WORDS, SourceSettings
from tclose.table.odd_cells import below_limits, without_numbers
from tclose.table.sources import dates, notation
from tclose.table.sources.archives import unpacked
from tclose.table.sources.base import Source, TableRead
from tclose.table.sources.columnar import ARROW_FILE, ARROW_STREAM, PARQUET
from tclose.table.sources.csv import CSV
from tclose.table.sources.delimited import read_delimited
from tclose.table.sources.excel import EXCEL
from tclose.table.sources.json_lines import JSON_LINES
from tclose.table.sources.magic import GZIP, LONGEST, ZSTANDARD, refuse_named
from tclose.table.sources.statistical import SAS, SAS_TRANSPORT, SPSS, SPSS_PORTABLE, STATA
from tclose.table.sources.suspects import MARKS, marks_in, missing_cells

SOURCES: tuple[Source, ...] = (
    PARQUET, ARROW_FILE, ARROW_STREAM, EXCEL, STATA, SPSS, SPSS_PORTABLE, SAS, SAS_TRANSPORT, JSON_LINES, CSV,
)  # fmt: skip
CALLED = {"parquet": "a Parquet file", "arrow": "an Arrow file", **FORMAT_WORDS}
OTHER_FORMAT = 'the policy says format = "{said}" in [source], but this is {found}'


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


def said_of(spelled: Mapping[str, Any] | None) -> SourceSettings | None:
    """Return settings that came through the door."""
    return None if spelled is None else SourceSettings(**{**spelled, "dates": _tuple(spelled.get("dates", ()))})


def _tuple(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def parse(
    data: bytes, *, repeated: Collection[str] = (), only: Collection[str] = (), written_here: bool = False
) -> pl.DataFrame:
    """Return the table that these bytes hold, as tclose itself writes tables; nothing is detected.

    Columns named in `repeated` may come as categories. With `only`, other columns than these may be left out. Bytes
    that were `written_here` are a table, whatever they begin with.
    """
    source = source_of(data[:LONGEST])
    if source is CSV and not written_here:
        refuse_named(data[:LONGEST])
    if only and source.read_only is not None:
        return source.read_only(data, only)
    return source.read(data, repeated)


def read_data(
    data: bytes,
    said: SourceSettings | None,
    *,
    only: Collection[str] = (),
    missing: Collection[str] = (),
    part: str | None = None,
    detect: bool = False,
) -> TableRead:
    """Return the table that a file of the steward holds, and how it was read; `part` is a sheet of a workbook."""
    data = unpacked(data)
    source = source_of(data[:LONGEST])
    settings = _with_part(said or SourceSettings(), source, part)
    if settings.format not in (None, source.declared):
        raise InputError(OTHER_FORMAT.format(said=settings.format, found=_called(source, data[:LONGEST])))
    if source is CSV:
        refuse_named(data[:LONGEST])
        read = read_delimited(data, settings, detect=detect or said is None)
    elif source.read_as is not None:
        read = source.read_as(data, settings)
    else:
        return TableRead(parse(data, only=only))
    found = marks_in(data, commas=_has_commas(data, read)) if source is CSV and read.found.encoding is None else MARKS
    return spelled(read, said, missing, found, detect=detect)


def _with_part(said: SourceSettings, source: Source, part: str | None) -> SourceSettings:
    """Name the sheet; only a workbook has some."""
    if part is not None and source is not EXCEL:
        raise InputError(f"only a workbook has sheets, and this is {_called(source, b'')}: leave out what follows #")
    return said if part is None else replace(said, sheet=part)


def _called(source: Source, beginning: bytes) -> str:
    if source is CSV:
        refuse_named(beginning)
        return "text, as CSV is"
    return CALLED[source.declared]


def _has_commas(data: bytes, read: TableRead) -> bool:
    """Tell whether cells may hold commas: where these separate them, only quotes let them."""
    return read.found.separator is not None or b'"' in data


def spelled(
    read: TableRead,
    said: SourceSettings | None,
    missing: Collection[str],
    marks: Sequence[str] = MARKS,
    *,
    detect: bool = False,
) -> TableRead:
    """Turn numbers and dates in other notations into those of tclose.

    While a policy is drafted (`detect`), a column of numbers may have a few odd cells such as k.A. or <0,2.
    """
    missing = missing_cells(missing)
    missing |= below_limits(read.frame, missing)
    if detect:
        missing |= without_numbers(read.frame, missing, notation.ANY_NUMBER)
    when = dates.find(read.frame, missing, said if said is None or said.dates or not detect else None)
    frame = when.read(read.frame)
    unsaid = detect and said is not None and said.decimal is None and said.thousands is None
    numbers = notation.find(frame, missing, None if unsaid else said, marks)
    other = bool(numbers.columns)
    found = replace(
        read.found,
        decimal="," if other and numbers.notation.decimal == "," else None,
        thousands=numbers.notation.thousands or None if other else None,
        dates=when.formats,
    )
    questions = tuple(filter(None, (when.question, numbers.question)))
    return replace(
        read,
        frame=numbers.read(frame),
        found=found,
        remarks=(*read.remarks, *when.remarks, *numbers.remarks),
        questions=questions,
    )


def sentence_of(read: TableRead) -> str | None:
    """Say in one line what was detected beyond plain CSV, and what the steward should know; None if nothing."""
    words = read.found.words
    said = [*([f"read as {words}"] if words else []), *read.remarks]
    return "; ".join(said) or None
