"""Publishing a candidate: its release is made again in the chosen form, verified, and only then gets its number."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from tclose import steps
from tclose.errors import InputError
from tclose.policy import Policy, PolicyLike
from tclose.studio import register
from tclose.studio.project import PRIVATE_FOLDER, Project, read_settings, write_whole
from tclose.types import Progress, stretch
from tclose.words import number

# The form of Publish: its fields are settings of a request that declare one; what is posted becomes a request


POSTED_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
STEM = "release"  # the name of a release that has none of its own; other names come before those of the files beside it
FORMATS = {each.suffixes[0][1:]: each.name for each in steps.OUTPUT_FORMATS if each.offered}
CERTIFICATE, FILES = "certificate.json", {"report": "report.html"}  # beside the release: always, and if asked for
CHOOSE = "choose a format and a profile that there are"


@dataclass(frozen=True)
class ReleaseField:
    """One field of the form: a box to tick, or a list to choose from."""

    setting: str  # of a request
    name: str
    knob: steps.Knob
    usual: Any
    checked: bool  # whether the box is ticked before anybody has chosen

    @property
    def values(self) -> tuple[Any, ...]:
        """What can be chosen in place of the default."""
        match self.knob.kind:
            case "flag":
                return (not self.usual,)
            case "file":
                return (FILES[self.setting],)
            case "choice" if not self.knob.many:
                return tuple(value for value in self.knob.choices if value != self.usual)
            case kind:
                raise TypeError(f"the form has no field for '{self.setting}', which is given as {kind}")

    @property
    def is_box(self) -> bool:
        """Whether there is one other value only."""
        return len(self.values) == 1

    def read(self, posted: str) -> Any:
        """Return what the form says of the setting; a field that is left empty means the default."""
        if not posted:
            return self.usual
        if self.is_box:
            return self.values[0]
        if posted not in self.values:
            raise InputError(CHOOSE)
        return posted


def _fields() -> tuple[ReleaseField, ...]:
    """Make the fields from the declarations: first what changes the release itself, then what lies beside it."""
    declared = [
        ReleaseField(setting, knob.form.name, knob, usual, knob.form.checked)
        for setting, (knob, usual) in steps.knobs(steps.Request).items()
        if knob.form is not None
    ]
    return tuple(sorted(declared, key=lambda each: not each.knob.recorded))


FIELDS = _fields()
POSTED = ("name", "format", *(each.name for each in FIELDS))  # the name and the format make the name of the file
PROPOSED = {"format": "csv", **{each.name: "yes" for each in FIELDS if each.checked}}


def requested(posted: Mapping[str, str], *, table: Path, policy: PolicyLike, folder: Path) -> steps.Request:
    """Return what a form asks for; all files lie in a folder."""
    ending = posted.get("format", "")
    if ending not in FORMATS:
        raise InputError(CHOOSE)
    said = {each.setting: each.read(posted.get(each.name, "")) for each in FIELDS}
    if said["profile"] is not None and said["report"] is None:
        raise InputError("a profile is a part of the page: ask for a page, too")
    stem = posted.get("name") or STEM
    if not POSTED_NAME.fullmatch(stem):
        raise InputError("a name has letters, digits, hyphens and underscores, at most 60")
    before = "" if stem == STEM else f"{stem}-"
    files = {"certificate": CERTIFICATE, **{name: said[name] for name in FILES}}
    said |= {what: folder / f"{before}{name}" for what, name in files.items() if name is not None}
    request = steps.Request(table=table, policy=policy, out=folder / f"{stem}.{ending}", public=True)
    return steps.changed(request, said)


def asks_for_the_release(request: steps.Request) -> bool:
    """Tell whether a form asks for a release as it was tried: a CSV file with the usual settings."""
    changed = [each for each in FIELDS if each.knob.recorded and getattr(request, each.setting) != each.usual]
    return Path(request.out).suffix == ".csv" and not changed


def files_of(request: steps.Request, *, signed: bool) -> dict[str, str]:
    """Return the names of the files that are written, by what they are."""
    beside = {what: path.name for what, path in request.output.beside.items()}
    certificate = beside.pop("certificate")
    signature = {"signature": steps.envelope_path(certificate).name} if signed else {}
    return {"release": Path(request.out).name, "certificate": certificate, **signature, **beside}


# Keys with which a steward signs: made here, kept beside the projects, readable by the steward alone


KEY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
PUBLIC_KEY_ENDING = ".pub"  # of a public key


class SigningKeys:
    """A folder of keys, each by its name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def names(self) -> list[str]:
        """The names of all keys whose two halves are there."""
        public = self.folder.glob(f"*{PUBLIC_KEY_ENDING}") if self.folder.is_dir() else ()
        return sorted(
            each.stem for each in public if KEY_NAME.fullmatch(each.stem) and (self.folder / each.stem).is_file()
        )

    def make(self, name: str, passphrase: str) -> str:
        """Make a key, and return its fingerprint; a key is never overwritten."""
        if not KEY_NAME.fullmatch(name):
            raise InputError("the name of a key has letters, digits, hyphens and underscores, at most 40")
        if name in self.names:
            raise InputError("there is a key {name} already: choose another name", name=name)
        self.folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
        made = steps.keygen(self.folder / name, key_format="openssh", comment=name, passphrase=passphrase or None)
        return made.fingerprint

    def private(self, name: str) -> Path:
        """Return the file of a key."""
        if name not in self.names:
            raise InputError("there is no such key")
        return self.folder / name

    def public(self, name: str) -> Path:
        """Return the file of the public half of a key, which readers need."""
        private = self.private(name)
        return private.with_name(f"{name}{PUBLIC_KEY_ENDING}")


