"""CSV bytes into a frame of text, checked strictly: every record has as many fields as the header.

polars would fill a short record with nulls, rename a repeated column and drop stray quotes, so all of these are
looked for first. Every cell stays the text that it was; what is a number is decided later, per column.
"""

from __future__ import annotations

import codecs
import csv
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import InputError
from tclose.table.sources.base import Source, check_width
from tclose.types import Ints
from tclose.words import counted

SEPARATORS, BAR = (",", ";", "\t"), "|"
CHUNK = 1 << 21
QUOTE, NEWLINE, RETURN = b'"\n\r'

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Before:
    """What comes before a block of a table, behind the header: messages count rows from the header."""

    records: int = 0
    lines: int = 0


FIRST = Before()


class NotUtf8(InputError):
    """The table is not UTF-8 text; in another encoding it may be fine."""


def parse(
    data: bytes, *, repeated: Collection[str] = (), before: Before = FIRST, separator: str | None = None
) -> pl.DataFrame:
    """Return the table that these bytes hold, every cell as text.

    Columns named in `repeated`, which hold few different cells, come as categories: long text is kept once. Of a block
    of a table, to which the header was added, `before` says how many rows came earlier. Without a `separator`, the
    header tells it.
    """
    data = trimmed(data)
    if not data.strip():
        raise InputError("the table is empty: it has neither a header nor rows")
    _check_text(data, before.lines)
    first = _first_record(data)
    separator = separator or _sniff(first)
    header = _header(first, separator)
    records = _check_records(data, separator, len(header), before.records)
    if records == 1:
        raise InputError("the table has a header but no rows")
    try:
        few = set(repeated)
        schema = {name: pl.Categorical(pl.Categories.random()) if name in few else pl.String() for name in header}
        frame = pl.read_csv(data, separator=separator, schema=schema, has_header=False, empty_string_is_null=bool(few))
    except pl.exceptions.PolarsError:  # its message would quote cells
        raise InputError("the table is not valid CSV") from None
    if frame.shape != (records, len(header)):
        raise InputError("the table is not valid CSV: its quotes do not pair up")
    return frame[1:].with_columns(pl.col(pl.String).fill_null("")) if few else frame[1:]  # for 50,000 columns, 2 s


def trimmed(data: bytes) -> bytes:
    """Drop a byte order mark and blank lines at either end; a table without them is not copied."""
    start, end = (3 if data.startswith(b"\xef\xbb\xbf") else 0), len(data)
    while length := _line_end(data[start : start + 2]):
        start += length
    while end > start and data.endswith((b"\n\n", b"\n\r\n"), start, end):
        end -= 2 if data.endswith(b"\r\n", start, end) else 1
    return data if (start, end) == (0, len(data)) else data[start:end]


def _line_end(beginning: bytes) -> int:
    """Return how long the end of a line is that stands here, 0 where there is none; CR alone ends no line."""
    return 1 if beginning.startswith(b"\n") else 2 * beginning.startswith(b"\r\n")


def _check_text(data: bytes, lines: int) -> None:
    _check_characters(data, lines)
    if b"\r" in data and b"\n" not in data:
        raise InputError("the table's lines end in CR alone, as on very old computers: save it with LF or CRLF")
    if data.startswith(b"\r") or data.endswith(b"\r"):
        where = "begins" if data.startswith(b"\r") else "ends"
        raise InputError(f"the table {where} with CR alone, which ends no line: remove it or save it with LF or CRLF")


def _check_characters(data: bytes, lines: int) -> None:
    decoder, read = codecs.getincrementaldecoder("utf-8")(), 0
    for start in range(0, len(data), CHUNK):
        try:
            decoder.decode(data[start : start + CHUNK], final=start + CHUNK >= len(data))
        except UnicodeDecodeError as error:
            row = lines + data.count(b"\n", 0, read + error.start)
            where = f"row {row:,}" if row else "the header"
            raise NotUtf8(f"the table is not UTF-8 text: the first bad byte is in {where}; save it as UTF-8") from None
        read = start + CHUNK - len(decoder.getstate()[0])
    if b"\0" in data:
        raise InputError("the table is not text: it holds NUL bytes; is it a spreadsheet or an archive?")


def separator_of(data: bytes) -> str:
    """Return the separator of a table, by its header."""
    return _sniff(_first_record(trimmed(data)))


def _sniff(line: str) -> str:
    """Return the separator that splits the header into most fields; a bar only where there is no other."""
    outside = "".join(line.split('"')[::2])
    found = max(SEPARATORS, key=outside.count)
    return BAR if found not in outside and BAR in outside else found


def _first_record(data: bytes) -> str:
    """Return the text up to the first line break outside quotes; every byte is looked at once."""
    start, quotes = 0, 0
    while True:
        end = data.find(b"\n", start)
        stop = len(data) if end < 0 else end
        quotes += data.count(b'"', start, stop)
        if end < 0 or quotes % 2 == 0:
            return data[:stop].decode("utf-8").removesuffix("\r")
        start = end + 1


