"""The continuation of an earlier release: which may be continued, what its certificate adds, what differences reveal.

The difference of two releases of one chain is judged class by class: what subtracting one from the other reveals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InputError, InternalError
from tclose.messages import say
from tclose.policy import Policy
from tclose.policy.variants import cell_forms
from tclose.privacy.judge import JudgedTable, verdicts
from tclose.privacy.results import CheckResult
from tclose.recode.frame import GUARDS, NEWEST, ordered
from tclose.release.certificate import Certificate, CertifiedFile
from tclose.release.claims import BatchClaim
from tclose.release.files import sha256
from tclose.release.layouts.base import LayoutFacts
from tclose.release.layouts.one_table import OneTable
from tclose.release.output import created, tool
from tclose.release.published_table import Judge, PublishedTable
from tclose.release.record import Record
from tclose.release.release import PreparedRelease
from tclose.release.tables import WholeTables
from tclose.table import CodedTable
from tclose.table.classes import Classes, rows_by_label
from tclose.table.sources import is_folder, parse, read_bytes
from tclose.types import Ints, Progress, silent

# Differences of releases


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


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
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


# Releases that continue an earlier one


TEXT_ONLY = "new rows can join a release of text cells, not one of typed columns (--format columns)"
ONE_FILE = "new rows can join a release of one file"
ANEW = "publish it anew, with --record"


@dataclass(frozen=True, eq=False)
class ContinuedTable(OneTable):
    """One table, whose certificate names the one before it."""

    previous: str  # digest of the certificate before
    batch: BatchClaim

    def certificate(
        self, about: LayoutFacts, results: Sequence[CheckResult], files: Sequence[CertifiedFile]
    ) -> Certificate:
        """Say what was found, what was added, and what it was added to."""
        certificate = super().certificate(about, results, files)
        steward = replace(certificate.steward, previous=(self.previous,))
        return replace(certificate, steward=steward, batch=self.batch)


def check_continuable(record: Record) -> None:
    """Refuse a release that new rows cannot join, and say why."""
    if record.format == 1:
        raise InputError("the record is of format 1, which does not say what the classes are: {anew}", anew=say(ANEW))
    if record.part_rows is not None or (record.engine != "memory" and record.content.get("classes") is None):
        raise InputError("{one_file} that was made in memory or with --room, not one in parts", one_file=say(ONE_FILE))
    if record.content.get("classes") is None or len(record.files) != 1:
        raise InputError(
            "new rows can join a release of one table with classes, not one of method '{method}'", method=record.method
        )
    if record.release_format == "columns":
        raise InputError(TEXT_ONLY)
    if why := next(_obstacles(record.policy, record.content["policy"]), None):
        raise InputError("new rows cannot join this release: {why}", why=why)
    batches = record.notes.batches
    if batches is None or len(batches) != record.files[0].rows:
        raise InputError("the record does not say with which batch each row of the release came")


def check_room(policy: Policy, release_format: str, *, folder: bool) -> None:
    """Refuse to leave room for new rows in a release that they could never join."""
    form = (
        TEXT_ONLY
        if release_format == "columns"
        else say("{one_file}, not a folder", one_file=say(ONE_FILE))
        if folder
        else None
    )
    why = form or next(_obstacles(policy, policy.to_dict()), None)
    if why is not None:
        raise InputError("--room is of no use here: {why}", why=why)


def _obstacles(policy: Policy, asked: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a policy asks for that nobody could keep for a batch by itself, or that the record does not hold."""
    if policy.pseudonym:
        yield "its policy has pseudonyms, and rows of a person who is in it already would need the class of that person"
    elif policy.person is not None:
        yield "its policy counts persons (person), and a record does not keep who they are"
    for name in ("temper", "presence", "both"):
        if asked.get(name):
            yield say("its policy asks for {name}, which is made for all rows at once", name=name)
    for name, spec in policy.sensitive.items():
        for setting in ("n", "t_by", "average_t"):
            if getattr(spec, setting) is not None:
                yield say(
                    "{setting} of '{name}' is judged of more than one class, so a batch cannot hold it by itself",
                    setting=setting,
                    name=name,
                )
    for name, quasi in policy.quasi.items():
        if quasi.publish == "mean":
            yield say("the class means of '{name}' would change with every row that joins", name=name)


def read_release(record: Record, path: Path) -> pl.DataFrame:
    """Read the release that a record is of; refuse any other file."""
    if is_folder(path):
        raise InputError("{path} is a folder: name the file of the release", path=path)
    data = read_bytes(path)
    if sha256(data) != record.files[0].sha256:
        raise InputError("{path} is not the release of this record: its SHA-256 differs", path=path)
    frame = parse(data)
    return GUARDS[NEWEST].unguarded(frame) if record.guard_formulas else frame


def continued_release(
    record: Record, seed: int, version: str, before: pl.DataFrame, frame: pl.DataFrame, batches: Ints, batch: BatchClaim
) -> PreparedRelease:
    """Put the new release together; `batches` tells with which batch each row of `frame` came."""
    policy, content = record.judged_by, record.content
    judge = ChainJudge(policy, None, batches=batches, before=before)
    table = PublishedTable(frame, judge, {}, {}, 0.0)
    about = LayoutFacts(
        version=version,
        method=record.method,
        settings=policy.to_dict(),
        withheld=int(content.get("withheld", 0)),
        counted="rows",
        tool=tool(),
        created=created(),
        table=content["table"]["name"],
        loss=None,
        cells=cell_forms(record.policy),
    )
    tables = WholeTables(ContinuedTable(table, record.certificate_digest, batch), policy, policy)
    return PreparedRelease(tables, about, policy, seed, notes=replace(record.notes, batches=batches))
