"""A release of a table that is too large for memory: read twice in batches, split part by part, judged from its files.

The phases are those of `in_parts`. Rows of a part, and of a bucket, wait in files without a name beside the release.
"""

from __future__ import annotations

import json
import secrets
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from tclose.engine.compiling import announced
from tclose.engine.disk import counted
from tclose.engine.in_parts.buckets import FinishedBucket, buckets_for, by_bucket, finished_bucket
from tclose.engine.in_parts.finishing import ReleaseInParts, Totals, judging_policy
from tclose.engine.in_parts.learning import Learned, Learning
from tclose.engine.in_parts.lines import about_columns
from tclose.engine.in_parts.planning import PartPlan, PieceCounts, whole_of_part
from tclose.engine.in_parts.refusing import check_in_parts
from tclose.engine.in_parts.shared_values import attributes_of, warned_leaks
from tclose.engine.in_parts.splitting import PublishedColumns, SplitPart, split_part
from tclose.engine.memory import given_seed
from tclose.engine.release_files import ReleaseFiles
from tclose.engine.work_folder import WorkFolder
from tclose.errors import InputError, LeakWarning, PolicyError
from tclose.partition import DEFAULT_METHOD, METHODS
from tclose.partition.parts import random_of_rows
from tclose.policy import Policy
from tclose.privacy.counted import JudgedCounts, judge_counted
from tclose.privacy.group_counts import counted_by_person
from tclose.privacy.judge import check_groups
from tclose.release.files import Pending, give_back_memory, pending, publish, sha256
from tclose.release.naming import created, file_name, table_name
from tclose.release.record import confirm_replay
from tclose.release.record_notes import Notes, file_digest, record_bytes
from tclose.release.release import not_judged_as_written
from tclose.run.request import Request
from tclose.table import CountedTable
from tclose.table.batches import TableOnDisk, changed
from tclose.table.coded import check_columns, warn_of_leaks
from tclose.table.counted import grouping_of
from tclose.table.grouped import BUDGET, GroupedRows
from tclose.table.learned import Spellings, columns_read, counted_rows, without_categories
from tclose.table.spill import NoSpace, SpillFile
from tclose.types import Progress, Repeating, silent, stretch

LEARNED, CUT, SPLIT, WRITTEN = 0.06, 0.12, 0.85, 0.94  # shares of the work after which a phase is done


def anonymize(source: TableOnDisk, request: Request, effort: str, *, progress: Progress = silent) -> ReleaseInParts:
    """Publish a table that comes in batches; the files appear once the release is proved."""
    policy, out = request.asked, Path(request.out)
    paths, endorsement = request.output.beside, request.endorsement
    check_in_parts(policy, DEFAULT_METHOD, {METHODS[DEFAULT_METHOD].option: effort})
    given = None if request.seed is None else given_seed(request.seed)
    told, begun = Repeating(progress), created()
    table_sha256 = file_digest(request.table) if "record" in paths else None
    files, work = ReleaseFiles.of(out, request.part_rows, force=request.force), WorkFolder(out)
    targets: dict[str, Path | Pending] = {**paths, "release": files.pending, "work": work}
    with pending(targets, private={"record"}, force=request.force) as held:
        seed = work.begin(_same_run(source, request, effort), given, resume=request.resume, draw=_drawn)
        files.lie_in(work.path)
        run = _Run(source, request, effort, seed, work, told)
        release = run.published(files, begun)
        release = replace(release, certificate=endorsement.endorsed(release.certificate, seed))
        notes = Notes(options={METHODS[DEFAULT_METHOD].option: effort}, engine="disk", table_sha256=table_sha256)
        record = _record(release, request, notes, seed) if "record" in paths else b""
        contents = endorsement.contents(release.certificate, record)
        confirm_replay(seed, [str(file.sha256) for file in release.certificate.files], version("tclose"))
        for what in contents.keys() & paths.keys():
            held[what].write(partial(_put, contents[what]))
        publish(held[what] for what in (*paths, "release"))
    return release