# What the judge found, as pages show it: one line for every requirement, and sentences


def requirements(result: steps.CheckResult) -> list[dict[str, Any]]:
    """Return every requirement: what was asked, what is reached, and the class that is worst."""
    return [
        {
            "attribute": finding.attribute,
            "title": finding.title,
            "asked": finding.asked,
            "reached": number(finding.reached),
            "satisfied": finding.satisfied,
            "worst": finding.worst_class,
            "failing": finding.failing_classes,
        }
        for finding in result.models
    ]


def verification_summary(verdict: steps.Verification) -> dict[str, Any]:
    """Return what verification found, in sentences."""
    problems, unknown = verdict.problems, verdict.not_verifiable_in_words
    models = [] if verdict.result is None else requirements(verdict.result)
    limits = verdict.result is None or bool(verdict.result.attributes)
    said = {"models": models, "problems": list(problems), "not_verifiable": list(unknown), "limits": limits}
    return {**verdict.to_dict(), **said}


# The publication


RECORD, POLICY = "record.json", "policy.toml"
MADE, VERIFIED = 0.85, 0.99


def publish(
    folder: Path, progress: Progress, *, number: int, asked: Mapping[str, Any], passphrase: str = ""
) -> dict[str, Any]:
    """Write a candidate's release, its certificate and a page, verify them, and add them to the register.

    `asked` is what the form of Publish says, with the file of the `key` that signs and the policy's `context`.
    """
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
    policy = Policy.from_dict(settings, folder=project.folder)
    request = requested(asked, table=project.table, policy=policy, folder=fresh)
    request = _as_tried(request, place, private, repeats="context" not in settings)
    key = asked.get("key", "")
    steps.publish(replace(request, endorsement=_endorsement(asked, passphrase)), stretch(progress, 0.0, MADE))
    certificate = fresh / str(request.certificate)
    judging = stretch(progress, MADE, VERIFIED)
    verdict = steps.verify(request.out, certificate, demands=_demands(key), engine="auto", progress=judging)
    if not verdict.holds:
        raise InputError(
            "nothing was published, because the finished files do not verify: {leading}", leading=verdict.leading[0]
        )
    if request.replay is not None:
        write_whole(private / RECORD, (place / RECORD).read_bytes())
    register.keep_policy(private / POLICY, settings, project.folder)
    public = public_half(key)
    said = {
        **{name: settings.get("context", {}).get(name, "") for name in register.CONTEXT},
        "date": register.now(),
        "key": register.signer_of(certificate, public.name if public else None),
        "verified": register.HOLDS,
        "verification": verification_summary(verdict),
        "candidate": int(place.name),
        "certificate": certificate.name,
        "sha256": register.digest_of(certificate),
        "files": sorted(path.name for path in fresh.iterdir() if path.is_file()),
    }
    return register.put(project, fresh, lambda _, at: {**said, "command": _command(project, at, request)})


def check_table(table: Path, place: Path) -> None:
    """Refuse a table that is not the one of a candidate any more."""
    known = json.loads((place / RECORD).read_text())["table"]["sha256"]
    if (found := steps.file_digest(table)) is None:
        raise InputError("there is no file {table}", table=table)
    if known not in (None, found):
        raise InputError("the table has changed since this candidate was made: make a new one under Try")


def _demands(key: str) -> steps.Demands:
    """Ask for the signature of the key that signed, if its public half lies beside it."""
    public = public_half(key)
    return steps.demands(signers=[public] if public else [])


def public_half(key: str) -> Path | None:
    """Return the file of a key's public half, if it lies beside the key."""
    public = Path(f"{key}{PUBLIC_KEY_ENDING}")
    return public if key and public.is_file() else None


def _settings(project: Project, place: Path, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the candidate's policy, with what the steward says about the release now."""
    settings = {name: value for name, value in read_settings(place / "policy.toml").items() if name != "context"}
    context = asked["context"] if "context" in asked else project.settings.get("context")
    return {**settings, "context": context} if context else settings


def _as_tried(request: steps.Request, place: Path, private: Path, *, repeats: bool) -> steps.Request:
    """Return the request for a release like the candidate's: repeated, or in another form from the same seed."""
    record = place / RECORD
    if repeats and asks_for_the_release(request):
        return replace(request, replay=record)
    check_table(Path(request.table), place)
    return replace(steps.remade(request, record), record=private / RECORD)


def _endorsement(asked: Mapping[str, Any], passphrase: str) -> steps.Endorsement:
    try:
        day = asked.get("valid_until", "").strip()
        until = date.fromisoformat(day) if day else None
    except ValueError:
        raise InputError("the last valid day is written as in 2027-12-31") from None

    def given(key: Path) -> str:
        if not passphrase:
            raise InputError("this key has a passphrase: write it beside the key")
        return passphrase

    return steps.endorsement(key=asked.get("key") or None, passphrase=given, valid_until=until)


def _command(project: Project, at: Path, request: steps.Request) -> str:
    """Return the command that writes the same bytes, from the record and the policy that lie with the release."""
    kept, out, spelled = at / register.PRIVATE, Path(request.out).name, request.release_format
    again = steps.Request(
        table=project.table, policy=kept / POLICY, out=out, replay=kept / RECORD, release_format=spelled
    )
    return steps.command_line(again)
