"""The one door for files from outside: an isolated process reads them, and sends their cells back.

Whatever a file does to a library (an abort, a panic, an endless loop, all of the memory), it does it there (decision
144). The process sees Python's own folders and the one file that is handed to it while open; it has no network. Here,
nothing of a file is looked at but its size and the first bytes, which tell what it is.
"""

from __future__ import annotations

import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Self

import polars as pl

from tclose.errors import InputError, MissingExtra, NotInBatches, PolicyError, TcloseError
from tclose.messages import from_json, say
from tclose.policy.settings import check_readable
from tclose.policy.source import SourceSettings
from tclose.table.sources.base import Labels, TableRead
from tclose.table.sources.databases import Location
from tclose.table.sources.isolation import NO_MEMORY, most_memory
from tclose.table.sources.reader import FRAME, LENGTH, TAKEN, TEXT, WHOLE_FRAME

PACKAGE = Path(__file__).parents[2]
PACKAGES: tuple[tuple[str, ...], ...] = ((), ("policy",), ("table",), ("table", "sources"))  # without their own code
START = """
import json, sys, types
packages, folders = json.loads(sys.argv[1])
sys.path += [folder for folder in folders if folder not in sys.path]
for name, folder in packages:  # without what `import tclose` loads besides: reading needs little of it
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [folder]
from tclose.table.sources.reader import main
main()
"""
KEPT = re.compile(r"POLARS_|RAYON_|LC_|LANG$|TZ$|LD_LIBRARY_PATH$|DYLD_|SYSTEMROOT$")  # of the environment

WORKBOOKS = frozenset({".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"})
LEAST_MEMORY, PER_BYTE = 512 << 20, 100  # bytes that reading may take: at least, and for each byte of the file
MEMORY = "TCLOSE_READER_MEMORY"  # in megabytes, for a file that honestly needs more
LEAST_SECONDS, SECONDS_PER_MEGABYTE = 120, 30  # of CPU
OF_DATABASES = 60  # a view is computed: its size says nothing

DAMAGED = "the table cannot be read: the file is damaged, or a column is of an unusual type"
NO_ROOM = "reading the table needs more memory than is available: it is too large for this machine, or damaged"
TOO_SLOW = "reading the table takes longer than a file of its size should: it is damaged, or a view that never ends"
NO_ALLOCATION = re.compile(rb"memory allocation of [0-9]+ bytes failed|MemoryError|out of memory")
OTHERS = "a table is read in a process of its own, for which tclose needs Linux or macOS: give it as a frame"


