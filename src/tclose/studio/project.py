"""A project: one folder with a table's policy, the history of its settings, what was tried and what was published.

Everything that a steward has decided lies in the folder, written whole or not at all. So nothing is lost when a page is
reloaded, or when the studio is killed. Its folders are the user's own and closed to others, and a folder that is being
filled is held, so that another studio does not take it for what a kill left behind.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import stat
import threading
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from tclose.errors import InputError, PolicyError
from tclose.messages import from_json, to_json
from tclose.policy import Policy
from tclose.policy.toml import as_toml

FOLDERS = ("source", "history", "candidates", "releases", "results")
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
Settings = dict[str, Any]


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    data = content.encode() if isinstance(content, str) else content
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)  # where the disk is full, no part is left


def write_json(path: Path, content: Any) -> None:
    """Write a result with its messages."""
    write_whole(path, json.dumps(to_json(content)))


def read_json(path: Path) -> Any:
    """Read a result with its messages."""
    return from_json(json.loads(path.read_text()))


class Project:
    """One project, by its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.lock = folder, threading.RLock()

    @classmethod
    def create(cls, folder: Path, *, name: str, table: str) -> Project:
        """Make a new project for a table: a path, or the name of a file in `source`."""
        folder.mkdir(parents=True, mode=PRIVATE_FOLDER)
        project = cls(folder)
        for each in FOLDERS:
            (folder / each).mkdir(mode=PRIVATE_FOLDER)
        write_whole(folder / "project.json", json.dumps({"name": name, "table": table}))
        return project

    @property
    def key(self) -> str:
        """How the project is called in addresses."""
        return self.folder.name

    @property
    def has_table(self) -> bool:
        """Whether there is a table to publish; otherwise the project only verifies releases."""
        return bool(self.about["table"])

    @property
    def is_closed(self) -> bool:
        """Whether only the releases were kept."""
        return bool(self.about.get("closed"))

    @property
    def about(self) -> dict[str, Any]:
        """The name of the project, and its table."""
        try:
            about: dict[str, Any] = json.loads((self.folder / "project.json").read_text())
        except (OSError, ValueError):
            raise InputError("{name} is no project of the studio", name=self.folder.name) from None
        return about

    @property
    def table(self) -> Path:
        """The file of the table."""
        given = Path(self.about["table"])
        return given if given.is_absolute() else self.folder / "source" / given.name

    @property
    def table_state(self) -> list[int] | None:
        """Tells one content of the table's file from another; None where there is no file."""
        try:
            found = self.table.stat()
        except OSError:
            return None
        return [found.st_size, found.st_mtime_ns]

    @property
    def look(self) -> Any:
        """What the table holds, if it was read as the settings say and has not changed since; otherwise None."""
        found, state = self.result("look"), self.table_state
        if found is None or found["source"] != self.settings.get("source", {}):
            return None
        return found if state is None or found["table_state"] == state else None

    @property
    def settings(self) -> Settings:
        """The policy as it is now, shaped as its file is; it may still lack what has to be chosen."""
        return read_settings(self.folder / "policy.toml")

    @property
    def policy(self) -> Policy:
        """The policy, if nothing is left to choose."""
        return Policy.from_dict(self.settings, folder=self.folder)

    @property
    def left_to_do(self) -> list[str]:
        """What the policy still lacks, a sentence each."""
        try:
            Policy.from_dict(self.settings, folder=self.folder)
        except PolicyError as error:
            return [str(mistake) for mistake in error.mistakes]
        return []

    @property
    def fingerprint(self) -> str:
        """Tells one state of the settings and the table from another; what is said about a release changes none."""
        asked = {name: value for name, value in self.settings.items() if name != "context"}
        return hashlib.sha256(f"{self.table_state}{as_toml(asked)}".encode()).hexdigest()[:16]

    def change(self, settings: Settings) -> None:
        """Take new settings, and remember those before."""
        with self.lock:
            text, position = as_toml(settings), self.position
            if position and text == self._entry(position).read_text():
                return
            for later in self._entries(after=position):
                later.unlink()
            write_whole(self._entry(position + 1), text)
            self.go(position + 1)

    def undo(self) -> bool:
        """Go back by one change; say whether there was one."""
        return self._move(-1)

    def redo(self) -> bool:
        """Go forward again; say whether there was anything to redo."""
        return self._move(1)

    @property
    def can_undo(self) -> bool:
        """Whether there is a change to go back by."""
        return self.position > 1

    @property
    def can_redo(self) -> bool:
        """Whether a change was undone."""
        return self._entry(self.position + 1).exists()

    @property
    def position(self) -> int:
        """The number of the current settings in the history; 0 before the first."""
        try:
            return int((self.folder / "history" / "position").read_text())
        except (OSError, ValueError):
            return 0

    def result(self, name: str) -> Any:
        """Return a result that was kept; None where there is none."""
        try:
            return read_json(self.folder / "results" / f"{name}.json")
        except (OSError, ValueError):
            return None

    def keep(self, name: str, result: Any) -> None:
        """Keep a result."""
        write_json(self.folder / "results" / f"{name}.json", result)

    def forget(self, name: str) -> None:
        """Forget a result that no longer belongs to what is shown."""
        (self.folder / "results" / f"{name}.json").unlink(missing_ok=True)

    def candidates(self) -> list[dict[str, Any]]:
        """Return the releases that were tried and are complete, the newest first."""
        found = []
        for about in sorted((self.folder / "candidates").glob("*/result.json"), reverse=True):
            with suppress(FileNotFoundError):  # it is being deleted in another tab
                found.append({**read_json(about), "number": int(about.parent.name)})
        return found

    def new_candidate(self) -> Path:
        """Make the folder of the next candidate; the number of one that was deleted is never given again."""
        with self.lock:
            made = self.folder / "candidates"
            numbers = [int(each.name) for each in made.iterdir() if each.name.isdigit()]
            number = max([*numbers, self.result("last-candidate") or 0]) + 1
            self.keep("last-candidate", number)
            folder = made / f"{number:04d}"
            folder.mkdir(mode=PRIVATE_FOLDER)
            return folder

    def candidate(self, number: int) -> Path:
        """Return the folder of a candidate."""
        folder = self.folder / "candidates" / f"{number:04d}"
        if not (folder / "result.json").is_file():
            raise InputError("there is no candidate {number}", number=number)
        return folder

    def remove(self) -> None:
        """Delete the project with its copies of raw data and its releases.

        A kill leaves a project that shows what is left of its releases, and can be deleted again.
        """
        self.close()
        self._remove_all_but("project.json")
        shutil.rmtree(self.folder)

    def close(self) -> None:
        """Delete everything but the releases: the copies of raw data, the candidates and the settings."""
        write_whole(self.folder / "project.json", json.dumps({**self.about, "table": "", "closed": True}))
        self.complete_folders()

    def complete_folders(self) -> None:
        """Remove what a project that keeps its releases only does not have any more; make the folders that it needs."""
        if self.is_closed:
            self._remove_all_but("project.json", "releases")
        for name in FOLDERS:
            (self.folder / name).mkdir(mode=PRIVATE_FOLDER, exist_ok=True)

    def _remove_all_but(self, *names: str) -> None:
        for path in self.folder.iterdir():
            if path.name not in names:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    def go(self, position: int) -> None:
        """Make the settings at a place of the history the current ones."""
        write_whole(self.folder / "policy.toml", self._entry(position).read_text())
        write_whole(self.folder / "history" / "position", str(position))

    def settings_at(self, position: int) -> Settings:
        """Return the settings at a place of the history; none where there is no such place."""
        return read_settings(self._entry(position))

    def _move(self, by: int) -> bool:
        with self.lock:
            target = self.position + by
            if target < 1 or not self._entry(target).exists():
                return False
            self.go(target)
            return True

    def _entry(self, position: int) -> Path:
        return self.folder / "history" / f"{position:06d}.toml"

    def _entries(self, *, after: int) -> list[Path]:
        return [each for each in (self.folder / "history").glob("*.toml") if int(each.stem) > after]


