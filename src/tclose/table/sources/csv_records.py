"""The records of a CSV: how many fields each has, and blocks of whole records of a large file.

Every byte is looked at, with numpy, for quotes that are wrong. Each block is checked as strictly as a whole file. Only
the isolated process reads blocks, so only there is loaded what reads numbers, dates and encodings. A small CSV is read
without this module, because loading numpy takes longer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import InputError, NotInBatches
from tclose.messages import say
from tclose.policy.source import UTF_8, SourceSettings
from tclose.table.sources.csv import FIRST, Before, parse, trimmed
from tclose.types import Ints

# Fields and quotes


CHUNK = 1 << 21
QUOTE, NEWLINE, RETURN = b'"\n\r'

Bytes = NDArray[np.uint8]


def places_of_others(fields: Ints, width: int) -> Ints:
    """Return which records have more or fewer fields."""
    return np.flatnonzero(fields != width)


def fields_per_record(data: bytes, separator: str, records: int) -> Ints:
    """Return how many fields each record has; messages count from the record after these."""
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
        where = say("row {row:,}", row=row) if row else "the header"
        raise InputError(
            "{where} has a quote in the middle of a field: put the whole field in quotes, and double those inside it",
            where=where,
        )


def _check_returns(whole: Bytes, separators: Ints, ends: Ints, records: int) -> None:
    """Refuse CR alone at the end of a field without quotes: polars would drop it."""
    returns = separators[(separators > 0) & (whole[separators - 1] == RETURN)]
    if len(returns):
        row = records + int(np.searchsorted(ends, returns[0]))
        raise InputError(
            "row {row:,} has CR alone at the end of a field: put the field in quotes, or remove the CR", row=row
        )


# Blocks of whole records


LOOKED_AT = 1 << 16  # bytes that tell how a file is written
WIDE = ("utf-16", "gb18030", "big5", "shift-jis", "euc")  # encodings in which a byte of ASCII may mean something else
POINTS = "only CSV with decimal points and ISO dates is read in batches"


@dataclass(frozen=True)
class BlockFormat:
    """How a CSV file is written that is read in blocks: its separator, if the header does not tell, its encoding."""

    separator: str | None = None
    encoding: str = UTF_8
    looked_at: bool = False  # numbers in another notation are looked for; in what tclose wrote there are none

    @classmethod
    def of(cls, file: BinaryIO, said: SourceSettings | None) -> BlockFormat:
        """Take what the policy says, or what the beginning of the file shows; refuse what blocks do not allow."""
        from tclose.table.sources import notation
        from tclose.table.sources.csv import read_delimited
        from tclose.table.sources.notation import missing_cells

        if said is not None:
            if said.decimal == "," or said.thousands or said.dates:
                raise NotInBatches(POINTS)
            if (said.encoding or UTF_8).startswith(WIDE):
                raise NotInBatches("{encoding} text is not read in batches", encoding=said.encoding)
            known = said.decimal == "." and said.thousands is not None
            return cls(said.separator, said.encoding or UTF_8, looked_at=not known)
        beginning = next(_pieces(file, LOOKED_AT), b"")
        if not trimmed(beginning).strip():
            return PLAIN
        found = read_delimited(beginning, SourceSettings(), detect=True)
        if found.found.encoding is not None:
            raise NotInBatches(
                "{encoding} text is read in batches only if [source] of the policy says that it is",
                encoding=found.found.encoding,
            )
        if notation.dates_in(found.frame, missing_cells(()), None).columns:
            raise NotInBatches(POINTS)
        written = cls(looked_at=True)
        written.check(found.frame)
        return written

    def check(self, frame: pl.DataFrame) -> None:
        """Refuse a block whose numbers are not written as tclose writes them: none may become text unseen."""
        if not self.looked_at:
            return
        from tclose.table.sources import notation
        from tclose.table.sources.notation import missing_cells

        found = notation.notation_in(frame, missing_cells(()), None)
        if found.columns or found.question:
            raise NotInBatches(
                found.question
                or say(
                    "column '{column}' has other marks in its numbers: {points}",
                    column=found.columns[0],
                    points=say(POINTS),
                )
            )


PLAIN = BlockFormat()


def csv_batches(
    file: BinaryIO, block: int, share: Callable[[float], None], written: BlockFormat = PLAIN
) -> Iterator[pl.DataFrame]:
    """Yield the rows of a CSV file; `share` is told which share of the file is read."""
    from tclose.table.sources.csv import to_utf_8

    size, read, header, before = max(os.fstat(file.fileno()).st_size, 1), 0, b"", FIRST
    for piece in _pieces(file, block):
        data = header + to_utf_8(piece, written.encoding)
        read += len(piece)
        if header and trimmed(data) == trimmed(header):  # blank lines at the end of the file
            continue
        frame = parse(data, before=before, separator=written.separator)
        written.check(frame)
        if not header:
            data = trimmed(data)
            header = data[: int(_ends_of_records(data)[0]) + 1]
        lines = data.count(b"\n") - header.count(b"\n")
        before = Before(before.records + frame.height, before.lines + lines)
        share(read / size)
        yield frame


def _pieces(file: BinaryIO, block: int) -> Iterator[bytes]:
    """Yield the bytes of a file, cut behind records; the first piece has a header and a record, if the file has."""
    rest, least, amount = b"", 2, block
    while data := file.read(amount):
        rest += data
        cut = _cut(rest, least)
        amount = block if cut else len(rest)  # in a very long field, read twice as much each time
        if cut:
            yield rest[:cut]
            rest, least = rest[cut:], 1
    if rest or least > 1:
        yield rest


def _cut(data: bytes, least: int) -> int:
    """Return where the last record ends that has no blank lines behind it; 0 if there are fewer records."""
    start = len(data) - len(data.lstrip(b"\xef\xbb\xbf\r\n")) if least > 1 else 0
    ends = _ends_of_records(data[start:]) + start
    if len(ends) < least:
        return 0
    cut = int(ends[-1]) + 1
    while cut and data.endswith((b"\n\n", b"\n\r\n"), 0, cut):
        cut -= 2 if data.endswith(b"\r\n", 0, cut) else 1
    blank = data[:cut] in (b"\n", b"\r\n")  # behind another record
    return cut if not blank and np.searchsorted(ends, cut) >= least else 0


def _ends_of_records(data: bytes) -> Ints:
    characters = np.frombuffer(data, dtype=np.uint8)
    return np.flatnonzero((characters == NEWLINE) & outside_quotes(characters, False))
