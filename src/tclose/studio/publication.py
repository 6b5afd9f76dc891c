"""Publishing a candidate: its release is made again in the chosen form, verified, and only then put in place."""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from tclose import steps
from tclose.errors import InputError
from tclose.policy import Policy
from tclose.policy.writing import as_toml
from tclose.studio import findings
from tclose.studio.project import Project, read_settings, write_whole
from tclose.studio.recovery import held, put_published, unpublished
from tclose.types import Progress, stretch

RECORD, MADE, VERIFIED = "record.json", 0.85, 0.99
CONTEXT = ("recipient", "purpose")


def files_of(asked: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of the files that are written, by what they are."""
    names = asked["names"]
    files = {"release": names["release"], "certificate": names["certificate"]}
    files |= {"signature": steps.signature_file(names["certificate"]).name} if asked["key"] else {}
    return files | ({"report": names["report"]} if asked["report"] else {})


def publish(
    folder: Path, progress: Progress, *, number: int, asked: Mapping[str, Any], passphrase: str = ""
) -> dict[str, Any]:
    """Write a candidate's release, its certificate and a page, and verify them; the old ones stay until then."""
    project = Project(folder)
    place, fresh = project.candidate(number), unpublished(project)
    with held(fresh):  # another studio that opens the project leaves it alone
        _publish(project, place, fresh, progress, asked, passphrase)
    return {"candidate": number}


def _publish(
    project: Project, place: Path, fresh: Path, progress: Progress, asked: Mapping[str, Any], passphrase: str
) -> None:
    try:
        settings = _settings(project, place)
        making = _making(project.table, place, fresh, settings, asked)
        out, certificate = fresh / asked["names"]["release"], fresh / asked["names"]["certificate"]
        published = steps.anonymize(
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
        told: dict[str, Any] = {
            "candidate": int(place.name),
            "files": [path.name for path in published.files],
            "verified": findings.verification(verdict),
        }
        told["command"] = _command(project, place, settings, making, out.name, asked)
        told |= {"certificate": certificate.name, "sha256": steps.file_digest(certificate)}
        project.keep("published", told)
        put_published(project)
        _forget_others(project, str(told["command"]))
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _forget_others(project: Project, command: str) -> None:
    """Remove the records and policies of files that were published before."""
    for path in project.folder.glob("published-*"):
        if path.name not in command:
            path.unlink()


def check_table(table: Path, place: Path) -> None:
    """Refuse a table that is not the one of a candidate any more."""
    known = json.loads((place / RECORD).read_text())["table"]["sha256"]
    if (found := steps.file_digest(table)) is None:
        raise InputError(f"there is no file {table}")
    if known not in (None, found):
        raise InputError("the table has changed since this candidate was made: make a new one under Try")


def _demands(asked: Mapping[str, Any]) -> steps.Demands:
    """Ask for the signature of the key that signed, if its public half lies beside it."""
    public = Path(f"{asked['key']}.pub")
    return steps.demands(signers=[public] if asked["key"] and public.is_file() else [])


def _settings(project: Project, place: Path) -> dict[str, Any]:
    """Return the candidate's policy, with what the steward says about the release now."""
    settings = {name: value for name, value in read_settings(place / "policy.toml").items() if name != "context"}
    context = project.settings.get("context")
    return {**settings, "context": context} if context else settings


def _making(
    table: Path, place: Path, fresh: Path, settings: Mapping[str, Any], asked: Mapping[str, Any]
) -> dict[str, Any]:
    """Return how the release is made: repeated from its record, or, in another form, from the same seed."""
    recorded = asked["names"]["release"].endswith(".csv") and not asked["columns"]
    if recorded and "context" not in settings:
        return {"replay": place / RECORD}
    check_table(table, place)
    record = json.loads((place / RECORD).read_text())
    made = {"method": record["method"], "options": record.get("options") or {}}
    made["seed"] = steps.recorded_seed(place / RECORD)  # the studio chose it, so nobody can guess it
    return {**made, "engine": record.get("engine", "memory"), "record": fresh / ".record"}


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


def _command(
    project: Project,
    place: Path,
    settings: Mapping[str, Any],
    making: Mapping[str, Any],
    name: str,
    asked: Mapping[str, Any],
) -> str:
    """Return the command that writes the same bytes, with a record and a policy that no other work replaces.

    The candidate may be deleted. The policy lies beside the hierarchies that it may name.
    """
    made = Path(making["record"]) if "record" in making else place / RECORD
    record = _kept(project, "published-record", ".json", made.read_text())
    policy = _kept(project, "published-policy", ".toml", as_toml(dict(settings)))
    if "record" in making:
        made.unlink()
    words = ["tclose", "anonymize", str(project.table), "--policy", str(policy), "--replay", str(record)]
    return shlex.join([*words, "--out", name, *(["--format", "columns"] if asked["columns"] else [])])


def _kept(project: Project, stem: str, suffix: str, text: str) -> Path:
    """Write a file into the project under a name that tells its content."""
    path = project.folder / f"{stem}-{hashlib.sha256(text.encode()).hexdigest()[:12]}{suffix}"
    write_whole(path, text)
    return path
