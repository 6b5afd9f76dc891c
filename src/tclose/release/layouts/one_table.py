"""A release of one table, as most methods make it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import polars as pl

from tclose.privacy.judge import JudgedTable
from tclose.privacy.results import CheckResult
from tclose.recode.untyped import text_table
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
        certificate = certificate_of(
            about, results[0], files, measures=self.table.measures, loss=self.table.chosen_loss
        )
        return replace(certificate, temper=self.table.tempering, presence=self.table.presence)


def certificate_of(
    about: About, result: CheckResult, files: Sequence[WrittenFile], *, measures: Mapping[str, Any], loss: float
) -> Certificate:
    """Return the certificate of one table, in one file or several."""
    return Certificate(
        **{**vars(about), "loss": with_value(about.loss, [loss])},
        measures=measures,
        claims=Claims.of(result),
        files=tuple(CertifiedFile(file.name, file.rows, file.sha256) for file in files),
    )


def make(given: ReleaseInput, method: str, options: Options) -> OneTable:
    """Publish one table."""
    return OneTable(published_table(given, method, options))


def verify(promised: Certificate, files: FilesOf, progress: Progress) -> Verified:
    """Judge the table."""
    read = partial(files.frame, *promised.files)
    if promised.release_format == "columns":
        read = partial(_text_of_columns, read, promised)
    return examined(read, lambda: promised.policy, promised.claims, promised.measures, promised, progress)


def _text_of_columns(read: Callable[[], pl.DataFrame], promised: Certificate) -> pl.DataFrame:
    return text_table(read(), promised.policy)


ENTRY = LayoutEntry("one table", "one table", lambda attributes: ("",), make, verify)
