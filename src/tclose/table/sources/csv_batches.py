"""A CSV file in blocks of whole records, each checked as strictly as a whole file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl

from tclose.table.sources.csv import FIRST, NEWLINE, Before, outside_quotes, parse, trimmed
from tclose.types import Ints


def csv_batches(path: Path, block: int, share: Callable[[float], None]) -> Iterator[pl.DataFrame]:
    """Yield the rows of a CSV file; `share` is told which share of the file is read."""
    size, read, header, before = max(path.stat().st_size, 1), 0, b"", FIRST
    for piece in _pieces(path, block):
        data = header + piece
        read += len(piece)
        if header and trimmed(data) == trimmed(header):  # blank lines at the end of the file
            continue
        frame = parse(data, before=before)
        if not header:
            data = trimmed(data)
            header = data[: int(_ends_of_records(data)[0]) + 1]
        lines = data.count(b"\n") - header.count(b"\n")
        before = Before(before.records + frame.height, before.lines + lines)
        share(read / size)
        yield frame


def _pieces(path: Path, block: int) -> Iterator[bytes]:
    """Yield the bytes of a file, cut behind records; the first piece has a header and a record, if the file has."""
    rest, least, amount = b"", 2, block
    with path.open("rb") as file:
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
