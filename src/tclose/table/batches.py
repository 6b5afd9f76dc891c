"""A table on disk, read in batches of some columns: a Parquet file, a folder of such files, or a CSV file."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from tclose.errors import InputError
from tclose.policy.paths import check_name, check_readable
from tclose.policy.source import SourceSettings
from tclose.table.sources import is_folder
from tclose.table.sources.base import ROWS
from tclose.table.sources.columnar import DAMAGED, PARQUET
from tclose.table.sources.csv import CSV
from tclose.table.sources.csv_batches import PLAIN, BlockFormat
from tclose.table.sources.door import Reader, opened
from tclose.table.sources.folder import NO_PARQUET, check_alike, parts_of
from tclose.table.sources.locations import Location, check_scheme
from tclose.table.sources.magic import LONGEST
from tclose.table.sources.reading import named_source
from tclose.types import Progress
from tclose.words import legible

BATCH_ROWS = 1 << 20
CELL_ROWS = 1 << 18  # of a batch of which all cells are handed over
BLOCK = 1 << 25  # bytes of a CSV file
READING = "reading"

# from the columns of a file, without rows, to those whose cells are counted, each list by itself, or handed over
Wanted = Callable[[pl.DataFrame], Sequence[Sequence[str]]]


@dataclass(frozen=True)
class Part:
    """A file of a table."""

    name: str
    size: int  # in bytes
    open: Callable[[], AbstractContextManager[Path]]  # gives a file that stays as it is while it is read
    state: Callable[[], tuple[int, ...]] = tuple  # what changes when somebody writes to the file, if that may happen


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a file: for each list of wanted columns, their different cells, counted (`cell_groups`)."""

    file: str
    rows: int
    groups: Sequence[pl.DataFrame]


@dataclass(frozen=True, eq=False)
class RowBatch:
    """Some rows of a file: the cells of the wanted columns, which have their places in the list as names."""

    file: str
    cells: pl.DataFrame