def _header(line: str, separator: str) -> list[str]:
    if any("\r" in part for part in line.split('"')[::2]):
        raise InputError("the header has CR alone, which ends no line: remove it or save the table with LF or CRLF")
    try:
        (names,) = csv.reader([line], delimiter=separator)
    except csv.Error:
        raise InputError(
            "the header is not valid CSV: a quote in it is stray or never closed, or a name is too long"
        ) from None
    check_width(len(names))
    first: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if not name.strip():
            raise InputError(f"column {number} of {len(names)} has no name in the header")
        if name in first:  # in a table without a header, the name is a cell
            raise InputError(
                f"columns {first[name]} and {number} have the same name in the header: rename one",
                detail=f"the name is '{name}'",
            )
        first[name] = number
    return names


def _check_records(data: bytes, separator: str, width: int, before: int) -> int:
    """Count the records; refuse the table when one has more or fewer fields than the header."""
    fields = _fields_per_record(data, separator, before)
    ragged = np.flatnonzero(fields != width)
    if len(ragged):
        row, width_found = before + int(ragged[0]), int(fields[ragged[0]])
        more = f" ({len(ragged):,} rows are like that)" if len(ragged) > 1 else ""
        raise InputError(f"row {row:,} has {counted(width_found, 'field')}, the header has {width}{more}")
    return len(fields)


def _fields_per_record(data: bytes, separator: str, records: int) -> Ints:
    whole = np.frombuffer(data, dtype=np.uint8)
    whole = whole[: len(whole) - data.endswith(b"\n") - data.endswith(b"\r\n")]
    quoted, carried = False, 0
    widths: list[Ints] = []
    for start in range(0, len(whole), CHUNK):
        chunk = whole[start : start + CHUNK]
        outside = outside_quotes(chunk, quoted)
        ends = np.flatnonzero((chunk == NEWLINE) & outside)
        _check_quotes(whole, start, quoted, ord(separator), ends, records)
        commas = np.flatnonzero((chunk == ord(separator)) & outside)
        _check_returns(whole, commas + start, ends + start, records)
        before = np.searchsorted(commas, ends)
        widths.append(np.diff(before, prepend=0) + 1)
        if len(ends):
            widths[-1][0] += carried
            carried = 0
        carried += len(commas) - (int(before[-1]) if len(ends) else 0)
        quoted, records = not outside[-1], records + len(ends)
    if quoted:
        raise InputError("the table is not valid CSV: a quoted field is never closed")
    return np.append(np.concatenate(widths), carried + 1)


def outside_quotes(chunk: Bytes, quoted: bool) -> NDArray[np.bool_]:
    """Tell for each byte whether the quotes up to and including it pair up."""
    quotes = chunk == QUOTE
    if not quotes.any():
        return np.full(len(chunk), not quoted)
    return np.asarray(np.logical_xor.accumulate(quotes) == quoted)


def _check_quotes(whole: Bytes, start: int, quoted: bool, separator: int, ends: Ints, records: int) -> None:
    """Refuse a quote that neither opens nor closes a field; two in a row stand for one."""
    places = np.flatnonzero(whole[start : start + CHUNK] == QUOTE) + start
    opening, closing = (places[1::2], places[::2]) if quoted else (places[::2], places[1::2])
    before = whole[np.maximum(opening - 1, 0)]
    after = whole[np.minimum(closing + 1, len(whole) - 1)]
    ends_line = (after != RETURN) | (whole[np.minimum(closing + 2, len(whole) - 1)] == NEWLINE)  # CR alone does not
    stray = np.concatenate(
        (
            opening[(opening > 0) & ~np.isin(before, (separator, NEWLINE, QUOTE))],
            closing[(closing < len(whole) - 1) & ~(np.isin(after, (separator, NEWLINE, RETURN, QUOTE)) & ends_line)],
        )
    )
    if len(stray):
        row = records + int(np.searchsorted(ends, stray.min() - start))
        where = f"row {row:,}" if row else "the header"
        raise InputError(
            f"{where} has a quote in the middle of a field: put the whole field in quotes, and double those inside it"
        )


def _check_returns(whole: Bytes, separators: Ints, ends: Ints, records: int) -> None:
    """Refuse CR alone at the end of a field without quotes: polars would drop it."""
    returns = separators[(separators > 0) & (whole[separators - 1] == RETURN)]
    if len(returns):
        row = records + int(np.searchsorted(ends, returns[0]))
        raise InputError(f"row {row:,} has CR alone at the end of a field: put the field in quotes, or remove the CR")


CSV = Source("CSV", b"", lambda data, repeated: parse(data, repeated=repeated), declared="csv", spelled=True)