class _Run:
    """One run through all phases."""

    def __init__(
        self, source: TableOnDisk, request: Request, effort: str, seed: int, work: WorkFolder, told: Repeating
    ) -> None:
        self.source, self.policy, self.part_rows, self.effort = source, request.asked, request.part_rows, effort
        self.name, self.seed, self.work, self.told = table_name(request.table), seed, work, told
        self.states = source.states()  # the table is read twice

    def published(self, files: ReleaseFiles, begun: str) -> ReleaseInParts:
        """Learn, cut, split, write, judge."""
        learned = self._learned()
        give_back_memory()
        leaks = warned_leaks(learned)
        columns = PublishedColumns.of(learned.table)
        with closing(SpillFile(self.work.path)) as buckets, closing(SpillFile(self.work.path)) as persons:
            count = buckets_for(learned.table.rows, self.part_rows)
            files.expect(count)
            with closing(SpillFile(self.work.path)) as pieces:
                self._split(learned, columns, pieces, buckets, count)
            give_back_memory()
            totals = self._written(learned, columns, buckets, count, files, persons)
            give_back_memory()
            judged = self._judged(learned, files, persons)
        return totals.release(judged, files.certified(), leaks, begun=begun, name=self.name)

    def _learned(self) -> Learned:
        """Look at every row once."""
        learning: Learning | None = None

        def wanted(columns: pl.DataFrame) -> Sequence[str]:
            nonlocal learning
            check_columns(columns, self.policy, identifiers_too=True)
            warn_of_leaks(columns.clear(), self.policy)
            asked = (self.policy, columns.columns, self.seed)
            learning = Learning(*asked, part_rows=self.part_rows, beat=self.told.beat)
            learning.check(columns)
            return learning.wanted

        for rows in self._rows(wanted, stretch(self.told, 0.0, LEARNED)):
            assert learning is not None
            learning.add(rows)
        if learning is None:
            raise InputError("the table has a header but no rows")
        with closing(learning):
            learning.warn()
            learned = learning.finished()
        check_groups(learned.counted.domain, self.policy)
        return learned

    def _rows(self, wanted: Any, progress: Progress) -> Iterator[pl.DataFrame]:
        """Yield all rows in batches, of the columns that are read."""
        names: Sequence[str] = ()

        def noted(columns: pl.DataFrame) -> Sequence[str]:
            nonlocal names
            names = wanted(columns)
            return names

        with closing(self.source.rows(noted, progress)) as batches:
            for batch in batches:
                yield pl.DataFrame(dict(zip(names, batch.cells.iter_columns(), strict=True)))

    def _split(
        self, learned: Learned, columns: PublishedColumns, pieces: SpillFile, buckets: SpillFile, count: int
    ) -> None:
        """Cut the table into parts, split each, and put its rows into buckets."""
        effort: Any = self.effort
        with announced(self.told, DEFAULT_METHOD, {METHODS[DEFAULT_METHOD].option: effort}) as told:
            plan = PartPlan.of(learned, effort, self.seed, stretch(told, LEARNED, LEARNED))
            parts = self._cut(learned, plan, pieces, stretch(told, LEARNED, CUT))
            give_back_memory()
            done, total = 0, learned.table.rows
            for number, own in enumerate(parts):
                rows = pl.concat([frame for piece in own for frame in pieces.frames(piece)])
                low, high = (CUT + (SPLIT - CUT) * share / total for share in (done, done + rows.height))
                make = partial(
                    split_part,
                    rows,
                    learned.table,
                    effort=effort,
                    seed=self.seed + number,
                    whole=whole_of_part(plan, own),
                    progress=stretch(told, low, high, f"splitting part {number + 1:,} of {len(parts):,}", only=True),
                )
                by = json.dumps([self.seed, number, effort, whole_of_part(plan, own), "ends"], default=str).encode()
                made = self.work.split(rows, learned.table.fingerprint + by, make)
                for bucket, part in by_bucket(made, columns, count):
                    buckets.append(("classes", bucket), part.classes)
                    buckets.append(("rows", bucket), part.rows)
                done += rows.height

    def _cut(self, learned: Learned, plan: PartPlan, pieces: SpillFile, progress: Progress) -> list[list[int]]:
        """Put every row into its piece; return the pieces of each part."""
        counts, first = PieceCounts(plan, learned.table), 0
        spellings = Spellings(self.policy)
        for batch in self._rows(partial(_same, learned), stretch(progress, 0.0, 1.0, "cutting the table", only=True)):
            rows = learned.table.publishable(spellings.unified(without_categories(batch)))
            if not rows.height:
                continue
            table = learned.table.coded(rows)
            own = plan.pieces_of(table, random_of_rows(self.seed, first, len(table)))
            counts.add(table, own)
            first += rows.height
            for piece, found in _by_piece(rows, own):
                pieces.append(piece, found)
        if first != learned.table.rows or self.source.states() != self.states:
            raise InputError(changed("the table"))
        return counts.parts()

    def _written(
        self,
        learned: Learned,
        columns: PublishedColumns,
        buckets: SpillFile,
        count: int,
        files: ReleaseFiles,
        persons: SpillFile,
    ) -> Totals:
        """Write the buckets, one after the other."""
        totals, about = Totals(learned), about_columns(learned, attributes_of(learned))
        for bucket in range(count):
            self.told(SPLIT + (WRITTEN - SPLIT) * bucket / count, "writing")
            frames = (buckets.frames((what, bucket)) for what in ("classes", "rows"))
            parts = [SplitPart(*pair) for pair in zip(*frames, strict=True)]
            if parts:
                finished = finished_bucket(parts, columns, about)
                totals.add(finished)
                files.write(finished.frame)
                _keep_persons(persons, finished)
        give_back_memory()
        files.finish(self.told.beat)
        return totals

    def _judged(self, learned: Learned, files: ReleaseFiles, persons: SpillFile) -> JudgedCounts:
        """Judge the finished files from their own bytes."""
        policy, table = judging_policy(learned), TableOnDisk(files.parts(), files.is_folder)
        reading, judging = stretch(self.told, WRITTEN, 0.99, "judging", only=True), stretch(self.told, 0.99, 1.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeakWarning)
            try:
                if self.policy.person is None:
                    with counted(table, policy, progress=reading) as found:
                        return judge_counted(found, policy, judging)
                return self._judged_with_persons(table, policy, persons, reading, judging)
            except NoSpace:
                raise
            except (InputError, PolicyError) as error:
                raise not_judged_as_written(error) from None

    def _judged_with_persons(
        self, table: TableOnDisk, policy: Policy, persons: SpillFile, reading: Progress, judging: Progress
    ) -> JudgedCounts:
        """Judge the files together with whom their rows belong to, which they do not say."""
        policy = replace(policy, person=self.policy.person)
        grouping = grouping_of(policy, counted_by_person(policy))
        names: list[str] = []

        def wanted(columns: pl.DataFrame) -> Sequence[str]:
            names[:] = columns.columns
            return names

        with closing(GroupedRows(grouping, budget=BUDGET, beat=self.told.beat)) as groups:
            owners = _Slices(persons.each_frame("persons"))
            with closing(table.rows(wanted, reading)) as batches:
                for batch in batches:
                    cells = dict(zip(names, batch.cells.iter_columns(), strict=True))
                    rows = pl.DataFrame({**cells, str(self.policy.person): owners.take(batch.cells.height)})
                    groups.add(counted_rows(rows, grouping), rows.height)
            return judge_counted(CountedTable.of(groups, policy), policy, judging)


