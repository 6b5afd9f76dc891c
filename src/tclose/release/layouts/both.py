"""Both: one table, and as -both the counts of exact values of columns that are both quasi-identifier and sensitive.

What the counts are for, and what they reveal, is written in docs/decisions/079-both.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl

from tclose.policy import Policy
from tclose.privacy.judge import JudgedTable
from tclose.privacy.results import CheckResult
from tclose.recode.counts import cells_apart
from tclose.release.certificate import Certificate, CertifiedFile, Claims
from tclose.release.layouts.base import About, LayoutEntry, WrittenFile, sibling, with_value
from tclose.release.published import Options, PublishedTable, ReleaseInput, published_table
from tclose.release.published_files import FilesOf
from tclose.release.verification import Verified, examined
from tclose.table.sources import read_plain
from tclose.types import Progress

MARK = "-both"
MARKS = ("", MARK)
HOLDS = ("rows", "counts of exact values by class")


@dataclass(frozen=True, eq=False)
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

    def certificate(self, about: About, results: Sequence[CheckResult], files: Sequence[WrittenFile]) -> Certificate:
        """Say what was found, and name the two files."""
        held = zip(files, HOLDS, strict=True)
        entries = [CertifiedFile(file.name, file.rows, file.sha256, holds=what) for file, what in held]
        return Certificate(
            **{**vars(about), "loss": with_value(about.loss, [self.table.chosen_loss])},
            layout="both",
            measures=self.table.measures,
            temper=self.table.tempering,
            claims=Claims.of(results[0]),
            files=tuple(entries),
        )


def make(given: ReleaseInput, method: str, options: Options) -> Both:
    """Publish one table and the counts of exact values in its classes."""
    table = published_table(given, method, options)
    assert table.counts is not None
    return Both(table, table.counts)


def read_release(path: str | Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read a release from the file of its table; the counts lie beside it."""
    return read_plain(path), read_plain(sibling(Path(path), MARK))


def verify(promised: Certificate, files: FilesOf, progress: Progress) -> Verified:
    """Judge the table together with the counts."""
    if len(promised.files) != 2 or not all(files.has(file) for file in promised.files):
        return Verified(["the classes cannot be judged: they take the table and the counts"], None)
    first, second = promised.files

    def apart(published: pl.DataFrame, policy: Policy) -> dict[str, pl.Series]:
        return cells_apart(published, files.frame(second), policy)

    read = partial(files.frame, first)
    return examined(read, lambda: promised.policy, promised.claims, promised.measures, promised, progress, apart)


ENTRY = LayoutEntry(
    "both", "one table, and the counts of exact values in its classes", lambda _: MARKS, make, verify, holds=HOLDS
)
