"""The tables of a release between their split and their confirmation: how their files are written, and judged.

A place that has all rows at hand makes `WholeTables`; one that never has them at once brings its own `MadeTables`. A
release of typed columns is made from its published cells, and read back from the finished file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import polars as pl

from tclose.distance import Distance
from tclose.errors import InputError, PolicyError, TcloseError, Unsuited
from tclose.measure.exposure import ReleaseExposure
from tclose.measure.information_loss import LostDetail
from tclose.measure.original_facts import OriginalFacts
from tclose.measure.release_exposure import exposed_rows
from tclose.messages import say
from tclose.policy import Policy
from tclose.privacy.judge import JudgedTable
from tclose.privacy.results import CheckResult
from tclose.recode.cell import Form
from tclose.recode.frame import GUARDS, NEWEST
from tclose.recode.typed_table import check_kept, check_typed_names, text_table, typed_table
from tclose.release.certificate import RELEASE_FORMATS, Certificate, CertifiedFile, ReleaseFormat
from tclose.release.files import Pending, sha256
from tclose.release.formats import OutputFormat
from tclose.release.layouts import Layout, LayoutFacts, layout_of, with_sizes
from tclose.release.layouts.one_table import ONE_TABLE_ENTRY, OneTable
from tclose.release.output import FinishedFile, Output, TableFiles, file_name
from tclose.release.record import Notes
from tclose.table.sources import parse, read_bytes
from tclose.table.sources.base import Labels
from tclose.table.sources.folder import joined
from tclose.types import Progress

# Tables of typed columns


OTHER_LAYOUT = say(
    "typed columns are for a release of one table in which each class publishes one value per "
    "quasi-identifier, and this method or policy publishes something else: use --format text",
)


def check_release_format(release_format: str, method: str, policy: Policy) -> None:
    """Refuse typed columns where the method or the policy publishes more than one table, or a name would clash."""
    _check_known(release_format)
    if release_format == "text":
        return
    if layout_of(method, has_both=bool(policy.both)) is not ONE_TABLE_ENTRY:
        raise Unsuited(OTHER_LAYOUT)
    check_typed_names(policy)


def _check_known(release_format: str) -> None:
    if release_format not in RELEASE_FORMATS:
        raise InputError(
            "a release is written as {release_formats}, not as '{release_format}'",
            release_formats=" or ".join(RELEASE_FORMATS),
            release_format=release_format,
        )


@dataclass(frozen=True, eq=False, repr=False)
class TypedColumns:
    """The published table, and how its cells are typed."""

    published: pl.DataFrame
    policy: Policy
    forms: Mapping[str, Form | None]

    @classmethod
    def of(cls, release_format: str, layout: Layout, policy: Policy) -> TypedColumns | None:
        """Take the only table of a layout; none where the release stays text."""
        _check_known(release_format)
        if release_format == "text":
            return None
        if not isinstance(layout, OneTable):
            raise Unsuited(OTHER_LAYOUT)
        check_typed_names(policy)
        (frame,), (table,) = layout.frames, layout.tables
        as_read = replace(policy, sensitive=table.judge.policy.sensitive)  # which lists the bins
        return cls(frame, as_read, table.forms)

    def written(self, kind: OutputFormat) -> pl.DataFrame:
        """Return the typed columns as a format holds them."""
        made = typed_table(self.published, self.policy, self.forms, lists=kind.lists)
        check_kept(self.published, made, self.policy)
        return made

    def read_back(self, found: pl.DataFrame) -> pl.DataFrame:
        """Return the cells that a finished file holds; refuse a file that holds other values than were published."""
        made = typed_table(self.published, self.policy, self.forms)
        text, expected = text_table(found, self.policy), text_table(made, self.policy)
        if not text.equals(expected):
            raise InputError("it would not hold the values that are published: use --format text")
        return text


# Tables on their way to their files


Finished = Sequence[Sequence[FinishedFile]]  # the files of each table


@dataclass(frozen=True, eq=False)
class Confirmation:
    """What the judges found in the finished files of a release."""

    certificate: Certificate
    results: tuple[CheckResult, ...]  # of each table
    exposed: ReleaseExposure  # what remains exposed
    lost: tuple[LostDetail, ...] = ()  # the tables that lost everything, where nobody could tell before
    judged: tuple[JudgedTable, ...] = ()  # as they were read back, where all rows are at hand


class TargetFiles(Protocol):
    """The files that the tables of a release get."""

    @property
    def files(self) -> Sequence[Path]:
        """Those that replace a file of the same name, or are refused if there is one."""

    @property
    def targets(self) -> Mapping[str, Path | Pending]:
        """What gets its name in the end; the first table comes last."""


class MadeTables(Protocol):
    """Tables whose rows are split and recoded: they leave confirmed, or not at all."""

    @property
    def marks(self) -> tuple[str, ...]:
        """What is added to the release's file name for each table."""

    @property
    def reader_policy(self) -> Policy:
        """The policy by which a reader judges the whole release."""

    @property
    def withheld(self) -> int:
        """How many rows are not published."""

    @property
    def lists_classes(self) -> bool:
        """Tell whether a record lists the classes."""

    def notes(self) -> Notes:
        """Return what a record keeps that no published file shows."""

    def fit_for(self, output: Output, progress: Progress) -> MadeTables:
        """Return the tables as they can be written: what takes all published rows together gets them so."""

    def files(self, output: Output) -> TargetFiles:
        """Name the files; what cannot be written is refused."""

    def write(
        self, output: Output, files: Mapping[str, Pending], labels: Labels | None, progress: Progress
    ) -> Finished:
        """Write the tables to `files`, with the labels that their columns came with."""

    def confirm(self, finished: Finished, about: LayoutFacts, output: Output, progress: Progress) -> Confirmation:
        """Judge the finished files from their own bytes; what does not hold must never be released."""


