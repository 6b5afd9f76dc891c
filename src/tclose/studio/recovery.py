"""What a killed studio leaves behind, put in order when a project is opened again: nothing decided is lost."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from tclose.studio.project import PRIVATE_FOLDER, Project

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # no lock on this system: folders are then taken as left behind only when a project is opened
    fcntl = None

NEW, OLD = "release.new", "release.old"


def recover(project: Project) -> None:
    """Remove candidates that were never completed, and finish a change of settings that was cut off."""
    remove_incomplete(project)
    if not _being_published(project):
        put_published(project, complete=not (project.folder / "release").exists())
    _settle(project)


def _being_published(project: Project) -> bool:
    """Say whether another studio is publishing."""
    new = project.folder / NEW
    if not new.exists():
        return False
    with held(new) as free:
        return not free


def unpublished(project: Project) -> Path:
    """Make an empty folder for files that are about to be published; those of before stay until then."""
    new = project.folder / NEW
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(mode=PRIVATE_FOLDER)
    return new


def put_published(project: Project, *, complete: bool = True) -> None:
    """Let complete files take the place of those that were published before; incomplete ones are removed."""
    new, made, old = (project.folder / name for name in (NEW, "release", OLD))
    if complete and new.exists():
        shutil.rmtree(old, ignore_errors=True)
        if made.exists():
            made.rename(old)
        new.rename(made)
    for folder in (new, old):
        shutil.rmtree(folder, ignore_errors=True)


def remove_incomplete(project: Project) -> None:
    """Remove the folders of candidates that nobody is making any more."""
    for folder in [each for each in (project.folder / "candidates").iterdir() if each.is_dir()]:
        if not (folder / "result.json").is_file():
            with held(folder) as free:
                if free:
                    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def held(folder: Path) -> Iterator[bool]:
    """Hold a folder; say whether nobody else does. A process that is killed holds nothing."""
    place = os.open(folder, os.O_RDONLY)
    try:
        yield _locked(place)
    finally:
        os.close(place)


def _locked(place: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _settle(project: Project) -> None:
    """Let the history and the policy file agree: the file is written first, and may have been changed by hand."""
    position, settings = project.position, project.settings
    if position and settings != project.settings_at(position):
        near = [each for each in (position + 1, position - 1) if project.settings_at(each) == settings]
        if near or not settings:
            project.go(near[0] if settings else position)
        else:
            project.change(settings)
