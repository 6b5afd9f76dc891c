"""A release: tables that their judges have confirmed, and how their files get their names."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from tclose.distance import Distance
from tclose.errors import InputError, LeakWarning, PolicyError, TcloseError
from tclose.measure.attack import Attacks
from tclose.measure.exposure import Exposed
from tclose.measure.lost import LostDetail
from tclose.policy import Policy, ProfileName
from tclose.privacy.judge import JudgedTable
from tclose.privacy.results import CheckResult
from tclose.recode.guard import GUARDS, NEWEST
from tclose.release.beside import Beside
from tclose.release.certificate import Certificate, ReleaseFormat
from tclose.release.describing import descriptions
from tclose.release.exposed import exposed_rows
from tclose.release.files import Pending, check_targets, give_back_memory, pending, publish, sha256
from tclose.release.formats import CSV, fingerprint
from tclose.release.layouts import About, Layout, WrittenFile, sibling, with_sizes
from tclose.release.layouts.projections import marks_of
from tclose.release.lost import lost_tables
from tclose.release.lower_bound import LowerBound
from tclose.release.naming import file_name
from tclose.release.original_facts import OriginalFacts
from tclose.release.output import Output
from tclose.release.population import in_population
from tclose.release.record import confirm_replay
from tclose.release.record_notes import Notes, record_bytes
from tclose.release.table_files import FinishedFile, TableFiles
from tclose.release.typed_columns import TypedColumns
from tclose.table import CodedTable, encode_quietly, to_polars
from tclose.table.frames import from_polars
from tclose.table.sources import parse, read_bytes
from tclose.table.sources.base import Labels
from tclose.table.sources.folder import joined
from tclose.types import Progress, Repeating, silent, stretch
from tclose.words import counted, html_table, number

if TYPE_CHECKING:
    from tclose.report.profiles import FilledProfile

UNNAMED = Path("release.csv")


@dataclass(frozen=True, eq=False, repr=False)
class PreparedRelease:
    """Tables that no judge has confirmed yet: they leave this object judged, or not at all."""

    layout: Layout
    about: About
    policy: Policy  # as it was asked for; the certificate holds what a reader judges by
    kind: str  # of frame that came in
    seed: int
    leaks: tuple[str, ...] = ()  # warnings about columns that give rows away
    bound: LowerBound | None = None  # on the detail lost, if asked for
    labels: Labels | None = None  # that came with the table, of columns whose cells are published as they are
    notes: Notes = field(default_factory=Notes)  # for the record, if one is written
    originals: tuple[OriginalFacts, ...] = ()  # what only the original tells of each table
    distances: tuple[Distance, ...] = ()  # of the original: while they are in use, the judge makes none again

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
        path, paths, part_rows = Path(output.out), output.beside, output.part_rows
        endorsement, guard_formulas = output.endorsement, output.guard_formulas
        tables = TableFiles.of(path, self.layout.marks, part_rows)
        check_targets([*paths.values(), *tables.files], force=output.force)
        self._warn_of_leftovers(path)
        columns = TypedColumns.of(output.release_format, self.layout, self.policy)
        give_back_memory()
        with pending({**paths, **tables.targets}, private={"record", "bound_proof"}, force=output.force) as files:
            spelled = self.layout.frames if columns is None else (columns.written(tables.kind),)
            frames = (GUARDS[NEWEST].guarded(frame) if guard_formulas else frame for frame in spelled)
            finished = tables.write(files, frames, self.labels)
            written = self._confirmed(finished, guard_formulas, progress, columns)
            written = replace(written, certificate=endorsement.endorsed(written.certificate, self.seed))
            record_of = partial(self._record, written, paths.get("certificate"), part_rows)
            contents = {**endorsement.contents(written.certificate, record_of() if "record" in files else b"")}
            contents |= {} if self.bound is None else {"bound_proof": self.bound.proof}
            written_files = {file_name(file.name): file.path for table in finished for file in table}
            described = partial(descriptions, output.describe, path, written.certificate, written_files)
            contents |= described(folder=part_rows is not None)
            contents |= {} if page is None else _page(page, written)
            for what in contents.keys() & files.keys() - {"report"}:
                files[what].write(partial(_put, contents[what]))
            no_page = None if page is None else _page_problem(contents, files)
            publish(file for what, file in files.items() if what != "report" or not (page is None or no_page))
        if no_page is not None:
            raise InputError(f"the release is complete, but its page is missing: {no_page}")
        return written

    def _confirmed(
        self,
        tables: Sequence[Sequence[FinishedFile]],
        guard_formulas: bool,
        progress: Progress,
        columns: TypedColumns | None,
    ) -> WrittenRelease:
        """Judge the finished files of each table from their own bytes, and certify what was found there."""
        in_parts = any(len(table) > 1 for table in tables)  # whose categories would not be the same
        visible = () if guard_formulas or in_parts or columns else self.policy.visible
        read = [[(file.name, *_read(file.path, visible)) for file in table] for table in tables]
        whole = [joined([name for name, *_ in table], (frame for *_, frame in table)) for table in read]
        frames = [GUARDS[NEWEST].unguarded(frame) if guard_formulas else frame for frame in whole]
        progress(0.0, "judging")
        try:
            frames = frames if columns is None else [columns.read_back(frame) for frame in frames]
            judged = self.layout.judge(frames, progress)
        except (InputError, PolicyError) as error:
            raise not_judged_as_written(error) from None
        release = Release(self, tuple(table.result for table in judged))
        names = [WrittenFile(file_name(name), frame.height, digest) for table in read for name, digest, frame in table]
        confirm_replay(self.seed, [file.sha256 for file in names], self.about.version)
        certificate = self.layout.certificate(self.about, release.results, names)
        certificate = with_sizes(certificate, [each.table.classes.sizes for each in judged], self.policy.k)
        exposed = exposed_rows(judged, self.policy, self.originals)
        spelled: ReleaseFormat = "text" if columns is None else "columns"
        certified = replace(certificate, guard=NEWEST if guard_formulas else 0, release_format=spelled)
        return WrittenRelease(release, certified, judged, exposed)

    def _record(self, written: WrittenRelease, path: Path | None, part_rows: int | None) -> bytes:
        certified, one_table = written.certificate, self.layout.marks == ("",) and self.layout.comparable
        about = {**vars(self.about), "judged_by": self.about.settings, "part_rows": part_rows}
        return record_bytes(
            self.notes,
            self.policy,
            seed=self.seed,
            about={**about, "guard_formulas": certified.guard_formulas},
            certificate=certified,
            certificate_file=None if path is None else file_name(path),
            table=written.judged[0].table if one_table else None,
        )

    def _warn_of_leftovers(self, path: Path) -> None:
        """Warn about a projection that an earlier release, of more tables, left beside this one."""
        tables = len(self.layout.marks)
        if self.layout.marks == marks_of(tables) and (left := sibling(path, f"-{tables + 1}")).exists():
            warnings.warn(f"{left} is of an earlier release: do not publish it beside this one", LeakWarning, 4)


@dataclass(frozen=True, eq=False, repr=False)
class WrittenRelease:
    """A release whose files were judged from their own bytes and have got their names."""

    release: Release
    certificate: Certificate
    judged: tuple[JudgedTable, ...]  # as they were read back from the files
    exposed: Exposed  # what remains exposed in them


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
        rows += [(f"{model.attribute}, {model.title}", model.asked, number(model.reached)) for model in models]
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
            raise InputError(f"this release has {len(self.layout.frames)} tables: take .tables")
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
    def exposed(self) -> Exposed:
        """What remains exposed although the release holds its policy, most rows first."""
        return exposed_rows(self.judged, self.policy, self.prepared.originals)

    @property
    def bound(self) -> LowerBound | None:
        """The lower bound on the detail that any release of the table loses, if `anonymize` was asked for it."""
        return self.prepared.bound

    @property
    def lost(self) -> tuple[LostDetail, ...]:
        """The tables that lost everything: their quasi-identifiers, or their groups, tell nothing any more."""
        return lost_tables(self.layout, self.prepared.about.withheld)

    @cached_property
    def certificate(self) -> Certificate:
        """What was proved, with the fingerprint that the release has as CSV."""
        several = len(self.layout.marks) > 1  # whose names say which table is which
        names = [sibling(UNNAMED, mark).name if several or mark else None for mark in self.layout.marks]
        files = [
            WrittenFile(name, frame.height, fingerprint(frame, CSV))
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
        judged, beside, certificate = self.judged, None, certificate or self.certificate
        coded = filled = None
        compared = original is not None and not public and self.layout.comparable
        if original is not None and (compared or profile is not None):
            coded = in_population(encode_quietly(to_polars(original), self.policy))
        if profile is not None:
            filled = _filled(profile, WrittenRelease(self, certificate, judged, self.exposed), coded, attacks)
        if compared and coded is not None:
            told(0.2, "comparing with the original")
            beside = Beside.of(coded, judged[0].table, beat=told.beat)
        page = release_page(
            certificate,
            self.layout.tables,
            judged,
            self.policy,
            beside=beside,
            attacks=attacks,
            lost=self.lost,
            public=public,
            originals=self.prepared.originals,
            profile=filled,
            progress=stretch(told, 0.5, 1.0),
        )
        save(page, path, force=force)


def _filled(
    name: ProfileName, written: WrittenRelease, original: CodedTable | None, attacks: Attacks | None
) -> FilledProfile:
    """Fill a profile; it needs figures of the original."""
    from tclose.report.profiles import gathered, profile_named

    if original is None:
        raise InputError("a profile needs figures of the original table: give it as original")
    return profile_named(name).filled(gathered(written, original, attacks=attacks))


def _read(path: Path, visible: Sequence[str]) -> tuple[str, pl.DataFrame]:
    """Return a finished file's fingerprint and the table that it holds."""
    data = read_bytes(path)
    try:
        return sha256(data), parse(data, repeated=visible, written_here=True)
    except InputError as error:
        raise not_judged_as_written(error) from None


def not_judged_as_written(error: TcloseError) -> InputError:
    """Say that a finished file cannot be judged, and why."""
    return InputError(f"written in this format, the release cannot be judged: {error.sentence}")


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
        file.write(partial(_put, contents["report"]))
    except OSError as error:
        file.discard()
        old = f"; {file.target} is of an earlier release" if file.target.exists() else ""
        return f"{error.strerror or type(error).__name__}{old}"
    return None


def _put(content: bytes, file: BinaryIO) -> None:
    file.write(content)