@dataclass(frozen=True, eq=False, repr=False)
class WholeTables:
    """Tables whose rows are all at hand."""

    layout: Layout
    policy: Policy  # as it was asked for
    reader_policy: Policy
    withheld: int = 0
    originals: tuple[OriginalFacts, ...] = ()  # what only the original tells of each table
    distances: tuple[Distance, ...] = ()  # of the original: while they are in use, the judge makes none again
    noted: Notes = field(default_factory=Notes)  # for the record, if one is written

    @property
    def marks(self) -> tuple[str, ...]:
        """What is added to the release's file name for each table."""
        return self.layout.marks

    def notes(self) -> Notes:
        """Return what a record keeps."""
        return self.noted

    def fit_for(self, output: Output, progress: Progress) -> WholeTables:
        """Return these tables, whose rows are together."""
        return self

    @property
    def lists_classes(self) -> bool:
        """Tell whether a record lists the classes: of one table that has some."""
        return self.marks == ("",) and self.layout.comparable

    def files(self, output: Output) -> TargetFiles:
        """Name the files."""
        return TableFiles.of(Path(output.out), self.marks, output.file_rows)

    def write(
        self, output: Output, files: Mapping[str, Pending], labels: Labels | None, progress: Progress
    ) -> Finished:
        """Write each table in one piece, or the only one in parts of equally many rows."""
        tables = TableFiles.of(Path(output.out), self.marks, output.file_rows)
        return tables.write(files, self.spelled(output, tables.kind), labels)

    def spelled(self, output: Output, kind: OutputFormat) -> Iterator[pl.DataFrame]:
        """Yield the tables as they are spelled in files of a kind."""
        columns = self._typed(output)
        frames = self.layout.frames if columns is None else (columns.written(kind),)
        return (GUARDS[NEWEST].guarded(frame) if output.guard_formulas else frame for frame in frames)

    def confirm(self, finished: Finished, about: LayoutFacts, output: Output, progress: Progress) -> Confirmation:
        """Judge each table as its files hold it, and certify what was found there."""
        columns, guarded = self._typed(output), output.guard_formulas
        in_parts = any(len(table) > 1 for table in finished)  # whose categories would not be the same
        visible = () if guarded or in_parts or columns else self.policy.visible
        read = [[(file.name, *_read(file.path, visible)) for file in table] for table in finished]
        whole = [joined([name for name, *_ in table], (frame for *_, frame in table)) for table in read]
        frames = [GUARDS[NEWEST].unguarded(frame) if guarded else frame for frame in whole]
        progress(0.0, "judging")
        try:
            frames = frames if columns is None else [columns.read_back(frame) for frame in frames]
            judged = self.layout.judge(frames, progress)
        except (InputError, PolicyError) as error:
            raise not_judged_as_written(error) from None
        files = [
            CertifiedFile(file_name(name), frame.height, digest) for table in read for name, digest, frame in table
        ]
        return self._confirmed(judged, files, about, output)

    def _confirmed(
        self, judged: tuple[JudgedTable, ...], files: Sequence[CertifiedFile], about: LayoutFacts, output: Output
    ) -> Confirmation:
        results = tuple(table.result for table in judged)
        certificate = self.layout.certificate(about, results, files)
        certificate = with_sizes(certificate, [each.table.classes.sizes for each in judged], self.policy.k)
        spelled: ReleaseFormat = output.release_format
        certificate = replace(certificate, guard=output.guard, release_format=spelled)
        return Confirmation(certificate, results, self.exposed(judged), judged=judged)

    def exposed(self, judged: Sequence[JudgedTable]) -> ReleaseExposure:
        """Return what remains exposed in the tables as they are published."""
        return exposed_rows(judged, self.policy, self.originals)

    def _typed(self, output: Output) -> TypedColumns | None:
        return TypedColumns.of(output.release_format, self.layout, self.policy)


def _read(path: Path, visible: Sequence[str]) -> tuple[str, pl.DataFrame]:
    """Return a finished file's fingerprint and the table that it holds."""
    data = read_bytes(path)
    try:
        return sha256(data), parse(data, repeated=visible, written_here=True)
    except InputError as error:
        raise not_judged_as_written(error) from None


def not_judged_as_written(error: TcloseError) -> InputError:
    """Say that a finished file cannot be judged, and why."""
    return InputError("written in this format, the release cannot be judged: {sentence}", sentence=error.sentence)
