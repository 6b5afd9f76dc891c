"""Layouts of one table: as most methods make it, and with a second table of exact values (`both`).

Both: one table, and as -both the counts of exact values of columns that are both quasi-identifier and sensitive. What
the counts are for, and what they reveal, is written in docs/decisions/079-both.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import polars as pl

from tclose.policy import Policy
from tclose.privacy.judge import JudgedTable
from tclose.privacy.results import CheckResult
from tclose.recode.frame import cells_apart
from tclose.recode.typed_table import text_table
from tclose.release.certificate import Certificate, CertifiedFile
from tclose.release.layouts.base import LayoutEntry, LayoutFacts, sibling
from tclose.release.published_table import Options, PublishedTable, ReleaseInput, published_table
from tclose.release.verification import CertifiedFiles, TableFindings, table_findings
from tclose.table.sources import read_plain
from tclose.types import Progress

# One table


@dataclass(frozen=True, eq=False)
class OneTable:
    """The simple case."""

    table: PublishedTable
    marks = ("",)
    comparable = True

    @property
    def frames(self) -> tuple[pl.DataFrame, ...]:
        """The table."""
        return (self.table.frame,)

    @property
    def tables(self) -> tuple[PublishedTable, ...]:
        """The table."""
        return (self.table,)

    def judge(self, frames: Sequence[pl.DataFrame], progress: Progress) -> tuple[JudgedTable, ...]:
        """Judge the table."""
        return (self.table.judge.confirm(frames[0], progress),)

    def certificate(
        self, about: LayoutFacts, results: Sequence[CheckResult], files: Sequence[CertifiedFile]
    ) -> Certificate:
        """Say what was found, and the fingerprint."""
        table = self.table
        certificate = about.with_loss([table.chosen_loss]).certificate(files, results[0], table.measures)
        return replace(certificate, temper=table.tempering, presence=table.presence)


def make_one_table(given: ReleaseInput, method: str, options: Options) -> OneTable:
    """Publish one table."""
    return OneTable(published_table(given, method, options))


def verify_one_table(promised: Certificate, files: CertifiedFiles, progress: Progress) -> TableFindings:
    """Judge the table."""
    read = partial(files.frame, *promised.files)
    if promised.release_format == "columns":
        read = partial(_text_of_columns, read, promised)
    return table_findings(read, lambda: promised.policy, promised.claims, promised.measures, promised, progress)


def _text_of_columns(read: Callable[[], pl.DataFrame], promised: Certificate) -> pl.DataFrame:
    return text_table(read(), promised.policy)


ONE_TABLE_ENTRY = LayoutEntry("one table", "one table", lambda attributes: ("",), make_one_table, verify_one_table)


# One table, and counts of exact values


MARK = "-both"
MARKS = ("", MARK)
HOLDS = ("rows", "counts of exact values by class")


@dataclass(frozen=True, eq=False, repr=False)
class Both:
    """A table of classes, and the counts of exact values in each class."""

    table: PublishedTable
    counts: pl.DataFrame
    marks = MARKS
    comparable = True

    @property
    def frames(self) -> tuple[pl.DataFrame, ...]:
        """The table and the counts."""
        return (self.table.frame, self.counts)

    @property
    def tables(self) -> tuple[PublishedTable, ...]:
        """The table, with which the counts are judged."""
        return (self.table,)

    def judge(self, frames: Sequence[pl.DataFrame], progress: Progress) -> tuple[JudgedTable, ...]:
        """Judge the table together with the counts."""
        judge = self.table.judge
        return (judge.confirm(frames[0], progress, cells_apart(frames[0], frames[1], judge.policy)),)

    def certificate(
        self, about: LayoutFacts, results: Sequence[CheckResult], files: Sequence[CertifiedFile]
    ) -> Certificate:
        """Say what was found, and name the two files."""
        table = self.table
        held = [replace(file, holds=what) for file, what in zip(files, HOLDS, strict=True)]
        certificate = about.with_loss([table.chosen_loss]).certificate(held, results[0], table.measures)
        return replace(certificate, layout="both", temper=table.tempering)


def make_both(given: ReleaseInput, method: str, options: Options) -> Both:
    """Publish one table and the counts of exact values in its classes."""
    table = published_table(given, method, options)
    assert table.counts is not None
    return Both(table, table.counts)


def read_release(path: str | Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read a release from the file of its table; the counts lie beside it."""
    return read_plain(path), read_plain(sibling(Path(path), MARK))


def verify_both(promised: Certificate, files: CertifiedFiles, progress: Progress) -> TableFindings:
    """Judge the table together with the counts."""
    if len(promised.files) != 2 or not all(files.has(file) for file in promised.files):
        return TableFindings(["the classes cannot be judged: they take the table and the counts"], None)
    first, second = promised.files

    def apart(published: pl.DataFrame, policy: Policy) -> dict[str, pl.Series]:
        return cells_apart(published, files.frame(second), policy)

    read = partial(files.frame, first)
    return table_findings(read, lambda: promised.policy, promised.claims, promised.measures, promised, progress, apart)


BOTH_ENTRY = LayoutEntry(
    "both",
    "one table, and the counts of exact values in its classes",
    lambda _: MARKS,
    make_both,
    verify_both,
    holds=HOLDS,
)
