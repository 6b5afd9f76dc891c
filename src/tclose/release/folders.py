"""A folder of files that appears complete or not at all: written under another name beside its place, then renamed."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from tclose.errors import InputError
from tclose.policy.paths import check_name
from tclose.release.files import Pending, file_mode, flush_folder, write_flushed

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
            f"parts are written as Parquet into a folder: end its name in .parquet, not in '{target.suffix}'"
        )
    if os.path.lexists(target):
        raise InputError(f"{target} exists already: a release in parts needs a new folder")
    if not target.parent.is_dir():
        raise InputError(f"there is no folder {target.parent} to write {target.name} into")
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"the folder {target.parent} is not writable")
