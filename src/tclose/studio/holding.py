"""Folders that are being filled are held, so that another studio does not take them for what a kill left behind."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from tclose.studio.project import PRIVATE_FOLDER

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # no lock on this system: folders are then taken as left behind only when a project is opened
    fcntl = None


@contextmanager
def held(folder: Path) -> Iterator[bool]:
    """Hold a folder; say whether nobody else does. A process that is killed holds nothing."""
    place = os.open(folder, os.O_RDONLY)
    try:
        yield _locked(place)
    finally:
        os.close(place)


@contextmanager
def held_new(parent: Path, prefix: str) -> Iterator[Path]:
    """Make an empty folder with a name of its own and hold it; what still has this name at the end is removed."""
    place = None
    while place is None:
        folder = parent / f"{prefix}{secrets.token_hex(4)}"
        folder.mkdir(mode=PRIVATE_FOLDER)
        place = _taken(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(place)


def _taken(folder: Path) -> int | None:
    """Hold a folder that was just made; nothing where another studio cleaned up before it was held."""
    try:
        place = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return None
    if _locked(place) and folder.is_dir():
        return place
    os.close(place)
    return None


def remove_unheld(parent: Path, prefix: str) -> None:
    """Remove folders that somebody has begun to fill and nobody fills any more."""
    for folder in parent.glob(f"{prefix}*"):
        try:
            with held(folder) as free:
                if free:
                    shutil.rmtree(folder, ignore_errors=True)
        except FileNotFoundError:  # it has just been completed, or removed by another studio
            continue


def any_held(parent: Path, prefix: str) -> bool:
    """Say whether somebody is filling a folder."""
    for folder in parent.glob(f"{prefix}*"):
        try:
            with held(folder) as free:
                if not free:
                    return True
        except FileNotFoundError:
            continue
    return False


def _locked(place: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
