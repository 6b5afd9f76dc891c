"""Frames that do not fit into memory, kept in one temporary file, by the bucket that they belong to.

The file has no name (on Windows it goes when it is closed), so nothing is left behind, however the process ends, and
nobody else can open it.
"""

from __future__ import annotations

import errno
import io
import tempfile
from collections import defaultdict
from collections.abc import Hashable
from contextlib import suppress
from typing import IO, Any

import polars as pl

from tclose.errors import InputError


class SpillFile:
    """A file of frames: each is written once, under a key, and those of a key are read together."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._places: dict[Hashable, list[tuple[int, int]]] = defaultdict(list)

    def __bool__(self) -> bool:
        return self._file is not None

    def append(self, key: Hashable, frame: pl.DataFrame) -> None:
        """Write a frame."""
        data = io.BytesIO()
        frame.write_ipc_stream(data)
        try:
            self._file = self._file or tempfile.TemporaryFile(prefix="tclose-")
            start = self._file.seek(0, io.SEEK_END)
            length = self._file.write(data.getbuffer())
        except OSError as error:
            raise _refused(error) from None
        self._places[key].append((start, length))

    def frames(self, key: Hashable) -> list[pl.DataFrame]:
        """Read the frames of a key."""
        return [self._frame(*place) for place in self._places.get(key, ())]

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
            raise _refused(error) from None


def _refused(error: OSError) -> InputError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    why = "no space is left" if full else error.strerror or type(error).__name__
    folder = tempfile.tempdir or "the folder for such files"
    return InputError(
        f"a temporary file in {folder} cannot be written ({why}): make room, or let TMPDIR name a folder with more space"
    )