class _Slices:
    """Persons one after the other, in slices of any length."""

    def __init__(self, frames: Iterator[pl.DataFrame]) -> None:
        self._frames, self._rest = frames, pl.DataFrame()

    def take(self, rows: int) -> pl.Series:
        """Return the next persons."""
        while self._rest.height < rows:
            frame = next(self._frames)
            self._rest = pl.concat([self._rest, frame]) if self._rest.width else frame
        taken, self._rest = self._rest.head(rows), self._rest.slice(rows)
        return taken.to_series()


def _keep_persons(persons: SpillFile, bucket: FinishedBucket) -> None:
    if bucket.persons is not None:
        persons.append("persons", bucket.persons.to_frame())


def _same(learned: Learned, columns: pl.DataFrame) -> Sequence[str]:
    return columns_read(learned.table.policy, columns.columns)


def _by_piece(rows: pl.DataFrame, pieces: Any) -> Iterator[tuple[int, pl.DataFrame]]:
    """Yield the rows of each piece."""
    names = list(map(str, range(rows.width)))  # polars takes names such as ^x$ for patterns
    renamed = pl.DataFrame(dict(zip(names, rows.iter_columns(), strict=True)))
    for (piece,), found in (
        renamed.with_columns(pl.Series("piece", pieces)).partition_by("piece", as_dict=True, include_key=False).items()
    ):
        yield int(piece), pl.DataFrame(dict(zip(rows.columns, found.iter_columns(), strict=True)))


def _same_run(source: TableOnDisk, request: Request, effort: str) -> dict[str, Any]:
    """Return everything that a run which is continued must have in common with the first one."""
    policy = request.asked
    return {
        "files": [(part.name, part.size, part.state()) for part in source.parts],
        "policy": policy.to_dict(),
        "files of the policy": [sha256(path.read_bytes()) for path in policy.files if path.is_file()],
        "effort": effort,
        "part_rows": request.part_rows,
        "version": version("tclose"),
    }


def _record(release: ReleaseInParts, request: Request, notes: Notes, seed: int) -> bytes:
    """Return the record; it lists no classes, of which a large table has too many."""
    certificate = release.certificate
    about = {name: getattr(certificate, name) for name in ("method", "version", "table", "withheld", "guard_formulas")}
    return record_bytes(
        notes,
        request.asked,
        seed=seed,
        about={**about, "part_rows": request.part_rows, "judged_by": certificate.settings},
        certificate=certificate,
        certificate_file=None if request.certificate is None else file_name(request.certificate),
        table=None,
    )


def _drawn() -> int:
    return secrets.randbits(63)


def _put(data: bytes, file: BinaryIO) -> None:
    file.write(data)
