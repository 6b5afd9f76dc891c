"""Parquet files in batches, which another process reads; of which it counts the different cells, where that is asked.

A damaged file can end the process that reads it (decision 051). Here, that process hands over what it has read, so
nothing is read twice, and no more than a few batches are in memory.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from tclose.errors import InputError
from tclose.table.sources.trial_process import GROUPS, LENGTH
from tclose.table.sources.trial_reading import DAMAGED, ReadingProcess


class BatchReader(ReadingProcess):
    """A process that reads Parquet files in batches, one file after the other."""

    def __init__(self) -> None:
        super().__init__("scan_parquet" + GROUPS)

    def open(self, path: Path) -> tuple[pl.DataFrame, int]:
        """Return the columns of a file, as a frame without rows, and how many rows it has."""
        self._send({"path": str(path.absolute())})
        rows = self._number()
        return self._frame(self._number()), rows

    def groups(self, rows: int, places: Sequence[Sequence[int]], batch_rows: int) -> Iterator[list[pl.DataFrame]]:
        """Yield the groups of each batch of the file that was opened last, for each list of places of columns."""
        self._send({"places": [list(some) for some in places], "rows": batch_rows, "counted": True})
        for _ in range(0, rows, batch_rows):
            yield [self._frame(self._number()) for _ in places]

    def cells(self, rows: int, places: Sequence[int], batch_rows: int) -> Iterator[pl.DataFrame]:
        """Yield some columns of each batch of the file that was opened last."""
        self._send({"places": [list(places)], "rows": batch_rows, "counted": False})
        for _ in range(0, rows, batch_rows):
            yield self._frame(self._number())

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
