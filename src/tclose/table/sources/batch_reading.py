"""Parquet files in batches of some of their columns, read by another process.

A damaged file can end the process that reads it (decision 051). Here, that process hands over what it reads, so nothing
is read twice, and no more than a few batches are in memory.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from tclose.errors import InputError
from tclose.table.sources.trial_process import BATCHES, LENGTH
from tclose.table.sources.trial_reading import DAMAGED, ReadingProcess


class BatchReader(ReadingProcess):
    """A process that reads Parquet files in batches, one file after the other."""

    def __init__(self) -> None:
        super().__init__("scan_parquet" + BATCHES)

    def open(self, path: Path) -> tuple[pl.DataFrame, int]:
        """Return the columns of a file, as a frame without rows, and how many rows it has."""
        self._send({"path": str(path.absolute())})
        rows = self._number()
        return self._frame(self._number()), rows

    def batches(self, places: Sequence[int], rows: int) -> Iterator[pl.DataFrame]:
        """Yield some columns of the file that was opened last."""
        self._send({"places": list(places), "rows": rows})
        while length := self._number():
            yield self._frame(length)

    def _send(self, asked: dict[str, object]) -> None:
        self.ask(json.dumps(asked).encode() + b"\n")

    def _number(self) -> int:
        return int.from_bytes(self.answer(LENGTH), "big")

    def _frame(self, length: int) -> pl.DataFrame:
        data = self.answer(length)
        try:
            return pl.read_ipc_stream(io.BytesIO(data))
        except pl.exceptions.PolarsError:  # of a type that polars cannot hand over
            raise InputError(DAMAGED) from None
