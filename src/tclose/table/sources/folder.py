"""A folder of Parquet files that is one table, read whole; and files that are read in batches of rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import polars as pl

from tclose.errors import InputError
from tclose.messages import say
from tclose.table.sources.base import FIRST, ROWS
from tclose.table.sources.csv_records import BlockFormat, csv_batches
from tclose.table.sources.door import Reader, a_reader, parse_with
from tclose.table.sources.formats import DAMAGED_TABLE, PARQUET
from tclose.words import legible

SKIPPED = ("_", ".")
NO_PARQUET = "is no Parquet file"


def visible_names(folder: Path) -> list[str]:
    """Return what lies in a folder, sorted by name, without the names that are skipped."""
    try:
        return sorted(path.name for path in folder.iterdir() if not path.name.startswith(SKIPPED))
    except OSError as error:
        raise InputError("{folder} cannot be read: {why}", folder=folder, why=error.strerror) from None


def no_part(path: Path) -> str | None:
    """Say why something in a folder cannot be a part of a table; None for an ordinary file."""
    if path.is_symlink():
        return "is a link"
    if path.is_dir():
        return "is a folder"
    return None if path.is_file() else "is no ordinary file"


def parts_of(folder: Path) -> list[Path]:
    """Return the files that make up a table; a folder that holds anything else is refused."""
    paths = [folder / name for name in visible_names(folder)]
    if not paths:
        raise InputError("the folder {folder} has no files that are read, so there is no table in it", folder=folder)
    for path in paths:
        if (why := no_part(path)) is not None:
            raise _refused(path, why)
        with path.open("rb") as file:
            if not file.read(len(PARQUET.begins)).startswith(PARQUET.begins):
                raise _refused(path, NO_PARQUET)
    return paths


def _refused(path: Path, why: str) -> InputError:
    return InputError(
        "{file} in the folder {parent} {why}: a folder is read as one table of Parquet files; names that begin "
        "with _ or . are skipped",
        file=legible(path.name),
        parent=path.parent,
        why=why,
    )


def read_folder(folder: Path, read_bytes: Callable[[Path], bytes], only: Collection[str] = ()) -> pl.DataFrame:
    """Read a folder of Parquet files as one table; with `only`, other columns than these may be left out."""
    paths = parts_of(folder)
    with a_reader() as reader:
        frames = (part(path.name, read_bytes(path), reader, only) for path in paths)
        return joined([path.name for path in paths], frames)


def part(name: str, data: bytes, reader: Reader, only: Collection[str] = ()) -> pl.DataFrame:
    """Return the rows of one part; a refusal names the file."""
    if not data.startswith(PARQUET.begins):
        raise InputError("{name} {no_parquet}", name=legible(name), no_parquet=say(NO_PARQUET))
    try:
        return parse_with(reader, data, only=only)
    except InputError as error:
        raise InputError("{name}: {sentence}", name=legible(name), sentence=error.sentence) from None


def joined(names: Sequence[str], frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Put parts together; they must have the same columns, in the same order and of the same types."""
    parts: list[pl.DataFrame] = []
    for name, frame in zip(names, frames, strict=True):
        if parts:
            check_alike(name, frame, names[0], parts[0])
        parts.append(frame)
    return parts[0] if len(parts) == 1 else pl.concat(parts, rechunk=False)


def check_alike(name: str, frame: pl.DataFrame, first_name: str, first: pl.DataFrame) -> None:
    """Refuse a part whose columns are not those of the first part."""
    if frame.schema != first.schema:
        here, there = list(frame.schema.items()), list(first.schema.items())
        raise InputError(
            "{name} and {first_name} {difference}",
            name=legible(name),
            first_name=legible(first_name),
            difference=difference(here, there),
        )


def difference(one: Sequence[tuple[str, object]], other: Sequence[tuple[str, object]]) -> str:
    """Say why two files are not of one table, by the names and types of their columns."""
    if [name for name, _ in one] != [name for name, _ in other]:
        return "do not have the same columns in the same order, so they are not one table"
    name, here, there = next(
        (name, mine, its) for (name, mine), (_, its) in zip(one, other, strict=True) if mine != its
    )
    return say(
        "are not one table: column '{name}' is of type {here} in one and of type {there} in the other",
        name=legible(name),
        here=here,
        there=there,
    )


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
            raise InputError(DAMAGED_TABLE) from None

    def batches(self, places: Sequence[Sequence[int]], rows: int, *, counted: bool) -> Shares:
        """Yield each batch of rows."""
        whole, answer = self.rows or 0, self._groups if counted else self._cells
        for start in range(0, whole, rows):
            some = self._table.slice(start, rows)
            try:
                frames = [answer(some, each) for each in places]
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
                raise InputError(DAMAGED_TABLE) from None
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
        from tclose.table.sources.content import said_of  # which knows how dates and numbers are written

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
