"""Files in batches of rows, as the isolated process reads them: all cells of some columns, or their different cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, Protocol

import polars as pl

from tclose.errors import InputError
from tclose.table.sources.base import FIRST, ROWS
from tclose.table.sources.columnar import DAMAGED
from tclose.table.sources.csv_batches import BlockFormat, csv_batches
from tclose.table.sources.reading import said_of

Shares = Iterator[tuple[float, list[pl.DataFrame]]]  # which share of the file is read, and what was asked for


class Batches(Protocol):
    """A file that is read in batches."""

    file: BinaryIO
    columns: pl.DataFrame  # without rows
    rows: int | None  # where the file says so

    def batches(self, places: Sequence[Sequence[int]], rows: int, *, counted: bool) -> Shares:
        """Yield each batch of the columns at these places; `rows` are those of a batch where the file allows it."""


class ParquetBatches:
    """A Parquet file; what was read is not read twice, and only the wanted columns are decoded."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        try:
            self._table = pl.scan_parquet(file, glob=False, hive_partitioning=False)
            self.columns = pl.DataFrame(schema=self._table.collect_schema())
            self.rows: int | None = self._table.select(pl.len()).collect().item()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            raise InputError(DAMAGED) from None

    def batches(self, places: Sequence[Sequence[int]], rows: int, *, counted: bool) -> Shares:
        """Yield each batch of rows."""
        whole, answer = self.rows or 0, self._groups if counted else self._cells
        for start in range(0, whole, rows):
            some = self._table.slice(start, rows)
            try:
                frames = [answer(some, each) for each in places]
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
                raise InputError(DAMAGED) from None
            yield min(1.0, (start + rows) / whole), frames

    @staticmethod
    def _cells(rows: pl.LazyFrame, places: Sequence[int]) -> pl.DataFrame:
        return rows.select(pl.nth(place).alias(str(key)) for key, place in enumerate(places)).collect()

    @staticmethod
    def _groups(rows: pl.LazyFrame, places: Sequence[int]) -> pl.DataFrame:
        cells = rows.select(pl.nth(place).alias(str(key)) for key, place in enumerate(places))
        groups: pl.DataFrame = _counted(cells, len(places)).collect(engine="streaming")
        return groups


class CsvBatches:
    """A CSV file in blocks of whole records."""

    def __init__(self, file: BinaryIO, *, block: int, written: dict[str, Any] | None, source: Any) -> None:
        self.file, self._block, self.rows = file, block, None
        self._written = BlockFormat.of(file, said_of(source)) if written is None else BlockFormat(**written)
        self.columns = next(self._blocks())[1].clear()

    def batches(self, places: Sequence[Sequence[int]], rows: int, *, counted: bool) -> Shares:
        """Yield each block."""
        for share, frame in self._blocks():
            wanted = [[frame.columns[place] for place in some] for some in places]
            yield share, [cell_groups(frame, names) if counted else _numbered(frame, names) for names in wanted]

    def _blocks(self) -> Iterator[tuple[float, pl.DataFrame]]:
        self.file.seek(0)
        shares: list[float] = []
        for frame in csv_batches(self.file, self._block, shares.append, self._written):
            yield shares[-1], frame


READERS: dict[str, Any] = {"Parquet": ParquetBatches, "CSV": CsvBatches}


def cell_groups(batch: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Count the different cells of some columns of a batch, which get their places as names."""
    groups: pl.DataFrame = _counted(_numbered(batch, names), len(names))
    return groups


def _numbered(batch: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame({str(place): batch[name] for place, name in enumerate(names)})


def _counted(cells: Any, width: int) -> Any:
    keys = [str(place) for place in range(width)]
    return cells.with_row_index(FIRST).group_by(keys).agg(pl.len().alias(ROWS), pl.col(FIRST).min())
