"""The folder in which compiled kernels are kept, who can write to it, and what it costs where there is none.

The folder is named after all sources of this package: after any change, all code in it is new. This module does not
load numba, so that the state of an installation can be told without it.

Compiled kernels are pickles: loading one runs what its author wants. So only a private folder is used (decision 143). A
folder is private if it belongs to the user, nobody else can write to it, and nobody else can put another one in its
place. So every folder on the way to it, and every link, belongs to the user or to root, and no other user can write to
it, except one like /tmp, where nobody can rename what belongs to others. Then no later check is needed: between looking
and loading, only the user can change anything.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tclose.messages import say

# Folders that nobody else can put files into


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
        raise NotADirectoryError(say("{real} is no folder", real=real))
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
        return Objection(say("{path} is a link", path=path), say("remove {path}", path=path))
    return _objection(path, status)


def _objection(path: Path, status: os.stat_result) -> Objection | None:
    """Return why a folder or a file is not the user's alone."""
    if status.st_uid != os.geteuid():
        return Objection(say("{path} belongs to {name}", path=path, name=_name(status.st_uid)), "")
    return (
        Objection(say("others can write to {path}", path=path), say("chmod go-w {path}", path=path))
        if status.st_mode & OTHERS_WRITE
        else None
    )


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
            raise NotADirectoryError(say("{place} is no folder", place=place))
        if here.st_uid not in trusted:
            return place, left, Objection(say("{place} belongs to {name}", place=place, name=_name(here.st_uid)), "")
        if here.st_mode & OTHERS_WRITE and not here.st_mode & stat.S_ISVTX:
            cure = say("chmod go-w {place}", place=place) if here.st_uid == os.geteuid() else ""
            return place, left, Objection(say("others can write to {place}", place=place), cure)
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
            return (
                place,
                left,
                Objection(say("the link {place} belongs to {name}", place=place / name, name=_name(status.st_uid)), ""),
            )
        links += 1
        if links > LINKS:
            raise OSError(say("too many links on the way to {folder}", folder=folder))
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
        return say("user {number}", number=number)


# The folder of the compiled kernels


PACKAGE = Path(__file__).parent.parent
OWN = PACKAGE / "__pycache__"
PREFIXES = {False: "tclose-kernels-", True: "tclose-checked-kernels-"}  # without and with bounds checks
CHOSEN = "NUMBA_CACHE_DIR"


def kernel_folder_name(compiler: str, *, checked: bool = False) -> str:
    """Return the name of the folder for the machine code of these sources, by the version of the compiler."""
    return PREFIXES[checked] + _fingerprint(compiler)


def state_of_folder() -> tuple[Path | None, str]:
    """Return the folder in which the folders of kernels lie, if there is one, and who can write to it, or why not."""
    not_private: list[str] = []
    for folder, objection in _tried(_name_for_installed()):
        if folder is not None:
            who = "only you can write to it" if CHECKED else "who else can write to it is not checked here"
            return folder.parent, "; ".join([who, *(say("not used, because {why}", why=why) for why in not_private)])
        not_private += [] if objection is None else [objection.why]
    return None, "; ".join(
        say("not used, because {why}", why=why) for why in not_private
    ) or "no folder can be written to"


def _name_for_installed() -> str:
    """Return the name of the folder for the compiler that is installed, without loading it."""
    try:
        return kernel_folder_name(version("numba"))
    except PackageNotFoundError:
        return PREFIXES[False]


def writable_folder(name: str = "") -> Path | None:
    """Return the first of the possible folders, or a folder in it, that is private and can be written to, if any."""
    return next((folder for folder, _ in _tried(name) if folder is not None), None)


def code_folder(compiler: str, *, checked: bool) -> Path | None:
    """Return where the machine code of these sources is kept, or None if it cannot be; remove that of earlier ones."""
    name = kernel_folder_name(compiler, checked=checked)
    folder = writable_folder(name)
    if folder is not None and folder.parent == OWN.resolve():
        for other in OWN.glob(PREFIXES[checked] + "*"):
            if other.name != name:
                shutil.rmtree(other, ignore_errors=True)
    return folder


def compiled_each_time(seconds: float | None = None) -> str:
    """Say in one line that kernels cannot be kept, what that costs, and how to fix it."""
    chosen = os.environ.get(CHOSEN)
    how_long = "some seconds" if seconds is None else say("about {value:.0f} s", value=max(seconds, 1.0))
    where = say("in {chosen} ({chosen_2})", chosen=chosen, chosen_2=CHOSEN) if chosen else "on this machine"
    *_, (_, objection) = tried = [(None, None), *_tried(_name_for_installed())]
    if objection is None or any(folder is not None for folder, _ in tried):  # in that case, the disk is full
        return say(
            "compiled kernels cannot be kept {where}, so every run compiles them again ({how_long}): set "
            "{chosen} to a folder that can be written to",
            where=where,
            how_long=how_long,
            chosen=CHOSEN,
        )
    cure = say("set {chosen} to a folder of your own that nobody else can write to", chosen=CHOSEN)
    cure += say(", or mend this one: {cure}", cure=objection.cure) if objection.cure else ""
    return say(
        "compiled kernels are not kept {where}: {why}, so another user could put code there that tclose "
        "would run; every run compiles them again ({how_long}): {cure}",
        where=where,
        why=objection.why,
        how_long=how_long,
        cure=cure,
    )


def _tried(name: str) -> Iterator[tuple[Path | None, Objection | None]]:
    """Try the folders in their order; yield each that can be used, or why it is not private; None if not writable."""
    for place in _places():
        try:
            real, objection = make_private(place, mode=0o755 if place == OWN else PRIVATE)
            if objection is None and name:
                real, objection = make_private(real / name)
                objection = objection or objection_to_content(real)
            if objection is None:
                with tempfile.TemporaryFile(dir=real):
                    pass
        except OSError:
            yield None, None
        else:
            yield (real if objection is None else None), objection


def _places() -> list[Path]:
    """Return the folders to try, in this order."""
    chosen = os.environ.get(CHOSEN)
    return [Path(chosen)] if chosen else [OWN, *_of_the_user()]


def _of_the_user() -> list[Path]:
    try:
        return [Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "tclose"]
    except RuntimeError:  # nobody knows where this user's home is
        return []


def _fingerprint(compiler: str) -> str:
    """Return a name for all sources of this package and the version that compiles them."""
    digest = hashlib.sha256(compiler.encode())
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
