"""Files and folders that are the user's own and closed to others; what another user left in their place is refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tclose.errors import InputError
from tclose.studio.project import PRIVATE_FOLDER

OTHERS = 0o077  # what group and others may do
LARGEST = 4096  # bytes of a small file


def private_folder(folder: Path) -> Path:
    """Make a folder that only the user can open; one that is there must be the user's own, and is closed to others."""
    folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or not _own(found):
        raise InputError(f"{folder} is no folder of this user: remove it, or set HOME to a folder of your own")
    if found.st_mode & OTHERS:
        folder.chmod(PRIVATE_FOLDER)
    return folder


def small_private_file(path: Path) -> bytes | None:
    """Return what a small file holds; None where it is missing, another user's, open to others, or no plain file."""
    try:
        # without O_NONBLOCK, a pipe that somebody put there would hold the process
        place = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    try:
        found = os.fstat(place)  # of the file that is open: a name could lead elsewhere a moment later
        closed = os.name != "posix" or not found.st_mode & OTHERS
        if not (stat.S_ISREG(found.st_mode) and _own(found) and closed and found.st_size <= LARGEST):
            return None
        return os.read(place, LARGEST)
    except OSError:
        return None
    finally:
        os.close(place)


def _own(found: os.stat_result) -> bool:
    return os.name != "posix" or found.st_uid == os.geteuid()
