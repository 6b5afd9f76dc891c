"""Files on disk: a table that is read in batches of some columns, and temporary files.

A table on disk is a Parquet file, a folder of such files, or a CSV file. Temporary files hold frames that do not fit
into memory, and copies of files that might change. A temporary file has no name (on Windows it goes when it is closed),
so nothing is left behind, however the process ends, and nobody else can open it.
"""

from __future__ import annotations

import errno
import hashlib
import io
import tempfile
from collections import defaultdict
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Protocol

import polars as pl

from tclose.errors import InputError, NotInBatches
from tclose.messages import say
from tclose.policy.settings import check_name, check_readable
from tclose.policy.source import SourceSettings
from tclose.table.sources import is_folder
from tclose.table.sources.base import FIRST, LONGEST, ROWS
from tclose.table.sources.csv import CSV
from tclose.table.sources.csv_records import PLAIN, BlockFormat
from tclose.table.sources.databases import Location, check_scheme
from tclose.table.sources.door import Reader, a_reader, opened
from tclose.table.sources.folder import NO_PARQUET, check_alike, parts_of
from tclose.table.sources.formats import DAMAGED_TABLE, PARQUET, named_source
from tclose.types import Beat, Progress
from tclose.words import legible

# Temporary files


COPY_BLOCK = 1 << 22  # bytes that are copied at a time


class NoSpace(InputError):
    """A temporary file cannot be written: nothing is wrong with the table."""


class SpillFile:
    """A file of frames: each is written once, under a key, and those of a key are read together.

    It lies in a folder of the system for such files, or in the one that is given.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._file: IO[bytes] | None = None
        self._folder = folder
        self._places: dict[Hashable, list[tuple[int, int]]] = defaultdict(list)

    def __bool__(self) -> bool:
        return self._file is not None

    def append(self, key: Hashable, frame: pl.DataFrame) -> None:
        """Write a frame."""
        data = io.BytesIO()
        frame.write_ipc_stream(data)
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="tclose-", dir=self._folder)  # noqa: SIM115, closed at last
            start = self._file.seek(0, io.SEEK_END)
            length = self._file.write(data.getbuffer())
        except OSError as error:
            raise _refused(error, self._folder) from None
        self._places[key].append((start, length))

    def frames(self, key: Hashable) -> list[pl.DataFrame]:
        """Read the frames of a key."""
        return list(self.each_frame(key))

    def each_frame(self, key: Hashable) -> Iterator[pl.DataFrame]:
        """Read the frames of a key one after the other."""
        return (self._frame(*place) for place in self._places.get(key, ()))

    def close(self) -> None:
        """Give the space back."""
        if self._file is not None:
            with suppress(OSError):  # nobody needs what could not be written
                self._file.close()

    def _frame(self, start: int, length: int) -> pl.DataFrame:
        file: Any = self._file
        try:
            file.seek(start)
            return pl.read_ipc_stream(io.BytesIO(file.read(length)))
        except OSError as error:
            raise _refused(error, self._folder) from None


@contextmanager
def temporary_copy(source: Path, beat: Beat) -> Iterator[tuple[Path, str]]:
    """Hold a copy of a file that nobody else can open; with it comes its fingerprint (SHA-256)."""
    with ExitStack() as stack, _opened(source) as file:
        try:
            copy = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tclose-")), "copy")
            digest = _copied(file, copy, beat)
        except OSError as error:
            raise _refused(error) from None
        yield copy, digest


def _copied(file: IO[bytes], copy: Path, beat: Beat) -> str:
    digest = hashlib.sha256()
    with copy.open("xb") as target:
        while block := file.read(COPY_BLOCK):
            beat()
            digest.update(block)
            target.write(block)
    return digest.hexdigest()


def _opened(source: Path) -> IO[bytes]:
    check_readable(source)
    try:
        return source.open("rb")
    except FileNotFoundError:
        raise InputError("there is no file {source}", source=source) from None
    except OSError as error:
        raise InputError("{source} cannot be read: {why}", source=source, why=error.strerror) from None


def _refused(error: OSError, folder: Path | None = None) -> NoSpace:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    why = "no space is left" if full else error.strerror or type(error).__name__
    if folder is not None:
        return NoSpace(
            say("the parts of the table cannot be written beside the release ({why}): make room there", why=why)
        )
    known = tempfile.tempdir or "the folder for such files"
    return NoSpace(
        say(
            "a temporary file in {known} cannot be written ({why}): make room, or set TMPDIR to a folder with space",
            known=known,
            why=why,
        )
    )


# A table on disk, read in batches


BATCH_ROWS = 1 << 20
CELL_ROWS = 1 << 18  # of a batch of which all cells are handed over
CSV_BLOCK = 1 << 25  # bytes of a CSV file
READING = "reading"

# from the columns of a file, without rows, to those whose cells are counted, each list by itself, or handed over
Wanted = Callable[[pl.DataFrame], Sequence[Sequence[str]]]


@dataclass(frozen=True)
class TableFile:
    """A file of a table."""

    name: str
    size: int  # in bytes
    open: Callable[[], AbstractContextManager[Path]]  # gives a file that stays as it is while it is read
    state: Callable[[], tuple[int, ...]] = tuple  # what changes when somebody writes to the file, if that may happen


@dataclass(frozen=True, eq=False, repr=False)
class CellBatch:
    """Some rows of a file: for each list of wanted columns, their different cells, counted (`cell_groups`)."""

    file: str
    rows: int
    groups: Sequence[pl.DataFrame]


@dataclass(frozen=True, eq=False, repr=False)
class RowBatch:
    """Some rows of a file: the cells of the wanted columns, which have their places in the list as names."""

    file: str
    cells: pl.DataFrame


class CellGuard(Protocol):
    """What was put before some texts when a file was written, and is removed when it is read."""

    def unguarded(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return a frame as it was."""

    def missed(self, column: pl.Series) -> pl.Series:
        """Mark the cells that would not have been written like this."""

    def misses(self, frame: pl.DataFrame) -> int:
        """Count such cells and names."""

    def check(self, misses: int) -> None:
        """Refuse a file that has some."""


