"""Files that appear whole or not at all: written beside their place, flushed, judged, then renamed."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import polars as pl

from tclose.errors import InputError

FORMATS = {".csv": "csv", ".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow"}


def check_targets(targets: Sequence[Path], sources: Sequence[Path]) -> None:
    """Refuse early what could not be written later, or would overwrite what is read."""
    for target in targets:
        if not target.parent.is_dir():
            raise InputError(f"there is no folder {target.parent} to write {target.name} into")
        if target.is_dir():
            raise InputError(f"{target} is a folder: name a file in it")
        if not os.access(target.parent, os.W_OK):
            raise InputError(f"the folder {target.parent} is not writable")
        if any(_same(target, source) for source in sources):
            raise InputError(f"{target} is read and would be overwritten: name another file")
    if len({target.resolve() for target in targets}) < len(targets):
        raise InputError("two of the files to write have the same name")


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve() or (one.exists() and other.exists() and one.samefile(other))


def write_table(frame: pl.DataFrame, suffix: str, file: BinaryIO) -> None:
    """Write a published table; the bytes depend on the frame alone."""
    kind = FORMATS.get(suffix.lower())
    if kind == "csv":
        text = pl.col(pl.String)
        frame.with_columns(pl.when(text == "").then(None).otherwise(text).name.keep()).write_csv(file)
    elif kind == "parquet":
        frame.write_parquet(file)
    elif kind == "arrow":
        frame.write_ipc(file)
    else:
        raise InputError(f"a release is written as {', '.join(FORMATS)}, not as '{suffix}'")


def sha256(data: bytes | memoryview) -> str:
    """Return the fingerprint of a file's bytes."""
    return hashlib.sha256(data).hexdigest()


class Pending:
    """A file that is written but has not got its name yet."""

    def __init__(self, target: Path, *, private: bool = False) -> None:
        self.target, self.private = target, private
        self.path = target.parent / f".{target.name}.{secrets.token_hex(6)}.part"

    def write(self, fill: Callable[[BinaryIO], object]) -> None:
        """Let `fill` write the file, readable by nobody else, and flush it."""
        with os.fdopen(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            fill(file)
            file.flush()
            os.fsync(file.fileno())

    def publish(self) -> None:
        """Give the file its name, in one step."""
        if not self.private:
            self.path.chmod(0o666 & ~_umask())
        self.path.replace(self.target)
        _flush_folder(self.target.parent)

    def discard(self) -> None:
        """Remove the file if it never got its name."""
        self.path.unlink(missing_ok=True)


@contextmanager
def pending(targets: Sequence[tuple[Path, bool]]) -> Iterator[list[Pending]]:
    """Hold files (a private one stays readable by its owner only) that vanish unless they are published."""
    files = [Pending(path, private=private) for path, private in targets]
    try:
        yield files
    finally:
        for file in files:
            file.discard()


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
