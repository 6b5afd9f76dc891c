"""Publishing a candidate: its release is made again in the chosen form, verified, and only then put in place."""

from __future__ import annotations

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
from tclose.studio.recovery import put_published, unpublished
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
    try:
        settings = _settings(project, place)
        making = _making(place, fresh, settings, asked)
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
        told = {
            "candidate": number,
            "files": [path.name for path in published.files],
            "verified": findings.verification(verdict),
        }
        told["command"] = _command(project, place, settings, making, out.name, asked)
        put_published(project)
        project.keep("published", told)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return {"candidate": number}


def _demands(asked: Mapping[str, Any]) -> steps.Demands:
    """Ask for the signature of the key that signed, if its public half lies beside it."""
    public = Path(f"{asked['key']}.pub")
    return steps.demands(signers=[public] if asked["key"] and public.is_file() else [])


def _settings(project: Project, place: Path) -> dict[str, Any]:
    """Return the candidate's policy, with what the steward says about the release now."""
    settings = {name: value for name, value in read_settings(place / "policy.toml").items() if name != "context"}
    context = project.settings.get("context")
    return {**settings, "context": context} if context else settings


def _making(place: Path, fresh: Path, settings: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return how the release is made: repeated from its record, or, in another form, from the same seed."""
    recorded = asked["names"]["release"].endswith(".csv") and not asked["columns"]
    if recorded and "context" not in settings:
        return {"replay": place / RECORD}
    record = json.loads((place / RECORD).read_text())
    made = {"method": record["method"], "options": record.get("options") or {}, "seed": record["seed"]}
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
    """Return the command that writes the same bytes, with the record and the policy that it needs."""
    record, policy = place / RECORD, place / "policy.toml"
    if "record" in making:
        record, policy = place / "published-record.json", place / "published-policy.toml"
        write_whole(record, Path(making["record"]).read_text())
        write_whole(policy, as_toml(dict(settings)))
        Path(making["record"]).unlink()
    words = ["tclose", "anonymize", str(project.table), "--policy", str(_beside(project, policy)), "--replay"]
    return shlex.join([*words, str(record), "--out", name, *(["--format", "columns"] if asked["columns"] else [])])


def _beside(project: Project, policy: Path) -> Path:
    """Return a policy that finds the hierarchies of the project; one that names files lies beside them."""
    settings = read_settings(policy)
    named = [own for role in ("quasi", "sensitive") for own in settings.get(role, {}).values()]
    if not any(isinstance(own.get("hierarchy"), str) for own in named):
        return policy
    beside = project.folder / f"policy-{policy.parent.name}.toml"
    write_whole(beside, policy.read_text())
    return beside
