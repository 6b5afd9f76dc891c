"""A release that was written: what `steps.anonymize` returns, and what `tclose anonymize --json` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclose.measure.exposure import Exposed
from tclose.measure.lost import LostDetail
from tclose.privacy.allowance import Allowance, warnings_of
from tclose.privacy.results import CheckResult
from tclose.release.certificate import Certificate
from tclose.release.layouts import sibling
from tclose.release.lower_bound import LowerBound
from tclose.release.output import Output
from tclose.release.release import Release, WrittenRelease
from tclose.release.verification import Verification

if TYPE_CHECKING:
    from tclose.report.profiles import FilledProfile


@dataclass(frozen=True, eq=False)
class Publication:
    """A release that was written: its files, what was proved of it, and what its steward should know."""

    certificate: Certificate = field(repr=False)
    out: Path
    files: tuple[Path, ...]  # `out`, or one file for each table of a release of several
    exposed: Exposed  # what remains exposed, most rows first
    certificate_file: Path | None = None
    envelope_file: Path | None = None  # the certificate with its signatures
    report: Path | None = None
    bound_proof: Path | None = None
    descriptions: tuple[Path, ...] = ()  # files beside it that describe it
    lost: tuple[LostDetail, ...] = ()  # its tables that lost everything
    notes: tuple[str, ...] = ()  # warnings about what could not be done
    rigid: tuple[str, ...] = ()  # of which attributes the smallest class can show one composition only
    allows: Mapping[str, Allowance] = field(default_factory=dict)  # what each t means in shares, whatever the classes
    leaks: tuple[str, ...] = ()  # warnings about columns that give rows away
    bound: LowerBound | None = None  # on the detail lost, if asked for
    release: Release | None = field(default=None, repr=False)  # where its tables are in memory
    profile: FilledProfile | None = field(default=None, repr=False)  # of its page, if asked for

    @classmethod
    def of(
        cls,
        written: WrittenRelease,
        output: Output,
        lost: tuple[LostDetail, ...],
        notes: tuple[str, ...],
        rigid: tuple[str, ...],
    ) -> Publication:
        """Tell what was written, and where."""
        paths, out = output.beside, Path(output.out)
        return cls(
            release=written.release,
            certificate=written.certificate,
            out=out,
            files=tuple(sibling(out, mark) for mark in written.release.layout.marks),
            exposed=written.exposed,
            certificate_file=paths.get("certificate"),
            envelope_file=paths.get("envelope"),
            report=paths.get("report"),
            bound_proof=paths.get("bound_proof"),
            descriptions=tuple(output.descriptions.values()),
            lost=lost,
            notes=notes,
            rigid=rigid,
            leaks=written.release.prepared.leaks,
            bound=written.release.bound,
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Every warning: columns that give rows away, what could not be done, and what a profile still asks for."""
        asked = None if self.profile is None else self.profile.warning
        return (*self.leaks, *self.notes, *([] if asked is None else [asked]))

    @property
    def notes_on_policy(self) -> tuple[str, ...]:
        """What the steward should know about the policy, whatever the classes are."""
        return (*warnings_of(self.allows), *self.rigid)

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {
            "release": str(self.out),
            **self.certificate.content,
            "digest": self.certificate.digest,
            **({} if self.envelope_file is None else {"envelope": str(self.envelope_file)}),
            "exposed": [figure.to_dict() for figure in self.exposed.figures],
            "lost": [loss.to_dict() for loss in self.lost],
            "warnings": list(self.warnings),
            **({"descriptions": list(map(str, self.descriptions))} if self.descriptions else {}),
            "allows": {name: each.to_dict() for name, each in self.allows.items()},
            **({"notes": list(notes)} if (notes := self.notes_on_policy) else {}),
            **({} if self.profile is None else {"profile": self.profile.to_dict()}),
        }


@dataclass(frozen=True)
class Demonstration:
    """The built-in example: its files, what a check of the raw table finds, its release and what verify says."""

    table: Path
    policy: Path
    before: CheckResult
    publication: Publication
    verification: Verification

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        published = self.publication
        paths = (self.table, self.policy, published.out, published.certificate_file)
        named = zip(("table", "policy", "release", "certificate"), map(str, paths), strict=True)
        return {**dict(named), "check": self.before.to_dict(), "verify": self.verification.to_dict()}
