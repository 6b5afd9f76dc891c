"""What was proved about a release, in a file that anyone can check without the original table."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from tclose.errors import InputError, PolicyError
from tclose.measure.presence_claim import AnyPresenceClaim, presence_claim_from
from tclose.messages import say
from tclose.policy import LOSSES, Policy
from tclose.recode.frame import GUARDS
from tclose.release.certificate_format import (
    FORMATS,
    NEWEST,
    FileEntry,
    Unreadable,
    entries_json,
    entries_of,
    format_of,
)
from tclose.release.claims import BatchClaim, Claims, PseudonymClaims, Tempering, claims_json, read_claims
from tclose.release.commitments import StewardClaims
from tclose.release.files import check_targets, write_whole
from tclose.release.lower_bound import BoundClaim
from tclose.release.signatures import Envelope, unwrapped
from tclose.table.sources import read_bytes
from tclose.words import html_table, legible, required

SECONDS = re.compile(r"T(\d\d:\d\d):\d\dZ$")  # at the end of a time, which people read to the minute
LayoutName = Literal["one table", "both", "projections", "anatomy", "permutation"]
ONE_TABLE: tuple[LayoutName, ...] = ("one table", "permutation")  # whose file may get any name
ReleaseFormat = Literal["text", "columns"]
CELLS = ("values", "means", "labels")  # what those of a quasi-identifier are; labels by rule are named by their rule
RELEASE_FORMATS: tuple[ReleaseFormat, ...] = get_args(ReleaseFormat)
MOST_FILES = 10  # that are listed for people
LARGEST = 256 << 20  # bytes of a certificate


@dataclass(frozen=True)
class CertifiedFile:
    """One file of a release: its name, rows and fingerprint, and what is said about its own table, if anything is."""

    name: str | None  # of one table: what it was first called, if it was written; it may get any other name
    rows: int | None  # which format 1 does not say
    sha256: str | None
    holds: str | None = None  # of tables that are judged together: what each of them shows
    measures: Mapping[str, Any] | None = None
    claims: Claims | None = None

    @classmethod
    def of(cls, entry: FileEntry) -> CertifiedFile:
        """Read the entry of a file."""
        said = entry.table
        claims = Claims.from_dict(said) if "rows" in said else None
        return cls(entry.name, entry.rows, entry.sha256, said.get("holds"), said.get("measures"), claims)

    @property
    def entry(self) -> FileEntry:
        """The entry of the file, as a certificate has it."""
        said = {} if self.claims is None else self.claims.to_dict()
        return FileEntry(
            self.name, self.rows, self.sha256, _given({"holds": self.holds, "measures": self.measures}) | said
        )


@dataclass(frozen=True)
class ClassSizes:
    """How large the classes of a release are, in rows."""

    smallest: int
    median: float
    largest: int


@dataclass(frozen=True)
class Origin:
    """What a release is called, and what it was made from, when and by what; older certificates do not say."""

    files: tuple[str, ...]
    table: str | None
    created: str | None
    tool: str | None
    valid_until: str | None = None

    def words(self) -> list[str]:
        """Return what is known, as people read it."""
        known = _given({"made from": self.table, "on": self.created, "by": self.tool, "valid until": self.valid_until})
        known |= {"on": SECONDS.sub(r" \1 UTC", self.created)} if self.created else {}
        more = [say("{count:,} more files", count=len(self.files) - MOST_FILES)] if len(self.files) > MOST_FILES else []
        files = [*map(legible, self.files[:MOST_FILES]), *more]
        return [*files, *(f"{word} {legible(name)}" for word, name in known.items())]

    def to_dict(self) -> dict[str, Any]:
        """Return what is known, as JSON has it."""
        files, until = [*self.files] or None, self.valid_until
        named = {"files": files, "table": self.table, "created": self.created, "tool": self.tool, "valid_until": until}
        return _given(named)


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """The policy, what was found, what it cost, and the fingerprints of the release's files."""

    version: str
    method: str
    settings: Mapping[str, Any]  # the policy that a reader judges by, as JSON has it
    withheld: int
    counted: Literal["rows", "persons"]
    measures: Mapping[str, Any]
    claims: Claims
    files: tuple[CertifiedFile, ...]
    identity_protected: bool = True
    base: str | None = None  # of projections: the method that splits each of them
    guarantee: str | None = None  # whom it is about; older certificates do not say
    scope: str | None = None  # what the guarantee does not cover
    group: str | None = None  # of an anatomy or a permutation: the column that numbers its groups
    guard: int = 0  # the rule by which text that a spreadsheet would run has apostrophes in front; 0 for none
    layout: LayoutName = "one table"
    release_format: ReleaseFormat = "text"  # of the cells; `format` is the certificate's own
    tool: str | None = None  # what made the release, with its version; older certificates do not say
    created: str | None = None  # when, in UTC
    table: str | None = None  # the name of the table that was published, without its path
    loss: Mapping[str, Any] | None = None  # that the method lowered: its name, the weights, its value; None if none
    temper: Tempering | None = None  # of a release whose rows were swapped at random
    presence: AnyPresenceClaim | None = None  # of a release for which δ-presence was asked
    pseudonyms: PseudonymClaims | None = None  # by column, of a release that has some
    bound: BoundClaim | None = None  # a lower bound on the detail lost by any release of the table, if asked for
    steward: StewardClaims = field(default_factory=StewardClaims)  # what no release shows: the steward's word
    batch: BatchClaim | None = None  # the rows that were added to the release before
    cells: Mapping[str, Any] | None = None  # what those of each quasi-identifier are; older certificates do not say
    format: int = NEWEST

    @property
    def guard_formulas(self) -> bool:
        """Whether text that a spreadsheet would run has apostrophes in front."""
        return self.guard > 0

    @property
    def origin(self) -> Origin:
        """What the release is called, and what it was made from, when and by what."""
        files, until = tuple(file.name for file in self.files if file.name), self.steward.to_dict().get("valid_until")
        return Origin(files, self.table, self.created, self.tool, until)

    @property
    def called(self) -> str | None:
        """The file that people know the release by: the first one, but no part of a table is."""
        parts = self.layout in ONE_TABLE and len(self.files) > 1
        return None if parts else self.files[0].name

    @property
    def content(self) -> dict[str, Any]:
        """Everything but the digest, as JSON has it."""
        return self.to_dict()

    @property
    def digest(self) -> str:
        """The SHA-256 of the content as canonical JSON: it finds accidents and naive edits, and is no signature."""
        return digest_of(self.to_dict())

    def judged_by(self, policy: Policy) -> Certificate:
        """Return this certificate with the policy that its settings were made from, which need not be read again."""
        certificate = replace(self)
        vars(certificate)["policy"] = policy
        return certificate

    @cached_property
    def policy(self) -> Policy:
        """What the release is judged by; it holds everything itself and names no files."""
        policy = Policy.from_dict(self.settings)
        if policy.files:
            raise PolicyError("a certificate cannot name files: what a release is judged by stands in it")
        return policy

    @property
    def class_sizes(self) -> ClassSizes:
        """How large the classes are."""
        return ClassSizes(**self.measures["class_sizes"])

    @property
    def smallest(self) -> int:
        """How many rows or persons, whichever k counts, the smallest class has."""
        reached = [claim.reached for claim in self.claims.models if claim.model == "k"]
        return int(reached[0] if reached and reached[0] is not None else self.claims.smallest_class or 0)

    def to_dict(self) -> dict[str, Any]:
        """Return the content as JSON has it, in the certificate's own format."""
        made = {"tool": self.tool, "created": self.created, "table": self.table}
        content: dict[str, Any] = {
            "format": next(name for name, number in FORMATS.items() if number == self.format),
            "version": self.version,
            **(made if self.format == NEWEST else _given(made)),
            "method": self.method,
            "policy": self.settings,
            "withheld": self.withheld,
            "counted": self.counted,
        }
        content |= {} if self.identity_protected else {"identity_protected": False}
        content |= _given({"base": self.base, "guarantee": self.guarantee, "scope": self.scope, "group": self.group})
        content |= _given({"loss": self.loss})
        content |= _given({"temper": None if self.temper is None else self.temper.to_dict()})
        content |= _given({"presence": None if self.presence is None else self.presence.to_dict()})
        content |= {} if self.pseudonyms is None else {"pseudonyms": claims_json(self.pseudonyms)}
        content |= {} if self.bound is None else self.bound.to_dict()
        content |= self.steward.to_dict()
        content |= _given({"batch": None if self.batch is None else dict(vars(self.batch))})
        content |= _given({"cells": self.cells if self.format == NEWEST else None})
        content |= {"measures": self.measures, **self.claims.to_dict()}
        entries = [file.entry for file in self.files]
        content |= entries_json(entries, self.format, several=self.layout not in ONE_TABLE)
        content |= {"guard_formulas": True} if self.guard_formulas else {}
        content |= {} if self.release_format == "text" else {"release_format": self.release_format}
        return content | ({"guard_rule": self.guard} if self.guard > 1 else {})

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Certificate:
        """Read the content of a certificate; `ValueError`, `KeyError` or `TypeError` where it is none."""
        number = format_of(content)
        if not isinstance(content["policy"], dict):
            raise ValueError("not a certificate")
        entries = entries_of(content)
        measures = content.get("measures")
        return cls(
            version=content.get("version", ""),
            method=content.get("method", ""),
            settings=content["policy"],
            withheld=content.get("withheld", 0),
            counted=content.get("counted", "rows"),
            measures=measures if isinstance(measures, Mapping) else {},
            claims=Claims.from_dict(content),
            files=tuple(map(CertifiedFile.of, entries)),
            identity_protected=content.get("identity_protected") is not False,
            base=content.get("base"),
            guarantee=content.get("guarantee"),
            scope=content.get("scope"),
            group=content.get("group"),
            guard=_guard(content),
            layout=_layout(content),
            release_format=_release_format(content),
            tool=content.get("tool"),
            created=content.get("created"),
            table=content.get("table"),
            loss=_loss(content),
            temper=None if content.get("temper") is None else Tempering.from_dict(content["temper"]),
            presence=presence_claim_from(content.get("presence")),
            pseudonyms=read_claims(content.get("pseudonyms")),
            bound=BoundClaim.from_dict(content),
            steward=StewardClaims.from_dict(content),
            batch=BatchClaim.from_dict(content.get("batch")),
            cells=_cells(content),
            format=number,
        )

    def to_bytes(self) -> bytes:
        """Return the file's bytes."""
        return (json.dumps({**self.to_dict(), "digest": self.digest}, indent=2, ensure_ascii=False) + "\n").encode()

    def _repr_html_(self) -> str:
        rows = [
            tuple(
                map(
                    legible,
                    (str(claim.attribute or ""), str(claim.model), required(claim.required), str(claim.reached)),
                )
            )
            for claim in self.claims.models
        ]
        size = f"{self.claims.rows} rows in {self.claims.classes} classes, {self.withheld} withheld"
        caption = f"Certificate of a release by {legible(str(self.method))}: {size}. Digest: {self.digest}"
        return html_table(caption, ("attribute", "model", "required", "reached"), rows)

    def save(self, path: str | Path, *, force: bool = True) -> None:
        """Write the certificate; without `force`, an existing file is refused."""
        check_targets([Path(path)], force=force)
        write_whole(path, self.to_bytes(), force=force)


