"""The files of a release in parts: written bucket by bucket, or gathered into one frame and written in one piece.

Formats that are written in one piece, typed columns and pages need the frame. The parts are split one by one all the
same; what is gathered is what is published, not the original.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
import polars as pl

from tclose.errors import InternalError
from tclose.measure.exposure import ReleaseExposure
from tclose.measure.information_loss import DIGITS, SummedPartition, gcp
from tclose.privacy.judge import JudgedTable
from tclose.recode.meaning import clear_forms
from tclose.release.files import Pending, PendingFolder, part_names, write_flushed
from tclose.release.formats import AT_ONCE, CSV, PARQUET, OutputFormat, appended_csv, format_of, write_table, written
from tclose.release.layouts import LayoutFacts
from tclose.release.layouts.one_table import OneTable
from tclose.release.output import FinishedFile, Output
from tclose.release.published_table import Judge, PublishedTable
from tclose.release.record import Notes
from tclose.release.tables import Confirmation, Finished, TargetFiles, WholeTables
from tclose.run.parts.buckets import FinishedBucket, Totals, joining_can_break, judging_policy, not_as_one_class
from tclose.table.coded import persons_of
from tclose.table.sources.base import Labels
from tclose.types import Beat, Progress, still

# Written bucket by bucket: a folder of Parquet files, or one file


BLOCK = 1 << 22  # bytes that are hashed at a time
GROUP_ROWS = 1 << 17  # of a row group of one Parquet file


class ReleaseFiles:
    """Where the buckets go."""

    def __init__(self, pending: Pending, kind: OutputFormat, *, is_folder: bool) -> None:
        self.pending, self.kind, self.is_folder = pending, kind, is_folder
        self.most = 1  # files, at most
        self._written: list[tuple[Path, int]] = []  # each file, and its rows

    @classmethod
    def of(cls, out: Path, part_rows: int | None, *, force: bool) -> ReleaseFiles:
        """Name the files."""
        if part_rows is not None:
            return cls(PendingFolder(out), PARQUET, is_folder=True)
        return cls(Pending(out, force=force), format_of(out), is_folder=False)

    @classmethod
    def into(cls, pending: Pending) -> ReleaseFiles:
        """Take the files that were named before."""
        is_folder = isinstance(pending, PendingFolder)
        return cls(pending, PARQUET if is_folder else format_of(pending.target), is_folder=is_folder)

    @property
    def files(self) -> Sequence[Path]:
        """The file that replaces one of the same name, or is refused if there is one; a folder is always new."""
        return () if self.is_folder else (self.pending.target,)

    @property
    def targets(self) -> Mapping[str, Pending]:
        """What gets its name in the end."""
        return {"release": self.pending}

    def lie_in(self, folder: Path) -> None:
        """Let everything lie in a folder until it gets its name."""
        self.pending.path = folder / "release"

    def expect(self, buckets: int) -> None:
        """Take note of how many buckets there are at most, since the names of files have as many digits."""
        self.most = buckets

    def write(self, frame: pl.DataFrame) -> None:
        """Write one more bucket."""
        number = len(self._written)
        if isinstance(self.pending, PendingFolder):
            path = self.pending.write_file(part_names(self.most)[number], partial(write_table, frame, self.kind))
        elif self.kind is PARQUET:
            path = self.pending.path.with_name(f"bucket-{number}")
            write_flushed(path, partial(write_table, frame, self.kind))
        else:
            path = self.pending.path
            path.touch(0o600)
            with path.open("ab") as file:
                (appended_csv if number else partial(write_table, kind=CSV))(frame, file=file)
        self._written.append((path, frame.height))

    def finish(self, beat: Beat) -> None:
        """Put the buckets of one Parquet file together, and let one file reach the disk."""
        if self.kind is PARQUET and not self.is_folder:
            self._put_together(beat)
        if not self.is_folder:
            with self.pending.path.open("rb+") as file:
                os.fsync(file.fileno())

    def _put_together(self, beat: Beat) -> None:
        tables = [pl.scan_parquet(path, glob=False, hive_partitioning=False) for path, _ in self._written]
        beat()
        whole, path = pl.concat(tables), self.pending.path
        path.touch(0o600)
        written(PARQUET, lambda: whole.sink_parquet(path, row_group_size=GROUP_ROWS, maintain_order=True))
        for path, _ in self._written:
            path.unlink()

    def finished(self) -> list[FinishedFile]:
        """Return the files, each with its rows and its fingerprint."""
        named = [path.name for path, _ in self._files()] if self.is_folder else [self.pending.target.name]
        files = zip(named, self._files(), strict=True)
        return [FinishedFile(name, path, rows, _sha256(path)) for name, (path, rows) in files]

    def _files(self) -> list[tuple[Path, int]]:
        return self._written if self.is_folder else [(self.pending.path, sum(rows for _, rows in self._written))]


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


# Gathered into one frame


_NO_ROWS = np.zeros(0, dtype=np.int64)


class BucketPlace(Protocol):
    """Where buckets are written."""

    grows: bool  # whether one file can be written bucket by bucket

    def targets(self, output: Output) -> TargetFiles:
        """Name the files."""


def is_written_at_once(output: Output, place: BucketPlace) -> bool:
    """Tell whether the release is one file that cannot be written bucket by bucket."""
    return output.file_rows is None and (not place.grows or str(output.out).lower().endswith(AT_ONCE))


def takes_all_rows(output: Output, place: BucketPlace) -> bool:
    """Tell whether something is asked for that takes all published rows together."""
    return is_written_at_once(output, place) or output.release_format != "text" or output.report is not None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class GatheredTables(WholeTables):
    """The only table of a release in parts, whose rows have come together; parts were counted for what is exposed.

    Where files can be written bucket by bucket, they are, so that what is made beside them changes none of their bytes.
    """

    place: BucketPlace
    totals: Totals
    buckets: Sequence[int]  # the rows of each
    most: int  # buckets that there might have been
    room: bool  # whether new rows are to join

    @property
    def lists_classes(self) -> bool:
        """Tell whether a record lists the classes, of which a table in parts has many."""
        return self.room

    def files(self, output: Output) -> TargetFiles:
        """Name the files."""
        return super().files(output) if is_written_at_once(output, self.place) else self.place.targets(output)

    def write(
        self, output: Output, files: Mapping[str, Pending], labels: Labels | None, progress: Progress
    ) -> Finished:
        """Write the buckets, one after the other, or the table in one piece."""
        if is_written_at_once(output, self.place):
            return super().write(output, files, labels, progress)
        written, done = ReleaseFiles.into(files["release"]), 0
        (frame,) = self.spelled(output, written.kind)
        written.expect(self.most)
        for rows in self.buckets:
            progress(done / frame.height, "writing")
            written.write(frame.slice(done, rows))
            done += rows
        written.finish(still)
        return [written.finished()]

    def confirm(self, finished: Finished, about: LayoutFacts, output: Output, progress: Progress) -> Confirmation:
        """Judge the table as its files hold it."""
        try:
            return super().confirm(finished, about, output, progress)
        except InternalError:
            if joining_can_break(self.policy):
                raise not_as_one_class() from None
            raise

    def exposed(self, judged: Sequence[JudgedTable]) -> ReleaseExposure:
        """Return what remains exposed, as the buckets tell."""
        return self.totals.exposed_in_all()


def gathered_tables(
    totals: Totals, buckets: Sequence[FinishedBucket], notes: Notes, *, place: BucketPlace, most: int, room: bool
) -> GatheredTables:
    """Put the finished buckets together, with whom their rows belong to where persons are counted."""
    table, policy = totals.learned.table, totals.learned.table.policy
    persons = [bucket.persons for bucket in buckets if bucket.persons is not None]
    partition, own = totals.partition, judging_policy(totals.learned)
    measures, loss = totals.figures()
    quasi = {name: domain.column(_NO_ROWS) for name, domain in table.quasi.items()}
    published = PublishedTable(
        pl.concat([bucket.frame for bucket in buckets]),
        Judge(own, None if policy.person is None else persons_of(pl.concat(persons), policy)),
        measures,
        _losses(partition, list(policy.quasi)),
        loss,
        tempering=totals.tempering,
        forms=clear_forms(quasi),
    )
    return GatheredTables(
        layout=OneTable(published),
        policy=policy,
        reader_policy=totals.reader_policy,
        withheld=table.withheld,
        noted=notes,
        place=place,
        totals=totals,
        buckets=[bucket.frame.height for bucket in buckets],
        most=most,
        room=room,
    )


def _losses(partition: SummedPartition, quasi: Sequence[str]) -> dict[str, float]:
    """Return what each quasi-identifier lost, between 0 and 1."""
    return {
        name: round(gcp(replace(partition, lost=[lost])), DIGITS)
        for name, lost in zip(quasi, partition.lost, strict=True)
    }
