"""A release of one table, as most methods make it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import polars as pl

from tclose.privacy.judge import JudgedTable
from tclose.privacy.results import CheckResult
from tclose.release.certificate import Certificate, CertifiedFile, Claims
from tclose.release.layouts.base import About, LayoutEntry, WrittenFile, with_value
from tclose.release.published import Options, PublishedTable, ReleaseInput, published_table
from tclose.release.published_files import FilesOf
from tclose.release.verification import Verified, examined
from tclose.types import Progress


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

    def certificate(self, about: About, results: Sequence[CheckResult], files: Sequence[WrittenFile]) -> Certificate:
        """Say what was found, and the fingerprint."""
        return Certificate(
            **{**vars(about), "loss": with_value(about.loss, [self.table.chosen_loss])},
            measures=self.table.measures,
            temper=self.table.tempering,
            presence=self.table.presence,
            claims=Claims.of(results[0]),
            files=tuple(CertifiedFile(file.name, file.rows, file.sha256) for file in files),
        )


def make(given: ReleaseInput, method: str, options: Options) -> OneTable:
    """Publish one table."""
    return OneTable(published_table(given, method, options))


def verify(promised: Certificate, files: FilesOf, progress: Progress) -> Verified:
    """Judge the table."""
    read = partial(files.frame, *promised.files)
    return examined(read, lambda: promised.policy, promised.claims, promised.measures, promised, progress)


ENTRY = LayoutEntry("one table", "one table", lambda attributes: ("",), make, verify)
