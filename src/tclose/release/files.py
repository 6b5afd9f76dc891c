"""Files and folders that appear whole or not at all: written beside their place, flushed, judged, then renamed."""

from __future__ import annotations

import ctypes
import hashlib
import os
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, BinaryIO

from tclose.errors import InputError
from tclose.messages import say
from tclose.policy.settings import check_name

# Files


ENDING = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows knows no SIGHUP


def check_targets(targets: Sequence[Path], sources: Sequence[Path] = (), *, force: bool = True) -> None:
    """Refuse early what could not be written later, or would overwrite what is read or, without `force`, any file."""
    for path in (*targets, *sources):
        check_name(path)
    for target in targets:
        if not target.parent.is_dir():
            raise InputError("there is no folder {parent} to write {name} into", parent=target.parent, name=target.name)
        if target.is_dir():
            raise InputError("{target} is a folder: name a file in it", target=target)
        if target.exists() and not target.is_file():
            raise InputError("{target} is no ordinary file: name another", target=target)
        if not os.access(target.parent, os.W_OK):
            raise InputError("the folder {parent} is not writable", parent=target.parent)
        if any(_same(target, source) for source in sources):
            raise InputError("{target} is read and would be overwritten: name another file", target=target)
        if any(source.is_dir() and _same(target.parent, source) for source in sources):
            raise InputError(
                "{target} would lie in a folder that is read as a table: name a file elsewhere", target=target
            )
    if any(_same(one, other) for one, other in combinations(targets, 2)):
        raise InputError("two of the files to write have the same name")
    if not force:
        check_new(targets)


def check_new(targets: Iterable[Path]) -> None:
    """Refuse to overwrite files; a broken link is a file here, too."""
    if existing := [str(target) for target in targets if os.path.lexists(target)]:
        several = len(existing) > 1
        listed = (
            say("{existing} and {existing_2} exist", existing=", ".join(existing[:-1]), existing_2=existing[-1])
            if several
            else say("{existing} exists", existing=existing[0])
        )
        other, them = ("other files", "them") if several else ("another file", "it")
        raise InputError(
            "{listed} already: name {other}, or overwrite {them} with --force", listed=listed, other=other, them=them
        )


def _same(one: Path, other: Path) -> bool:
    same_name = os.path.realpath(one) == os.path.realpath(other)  # `resolve` fails on a link that leads to itself
    return same_name or (one.exists() and other.exists() and one.samefile(other))


def sha256(data: bytes | memoryview) -> str:
    """Return the fingerprint of a file's bytes."""
    return hashlib.sha256(data).hexdigest()


def give_back_memory() -> None:
    """Hand freed memory back to the system before a finished file is read back whole, where the C library can."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


class Pending:
    """A file that is written but has not got its name yet."""

    def __init__(self, target: Path, *, private: bool = False, force: bool = True) -> None:
        self.target, self.private, self.force, self.named = target, private, force, False
        self.path = target.parent / f".tclose-{secrets.token_hex(8)}.part"

    def write(self, fill: Callable[[BinaryIO], object]) -> None:
        """Let `fill` write the file, readable by nobody else, and flush it."""
        write_flushed(self.path, fill)

    def write_bytes(self, content: bytes) -> None:
        """Write the file from bytes that are at hand."""
        self.write(partial(put, content))

    def publish(self) -> None:
        """Give the file its name, in one step; without `force`, only a name that no other file has."""
        if not self.private:
            self.path.chmod(file_mode(self.path.parent))
        if self.force:
            self.path.replace(self.target)
        else:
            _name_new(self.path, self.target)
        self.named = True
        flush_folder(self.target.parent)

    def withdraw(self) -> None:
        """Take the file back if it has got its name."""
        if self.named:
            self.target.unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove the file if it never got its name."""
        self.path.unlink(missing_ok=True)


@contextmanager
def pending(
    targets: Mapping[str, Path | Pending], *, private: Set[str] = frozenset(), force: bool = True
) -> Iterator[dict[str, Pending]]:
    """Hold files that vanish unless they are published; a private one stays readable by its owner only."""
    files = {
        name: target if isinstance(target, Pending) else Pending(target, private=name in private, force=force)
        for name, target in targets.items()
    }
    _unfinished.update(files.values())
    try:
        yield files
    finally:
        for file in files.values():
            file.discard()
            _unfinished.discard(file)


def put(content: bytes, file: BinaryIO) -> None:
    """Fill a file with bytes that are at hand."""
    file.write(content)


def write_whole(path: str | Path, content: bytes, *, private: bool = False, force: bool = True) -> None:
    """Write one file, whole or not at all; without `force`, an existing file is refused."""
    with pending({"file": Path(path)}, private={"file"} if private else frozenset(), force=force) as files:
        files["file"].write_bytes(content)
        put_in_place(files.values())


_unfinished: set[Pending] = set()


def discard_unfinished() -> None:
    """Remove every file that has not got its name: for a process that is about to end without further ado."""
    for file in tuple(_unfinished):
        file.discard()


def put_in_place(files: Iterable[Pending]) -> None:
    """Give all files their names, or none; a signal that comes meanwhile waits, since half would be worse.

    Without `force`, a file that somebody else has written meanwhile stays as it is, and none of these gets its name.
    """
    begun: list[Pending] = []
    with _signals_waiting():
        try:
            for file in files:
                # before it gets its name: the message names the file that was in the way
                begun.append(file)
                file.publish()
        except BaseException as error:
            for file in begun:
                file.withdraw()
            if isinstance(error, FileExistsError):
                raise _appeared(begun[-1].target) from None
            raise
        _published.set()  # before a waiting signal is delivered: what handles it may ask


