"""Paths that a user names: what no file can be called, and what has no end."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from tclose.errors import InputError


def check_name(path: str | Path) -> None:
    """Refuse a path that no file can have."""
    if "\0" in str(path):
        raise InputError(f"no file can be called {path}: it holds a NUL character")


def without_password(text: str) -> str:
    """Return the name of a table as it may be shown: a URL without its password.

    >>> without_password("postgresql://ann:secret@db/clinic#visits")
    'postgresql://ann:…@db/clinic#visits'
    """
    hidden = re.sub(r"^(\w+:/+[^/@:]*):.*@", r"\1:…@", text)
    return re.sub(r"([?&]password=)[^&#]*", r"\1…", hidden)


def check_readable(path: str | Path) -> None:
    """Refuse a device that never ends, such as /dev/zero; pipes, terminals and /dev/null are read like files."""
    check_name(path)
    try:
        found = Path(path).stat()
        endless = stat.S_ISBLK(found.st_mode) or (stat.S_ISCHR(found.st_mode) and not _ends(path, found))
    except (OSError, ValueError):  # whoever reads it says why it cannot be read
        return
    if endless:
        raise InputError(f"{path} is a device, not a file")


def _ends(path: str | Path, found: os.stat_result) -> bool:
    if found.st_rdev == Path(os.devnull).stat().st_rdev:
        return True
    with Path(path).open("rb", buffering=0) as device:
        return device.isatty()