@dataclass(frozen=True)
class LoadedCertificate:
    """A certificate that was read from a file, the digest of that file's content, and the digest that stands in it."""

    certificate: Certificate
    digest: str
    written_digest: str
    unknown_keys: tuple[str, ...] = ()  # that stand in the file, and that this version of tclose does not know
    content: Mapping[str, Any] = field(default_factory=dict)  # of the file, without the digest
    envelope: Envelope | None = None  # of a file that holds signatures, too


def load(path: str | Path) -> LoadedCertificate:
    """Read a certificate, plain or in the envelope that holds its signatures."""
    check_size(path)
    data = read_bytes(path)
    try:
        content, envelope = unwrapped(data)
        written = content.pop("digest")
        if not isinstance(written, str):
            raise ValueError("not a certificate")
        certificate = Certificate.from_dict(content)
        unknown = tuple(_unknown_keys(content, certificate.to_dict()))
        return LoadedCertificate(certificate, digest_of(content), written, unknown, content, envelope)
    except Unreadable as error:
        raise InputError("{path} is not a certificate of tclose: {why}", path=path, why=error) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError("{path} is not a certificate of tclose", path=path) from None


def _cells(content: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Read what the cells of quasi-identifiers are."""
    cells = content.get("cells")
    if cells is None:
        return None
    if not isinstance(cells, Mapping) or not all(form in CELLS or isinstance(form, Mapping) for form in cells.values()):
        raise Unreadable("it does not say in a known way what the cells of quasi-identifiers are")
    return cells


def check_size(path: str | Path) -> None:
    """Refuse a file that is too large for a certificate, before it fills the memory."""
    if Path(path).is_file() and Path(path).stat().st_size > LARGEST:
        raise InputError(
            "{path} is too large for a certificate: at most {largest} MB", path=path, largest=LARGEST >> 20
        )


def digest_of(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a certificate's content as canonical JSON."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _unknown_keys(content: Any, known: Any, place: str = "") -> Iterator[str]:
    """Yield the keys of a certificate's content that are not read."""
    if isinstance(content, Mapping) and isinstance(known, Mapping):
        for key, value in content.items():
            name = f"{place}{'.' if place else ''}{key}"
            if key in known:
                yield from _unknown_keys(value, known[key], name)
            else:
                yield name
    elif isinstance(content, list) and isinstance(known, list):
        for number, (value, other) in enumerate(zip(content, known, strict=False), start=1):
            yield from _unknown_keys(value, other, f"{place}.{number}")


def _guard(content: Mapping[str, Any]) -> int:
    """Return the rule of the guard against formulas; certificates of version 0.1 name none."""
    guard = content.get("guard_rule", 1) if content.get("guard_formulas") is True else 0
    if guard and (isinstance(guard, bool) or guard not in GUARDS):
        raise ValueError("not a rule of the guard")
    return int(guard)


def _layout(content: Mapping[str, Any]) -> LayoutName:
    """Return how the tables of a release belong together."""
    several, groups = content.get("tables") is not None, content.get("group") is not None
    if groups:
        return "anatomy" if several else "permutation"
    if not several:
        return "one table"
    return "both" if content["policy"].get("both") else "projections"


def _release_format(content: Mapping[str, Any]) -> ReleaseFormat:
    """Return how the cells of a release are written: as text, or as typed columns of one table."""
    written = content.get("release_format", "text")
    if written not in RELEASE_FORMATS or (written == "columns" and _layout(content) != "one table"):
        raise Unreadable("this version does not know the format of the release's cells")
    return "columns" if written == "columns" else "text"


def _loss(content: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what is said of the loss that was lowered; older certificates say nothing."""
    loss = content.get("loss")
    if loss is None:
        return None
    if not isinstance(loss, Mapping) or loss.get("name") not in LOSSES:
        raise ValueError("not a loss")
    return loss


def _given(optional: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is not known."""
    return {name: value for name, value in optional.items() if value is not None}
