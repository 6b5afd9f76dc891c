"""Folders that nobody else can put files into. Compiled kernels are pickles: loading one runs what its author wants.

A folder is private if it belongs to the user, nobody else can write to it, and nobody else can put another one in its
place. So every folder on the way to it, and every link, belongs to the user or to root, and no other user can write to
it, except one like /tmp, where nobody can rename what belongs to others. Then no later check is needed: between looking
and loading, only the user can change anything.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

CHECKED = hasattr(os, "geteuid")  # Windows has neither owners nor modes of this kind
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
PRIVATE = 0o700
LINKS = 40  # as many as Linux follows
ROOT = 0


@dataclass(frozen=True)
class Objection:
    """Why a folder is not private, as half a sentence, and the command that mends it; "" where there is none."""

    why: str
    cure: str


def make_private(folder: Path, *, mode: int = PRIVATE) -> tuple[Path, Objection | None]:
    """Make a folder, if others could not interfere, and return its path without links, and why it is not private.

    It is looked at before it is made, since another user could have made it already; and folders on the way that are
    not there are made as private as the last.
    """
    if not CHECKED:
        folder.mkdir(parents=True, exist_ok=True)
        return folder, None
    real, missing, objection = _followed(folder)
    while objection is None and missing:
        with suppress(FileExistsError):  # somebody else was first, and is looked at
            (real / missing[0]).mkdir(mode=mode)
        real, missing, objection = _followed(folder)
    status = real.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(f"{real} is no folder")
    return real, objection or _objection(real, status)


def objection_to_content(folder: Path) -> Objection | None:
    """Return why the files in a private folder could be another user's: it may have been open to others before."""
    if not CHECKED:
        return None
    return next((found for path in _within(folder) if (found := _objection_to_file(path)) is not None), None)


def _within(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        yield from (Path(place, name) for name in (*folders, *names))


def _objection_to_file(path: Path) -> Objection | None:
    try:
        status = path.lstat()
    except FileNotFoundError:  # another run has just renamed it
        return None
    if stat.S_ISLNK(status.st_mode):
        return Objection(f"{path} is a link", f"remove {path}")
    return _objection(path, status)


def _objection(path: Path, status: os.stat_result) -> Objection | None:
    """Return why a folder or a file is not the user's alone."""
    if status.st_uid != os.geteuid():
        return Objection(f"{path} belongs to {_name(status.st_uid)}", "")
    return Objection(f"others can write to {path}", f"chmod go-w {path}") if status.st_mode & OTHERS_WRITE else None


def _followed(folder: Path) -> tuple[Path, list[str], Objection | None]:
    """Walk to a folder as the system does, link by link.

    Return the last folder on the way that exists, the names behind it, and why somebody else could change the way.
    """
    trusted = {ROOT, os.geteuid()}
    left = [*reversed(Path.cwd().joinpath(folder).parts[1:])]
    place, links = Path("/"), 0
    while left:
        # `place` is a folder without links on its way, and nobody else can change what lies on it
        here = place.lstat()
        if not stat.S_ISDIR(here.st_mode):
            raise NotADirectoryError(f"{place} is no folder")
        if here.st_uid not in trusted:
            return place, left, Objection(f"{place} belongs to {_name(here.st_uid)}", "")
        if here.st_mode & OTHERS_WRITE and not here.st_mode & stat.S_ISVTX:
            cure = f"chmod go-w {place}" if here.st_uid == os.geteuid() else ""
            return place, left, Objection(f"others can write to {place}", cure)
        name = left.pop()
        if name == "..":
            place = place.parent
            continue
        try:
            status = (place / name).lstat()
        except FileNotFoundError:
            return place, [name, *reversed(left)], None
        if not stat.S_ISLNK(status.st_mode):
            place /= name
            continue
        if status.st_uid not in trusted:
            return place, left, Objection(f"the link {place / name} belongs to {_name(status.st_uid)}", "")
        links += 1
        if links > LINKS:
            raise OSError(f"too many links on the way to {folder}")
        target = (place / name).readlink()
        place = Path("/") if target.is_absolute() else place
        left += reversed(target.parts[1:] if target.is_absolute() else target.parts)
    return place, [], None


def _name(number: int) -> str:
    """Return the name of a user."""
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