class KnownColumns:
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

    parts: Sequence[TableFile]
    folder: bool = False  # whose files are parts of one table
    batch_rows: int = BATCH_ROWS
    block: int = CSV_BLOCK  # of a CSV file
    written: BlockFormat | None = PLAIN  # how a CSV file is written; None: as the policy says, or as it looks
    said: SourceSettings | None = None  # by the policy
    guard: CellGuard | None = None  # of its cells and names

    @property
    def size(self) -> int:
        """The number of bytes of all files."""
        return sum(part.size for part in self.parts)

    def states(self) -> list[tuple[int, ...]]:
        """Return what changes when somebody writes to a file."""
        return [part.state() for part in self.parts]

    def count_rows(self) -> int:
        """Return how many rows the files have; of a CSV file, how many lines."""
        with a_reader() as reader:
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
            with a_reader() as reader, self.parts[0].open() as path:
                self._opened(reader, path)

    def batches(self, wanted: Wanted, progress: Progress) -> Generator[CellBatch]:
        """Yield the different cells of what is wanted of all files, batch by batch."""
        for name, groups in self._read(wanted, self.batch_rows, progress, counted=True):
            yield CellBatch(name, int(groups[0][ROWS].sum()), groups)

    def rows(self, wanted: Callable[[pl.DataFrame], Sequence[str]], progress: Progress) -> Generator[RowBatch]:
        """Yield the wanted columns of all files, batch by batch."""
        rows = min(self.batch_rows, CELL_ROWS)
        for name, (cells,) in self._read(lambda columns: [wanted(columns)], rows, progress, counted=False):
            yield RowBatch(name, cells)

    def _read(
        self, wanted: Wanted, batch_rows: int, progress: Progress, *, counted: bool
    ) -> Generator[tuple[str, list[pl.DataFrame]]]:
        done, known = 0, KnownColumns(wanted)
        with a_reader() as reader:
            for part in self.parts:
                missed = 0
                with self._named(part), part.open() as path:
                    if self.folder and source_of(path) != PARQUET.name:
                        raise InputError("{name} {no_parquet}", name=legible(part.name), no_parquet=say(NO_PARQUET))
                    columns, rows = self._opened(reader, path)
                    columns = self._unguarded(columns)
                    place_of = {column: place for place, column in enumerate(columns.columns)}
                    names = known.wanted_of(part.name, columns)
                    places, read = [[place_of[name] for name in some] for some in names], 0
                    guarded = self._looked_at(len(place_of), counted=counted)
                    asked = [*places, *guarded]
                    answer = reader.ask("batches", size=part.size, places=asked, rows=batch_rows, counted=counted)
                    for about in answer:
                        frames = [next(answer) for _ in asked]
                        read += int(frames[0][ROWS].sum()) if counted else frames[0].height
                        missed += self._missed(frames[len(places) :] or frames)
                        self._report(progress, done, part.size, about["share"])
                        yield part.name, [self._restored(frame) for frame in frames[: len(places)]]
                    if rows not in (None, read):
                        raise InputError(DAMAGED_TABLE)
                if self.guard is not None:
                    self.guard.check(missed)
                done += part.size

    def _looked_at(self, columns: int, *, counted: bool) -> list[list[int]]:
        """Return the places of columns whose cells are compared with the guard, besides those that are wanted."""
        return [[place] for place in range(columns)] if self.guard is not None and counted else []

    def _unguarded(self, columns: pl.DataFrame) -> pl.DataFrame:
        """Return the columns of a file under the names that they had; other names than the guard's are refused."""
        if self.guard is not None:
            self.guard.check(self.guard.misses(columns))
        return self._restored(columns)

    def _restored(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame if self.guard is None else self.guard.unguarded(frame)

    def _missed(self, frames: Sequence[pl.DataFrame]) -> int:
        """Count the cells that the guard would not have written like this."""
        if self.guard is None:
            return 0
        missed = 0
        for frame in frames:
            rows = frame[ROWS] if ROWS in frame.columns else pl.repeat(1, frame.height, eager=True)
            cells = (column for column in frame.iter_columns() if column.name not in (ROWS, FIRST))
            missed += sum(int(rows.filter(self.guard.missed(column)).sum()) for column in cells)
        return missed

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
    def _named(self, part: TableFile) -> Iterator[None]:
        """Let a refusal name the file of a folder."""
        try:
            yield
        except InputError as error:
            if not self.folder or type(error) is not InputError or error.sentence.startswith(legible(part.name)):
                raise
            raise InputError(
                "{name}: {sentence}", name=legible(part.name), sentence=error.sentence, detail=error.detail
            ) from None


def _lines(path: Path) -> int:
    lines = 0
    with path.open("rb") as file:
        while block := file.read(CSV_BLOCK):
            lines += block.count(b"\n")
    return lines


def table_on_disk(path: str | Path, said: SourceSettings | None = None) -> TableOnDisk:
    """Return the files of a table; what cannot be read in batches is refused.

    `said` is how the policy says that a CSV file is written.
    """
    check_name(path)
    check_scheme(path)
    if str(path) == "-":
        raise NotInBatches("standard input is not read in batches")
    if is_folder(path):
        files = parts_of(Path(path))
        return TableOnDisk([_part(file) for file in files], True)
    check_readable(path)
    if (location := Location.of(path)).scheme or location.part:
        raise NotInBatches("sheets and databases are not read in batches")
    file = Path(path)
    try:
        if file.exists() and not file.is_file():  # to look at what comes out of a pipe would take it away
            raise NotInBatches("{path} is no ordinary file, so it is not read in batches", path=path)
        if source_of(file) == PARQUET.name:
            return TableOnDisk([_part(file)])
        return TableOnDisk([_part(file)], written=None, said=said)
    except FileNotFoundError:
        raise InputError("there is no file {path}", path=path) from None
    except OSError as error:
        raise InputError("{path} cannot be read: {why}", path=path, why=error.strerror) from None


def _part(file: Path) -> TableFile:
    return TableFile(file.name, file.stat().st_size, partial(unchanged, file), partial(_state, file))


def is_parquet(path: Path) -> bool:
    """Tell whether a file is written in the format Parquet."""
    with path.open("rb") as file:
        return named_source(file.read(LONGEST)) == PARQUET


def source_of(path: Path) -> str:
    """Return the format of a file, Parquet or CSV; another one is refused."""
    with path.open("rb") as file:
        source = named_source(file.read(LONGEST))
    if source is None:
        raise NotInBatches("archives are not read in batches")
    if source not in (PARQUET, CSV):
        what = "Arrow files" if source.declared == "arrow" else f"{source.name}s".replace("liness", "lines")
        raise NotInBatches("{what} are not read in batches", what=what)
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
    return say("{name} was changed while it was read: try again when nobody writes to it", name=name)


def _state(path: Path) -> tuple[int, ...]:
    try:
        state = path.stat()
    except OSError as error:
        raise InputError("{path} cannot be read: {why}", path=path, why=error.strerror) from None
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
