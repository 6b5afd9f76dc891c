"""A release: tables that their judges have confirmed, how their files get their names, and what is told about it.

A `PreparedRelease` becomes a `WrittenRelease`. A `Publication` is what `steps.anonymize` returns, and what `tclose
anonymize --json` prints.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from tclose.errors import InputError, LeakWarning
from tclose.measure.attack import Attacks
from tclose.measure.exposure import ReleaseExposure
from tclose.measure.information_loss import LostDetail
from tclose.measure.pair import TablePair, in_population
from tclose.measure.release_exposure import exposed_rows
from tclose.messages import say
from tclose.policy import Policy, ProfileName
from tclose.privacy.allowance import Allowance, warnings_of
from tclose.privacy.judge import JudgedTable
from tclose.privacy.results import CheckResult
from tclose.release.certificate import Certificate, CertifiedFile, ReleaseFormat
from tclose.release.description_formats import descriptions
from tclose.release.files import Pending, PendingFolder, check_targets, give_back_memory, pending, put_in_place
from tclose.release.formats import CSV, fingerprint
from tclose.release.layouts import Layout, LayoutFacts, sibling
from tclose.release.layouts.groups import Anatomy, Permutation
from tclose.release.layouts.projections import marks_of
from tclose.release.lower_bound import LowerBound
from tclose.release.output import Output, file_name
from tclose.release.record import Notes, confirm_replay, record_bytes
from tclose.release.tables import Confirmation, Finished, MadeTables, WholeTables
from tclose.release.verification import Verification
from tclose.table import CodedTable, encode_quietly, to_polars
from tclose.table.frames import from_polars
from tclose.table.sources.base import Labels
from tclose.types import Progress, Repeating, silent, stretch
from tclose.words import counted, html_table, number

if TYPE_CHECKING:
    from tclose.report.profiles import FilledProfile

# Tables that lost everything


def lost_tables(layout: Layout, withheld: int) -> tuple[LostDetail, ...]:
    """Return the tables of a release whose quasi-identifiers, or whose groups, tell nothing any more."""
    linked, several = not isinstance(layout, Anatomy | Permutation), len(layout.tables) > 1
    losses = [
        LostDetail(
            rows=table.frame.height,
            one_class=table.measures["class_sizes"]["largest"] == table.frame.height,
            gcp=table.measures["gcp"],
            withheld=withheld,
            linked=linked,
            table=number if several else None,
        )
        for number, table in enumerate(layout.tables, start=1)
    ]
    return tuple(loss for loss in losses if loss.everything)


# Prepared and written releases


UNNAMED = Path("release.csv")


@dataclass(frozen=True, eq=False, repr=False)
class PreparedRelease:
    """Tables that no judge has confirmed yet: they leave this object judged, or not at all."""

    tables: MadeTables
    about: LayoutFacts
    policy: Policy  # as it was asked for; the certificate holds what a reader judges by
    seed: int
    kind: str = "polars"  # of frame that came in
    leaks: tuple[str, ...] = ()  # warnings about columns that give rows away
    rigid: tuple[str, ...] = ()  # of which attributes the smallest class can show one composition only
    bound: LowerBound | None = None  # on the detail lost, if asked for
    labels: Labels | None = None  # that came with the table, of columns whose cells are published as they are
    notes: Notes = field(default_factory=Notes)  # for the record, if one is written

    @property
    def whole(self) -> WholeTables:
        """The tables, where all their rows are at hand."""
        if not isinstance(self.tables, WholeTables):
            raise InputError("the rows of this release are not at hand: it is judged and written where they are")
        return self.tables

    @property
    def layout(self) -> Layout:
        """Which tables there are, where all their rows are at hand."""
        return self.whole.layout

    def judged(self, progress: Progress = silent) -> Release:
        """Judge the tables as they are in memory."""
        return Release(self, tuple(table.result for table in self.judged_tables(progress)))

    def judged_tables(self, progress: Progress = silent) -> tuple[JudgedTable, ...]:
        """Judge the tables as they are in memory, and return them coded."""
        return self.layout.judge(self.layout.frames, progress)

    def write(
        self, output: Output, *, page: Callable[[WrittenRelease], bytes] | None = None, progress: Progress = silent
    ) -> WrittenRelease:
        """Write the tables; all files get their names at once, when the judges have confirmed the finished tables.

        `page` makes the page that goes to `report`. A page that fits neither into memory nor on its disk is left out.
        """
        fit = self.tables.fit_for(output, progress)
        return (self if fit is self.tables else replace(self, tables=fit))._written(output, page, progress)

    def _written(
        self, output: Output, page: Callable[[WrittenRelease], bytes] | None, progress: Progress
    ) -> WrittenRelease:
        paths, tables = output.beside, self.tables.files(output)
        check_targets([*paths.values(), *tables.files], force=output.force)
        self._warn_of_leftovers(Path(output.out))
        give_back_memory()
        with pending({**paths, **tables.targets}, private={"record", "bound_proof"}, force=output.force) as files:
            finished = self.tables.write(output, files, self.labels, progress)
            written = self._confirmed(self.tables.confirm(finished, self.about, output, progress), output)
            contents = self._contents(written, finished, output, files)
            contents |= {} if page is None else _page(page, written)
            for what in contents.keys() & files.keys() - {"report"}:
                files[what].write_bytes(contents[what])
            no_page = None if page is None else _page_problem(contents, files)
            put_in_place(file for what, file in files.items() if what != "report" or not (page is None or no_page))
        if no_page is not None:
            raise InputError("the release is complete, but its page is missing: {no_page}", no_page=no_page)
        return written

    def _confirmed(self, confirmed: Confirmation, output: Output) -> WrittenRelease:
        """Add to what was found what the steward adds; a repeated release must be the recorded one."""
        certificate = confirmed.certificate
        confirm_replay(self.seed, [str(file.sha256) for file in certificate.files], self.about.version)
        return WrittenRelease(
            release=Release(self, confirmed.results),
            certificate=output.endorsement.endorsed(certificate, self.seed).judged_by(self.tables.reader_policy),
            judged=confirmed.judged,
            exposed=confirmed.exposed,
            lost=confirmed.lost,
        )

    def _contents(
        self, written: WrittenRelease, finished: Finished, output: Output, held: Mapping[str, Pending]
    ) -> dict[str, bytes]:
        """Return what goes into the files beside the release, by name."""
        kept = self._record(written, output) if "record" in held else b""
        proof = {} if self.bound is None else {"bound_proof": self.bound.proof}
        files = {file_name(file.name): file.path for table in finished for file in table}
        folder = isinstance(held.get("release"), PendingFolder)
        described = descriptions(output.describe, Path(output.out), written.certificate, files, folder=folder)
        return {**output.endorsement.contents(written.certificate, kept), **proof, **described}

    def _record(self, written: WrittenRelease, output: Output) -> bytes:
        """Return the record."""
        certified = written.certificate
        return record_bytes(
            self.notes,
            self.policy,
            seed=self.seed,
            about=self.about,
            output=output,
            certificate=certified,
            table=written.judged[0].table if self.tables.lists_classes else None,
        )

    def _warn_of_leftovers(self, path: Path) -> None:
        """Warn about a projection that an earlier release, of more tables, left beside this one."""
        marks = self.tables.marks
        if marks == marks_of(len(marks)) and (left := sibling(path, f"-{len(marks) + 1}")).exists():
            warnings.warn(
                say("{left} is of an earlier release: do not publish it beside this one", left=left), LeakWarning, 4
            )


@dataclass(frozen=True, eq=False, repr=False)
class WrittenRelease:
    """A release whose files were judged from their own bytes and have got their names."""

    release: Release
    certificate: Certificate
    judged: tuple[JudgedTable, ...]  # as they were read back from the files, where all rows are at hand
    exposed: ReleaseExposure  # what remains exposed in them
    lost: tuple[LostDetail, ...] = ()  # tables that lost everything


@dataclass(eq=False, repr=False)
class Release:
    """Published tables, one for most methods, judged, with one certificate."""

    prepared: PreparedRelease
    results: tuple[CheckResult, ...]

    def __repr__(self) -> str:
        """Say how large the release is; neither the seed nor anything about persons or identifiers."""
        rows, classes = self.results[0].rows, min(result.classes for result in self.results)
        return f"<Release of {counted(rows, 'row')} in {counted(classes, 'class')} by {self.prepared.about.method}>"

    def _repr_html_(self) -> str:
        findings = {name: finding for result in self.results for name, finding in result.attributes.items()}
        limits = {name: self.policy.required[name].limit for name in findings}
        rows = [
            (name, "" if (limit := limits[name]) is None else f"≤ {number(limit)}", number(finding.closeness))
            for name, finding in findings.items()
        ]
        models = (model for result in self.results for model in result.models if model.model == "(n,t)")
        rows += [
            (
                say("{attribute}, {title}", attribute=model.attribute, title=model.title),
                model.asked,
                number(model.reached),
            )
            for model in models
        ]
        return html_table(repr(self)[1:-1], ("attribute", "distance required", "distance reached"), rows)

    @property
    def layout(self) -> Layout:
        """Which tables there are."""
        return self.prepared.layout

    @property
    def policy(self) -> Policy:
        """The policy that was asked for."""
        return self.prepared.policy

    @property
    def seed(self) -> int:
        """What the random numbers came from; anyone who knows it can replay the partition."""
        return self.prepared.seed

    @property
    def kind(self) -> str:
        """The library of the frame that was given."""
        return self.prepared.kind

    @property
    def frame(self) -> pl.DataFrame:
        """The published table, where there is one only."""
        if len(self.layout.frames) > 1:
            raise InputError("this release has {count} tables: take .tables", count=len(self.layout.frames))
        return self.layout.frames[0]

    @property
    def tables(self) -> tuple[Any, ...]:
        """The published tables, as frames of the kind that was given."""
        return tuple(from_polars(frame, self.prepared.kind) for frame in self.layout.frames)

    @property
    def table(self) -> Any:
        """The published table, as a frame of the kind that was given."""
        return from_polars(self.frame, self.prepared.kind)

    @cached_property
    def judged(self) -> tuple[JudgedTable, ...]:
        """The published tables, coded and judged."""
        return self.prepared.judged_tables()

    @cached_property
    def exposed(self) -> ReleaseExposure:
        """What remains exposed although the release holds its policy, most rows first."""
        return exposed_rows(self.judged, self.policy, self.prepared.whole.originals)

    @property
    def bound(self) -> LowerBound | None:
        """The lower bound on the detail that any release of the table loses, if `anonymize` was asked for it."""
        return self.prepared.bound

    @property
    def lost(self) -> tuple[LostDetail, ...]:
        """The tables that lost everything: their quasi-identifiers, or their groups, tell nothing any more."""
        return lost_tables(self.layout, self.prepared.tables.withheld)

    @cached_property
    def certificate(self) -> Certificate:
        """What was proved, with the fingerprint that the release has as CSV."""
        several = len(self.layout.marks) > 1  # whose names say which table is which
        names = [sibling(UNNAMED, mark).name if several or mark else None for mark in self.layout.marks]
        files = [
            CertifiedFile(name, frame.height, fingerprint(frame, CSV))
            for name, frame in zip(names, self.layout.frames, strict=True)
        ]
        return self.layout.certificate(self.prepared.about, self.results, files)

    def write(
        self,
        path: str | Path,
        *,
        certificate: str | Path | None = None,
        record: str | Path | None = None,
        guard_formulas: bool = False,
        part_rows: int | None = None,
        release_format: ReleaseFormat = "text",
        describe: Sequence[str] = (),
        force: bool = True,
        progress: Progress | None = None,
    ) -> Certificate:
        """Write the release, once the judges have confirmed the finished files; they get their names last.

        CSV, Parquet or Arrow, by the name's ending. A release of several tables makes several files, whose names
        start like `path`; the first of them gets its name last. `record` keeps the seed, for your eyes only.
        `guard_formulas` puts an apostrophe before text that a spreadsheet would run; `verify` takes it away again.
        With `part_rows`, `path` is a new folder of Parquet files of so many rows each, which appears when all are done.
        With `release_format="columns"`, cells are typed: `age_low`, `age_high` and `age_mid` instead of `[20, 35]`.
        `describe` names formats of descriptions that are written beside it: datapackage, croissant, ddi, codebook.
        Existing files are overwritten; with `force=False` they are refused.
        """
        report = progress or silent
        report(0.0, "writing")
        output = Output(
            out=path,
            certificate=certificate,
            record=record,
            guard_formulas=guard_formulas,
            part_rows=part_rows,
            release_format=release_format,
            describe=describe,
            force=force,
        )
        return self.prepared.write(output, progress=report).certificate

    def report(
        self,
        path: str | Path,
        *,
        original: Any = None,
        attacks: Attacks | None = None,
        certificate: Certificate | None = None,
        public: bool = False,
        profile: ProfileName | None = None,
        force: bool = True,
        progress: Progress | None = None,
    ) -> None:
        """Write one HTML page that shows what the release holds, why, and what it cost; it asks no network.

        With the `original` frame it also shows quasi-identifiers before and after, with `attacks` (as `attack()`
        returns them) what an adversary would have learnt; `public` leaves out all that is about the raw table. With
        `profile`, which needs the original, the page has the requirements of a text that officers know. A
        release keeps no raw table, so it must be given again. `certificate` is what `write` returned. An existing file
        is overwritten; with `force=False` it is refused.
        """
        from tclose.report.page import save
        from tclose.report.release_page import release_page

        told = Repeating(progress or silent)
        told(0.0, "judging")
        written = WrittenRelease(self, certificate or self.certificate, self.judged, self.exposed, self.lost)
        coded = filled = beside = None
        compared = original is not None and not public and self.layout.comparable
        if original is not None and (compared or profile is not None):
            coded = in_population(encode_quietly(to_polars(original), self.policy))
        if profile is not None:
            filled = _filled(profile, written, coded, attacks)
        if compared and coded is not None:
            told(0.2, "comparing with the original")
            beside = TablePair.of(coded, written.judged[0].table, beat=told.beat)
        page = release_page(
            written,
            beside=beside,
            attacks=attacks,
            public=public,
            profile=filled,
            progress=stretch(told, 0.5, 1.0),
        )
        save(page, path, force=force)


def _filled(
    name: ProfileName, written: WrittenRelease, original: CodedTable | None, attacks: Attacks | None
) -> FilledProfile:
    """Fill a profile; it needs figures of the original."""
    from tclose.report.profiles import evidence_of, profile_named

    if original is None:
        raise InputError("a profile needs figures of the original table: give it as original")
    return profile_named(name).filled(evidence_of(written, original, attacks=attacks))


def _page(page: Callable[[WrittenRelease], bytes], written: WrittenRelease) -> dict[str, bytes]:
    """Make the page of a release; if there is no memory for it, the release must still be written."""
    try:
        return {"report": page(written)}
    except MemoryError:
        return {}


def _page_problem(contents: Mapping[str, bytes], files: Mapping[str, Pending]) -> str | None:
    """Write the page, last of all; if there is no memory or no space for it, say so: the release does without it."""
    if "report" not in contents:
        return "it does not fit into memory; leave out --report"
    file = files["report"]
    try:
        file.write_bytes(contents["report"])
    except OSError as error:
        file.discard()
        old = say("; {target} is of an earlier release", target=file.target) if file.target.exists() else ""
        return f"{error.strerror or type(error).__name__}{old}"
    return None


# A release that was written, as `anonymize` returns it


@dataclass(frozen=True, eq=False)
class Publication:
    """A release that was written: its files, what was proved of it, and what its steward should know."""

    certificate: Certificate = field(repr=False)
    out: Path
    files: tuple[Path, ...]  # `out`, or one file for each table of a release of several
    exposed: ReleaseExposure  # what remains exposed, most rows first
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
    def of(cls, written: WrittenRelease, output: Output) -> Publication:
        """Tell what was written, and where."""
        paths, out, prepared = output.beside, Path(output.out), written.release.prepared
        return cls(
            release=written.release if written.judged else None,
            certificate=written.certificate,
            out=out,
            files=tuple(sibling(out, mark) for mark in prepared.tables.marks),
            exposed=written.exposed,
            certificate_file=paths.get("certificate"),
            envelope_file=paths.get("envelope"),
            report=paths.get("report"),
            bound_proof=paths.get("bound_proof"),
            descriptions=tuple(output.descriptions.values()),
            lost=written.lost,
            rigid=prepared.rigid,
            leaks=prepared.leaks,
            bound=prepared.bound,
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