_published = threading.Event()


def anything_published() -> bool:
    """Whether files of this process have got their names, so that it is too late to end it as if nothing had been."""
    return _published.is_set()


def _appeared(target: Path) -> InputError:
    return InputError(
        "{target} has appeared during the work and stays as it is: nothing else was written", target=target
    )


def _name_new(path: Path, target: Path) -> None:
    """Give a file a name; `FileExistsError` if another file has it already."""
    if os.name == "nt":
        path.rename(target)  # which replaces nothing there
        return
    try:
        # fails where the name is taken, in one step: a look beforehand could be overtaken
        os.link(path, target)
    except FileExistsError:
        raise
    except OSError:  # some file systems have no links: there, a file that appears right now would be lost
        if os.path.lexists(target):
            raise FileExistsError(target) from None
        path.replace(target)
    else:
        path.unlink()


@contextmanager
def _signals_waiting() -> Iterator[None]:
    """Let the signals that ask a process to end wait; the handlers that they are for hear of them afterwards.

    Python's own answer to Ctrl-C, an exception, would say that nothing was written: it comes too late, and is dropped.
    """
    if threading.current_thread() is not threading.main_thread():  # which alone hears of signals
        yield
        return
    came: dict[int, None] = {}
    before: dict[int, Any] = {}
    try:
        for number in (getattr(signal, name) for name in ENDING if hasattr(signal, name)):
            handler = signal.getsignal(number)
            if handler not in (None, signal.SIG_IGN):  # one that is ignored, as under nohup, stays so
                before[number] = handler
                signal.signal(number, lambda number, _: came.setdefault(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in came:
            if before[number] is not signal.default_int_handler:
                signal.raise_signal(number)


def write_flushed(path: Path, fill: Callable[[BinaryIO], object]) -> None:
    """Let `fill` write a new file, readable by nobody else, and let it reach the disk."""
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        fill(file)
        file.flush()
        os.fsync(file.fileno())


def file_mode(folder: Path, most: int = 0o666) -> int:
    """Return the mode of a new file or folder in a folder, as the user's umask limits it.

    `os.umask` is no way to ask for it, since it sets it: other threads of the process would write with the wrong one.
    """
    mask = _mask_of_the_process()
    return most & ~(_mask_in(folder) if mask is None else mask)


def _mask_of_the_process() -> int | None:
    """Return the umask, where the system shows it: Linux does."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    lines = (line.partition(":") for line in status.splitlines())
    return next((int(value, 8) for name, _, value in lines if name == "Umask"), None)


def _mask_in(folder: Path) -> int:
    """Return what the umask takes from a new folder: one is made for this, and removed."""
    probe = folder / f".tclose-{secrets.token_hex(8)}.part"
    probe.mkdir(mode=0o777)
    try:
        return 0o777 & ~probe.stat().st_mode
    finally:
        probe.rmdir()


def flush_folder(folder: Path) -> None:
    """Let the names in a folder reach the disk."""
    if os.name == "nt":  # which has no such thing
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# Folders of files


ENDINGS = ("", ".parquet")  # of the name of a folder of Parquet files


class PendingFolder(Pending):
    """A folder whose files are written, but which has not got its name yet."""

    def __init__(self, target: Path) -> None:
        super().__init__(target, force=False)
        self.names: list[str] = []

    def write_file(self, name: str, fill: Callable[[BinaryIO], object]) -> Path:
        """Let `fill` write one file of the folder, readable by nobody else yet, and flush it; return where it lies."""
        if not self.names:
            self.path.mkdir(mode=0o700)
        self.names.append(name)
        write_flushed(self.path / name, fill)
        return self.path / name

    def publish(self) -> None:
        """Give the folder its name, in one step; `FileExistsError` if anything else has it."""
        mode = file_mode(self.target.parent, 0o777)
        for name in self.names:
            (self.path / name).chmod(mode & 0o666)
        self.path.chmod(mode)
        flush_folder(self.path)
        if os.path.lexists(self.target):
            raise FileExistsError(self.target)
        self.path.rename(self.target)
        self.named = True
        flush_folder(self.target.parent)

    def withdraw(self) -> None:
        """Take the folder back if it has got its name."""
        if self.named:
            self._remove(self.target)

    def discard(self) -> None:
        """Remove the folder if it never got its name."""
        if not self.named:
            self._remove(self.path)

    def _remove(self, folder: Path) -> None:
        """Remove the files that were written here, and the folder if nothing else lies in it."""
        for name in self.names:
            (folder / name).unlink(missing_ok=True)
        with suppress(OSError):
            folder.rmdir()


def part_names(parts: int) -> list[str]:
    """Return the names of so many parts, which stand in their order when sorted.

    >>> part_names(2)
    ['part-00000.parquet', 'part-00001.parquet']
    """
    width = max(5, len(str(parts - 1)))
    return [f"part-{number:0{width}}.parquet" for number in range(parts)]


def check_folder(target: Path) -> None:
    """Refuse early a folder that could not be written; one that exists is never overwritten."""
    check_name(target)
    if target.suffix.lower() not in ENDINGS:
        raise InputError(
            "parts are written as Parquet into a folder: end its name in .parquet, not in '{suffix}'",
            suffix=target.suffix,
        )
    if os.path.lexists(target):
        raise InputError("{target} exists already: a release in parts needs a new folder", target=target)
    if not target.parent.is_dir():
        raise InputError("there is no folder {parent} to write {name} into", parent=target.parent, name=target.name)
    if not os.access(target.parent, os.W_OK):
        raise InputError("the folder {parent} is not writable", parent=target.parent)
