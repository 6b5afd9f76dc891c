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
import shlex
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from tclose import steps
from tclose.errors import InputError
from tclose.policy.toml import as_toml
from tclose.studio.project import (
    PRIVATE_FOLDER,
    Project,
    any_held,
    held,
    held_new,
    read_json,
    read_settings,
    remove_unheld,
    write_json,
    write_whole,
)

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
        told = read_json(place / REGISTER)
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
        write_json(fresh / REGISTER, told)
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
    write_json(place / REGISTER, {**release, "deleted": now()})
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
        signatures = json.loads(steps.envelope_path(certificate).read_bytes())["signatures"]
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


# Recovery: what a killed studio or an earlier version leaves behind is put in order when a project is opened


FORMER, FORMER_NEW, FORMER_OLD = "release", "release.new", "release.old"  # before every release had a number
FORMER_KEPT = "published-"  # how the record and the policy of that release were called


def recover(project: Project) -> None:
    """Remove what was never completed, and finish what was cut off."""
    project.complete_folders()
    remove_incomplete(project)
    _number_former(project)
    _settle(project)


def remove_incomplete(project: Project) -> None:
    """Remove the folders of candidates and publications that nobody is making any more."""
    for folder in [each for each in (project.folder / "candidates").iterdir() if each.is_dir()]:
        if not (folder / "result.json").is_file():
            with held(folder) as free:
                if free:
                    shutil.rmtree(folder, ignore_errors=True)
    remove_unpublished(project)


def _number_former(project: Project) -> None:
    """Give what an earlier version has published the next number, and finish first what that version was doing.

    It had one release, in `release`, and moved it to `release.old` for a moment when the next one was complete in
    `release.new`. One rename puts a release into the register, so a kill at any moment loses none.
    """
    former, new, old = (project.folder / name for name in (FORMER, FORMER_NEW, FORMER_OLD))
    if new.is_dir():
        with held(new) as free:
            if not free:
                return  # a studio of the earlier version is publishing
    told = project.result("published")
    if former.is_dir():  # what lies beside it was not completed, or its removal had begun
        complete = [former]
        for folder in (new, old):
            shutil.rmtree(folder, ignore_errors=True)
    else:
        complete = [folder for folder in (old, new) if folder == old or _is_about(told, folder)]
    for folder in complete:
        with suppress(FileNotFoundError):  # another studio has just done it
            _number(project, folder, told)
    if not former.is_dir():
        shutil.rmtree(new, ignore_errors=True)
        _forget_former(project)


def _number(project: Project, folder: Path, told: Any) -> None:
    """Complete the folder of a release in place, then give it its number."""
    with held(folder) as free:
        if not free:
            return
        if not any(not path.name.startswith(".") for path in folder.iterdir()):
            folder.rmdir()
            return
        kept, known = folder / PRIVATE, told if _is_about(told, folder) else None
        kept.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        for record in project.folder.glob("published-record-*.json"):
            write_whole(kept / record.name, record.read_bytes())
        for policy in project.folder.glob("published-policy-*.toml"):
            with suppress(InputError):  # one that was damaged stays where it is
                keep_policy(kept / policy.name, read_settings(policy), project.folder)
        for part in folder.rglob(".*"):
            part.unlink()  # of a file that a kill cut off
        said = _described(project, folder, known)
        put(project, folder, lambda _, place: {**said, "command": _moved(said.get("command"), place / PRIVATE)})


def _is_about(told: Any, folder: Path) -> bool:
    """Say whether what was found when a release was published is about this one."""
    return told is not None and digest_of(folder / told["certificate"]) == told["sha256"]


def _described(project: Project, folder: Path, told: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what the register can say about a release that was published before there was one."""
    certificates = [path for path in folder.glob("*certificate.json") if path.is_file()]
    certificate = folder / told["certificate"] if told else next(iter(certificates), None)
    said: dict[str, Any] = {}
    if certificate is not None:
        said |= {"certificate": certificate.name, "sha256": digest_of(certificate)}
        said["key"] = signer_of(certificate, _public_key_of(told))
        said["date"] = _date_of(certificate)
    if told:
        said |= {"candidate": told["candidate"], "verification": told.get("verified"), "command": told.get("command")}
        said["verified"] = HOLDS if told.get("verified", {}).get("holds") else FAILS if "verified" in told else ""
        context = _settings_of(project, told).get("context", {})
        said |= {name: context.get(name, "") for name in CONTEXT}
    return said


def _public_key_of(told: Mapping[str, Any] | None) -> str | None:
    """Return the file of the public key with which a signature was checked."""
    signers = ((told or {}).get("verified", {}).get("signatures") or {}).get("signers", [])
    return next((signer.get("file") for signer in signers if signer["signed"]), None)


def _settings_of(project: Project, told: Mapping[str, Any]) -> Mapping[str, Any]:
    words = shlex.split(told.get("command") or "")
    policies = (word for name, word in pairwise(words) if name == "--policy")
    try:
        return read_settings(project.folder / Path(next(policies, "none")).name)
    except InputError:
        return {}


def _date_of(certificate: Path) -> str:
    """Return when a release was made; where its certificate has a day only, when it was written."""
    try:
        created = datetime.fromisoformat(json.loads(certificate.read_bytes())["created"])
    except (ValueError, KeyError, TypeError):
        created = datetime.fromtimestamp(certificate.stat().st_mtime).astimezone()
    return created.astimezone().isoformat(timespec="seconds")


def _moved(command: str | None, kept: Path) -> str | None:
    """Let a command name the record and the policy where they lie now."""
    if command is None:
        return None
    return shlex.join(str(kept / Path(word).name) if FORMER_KEPT in word else word for word in shlex.split(command))


def _forget_former(project: Project) -> None:
    """Remove what an earlier version kept beside its release, as far as it was taken over."""
    for path in project.folder.glob(f"{FORMER_KEPT}*"):
        if any(project.folder.glob(f"releases/*/{PRIVATE}/{path.name}")):
            path.unlink(missing_ok=True)
    for name in ("published.json", "release.zip"):
        (project.folder / "results" / name).unlink(missing_ok=True)


def _settle(project: Project) -> None:
    """Let the history and the policy file agree: the file is written first, and may have been changed by hand."""
    position, settings = project.position, project.settings
    if position and settings != project.settings_at(position):
        near = [each for each in (position + 1, position - 1) if project.settings_at(each) == settings]
        if near or not settings:
            project.go(near[0] if settings else position)
        else:
            project.change(settings)
