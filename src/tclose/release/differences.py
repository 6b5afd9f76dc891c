"""The difference of two releases of one chain, judged class by class: what subtracting one from the other reveals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from tclose.errors import InternalError
from tclose.policy import Policy
from tclose.privacy.judge import JudgedTable, verdicts
from tclose.recode.frame import ordered
from tclose.release.published import Judge
from tclose.table import CodedTable
from tclose.table.classes import Classes, rows_by_label
from tclose.types import Ints, Progress, silent

NOT_HELD = "the difference of two releases does not hold what was asked for, so nothing was released"


def differences(labels: Ints, batches: Ints, *, newest: int) -> Iterator[Classes]:
    """Yield, for each earlier release, the classes of the rows that came after it, up to the newest batch.

    The first is the release itself: everything that came after nothing. `labels` holds the class of every row.
    """
    for first in range(newest + 1):
        rows = np.flatnonzero(batches >= first)
        if not len(rows):
            return
        number = np.unique(labels[rows], return_inverse=True)[1].astype(np.int64)
        classes = int(number.max()) + 1
        yield Classes(rows[rows_by_label(number, classes)], np.bincount(number).astype(np.int64))


def all_hold(table: CodedTable, policy: Policy, labels: Ints, batches: Ints) -> bool:
    """Tell whether the newest release, and its difference from every earlier one, hold against the newest table."""
    newest = int(batches.max(initial=0))
    judged = (verdicts(table, classes, policy) for classes in differences(labels, batches, newest=newest))
    return all(verdict.judgement.satisfied for found in judged for verdict in found)


@dataclass(frozen=True, eq=False, kw_only=True)
class ChainJudge(Judge):
    """Judges a release that continues an earlier one: also the rows that it adds, and that the earlier ones stayed."""

    batches: Ints  # of the published rows, in their order
    before: pl.DataFrame  # the release that is continued

    def confirm(
        self, published: pl.DataFrame, progress: Progress = silent, apart: Mapping[str, pl.Series] | None = None
    ) -> JudgedTable:
        """Judge a table, and its difference from every earlier release."""
        judged = super().confirm(published, progress, apart)
        labels = judged.table.classes.labels_by_row()
        if not self._continues(published) or not all_hold(judged.table, self.policy, labels, self.batches):
            raise InternalError(NOT_HELD)
        return judged

    def _continues(self, published: pl.DataFrame) -> bool:
        """Tell whether the rows of earlier batches are those of the release that is continued, cell by cell.

        Their order may differ: a first release sorts numbers by size, a file that was read again has text only.
        """
        old = published.filter(pl.Series(self.batches < self.newest))
        return ordered(_texts(old))[0].equals(ordered(_texts(self.before.select(old.columns)))[0])

    @cached_property
    def newest(self) -> int:
        """The batch that was added."""
        return int(self.batches.max())


def _texts(frame: pl.DataFrame) -> pl.DataFrame:
    texts = ((column.name, column.alias("").cast(pl.String).fill_null("")) for column in frame.iter_columns())
    return pl.DataFrame(dict(texts))
