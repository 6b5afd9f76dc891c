"""A release that continues an earlier one: which may be continued, and what its certificate adds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from tclose.errors import InputError
from tclose.policy import Policy
from tclose.policy.derived import cell_forms
from tclose.privacy.results import CheckResult
from tclose.recode.guard import GUARDS, NEWEST
from tclose.release.certificate import Certificate
from tclose.release.claims import Batch
from tclose.release.differences import ChainJudge
from tclose.release.files import sha256
from tclose.release.layouts.base import About, WrittenFile
from tclose.release.layouts.one_table import OneTable
from tclose.release.naming import created, tool
from tclose.release.published import PublishedTable
from tclose.release.record import Record
from tclose.release.release import PreparedRelease
from tclose.table.sources import is_folder, parse, read_bytes
from tclose.types import Ints

TEXT_ONLY = "new rows can join a release of text cells, not one of typed columns (--format columns)"
ANEW = "publish it anew, with --record"


@dataclass(frozen=True, eq=False)
class ContinuedTable(OneTable):
    """One table, whose certificate names the one before it."""

    previous: str  # digest of the certificate before
    batch: Batch

    def certificate(self, about: About, results: Sequence[CheckResult], files: Sequence[WrittenFile]) -> Certificate:
        """Say what was found, what was added, and what it was added to."""
        certificate = super().certificate(about, results, files)
        steward = replace(certificate.steward, previous=(self.previous,))
        return replace(certificate, steward=steward, batch=self.batch)


def check_continuable(record: Record) -> None:
    """Refuse a release that new rows cannot join, and say why."""
    if record.format == 1:
        raise InputError(f"the record is of format 1, which does not say what the classes are: {ANEW}")
    if record.engine != "memory" or record.part_rows is not None:
        raise InputError("new rows can join a release of one file that was made in memory, not one in parts")
    if record.content.get("classes") is None or len(record.files) != 1:
        raise InputError(f"new rows can join a release of one table with classes, not one of method '{record.method}'")
    if record.release_format == "columns":
        raise InputError(TEXT_ONLY)
    if why := next(_obstacles(record.policy, record.content["policy"]), None):
        raise InputError(f"new rows cannot join this release: {why}")
    batches = record.notes.batches
    if batches is None or len(batches) != record.files[0].rows:
        raise InputError("the record does not say with which batch each row of the release came")


def check_room(policy: Policy, release_format: str) -> None:
    """Refuse to leave room for new rows in a release that they could never join."""
    why = TEXT_ONLY if release_format == "columns" else next(_obstacles(policy, policy.to_dict()), None)
    if why is not None:
        raise InputError(f"--room is of no use here: {why}")


def _obstacles(policy: Policy, asked: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a policy asks for that nobody could keep for a batch by itself, or that the record does not hold."""
    if policy.pseudonym:
        yield "its policy has pseudonyms, and rows of a person who is in it already would need the class of that person"
    elif policy.person is not None:
        yield "its policy counts persons (person), and a record does not keep who they are"
    for name in ("temper", "presence", "both"):
        if asked.get(name):
            yield f"its policy asks for {name}, which is made for all rows at once"
    for name, spec in policy.sensitive.items():
        for setting in ("n", "t_by", "average_t"):
            if getattr(spec, setting) is not None:
                yield f"{setting} of '{name}' is judged of more than one class, so a batch cannot hold it by itself"
    for name, quasi in policy.quasi.items():
        if quasi.publish == "mean":
            yield f"the class means of '{name}' would change with every row that joins"


def read_release(record: Record, path: Path) -> pl.DataFrame:
    """Read the release that a record is of; refuse any other file."""
    if is_folder(path):
        raise InputError(f"{path} is a folder: name the file of the release")
    data = read_bytes(path)
    if sha256(data) != record.files[0].sha256:
        raise InputError(f"{path} is not the release of this record: its SHA-256 differs")
    frame = parse(data)
    return GUARDS[NEWEST].unguarded(frame) if record.guard_formulas else frame


def prepared(
    record: Record, seed: int, version: str, before: pl.DataFrame, frame: pl.DataFrame, batches: Ints, batch: Batch
) -> PreparedRelease:
    """Put the new release together; `batches` tells with which batch each row of `frame` came."""
    policy, content = record.judged_by, record.content
    judge = ChainJudge(policy, None, batches=batches, before=before)
    table = PublishedTable(frame, judge, {}, {}, 0.0)
    about = About(
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
    layout = ContinuedTable(table, record.certificate_digest, batch)
    notes = replace(record.notes, batches=batches)
    return PreparedRelease(layout, about, policy, "polars", seed, notes=notes)
