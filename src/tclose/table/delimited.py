"""CSV bytes into a frame of text, checked strictly: every record has as many fields as the header.

polars would fill a short record with nulls and rename a repeated column, so both are looked for first.
Every cell stays the text that it was; what is a number is decided later, per column.
"""

from __future__ import annotations

import csv

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import InputError

SEPARATORS = (",", ";", "\t")
CHUNK = 1 << 24
QUOTE, NEWLINE = ord('"'), ord("\n")


def parse(data: bytes) -> pl.DataFrame:
    """Return the table that these bytes hold, every cell as text."""
    data = data.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n")
    if not data.strip():
        raise InputError("the table is empty: it has neither a header nor rows")
    _check_text(data)
    separator = _sniff(data)
    header = _header(data, separator)
    records = _check_records(data, separator, len(header))
    if records == 1:
        raise InputError("the table has a header but no rows")
    try:
        frame = pl.read_csv(data, separator=separator, infer_schema=False, has_header=False, skip_rows=0)
    except pl.exceptions.PolarsError:  # its message would quote cells
        raise InputError("the table is not valid CSV: text follows a closing quote somewhere") from None
    frame = frame[1:].rename(dict(zip(frame.columns, header, strict=True)))
    if frame.height != records - 1:
        raise InputError("the table is not valid CSV: its quotes do not pair up")
    return frame.with_columns(pl.all().fill_null(""))


def _check_text(data: bytes) -> None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start)
        where = f"row {row}" if row else "the header"
        raise InputError(f"the table is not UTF-8 text: the first bad byte is in {where}; save it as UTF-8") from None
    if b"\0" in data:
        raise InputError("the table is not text: it holds NUL bytes; is it a spreadsheet or an archive?")


def _sniff(data: bytes) -> str:
    """Return the separator that splits the header into most fields."""
    line = _first_record(data)
    outside = "".join(line.split('"')[::2])
    return max(SEPARATORS, key=outside.count)


def _first_record(data: bytes) -> str:
    end = 0
    while True:
        end = data.find(b"\n", end)
        record = data if end < 0 else data[:end]
        if end < 0 or record.count(b'"') % 2 == 0:
            return record.decode("utf-8").rstrip("\r")
        end += 1


def _header(data: bytes, separator: str) -> list[str]:
    (names,) = csv.reader([_first_record(data)], delimiter=separator)
    for number, name in enumerate(names, start=1):
        if not name.strip():
            raise InputError(f"column {number} of {len(names)} has no name in the header")
        if names.count(name) > 1:
            raise InputError(f"column '{name}' stands in the header {names.count(name)} times: rename all but one")
    return names


def _check_records(data: bytes, separator: str, width: int) -> int:
    """Count the records; refuse the table when one has more or fewer fields than the header."""
    fields = _fields_per_record(data, separator)
    ragged = np.flatnonzero(fields != width)
    if len(ragged):
        row, found = int(ragged[0]), int(fields[ragged[0]])
        more = f" ({len(ragged):,} rows are like that)" if len(ragged) > 1 else ""
        raise InputError(f"row {row:,} has {found} fields, the header has {width}{more}")
    return len(fields)


def _fields_per_record(data: bytes, separator: str) -> NDArray[np.int64]:
    quoted, carried = False, 0
    found: list[NDArray[np.int64]] = []
    for start in range(0, len(data), CHUNK):
        chunk = np.frombuffer(data, dtype=np.uint8, count=min(CHUNK, len(data) - start), offset=start)
        outside = _outside_quotes(chunk, quoted)
        quoted = not outside[-1] if len(outside) else quoted
        ends = np.flatnonzero((chunk == NEWLINE) & outside)
        commas = np.flatnonzero((chunk == ord(separator)) & outside)
        before = np.searchsorted(commas, ends)
        found.append(np.diff(before, prepend=0) + 1)
        if len(ends):
            found[-1][0] += carried
            carried = 0
        carried += len(commas) - (int(before[-1]) if len(ends) else 0)
    if quoted:
        raise InputError("the table is not valid CSV: a quoted field is never closed")
    return np.append(np.concatenate(found), carried + 1)


def _outside_quotes(chunk: NDArray[np.uint8], quoted: bool) -> NDArray[np.bool_]:
    """Tell for each byte whether the quotes up to and including it pair up."""
    quotes = chunk == QUOTE
    if not quotes.any():
        return np.full(len(chunk), not quoted)
    return np.asarray(np.logical_xor.accumulate(quotes) == quoted)
