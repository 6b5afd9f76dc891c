"""Where projects lie: a folder of the user's own, which projects are open, and files that a browser sends there.

A file that is sent gets a name that is never a path, and a copy that is complete and the user's own. Files of others
that are dropped to be verified lie in the project as long as the verification takes.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import threading
from contextlib import ExitStack
from pathlib import Path

from starlette.datastructures import UploadFile

from tclose.errors import InputError
from tclose.studio.project import PRIVATE_FILE, PRIVATE_FOLDER, Project, held, private_folder
from tclose.studio.publication import SigningKeys
from tclose.studio.register import recover

# Files that a browser sends


LONGEST_NAME = 120  # bytes of a name; a file system takes 255


def safe_name(given: str, otherwise: str) -> str:
    """Return the last part of a name as browsers send it, without what no file is called."""
    last = Path(given.replace("\\", "/").replace("\0", "")).name.lstrip(".")
    stem, suffix = os.path.splitext(last)  # noqa: PTH122 - of a text, and the suffix says how the file is read
    room = LONGEST_NAME - len(suffix.encode())
    if room < 1:
        return otherwise
    return stem.encode(errors="replace")[:room].decode(errors="ignore") + suffix if stem else otherwise


def keep_upload(upload: UploadFile, target: Path) -> None:
    """Copy what was sent; the file has its name only when it is complete."""
    beside = target.with_name(f".{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE), "wb") as file:
            shutil.copyfileobj(upload.file, file, 1 << 20)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


# Files that are dropped to be verified


DROPPED_FOLDER = Path("results") / "dropped"  # of a project


class Dropped:
    """The files of one verification, in a folder of their own that this process holds."""

    def __init__(self, project: Path) -> None:
        (project / DROPPED_FOLDER).mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        self.folder = project / DROPPED_FOLDER / secrets.token_hex(8)
        self.folder.mkdir(mode=PRIVATE_FOLDER)
        self._hold = ExitStack()
        self._hold.enter_context(held(self.folder))

    def remove(self) -> None:
        """Remove them; that they are gone already is no mistake."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._hold.close()


def remove_left(project: Path) -> None:
    """Remove what a killed studio left behind; what another studio is verifying stays."""
    try:
        folders = [
            Path(each.path) for each in os.scandir(project / DROPPED_FOLDER) if each.is_dir(follow_symlinks=False)
        ]
    except OSError:
        return
    for folder in folders:
        try:
            with held(folder) as free:
                if free:
                    shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # another studio has just removed it
            continue


# The folder of all projects


KEY = re.compile(r"[a-z0-9][a-z0-9-]{0,80}")
VERIFICATION = "verification"  # the key of a project without a table, for releases that come from others


def named_file(text: str) -> Path | None:
    """Return the file of this machine that a user names; None where there is none."""
    try:
        path = Path(text.strip()).expanduser()
        return path if text.strip() and path.is_file() else None
    except (OSError, ValueError, RuntimeError):  # a name too long, a zero byte, an unknown user after "~"
        return None


class Home:
    """The folder of all projects, and one that may lie elsewhere."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = Path.home() / ".tclose" / "studio" if folder is None else folder
        private_folder(self.folder)
        for each in self.folder.glob("*/project.json"):
            remove_left(each.parent)
        self._open: dict[str, Project] = {}
        self._lock = threading.Lock()

    @property
    def signing_keys(self) -> SigningKeys:
        """The steward's keys; no project is called like their folder."""
        return SigningKeys(self.folder / ".keys")

    def project(self, key: str) -> Project:
        """Return a project by its key; a key is never a path."""
        if not KEY.fullmatch(key):
            raise InputError("there is no such project")
        with self._lock:
            if key not in self._open:
                if not (self.folder / key / "project.json").is_file():
                    raise InputError("there is no such project")
                project = Project(self.folder / key)
                recover(project)
                self._open[key] = project
            return self._open[key]

    def at(self, folder: Path, *, table: Path | None) -> Project:
        """Open a project in a folder of its own, or make it for a table."""
        if folder.name == VERIFICATION:
            raise InputError("the name {verification} is taken: name another folder", verification=VERIFICATION)
        if not KEY.fullmatch(folder.name):
            raise InputError("the folder of a project is called by small letters, digits and hyphens")
        if (folder / "project.json").is_file():
            project = Project(folder)
            recover(project)
            remove_left(folder)
        elif table is None:
            raise InputError("{folder} is no project of the studio: name a table to begin one", folder=folder)
        elif folder.exists():  # deleting the project would delete what lies there
            raise InputError(
                "{folder} exists and is no project of the studio: name a folder that does not exist yet", folder=folder
            )
        else:
            project = Project.create(folder, name=table.name, table=str(table.resolve()))
        with self._lock:
            return self._open.setdefault(project.key, project)

    def verification(self) -> Project:
        """Return the place where releases of others are verified."""
        folder = self.folder / VERIFICATION
        with self._lock:
            if not (folder / "project.json").is_file():
                shutil.rmtree(folder, ignore_errors=True)  # of a studio that was killed while it made it
                Project.create(folder, name="", table="")
        return self.project(VERIFICATION)

    def new(self, name: str, table: str) -> Project:
        """Make a project for a table: a path, or the name of a file that is put into its source."""
        stem = re.sub(r"[^a-z0-9]+", "-", Path(name).stem.lower()).strip("-")[:40] or "table"
        project = Project.create(self.folder / f"{stem}-{secrets.token_hex(3)}", name=name, table=table)
        with self._lock:
            self._open[project.key] = project
        return project

    def recent(self) -> list[Project]:
        """Return all projects, that of the last change first."""
        folders = [each.parent for each in self.folder.glob("*/project.json")]
        found = [folder for folder in folders if KEY.fullmatch(folder.name) and folder.name != VERIFICATION]
        newest = sorted(found, key=lambda folder: folder.stat().st_mtime, reverse=True)
        inside = [self.project(folder.name) for folder in newest]
        return inside + [project for project in self._open.values() if project.folder.parent != self.folder]

    def close(self, project: Project) -> None:
        """Delete everything of a project but its releases."""
        with project.lock:
            project.close()

    def forget(self, project: Project) -> None:
        """Delete a project."""
        with self._lock:
            self._open.pop(project.key, None)
        project.remove()
