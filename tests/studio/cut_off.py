"""What a kill leaves: the files of a project as they are before every single change that some work makes to them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link"}
WRITING = os.O_WRONLY | os.O_RDWR
_watching: Callable[[], None] | None = None


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    """Look at what Python is about to do; a hook stays for ever, so it mostly does nothing."""
    global _watching
    if (watching := _watching) is None:
        return
    if event in CHANGES or (event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING):
        _watching = None  # the copy opens files, too
        try:
            watching()
        finally:
            _watching = watching


sys.addaudithook(_hook)


def states(folder: Path, work: Callable[[], object], into: Path) -> list[Path]:
    """Do some work on a project, and return a copy of the project for every moment at which a kill can come.

    What a process has not handed to the system is lost by a kill, and is not in a copy either. Nobody holds a copy.
    """
    global _watching
    found: list[Path] = []

    def watching() -> None:
        found.append(Path(shutil.copytree(folder, into / f"{len(found):03d}" / folder.name)))

    _watching = watching
    try:
        work()
    finally:
        _watching = None
    if folder.exists():
        watching()
    return found