def read_settings(path: Path) -> Settings:
    """Read settings as they stand in a policy file; none where there is no such file."""
    try:
        return tomllib.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise InputError("{file} of this project is no policy file: mend it or delete it", file=path.name) from None


def drafted(look: Mapping[str, Any]) -> Settings:
    """Return the first settings of a project: the roles that a look at the table proposes."""
    settings: Settings = {"identifiers": [], "k": 5, "missing": list(look["missing"]), "quasi": {}, "sensitive": {}}
    for column in look["columns"]:
        if column["role"] == "identifier":
            settings["identifiers"].append(column["name"])
        else:
            settings[column["role"]][column["name"]] = dict(column["settings"])
    if look["person"] is not None:
        settings["person"] = look["person"]
    if look["source"]:
        settings["source"] = dict(look["source"])
    return settings


# Files and folders that are closed to others; what another user left in their place is refused


OTHERS = 0o077  # what group and others may do
LARGEST = 4096  # bytes of a small file


def private_folder(folder: Path) -> Path:
    """Make a folder that only the user can open; one that is there must be the user's own, and is closed to others."""
    folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or not _own(found):
        raise InputError(
            "{folder} is no folder of this user: remove it, or set HOME to a folder of your own", folder=folder
        )
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


# Folders that are held while they are being filled


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
