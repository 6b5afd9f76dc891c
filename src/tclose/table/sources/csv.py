"""CSV bytes into a frame of text, checked strictly: every record has as many fields as the header.

polars would fill a short record with nulls, rename a repeated column and drop stray quotes, so all of these are
looked for first. Every cell stays the text that it was; what is a number is decided later, per column. For files as
people have them, encoding and separator are detected, or taken from the policy; then the text is read as strictly.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from tclose.errors import InputError
from tclose.messages import say
from tclose.policy.source import UTF_8, UTF_16_BE, UTF_16_LE, WINDOWS_1252, SourceSettings
from tclose.table.sources.base import Source, TableRead, check_width
from tclose.words import counted

if TYPE_CHECKING:
    from tclose.types import Ints

# Which encoding text has, and the same text in UTF-8


LOOKED_AT = 4096
MULTIBYTE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
HIGH = re.compile(rb"[\x80-\xff]")
FOREIGN = re.compile(rb"[\xc0-\xff]{4}")  # no word of a western language has four such letters in a row
UNDEFINED = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")  # in Windows-1252


def wide_encoding(data: bytes) -> str | None:
    """Return which UTF-16 the text is in, by its mark or by where its zero bytes lie; None for anything else."""
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise InputError("the table is UTF-32 text: save it as UTF-8")
    if data.startswith(codecs.BOM_UTF16_LE):
        return UTF_16_LE
    if data.startswith(codecs.BOM_UTF16_BE):
        return UTF_16_BE
    beginning = data[:LOOKED_AT]
    if b"\0" not in beginning:
        return None
    even, odd = beginning[::2].count(0), beginning[1::2].count(0)
    half = len(beginning) / 2
    if odd > 0.7 * half and even < 0.1 * half:
        return UTF_16_LE
    return UTF_16_BE if even > 0.7 * half and odd < 0.1 * half else None


def narrow_encoding(data: bytes) -> str | None:
    """Return Windows-1252 for text that is not UTF-8 and looks western; None for UTF-8 with damaged bytes.

    Text in another alphabet could be read as Windows-1252 too, but only to nonsense, so it is refused.
    """
    proper = sum(len(found[0]) for found in MULTIBYTE.finditer(data))
    if proper > len(HIGH.findall(data)) - proper:
        return None
    if FOREIGN.search(data) or UNDEFINED.search(data):
        raise InputError(
            'the table is neither UTF-8 nor western text (Windows-1252): say which, as in encoding = "windows-1250", '
            "in [source] of the policy"
        )
    return WINDOWS_1252


def to_utf_8(data: bytes, encoding: str) -> bytes:
    """Return the same text in UTF-8."""
    if encoding == UTF_8:
        return data
    try:
        text = codecs.decode(data, encoding)
    except (UnicodeDecodeError, ValueError) as error:
        place = error.start if isinstance(error, UnicodeDecodeError) else len(data)
        row = data.count(b"\n", 0, place)
        raise InputError(
            "the table is not {encoding} text: the first bad byte is in row {row:,}"
            if row
            else "the table is not {encoding} text: the first bad byte is in the header",
            encoding=encoding,
            row=row,
        ) from None
    try:
        return str(text).removeprefix("\ufeff").encode()
    except UnicodeEncodeError:
        raise InputError("the table is not {encoding} text: it holds half a character", encoding=encoding) from None


# CSV, read strictly


SEPARATORS, BAR = (",", ";", "\t"), "|"
CHUNK = 1 << 21
SMALL = 1 << 20  # bytes of a table whose lines are counted one by one


@dataclass(frozen=True)
class Before:
    """What comes before a block of a table, behind the header: messages count rows from the header."""

    records: int = 0
    lines: int = 0


FIRST = Before()


class NotUtf8(InputError):
    """The table is not UTF-8 text; in another encoding it may be fine."""

    def __init__(self, where: str) -> None:
        super().__init__("the table is not UTF-8 text: the first bad byte is in {where}; save it as UTF-8", where=where)
        self.where = where


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
        raise InputError(
            "the table {where} with CR alone, which ends no line: remove it or save it with LF or CRLF", where=where
        )


def _check_characters(data: bytes, lines: int) -> None:
    decoder, read = codecs.getincrementaldecoder("utf-8")(), 0
    for start in range(0, len(data), CHUNK):
        try:
            decoder.decode(data[start : start + CHUNK], final=start + CHUNK >= len(data))
        except UnicodeDecodeError as error:
            row = lines + data.count(b"\n", 0, read + error.start)
            where = say("row {row:,}", row=row) if row else say("the header")
            raise NotUtf8(where) from None
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
            raise InputError("column {number} of {count} has no name in the header", number=number, count=len(names))
        if name in first:  # in a table without a header, the name is a cell
            raise InputError(
                "columns {first} and {number} have the same name in the header: rename one",
                first=first[name],
                number=number,
                detail=f"the name is '{name}'",
            )
        first[name] = number
    return names


def _check_records(data: bytes, separator: str, width: int, before: int) -> int:
    """Count the records; refuse the table when one has more or fewer fields than the header."""
    fields, ragged = _fields_of(data, separator, width, before)
    if len(ragged):
        row, width_found = before + int(ragged[0]), int(fields[ragged[0]])
        more = say(" ({count:,} rows are like that)", count=len(ragged)) if len(ragged) > 1 else ""
        raise InputError(
            "row {row:,} has {fields}, the header has {width}{more}",
            row=row,
            fields=counted(width_found, "field"),
            width=width,
            more=more,
        )
    return len(fields)


def _fields_of(data: bytes, separator: str, width: int, before: int) -> tuple[Ints | list[int], Ints | list[int]]:
    """Return how many fields each record has, and which records have more or fewer than the header."""
    if len(data) <= SMALL and b'"' not in data and b"\r" not in data:
        widths = _fields_per_line(data, separator)
        return widths, [number for number, found in enumerate(widths) if found != width]
    from tclose.table.sources import csv_records  # loads numpy, which takes longer than to read a small table

    fields = csv_records.fields_per_record(data, separator, before)
    return fields, csv_records.places_of_others(fields, width)


def _fields_per_line(data: bytes, separator: str) -> list[int]:
    """Return how many fields each line has, where every line is a record."""
    mark = separator.encode()
    return [line.count(mark) + 1 for line in data.removesuffix(b"\n").split(b"\n")]


CSV = Source("CSV", b"", lambda data, repeated: parse(data, repeated=repeated), declared="csv", spelled=True)


# CSV as people have it


SEPARATOR_LINE = re.compile(
    rb"^(?:\xef\xbb\xbf)?\"?sep=([,;\t|])\"?\r?\n", re.IGNORECASE
)  # which Excel writes and obeys


def read_delimited(data: bytes, said: SourceSettings, *, detect: bool) -> TableRead:
    """Return the table that these bytes hold; without `detect`, what the policy does not say is plain."""
    if said.encoding not in (None, UTF_8):
        return _read(to_utf_8(data, str(said.encoding)), said, said.encoding)
    wide = wide_encoding(data) if detect and said.encoding is None else None
    if wide is not None:
        return _read(to_utf_8(data, wide), said, wide)
    try:
        return _read(data, said, None)
    except NotUtf8 as error:
        narrow = narrow_encoding(data) if detect and said.encoding is None else None
        if narrow is None:
            raise InputError(
                "the table is not UTF-8 text: the first bad byte is in {where}; save it as UTF-8, or say which "
                "encoding it "
                'has in [source] of the policy, as in encoding = "windows-1252"',
                where=error.where,
            ) from None
    return _read(to_utf_8(data, narrow), said, narrow)


def _read(data: bytes, said: SourceSettings, encoding: str | None) -> TableRead:
    separator = said.separator
    if (line := SEPARATOR_LINE.match(data)) is not None:
        separator, data = separator or line[1].decode(), data[line.end() :]
    frame: pl.DataFrame = parse(data, separator=separator)
    used = separator or separator_of(data)
    return TableRead(frame, SourceSettings(encoding=encoding, separator=None if used == "," else used))
