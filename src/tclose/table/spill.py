"""Temporary files: frames that do not fit into memory, and copies of files that might change.

The file of frames has no name (on Windows it goes when it is closed), so nothing is left behind, however the process
ends, and nobody else can open it.
"""

from __future__ import annotations

import errno
import hashlib
import io
import tempfile
from collections import defaultdict
from collections.abc import Hashable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import polars as pl

from tclose.errors import InputError
from tclose.policy.paths import check_readable
from tclose.types import Beat

BLOCK = 1 << 22  # bytes that are copied at a time


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
        while block := file.read(BLOCK):
            beat()
            digest.update(block)
            target.write(block)
    return digest.hexdigest()


def _opened(source: Path) -> IO[bytes]:
    check_readable(source)
    try:
        return source.open("rb")
    except FileNotFoundError:
        raise InputError(f"there is no file {source}") from None
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror}") from None


def _refused(error: OSError, folder: Path | None = None) -> NoSpace:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    why = "no space is left" if full else error.strerror or type(error).__name__
    if folder is not None:
        return NoSpace(f"the parts of the table cannot be written beside the release ({why}): make room there")
    known = tempfile.tempdir or "the folder for such files"
    return NoSpace(
        f"a temporary file in {known} cannot be written ({why}): make room, or set TMPDIR to a folder with space"
    )