class Known:
    """The columns of the first file, and those that are wanted: other files must have the same."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted, self._names = wanted, list[Sequence[str]]()
        self._first: tuple[str, pl.DataFrame] | None = None

    def wanted_of(self, name: str, columns: pl.DataFrame) -> list[Sequence[str]]:
        """Return the columns that are counted of a file."""
        if self._first is None:
            self._first, self._names = (name, columns), list(self._wanted(columns))
        else:
            check_alike(name, columns, *self._first)
        return self._names


@dataclass(frozen=True)
class TableOnDisk:
    """The files that make up a table, and how much of them is read at a time."""

    parts: Sequence[Part]
    folder: bool = False  # whose files are parts of one table
    batch_rows: int = BATCH_ROWS
    block: int = BLOCK  # of a CSV file
    written: BlockFormat | None = PLAIN  # how a CSV file is written; None: as the policy says, or as it looks
    said: SourceSettings | None = None  # by the policy

    @property
    def size(self) -> int:
        """The number of bytes of all files."""
        return sum(part.size for part in self.parts)

    def states(self) -> list[tuple[int, ...]]:
        """Return what changes when somebody writes to a file."""
        return [part.state() for part in self.parts]

    def count_rows(self) -> int:
        """Return how many rows the files have; of a CSV file, how many lines."""
        with Reader() as reader:
            rows = 0
            for part in self.parts:
                with self._named(part), part.open() as path:
                    if source_of(path) == PARQUET.name:
                        rows += self._opened(reader, path)[1] or 0
                    else:
                        rows += _lines(path)
        return rows

    def check(self) -> None:
        """Refuse a CSV file that is written in another way than blocks allow."""
        if self.written is None:
            with Reader() as reader, self.parts[0].open() as path:
                self._opened(reader, path)

    def batches(self, wanted: Wanted, progress: Progress) -> Generator[Batch]:
        """Yield the different cells of what is wanted of all files, batch by batch."""
        for name, groups in self._read(wanted, self.batch_rows, progress, counted=True):
            yield Batch(name, int(groups[0][ROWS].sum()), groups)

    def rows(self, wanted: Callable[[pl.DataFrame], Sequence[str]], progress: Progress) -> Generator[RowBatch]:
        """Yield the wanted columns of all files, batch by batch."""
        rows = min(self.batch_rows, CELL_ROWS)
        for name, (cells,) in self._read(lambda columns: [wanted(columns)], rows, progress, counted=False):
            yield RowBatch(name, cells)

    def _read(
        self, wanted: Wanted, batch_rows: int, progress: Progress, *, counted: bool
    ) -> Generator[tuple[str, list[pl.DataFrame]]]:
        done, known = 0, Known(wanted)
        with Reader() as reader:
            for part in self.parts:
                with self._named(part), part.open() as path:
                    if self.folder and source_of(path) != PARQUET.name:
                        raise InputError(f"{legible(part.name)} {NO_PARQUET}")
                    columns, rows = self._opened(reader, path)
                    place_of = {column: place for place, column in enumerate(columns.columns)}
                    names = known.wanted_of(part.name, columns)
                    places, read = [[place_of[name] for name in some] for some in names], 0
                    answer = reader.ask("batches", size=part.size, places=places, rows=batch_rows, counted=counted)
                    for about in answer:
                        frames = [next(answer) for _ in places]
                        read += int(frames[0][ROWS].sum()) if counted else frames[0].height
                        self._report(progress, done, part.size, about["share"])
                        yield part.name, frames
                    if rows not in (None, read):
                        raise InputError(DAMAGED)
                done += part.size

    def _opened(self, reader: Reader, path: Path) -> tuple[pl.DataFrame, int | None]:
        """Return the columns of a file, without rows, and how many rows it has if it says so."""
        name = source_of(path)
        settings: dict[str, Any] = {}
        if name == CSV.name:
            own = None if self.written is None else asdict(self.written)
            said = None if self.said is None else self.said.to_dict()
            settings = {"block": self.block, "written": own, "source": said}
        with opened(path) as (file, size):
            about, columns = reader.ask("open", file, size=size, format=name, settings=settings)
        return columns, about["rows"]

    def _report(self, progress: Progress, done: int, size: int, share: float) -> None:
        progress(min(1.0, (done + share * size) / max(self.size, 1)), READING)

    @contextmanager
    def _named(self, part: Part) -> Iterator[None]:
        """Let a refusal name the file of a folder."""
        try:
            yield
        except InputError as error:
            if not self.folder or type(error) is not InputError or error.sentence.startswith(legible(part.name)):
                raise
            raise InputError(f"{legible(part.name)}: {error.sentence}", detail=error.detail) from None


def _lines(path: Path) -> int:
    lines = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            lines += block.count(b"\n")
    return lines


def table_on_disk(path: str | Path, said: SourceSettings | None = None) -> TableOnDisk:
    """Return the files of a table; what cannot be read in batches is refused.

    `said` is how the policy says that a CSV file is written.
    """
    check_name(path)
    check_scheme(path)
    if str(path) == "-":
        raise InputError("standard input cannot be read in batches: name a file, or use the engine memory")
    if is_folder(path):
        files = parts_of(Path(path))
        return TableOnDisk([_part(file) for file in files], True)
    check_readable(path)
    if (location := Location.of(path)).scheme or location.part:
        raise InputError("sheets and databases cannot be read in batches: use the engine memory")
    file = Path(path)
    try:
        if file.exists() and not file.is_file():  # to look at what comes out of a pipe would take it away
            raise InputError(f"{path} is no ordinary file, so it cannot be read in batches: use the engine memory")
        if source_of(file) == PARQUET.name:
            return TableOnDisk([_part(file)])
        return TableOnDisk([_part(file)], written=None, said=said)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def _part(file: Path) -> Part:
    return Part(file.name, file.stat().st_size, partial(unchanged, file), partial(_state, file))


def source_of(path: Path) -> str:
    """Return the format of a file, Parquet or CSV; another one is refused."""
    with path.open("rb") as file:
        source = named_source(file.read(LONGEST))
    if source is None:
        raise InputError("an archive cannot be read in batches: use the engine memory, or unpack it first")
    if source not in (PARQUET, CSV):
        what = "Arrow files" if source.declared == "arrow" else f"{source.name}s".replace("liness", "lines")
        raise InputError(f"{what} cannot be read in batches: use the engine memory, or save the table as Parquet")
    return source.name


@contextmanager
def unchanged(path: Path) -> Iterator[Path]:
    """Let a file be read, and refuse it in the end if it was changed meanwhile."""
    before = _state(path)
    yield path
    if _state(path) != before:
        raise InputError(changed(path.name))


def changed(name: str) -> str:
    """Say that a file was changed while it was read."""
    return f"{name} was changed while it was read: try again when nobody writes to it"


def _state(path: Path) -> tuple[int, ...]:
    try:
        state = path.stat()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
