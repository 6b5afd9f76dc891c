"""Publishing a candidate: its release is made again in the chosen form, verified, and only then gets its number."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from tclose import steps
from tclose.errors import InputError
from tclose.policy import Policy
from tclose.studio import findings, register
from tclose.studio.project import PRIVATE_FOLDER, Project, read_settings, write_whole
from tclose.studio.signing_keys import ENDING
from tclose.types import Progress, stretch

RECORD, POLICY = "record.json", "policy.toml"
MADE, VERIFIED = 0.85, 0.99


def files_of(asked: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of the files that are written, by what they are."""
    names = asked["names"]
    files = {"release": names["release"], "certificate": names["certificate"]}
    files |= {"signature": steps.signature_file(names["certificate"]).name} if asked["key"] else {}
    return files | ({"report": names["report"]} if asked["report"] else {})


def publish(
    folder: Path, progress: Progress, *, number: int, asked: Mapping[str, Any], passphrase: str = ""
) -> dict[str, Any]:
    """Write a candidate's release, its certificate and a page, verify them, and add them to the register."""
    project = Project(folder)
    place = project.candidate(number)
    with register.unpublished(project) as fresh:  # another studio that opens the project leaves it alone
        released = _publish(project, place, fresh, progress, asked, passphrase)
    return {"candidate": number, "release": released}


def _publish(
    project: Project, place: Path, fresh: Path, progress: Progress, asked: Mapping[str, Any], passphrase: str
) -> int:
    (private := fresh / register.PRIVATE).mkdir(mode=PRIVATE_FOLDER)
    settings = _settings(project, place, asked)
    making = _making(project.table, place, private, settings, asked)
    out, certificate = fresh / asked["names"]["release"], fresh / asked["names"]["certificate"]
    steps.anonymize(
        project.table,
        Policy.from_dict(settings, folder=project.folder),
        out=out,
        certificate=certificate,
        report=fresh / asked["names"]["report"] if asked["report"] else None,
        public=True,
        profile=asked["profile"] or None,
        release_format="columns" if asked["columns"] else "text",
        endorsement=_endorsement(asked, passphrase),
        **making,
        progress=stretch(progress, 0.0, MADE),
    )
    judging = stretch(progress, MADE, VERIFIED)
    verdict = steps.verify(out, certificate, demands=_demands(asked), engine="auto", progress=judging)
    if not verdict.holds:
        raise InputError(f"nothing was published, because the finished files do not verify: {verdict.leading[0]}")
    if "replay" in making:
        write_whole(private / RECORD, (place / RECORD).read_bytes())
    register.keep_policy(private / POLICY, settings, project.folder)
    public = public_half(asked["key"])
    said = {
        **{name: settings.get("context", {}).get(name, "") for name in register.CONTEXT},
        "date": register.now(),
        "key": register.signer_of(certificate, public.name if public else None),
        "verified": register.HOLDS,
        "verification": findings.verification(verdict),
        "candidate": int(place.name),
        "certificate": certificate.name,
        "sha256": register.digest_of(certificate),
        "files": sorted(path.name for path in fresh.iterdir() if path.is_file()),
    }
    return register.put(project, fresh, lambda _, at: {**said, "command": _command(project, at, out.name, asked)})


def check_table(table: Path, place: Path) -> None:
    """Refuse a table that is not the one of a candidate any more."""
    known = json.loads((place / RECORD).read_text())["table"]["sha256"]
    if (found := steps.file_digest(table)) is None:
        raise InputError(f"there is no file {table}")
    if known not in (None, found):
        raise InputError("the table has changed since this candidate was made: make a new one under Try")


def _demands(asked: Mapping[str, Any]) -> steps.Demands:
    """Ask for the signature of the key that signed, if its public half lies beside it."""
    public = public_half(asked["key"])
    return steps.demands(signers=[public] if public else [])


def public_half(key: str) -> Path | None:
    """Return the file of a key's public half, if it lies beside the key."""
    public = Path(f"{key}{ENDING}")
    return public if key and public.is_file() else None


def _settings(project: Project, place: Path, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the candidate's policy, with what the steward says about the release now."""
    settings = {name: value for name, value in read_settings(place / "policy.toml").items() if name != "context"}
    context = asked["context"] if "context" in asked else project.settings.get("context")
    return {**settings, "context": context} if context else settings


def _making(
    table: Path, place: Path, private: Path, settings: Mapping[str, Any], asked: Mapping[str, Any]
) -> dict[str, Any]:
    """Return how the release is made: repeated from its record, or, in another form, from the same seed."""
    recorded = asked["names"]["release"].endswith(".csv") and not asked["columns"]
    if recorded and "context" not in settings:
        return {"replay": place / RECORD}
    check_table(table, place)
    record = json.loads((place / RECORD).read_text())
    made = {"method": record["method"], "options": record.get("options") or {}}
    made["seed"] = steps.recorded_seed(place / RECORD)  # the studio chose it, so nobody can guess it
    return {**made, "engine": record.get("engine", "memory"), "record": private / RECORD}


def _endorsement(asked: Mapping[str, Any], passphrase: str) -> steps.Endorsement:
    try:
        until = date.fromisoformat(asked["valid_until"]) if asked["valid_until"] else None
    except ValueError:
        raise InputError("the last valid day is written as in 2027-12-31") from None

    def given(key: Path) -> str:
        if not passphrase:
            raise InputError("this key has a passphrase: write it beside the key")
        return passphrase

    return steps.endorsement(key=asked["key"] or None, passphrase=given, valid_until=until)


def _command(project: Project, at: Path, name: str, asked: Mapping[str, Any]) -> str:
    """Return the command that writes the same bytes, from the record and the policy that lie with the release."""
    policy, record = (str(at / register.PRIVATE / kept) for kept in (POLICY, RECORD))
    words = ["tclose", "anonymize", str(project.table), "--policy", policy, "--replay", record, "--out", name]
    return shlex.join([*words, *(["--format", "columns"] if asked["columns"] else [])])
