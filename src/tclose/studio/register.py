"""The register of releases: every publication of a project stays, in a folder with a number of its own.

`releases/NUMBER/` holds the files for the recipient, and `register.json`, which says what they are and to whom they
went. `private/` in it holds what the steward needs to make the same bytes again: the record with its seed, and the
policy. A folder appears under its number at once and whole, and no number is given twice: where the files of a release
were deleted, its line of the register stays.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Any

from tclose import steps
from tclose.errors import InputError
from tclose.policy.writing import as_toml
from tclose.studio.holding import any_held, held_new, remove_unheld
from tclose.studio.project import Project, write_whole

REGISTER, PRIVATE = "register.json", "private"
CONTEXT = ("recipient", "purpose")
HOLDS = "The finished files hold what their certificate says."
FAILS = "The finished files do not hold what their certificate says."
UNPUBLISHED = ".new-"  # how the folder is called that a publication fills
UNKNOWN = {
    "date": "",
    "recipient": "",
    "purpose": "",
    "key": None,
    "follows": None,
    "verified": "",
    "verification": None,
    "certificate": None,
    "sha256": None,
    "candidate": None,
    "command": None,
}
ROLES, CARRIED = ("quasi", "sensitive"), ("hierarchy", "matrix")  # what a policy may name by the path of a file
Release = dict[str, Any]


def releases(project: Project) -> list[Release]:
    """Return the releases whose files are there, the newest first."""
    return [release for release in lines(project) if not release.get("deleted")]


def lines(project: Project) -> list[Release]:
    """Return every line of the register, the newest first; the files of some may have been deleted."""
    return [_line(project, number) for number in sorted(_numbers(project), reverse=True)]


def _line(project: Project, number: int) -> Release:
    """Return what the register says about a release; the files are those that lie there, whoever has changed them."""
    place = folder_of(project, number)
    try:
        told = json.loads((place / REGISTER).read_text())
    except (OSError, ValueError):  # somebody has deleted or damaged it: the release is shown nevertheless
        told = {}
    files = [each.name for each in place.glob("*") if each.is_file() and each.name != REGISTER]
    kept = told.get("files", []) if told.get("deleted") else sorted(name for name in files if name[0] != ".")
    return {**UNKNOWN, **told, "files": kept, "number": number, "folder": str(place)}


def release_of(project: Project, number: int | None) -> Release:
    """Return one release."""
    for release in releases(project):
        if release["number"] == number:
            return release
    raise InputError("there is no such release")


def folder_of(project: Project, number: int) -> Path:
    """Return where the files of a release lie."""
    return project.folder / "releases" / str(number)


def now() -> str:
    """Return the time of a publication, as the register has it."""
    return datetime.now().astimezone().isoformat(timespec="seconds")


def unpublished(project: Project) -> AbstractContextManager[Path]:
    """Make a folder for files that are about to be published; what is not published in the end is removed."""
    return held_new(project.folder / "releases", UNPUBLISHED)


def is_publishing(project: Project) -> bool:
    """Say whether somebody is publishing in this project, here or in another studio."""
    return any_held(project.folder / "releases", UNPUBLISHED)


def remove_unpublished(project: Project) -> None:
    """Remove what publications have left that were cut off, and finish deletions that were."""
    remove_unheld(project.folder / "releases", UNPUBLISHED)
    for release in lines(project):
        if release.get("deleted"):
            _remove_files(Path(release["folder"]))


def put(project: Project, fresh: Path, described: Callable[[int, Path], Mapping[str, Any]]) -> int:
    """Give a complete folder the next number; `described` says what the register has, by the number and the place.

    Everything reaches the disk before the folder gets its name, so a name is never that of a part.
    """
    _flush_all(fresh)
    while True:
        number = max(_numbers(project), default=0) + 1
        place = folder_of(project, number)
        follows = next((release["number"] for release in releases(project)), None)
        told = {"number": number, "follows": follows, **described(number, place)}
        write_whole(fresh / REGISTER, json.dumps(told, indent=1))
        _flush(fresh)
        try:
            fresh.rename(place)
        except OSError:
            if not place.exists():
                raise
            continue  # another publication has taken the number meanwhile
        _flush(place.parent)
        return number


def remove(project: Project, number: int) -> None:
    """Delete the files of a release; the register goes on saying that there was one, and to whom it went."""
    release = release_of(project, number)
    place = Path(release.pop("folder"))
    write_whole(place / REGISTER, json.dumps({**release, "deleted": now()}, indent=1))
    _remove_files(place)


def digest_of(path: Path) -> str | None:
    """Return the SHA-256 of a file; None where there is none."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def signer_of(certificate: Path, public: str | None = None) -> dict[str, Any] | None:
    """Return which key has signed a certificate that was made here; `public` is the file of its public half."""
    try:
        signatures = json.loads(steps.signature_file(certificate).read_bytes())["signatures"]
    except OSError:
        return None
    return {"file": public, "fingerprint": signatures[0]["keyid"]}


def keep_policy(path: Path, settings: Mapping[str, Any], folder: Path) -> None:
    """Write a policy that was read in a folder elsewhere: hierarchies and matrices go with it, other files stay.

    What stays is the population of `[presence]` and keys of pseudonyms: the one is a table of raw data, the other a
    secret, and no copy of either is made.
    """

    def carried(value: Any) -> Any:
        if not isinstance(value, str) or (digest := digest_of(folder / value)) is None:
            return value
        beside = path.with_name(f"hierarchy-{digest[:12]}{Path(value).suffix}")
        write_whole(beside, (folder / value).read_bytes())
        return beside.name

    def stays(value: Any) -> Any:
        return str(folder / value) if isinstance(value, str) else value

    def told(specs: Any, names: Collection[str], written: Callable[[Any], Any]) -> Any:
        if not isinstance(specs, Mapping):
            return specs
        return {name: written(value) if name in names else value for name, value in specs.items()}

    kept = dict(settings)
    for role, names, written in (*((role, CARRIED, carried) for role in ROLES), ("pseudonym", ("key",), stays)):
        if isinstance(settings.get(role), Mapping):
            kept[role] = {column: told(spec, names, written) for column, spec in settings[role].items()}
    if "presence" in settings:
        kept["presence"] = told(settings["presence"], ("population",), stays)
    write_whole(path, as_toml(kept))


def _remove_files(place: Path) -> None:
    for path in place.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != REGISTER:
            path.unlink(missing_ok=True)


def _numbers(project: Project) -> Iterator[int]:
    for each in (project.folder / "releases").glob("*"):
        if each.name.isascii() and each.name.isdigit():
            yield int(each.name)


def _flush_all(folder: Path) -> None:
    """Let all files of a folder, and their names, reach the disk."""
    for path in folder.rglob("*"):
        _flush(path)
    _flush(folder)


def _flush(path: Path) -> None:
    if os.name == "nt":  # which flushes no folder, and no file that is open for reading
        return
    place = os.open(path, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)
