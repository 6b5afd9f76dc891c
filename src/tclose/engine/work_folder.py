"""The folder beside a release in which its parts lie while it is made, so that a run that was killed can be continued.

It is readable by its owner only, and goes when the run ends, also after a signal. What is left by a run that was killed
are the parts that were split already. Each is named by a fingerprint of all that it was made from, its rows and what is
known of the whole table, so that it is taken again for the very same rows of the very same table only.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import IO, Any, BinaryIO

import polars as pl

from tclose.engine.in_parts.splitting import SplitPart
from tclose.errors import InputError
from tclose.release.files import Pending, write_flushed
from tclose.table.spill import NoSpace

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None

STATE = "run.json"
LONGEST = 200  # characters of a name that another name can contain
ENDINGS = ("classes", "rows")


class WorkFolder(Pending):
    """The parts of a release that is being made."""

    def __init__(self, target: Path) -> None:
        super().__init__(target, private=True)
        called = target.name if len(target.name) <= LONGEST else hashlib.sha256(target.name.encode()).hexdigest()
        self.path = target.parent / f".{called}.tclose-work"
        self._ours = False  # or else an earlier run's, which stays as it is
        self._lock: IO[bytes] | None = None

    def begin(self, asked: Mapping[str, Any], seed: int | None, *, resume: bool, draw: Callable[[], int]) -> int:
        """Make the folder, or take over the one that a run of the same request left; return the seed of the run."""
        exists = os.path.lexists(self.path)
        if exists and not resume:
            raise InputError(
                f"an earlier run left {self.path}: continue it with --resume, or remove this folder and start anew"
            )
        if resume and not exists:
            raise InputError(f"there is no run of {self.target} to continue: leave --resume out")
        fingerprint = hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()
        if exists:
            return self._taken_over(fingerprint, seed)
        self.path.mkdir(mode=0o700)
        self._ours = True
        chosen = draw() if seed is None else seed
        self._write(STATE, json.dumps({"asked": fingerprint, "seed": chosen}).encode())
        self._locked()
        return chosen

    def _locked(self) -> None:
        """Keep other runs away for as long as this one lasts."""
        self._lock = (self.path / STATE).open("rb")
        if fcntl is None:
            return
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"another run is still at work in {self.path}: wait for it, or end it") from None

    def _taken_over(self, fingerprint: str, seed: int | None) -> int:
        """Return the seed of the run that is continued; refuse one that was asked for something else."""
        try:
            state = json.loads((self.path / STATE).read_bytes())
            same, found = state["asked"] == fingerprint, int(state["seed"])
        except (OSError, ValueError, KeyError, TypeError):
            found = -1
        if found < 0 or not _private(self.path):
            raise InputError(f"{self.path} cannot be continued: remove this folder and start anew")
        self._locked()
        if not same or seed not in (None, found):
            raise InputError(
                f"{self.path} was left by a run with another table, policy, option or version: "
                "remove this folder and start anew"
            )
        self._ours = True
        for left in self.path.iterdir():
            if not left.name.endswith(ENDINGS) and left.name != STATE:
                _remove(left)
        return found

    def split(self, rows: pl.DataFrame, by: bytes, make: Callable[[], SplitPart]) -> SplitPart:
        """Return the part that was made from these rows before, or make it and keep it.

        `by` is a fingerprint of everything else that the part depends on.
        """
        name = f"part-{_fingerprint(rows, by)}"
        with suppress(OSError, pl.exceptions.PolarsError):
            return SplitPart(*(pl.read_ipc(self.path / f"{name}.{end}") for end in ENDINGS))
        part = make()
        for end, frame in zip(reversed(ENDINGS), (part.rows, part.classes), strict=True):  # the last one completes it
            self._write(f"{name}.{end}", frame)
        return part

    def _write(self, name: str, content: bytes | pl.DataFrame) -> None:
        """Write a file that appears whole or not at all."""

        def fill(file: BinaryIO) -> None:
            if isinstance(content, bytes):
                file.write(content)
            else:
                content.write_ipc(file)

        unfinished = self.path / f"{name}.part"
        try:
            write_flushed(unfinished, fill)
            unfinished.rename(self.path / name)
        except (OSError, pl.exceptions.PolarsError):
            raise NoSpace("the parts of the table cannot be written beside the release: make room there") from None

    def discard(self) -> None:
        """Remove the folder, unless it is that of an earlier run."""
        if self._ours:
            _remove(self.path)
        if self._lock is not None:
            self._lock.close()


def _private(folder: Path) -> bool:
    """Tell whether nobody else could have written to a folder; Windows does not say."""
    state = folder.lstat()
    return os.name == "nt" or (not state.st_mode & 0o077 and state.st_uid == os.getuid())


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _fingerprint(rows: pl.DataFrame, by: bytes) -> str:
    digest = hashlib.sha256(by)
    rows.write_ipc_stream(_Sink(digest.update))  # type: ignore[call-overload]
    return digest.hexdigest()


class _Sink:
    """A file that keeps nothing."""

    def __init__(self, take: Callable[[bytes], object]) -> None:
        self._take = take

    def write(self, data: bytes) -> int:
        """Take some bytes."""
        self._take(data)
        return len(data)
