"""A CSV file in blocks of whole records, each checked as strictly as a whole file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import polars as pl

from tclose.errors import InputError
from tclose.policy.source import UTF_8, SourceSettings
from tclose.table.sources import dates, notation
from tclose.table.sources.csv import FIRST, NEWLINE, Before, outside_quotes, parse, trimmed
from tclose.table.sources.delimited import read_delimited
from tclose.table.sources.encodings import to_utf_8
from tclose.table.sources.suspects import missing_cells
from tclose.types import Ints

LOOKED_AT = 1 << 16  # bytes that tell how a file is written
WIDE = ("utf-16", "gb18030", "big5", "shift-jis", "euc")  # encodings in which a byte of ASCII may mean something else
USE_MEMORY = "the engine disk reads CSV with decimal points and ISO dates only: use the engine memory"


@dataclass(frozen=True)
class BlockFormat:
    """How a CSV file is written that is read in blocks: its separator, if the header does not tell, its encoding."""

    separator: str | None = None
    encoding: str = UTF_8
    looked_at: bool = False  # numbers in another notation are looked for; in what tclose wrote there are none

    @classmethod
    def of(cls, file: BinaryIO, said: SourceSettings | None) -> BlockFormat:
        """Take what the policy says, or what the beginning of the file shows; refuse what blocks do not allow."""
        if said is not None:
            if said.decimal == "," or said.thousands or said.dates:
                raise InputError(USE_MEMORY)
            if (said.encoding or UTF_8).startswith(WIDE):
                raise InputError(f"the engine disk does not read {said.encoding} text: use the engine memory")
            known = said.decimal == "." and said.thousands is not None
            return cls(said.separator, said.encoding or UTF_8, looked_at=not known)
        beginning = next(_pieces(file, LOOKED_AT), b"")
        if not trimmed(beginning).strip():
            return PLAIN
        found = read_delimited(beginning, SourceSettings(), detect=True)
        if found.found.encoding is not None:
            raise InputError(
                f"the table is {found.found.encoding} text: say so in [source] of the policy, or use the engine memory"
            )
        if dates.find(found.frame, missing_cells(()), None).columns:
            raise InputError(USE_MEMORY)
        written = cls(looked_at=True)
        written.check(found.frame)
        return written

    def check(self, frame: pl.DataFrame) -> None:
        """Refuse a block whose numbers are not written as tclose writes them: none may become text unseen."""
        if not self.looked_at:
            return
        found = notation.find(frame, missing_cells(()), None)
        if found.columns or found.question:
            raise InputError(
                found.question or f"column '{found.columns[0]}' has other marks in its numbers: {USE_MEMORY}"
            )


PLAIN = BlockFormat()


def csv_batches(
    file: BinaryIO, block: int, share: Callable[[float], None], written: BlockFormat = PLAIN
) -> Iterator[pl.DataFrame]:
    """Yield the rows of a CSV file; `share` is told which share of the file is read."""
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
