"""What a killed studio or an earlier version leaves behind, put in order when a project is opened: nothing is lost."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from tclose.errors import InputError
from tclose.studio.holding import held
from tclose.studio.project import PRIVATE_FOLDER, Project, read_settings, write_whole
from tclose.studio.register import (
    CONTEXT,
    FAILS,
    HOLDS,
    PRIVATE,
    digest_of,
    keep_policy,
    put,
    remove_unpublished,
    signer_of,
)

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