class Reader:
    """An isolated process, and the requests to it; what it refuses, and whatever kills it, is an `InputError`."""

    def __init__(self, *, readable: Sequence[Path] = (), writable: Sequence[Path] = (), seconds: int = 0) -> None:
        self._files = {"readable": list(map(str, readable)), "writable": list(map(str, writable))}
        self._seconds = seconds
        self._asked_size = 0  # of the file that is read
        self._answering = False  # whether the answer to a request has not been read to its end
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """Whether the process can take another request."""
        return self._process is not None and not self._answering and self._process.poll() is None

    def start(self) -> None:
        """Start the process, which loads its libraries before the first request comes."""
        if self._process is not None:
            return
        if not hasattr(socket, "recv_fds"):
            raise InputError(OTHERS)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115, closed in the end
        self._hatch = _nameless()
        own, other = socket.socketpair()
        try:
            self._process = subprocess.Popen(
                [sys.executable or "python", "-I", "-c", START, _what_is_imported()],
                stdin=other.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                cwd="/",
                env={
                    **{name: value for name, value in os.environ.items() if KEPT.match(name)},
                    "OPENBLAS_NUM_THREADS": "1",  # no thread exists before the limits hold
                },
            )
        except BaseException as error:
            for each in (own, self._errors, self._hatch):
                each.close()
            if not isinstance(error, OSError):
                raise
            raise InputError(
                "a table is read in a process of its own, which cannot be started here ({why}): give it as a frame",
                why=error.strerror or type(error).__name__,
            ) from None
        finally:
            other.close()
        self._socket, self._incoming = own, own.makefile("rb")
        self._send({**self._files, **self._limits(0)}, self._hatch)

    def close(self) -> None:
        """End the process."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for stream in (self._incoming, self._socket, self._errors, self._hatch):
            stream.close()
        self._process, self._answering = None, False

    def ask(self, do: str, file: BinaryIO | int | None = None, *, size: int = 0, **asked: Any) -> Iterator[Any]:
        """Send a request, with an open file of this size; yield the messages that answer it."""
        self.start()
        self._asked_size = size
        self._send({"do": do, **asked, **self._limits(size)}, file)
        self._answering = True
        try:
            while self._answering:
                message = self._received()
                if isinstance(message, dict) and "refused" in message:
                    self._answering = False
                    raise _refusal(message)
                if isinstance(message, dict) and message.get("done"):
                    self._answering = False
                else:
                    yield message
        finally:
            if self._answering:  # nobody listens to the rest
                self.close()

    def _limits(self, size: int) -> dict[str, int]:
        seconds = self._seconds or LEAST_SECONDS + SECONDS_PER_MEGABYTE * (size >> 20)
        return {"memory": _memory_for(size), "seconds": seconds}

    def _send(self, asked: dict[str, Any], file: BinaryIO | int | None) -> None:
        data = json.dumps(asked).encode()
        places = [] if file is None else [file if isinstance(file, int) else file.fileno()]
        with suppress(BrokenPipeError, ConnectionResetError):  # the process has died: what it answers says so
            socket.send_fds(self._socket, [len(data).to_bytes(LENGTH, "big")], places)
            self._socket.sendall(data)

    def _received(self) -> Any:
        kind, length = self._exactly(1), int.from_bytes(self._exactly(LENGTH), "big")
        try:
            if kind == TEXT:
                return json.loads(self._exactly(length))
            if kind == FRAME:
                return self._taken()
            if kind == WHOLE_FRAME:
                return pl.read_ipc_stream(io.BytesIO(self._exactly(length)))
        except (ValueError, OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
            pass  # of a type that polars cannot hand over
        self.close()
        raise InputError(DAMAGED)

    def _taken(self) -> pl.DataFrame:
        """Return the frame that lies in the hatch, which is free for the next one then."""
        self._hatch.seek(0)
        frame = pl.read_ipc_stream(self._hatch)  # copies: the process can change what lies there at any time
        with suppress(BrokenPipeError, ConnectionResetError):
            self._socket.sendall(TAKEN)
        return frame

    def _exactly(self, length: int) -> bytes:
        with suppress(ConnectionResetError):
            if len(data := self._incoming.read(length)) == length:
                return data
        raise InputError(self._why_it_died())

    def _why_it_died(self) -> str:
        assert self._process is not None
        status = self._process.wait()
        self._errors.seek(0)
        said = self._errors.read()
        self.close()
        if status == -signal.SIGXCPU:
            return TOO_SLOW
        if status == -signal.SIGKILL:  # as the system does when memory runs out
            return NO_ROOM
        if status == NO_MEMORY or NO_ALLOCATION.search(said):
            if _memory_for(self._asked_size) > most_memory():  # not the size of the file was the limit
                return NO_ROOM
            return say(
                "reading the table needs more memory than a file of its size should: it is damaged, or unusually "
                "compressed; if you trust it, set {variable} to the megabytes that reading may take "
                "({megabytes:,} now)",
                variable=MEMORY,
                megabytes=_memory_for(self._asked_size) >> 20,
            )
        return DAMAGED


def _memory_for(size: int) -> int:
    given = os.environ.get(MEMORY, "")
    return int(given) << 20 if given.isascii() and given.isdigit() else max(LEAST_MEMORY, PER_BYTE * size)


def _what_is_imported() -> str:
    """Return where the process finds tclose and its libraries: never in the current folder."""
    here = Path.cwd() if _has_folder() else None
    folders = [each for each in sys.path if Path(each).is_absolute() and (here is None or not _same(Path(each), here))]
    packages = [(".".join(("tclose", *parts)), str(PACKAGE.joinpath(*parts))) for parts in PACKAGES]
    return json.dumps([packages, folders])


def _has_folder() -> bool:
    try:
        return bool(os.getcwd())  # noqa: PTH109, which may be deleted
    except OSError:
        return False


def _same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _refusal(message: dict[str, Any]) -> TcloseError:
    """Return what the process says as an error; a process that read a hostile file may say anything."""
    try:
        says = from_json(message["says"])
    except RecursionError:
        says = DAMAGED
    says, detail = says if isinstance(says, str) else str(message["says"]), str(message.get("detail", ""))
    if message["refused"] == "MissingExtra":
        missing = MissingExtra("", "", "")
        missing.args = (says,)
        return missing
    kinds: dict[str, type[TcloseError]] = {"PolicyError": PolicyError, "NotInBatches": NotInBatches}
    return kinds.get(str(message["refused"]), InputError)(says, detail=detail)


# Which process reads

_idle: list[Reader] | None = None  # processes that wait for another file, where they are kept
_lock = threading.Lock()


@contextmanager
def a_reader() -> Iterator[Reader]:
    """Give a process that reads: a new one, or one that has waited for it."""
    with _lock:
        reader = _idle.pop() if _idle else Reader()
    try:
        yield reader
    finally:
        with _lock:
            keep = _idle is not None and reader.alive
            if keep and _idle is not None:
                _idle.append(reader)
        if not keep:
            reader.close()


@contextmanager
def kept_open() -> Iterator[None]:
    """Keep processes for the next file, as the studio does, which reads files of one project all the time.

    A file could change what such a process makes of the next one, so it is only for files of one owner.
    """
    global _idle
    with _lock:
        before, _idle = _idle, []
        begun = Reader()
    try:
        begun.start()
        _idle.append(begun)
        yield
    finally:
        with _lock:
            ended, _idle = _idle or [], before
        for reader in ended:
            reader.close()


# What is asked


def read_file(
    given: str | Path | bytes,
    said: SourceSettings | None,
    *,
    only: Collection[str] = (),
    missing: Collection[str] = (),
    part: str | None = None,
    detect: bool = False,
) -> TableRead:
    """Read a table of the steward from a file, from `-`, or from bytes."""
    with opened(given) as (file, size), a_reader() as reader:
        answer = reader.ask(
            "table",
            file,
            size=size,
            source=_spelled(said),
            only=list(only),
            missing=list(missing),
            part=part,
            detect=detect,
        )
        return _table_read(answer)


def parse_bytes(data: bytes, *, repeated: Collection[str] = (), only: Collection[str] = ()) -> pl.DataFrame:
    """Return the table that these bytes hold, as tclose itself writes tables; nothing is detected."""
    with a_reader() as reader:
        return parse_with(reader, data, repeated=repeated, only=only)


def parse_with(
    reader: Reader, data: bytes, *, repeated: Collection[str] = (), only: Collection[str] = ()
) -> pl.DataFrame:
    """Do the same with a process that reads several files."""
    with opened(data) as (file, size):
        answer = reader.ask("parse", file, size=size, repeated=list(repeated), only=list(only))
        return _put_together(list(answer))


def read_database_file(
    location: Location, said: SourceSettings | None, missing: Collection[str], *, detect: bool
) -> TableRead:
    """Read a table of a database that is a file."""
    path = location.path
    if path is None or not path.is_file():
        raise InputError("there is no file {path}", path=path)
    check_readable(path)
    whole = path.resolve()
    beside = [whole.with_name(whole.name + ending) for ending in ("-wal", "-journal", ".wal")]
    shared = [whole.with_name(whole.name + "-shm")]  # which readers of SQLite lock
    with Reader(readable=[whole, *beside], writable=shared, seconds=OF_DATABASES) as reader:
        answer = reader.ask(
            "database",
            size=whole.stat().st_size,
            scheme=location.scheme,
            path=str(whole),
            table=location.part,
            source=_spelled(said),
            missing=list(missing),
            detect=detect,
        )
        return _table_read(answer)


def sheet_names(path: Path) -> list[str]:
    """Return the sheets of a workbook; none where the file is none, or cannot be read."""
    if path.suffix.lower() not in WORKBOOKS:
        return []
    try:
        with opened(path) as (file, size), a_reader() as reader:
            (answer,) = reader.ask("sheets", file, size=size)
    except TcloseError:
        return []
    return [str(name) for name in answer["sheets"]]


@contextmanager
def opened(given: str | Path | bytes) -> Iterator[tuple[BinaryIO | int, int]]:
    """Open what is read, and tell its size; bytes become a file that has no name."""
    if isinstance(given, bytes):
        with _nameless() as file:
            file.write(given)
            file.seek(0)
            yield file, len(given)
    elif str(given) == "-":
        with _standard_input() as (place, size):
            yield place, size
    else:
        check_readable(given)
        try:
            file = Path(given).open("rb", buffering=0)  # noqa: SIM115
        except FileNotFoundError:
            raise InputError("there is no file {given}", given=given) from None
        except IsADirectoryError:
            raise InputError("{given} is a folder, not a table", given=given) from None
        except OSError as error:
            raise InputError("{given} cannot be read: {why}", given=given, why=error.strerror) from None
        with file:
            yield file, os.fstat(file.fileno()).st_size


def _nameless() -> BinaryIO:
    """Return a new file in memory where the system has such files, else one without a name on the disk."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("table"), "w+b")
    return tempfile.TemporaryFile()


@contextmanager
def _standard_input() -> Iterator[tuple[BinaryIO | int, int]]:
    if sys.stdin is None:
        raise InputError("standard input is closed, so there is no table to read")
    with opened(sys.stdin.buffer.read()) as found:  # its size decides what reading it may take
        yield found


def _spelled(said: SourceSettings | None) -> dict[str, Any] | None:
    return None if said is None else said.to_dict()


def _table_read(answer: Iterator[Any]) -> TableRead:
    about, *frames = list(answer)
    found, labels = about["found"], about["labels"]
    values = {name: {code: text for code, text in texts} for name, texts in labels["values"].items()}  # noqa: C416
    return TableRead(
        frame=_put_together(frames),
        found=SourceSettings.from_dict(found),
        remarks=tuple(about["remarks"]),
        questions=tuple(about["questions"]),
        labels=Labels(labels["columns"], values),
    )


def _put_together(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Put columns together that came in several messages."""
    if len(frames) == 1:
        return frames[0]
    if len({frame.height for frame in frames}) > 1:
        raise InputError(DAMAGED)
    return pl.DataFrame([column for frame in frames for column in frame.iter_columns()])
