"""Rows of a Spark frame: looked at, cut, split and judged on the executors. The driver sees a sample and aggregates.

What a step has made stays on the executors until the next one needs it; so does the release, which can be looked at,
and written as a folder of Parquet files.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np
import polars as pl
from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it
from pyspark.sql.types import StringType, StructField, StructType

from tclose.errors import InputError, InternalError
from tclose.measure.exposure import ReleaseExposure
from tclose.measure.information_loss import LostDetail
from tclose.partition import DEFAULT_METHOD, METHODS
from tclose.partition.options import checked_options
from tclose.policy import Policy, PolicyLike
from tclose.privacy.allowance import Allowance, allowances, rigid_attributes
from tclose.privacy.class_counts import JudgedCounts, judge_counted
from tclose.privacy.results import CheckResult
from tclose.release.certificate import Certificate
from tclose.release.files import Pending, PendingFolder, check_folder, part_names, put, sha256
from tclose.release.formats import PARQUET, written
from tclose.release.output import NOTHING_ADDED, Endorsement, FinishedFile, Output
from tclose.release.release import PreparedRelease
from tclose.run.disk import RowCounter
from tclose.run.engines import LARGE_PART, MOST_IN_ONE_PART, REFUSED
from tclose.run.parts.buckets import FinishedBucket
from tclose.run.parts.plan import (
    MOST_SAMPLED,
    PART_ROWS,
    LearnedCounts,
    PartPlan,
    PieceCounts,
    TableLearner,
    sample_bound,
)
from tclose.run.parts.rows import PartedRows, PartedTables, PartSplitter
from tclose.run.pipeline import prepared
from tclose.run.request import Recipe, Request, lowered, seed_of
from tclose.run.rows import FrameRows, Shares, parts_refusal
from tclose.spark.cluster import (
    ROW,
    columns_of,
    each_row,
    numbered,
    on_executor,
    rows_of,
    run_job,
    selected,
    session,
    table_at,
)
from tclose.spark.parcels import (
    ABOUT_PARCEL,
    ABOUT_SAMPLE,
    CHANGED,
    IN_SPARK,
    MISTAKE_PARCEL,
    PARCELS_IN_SPARK,
    ROWS_PARCEL,
    SAMPLE,
    AboutSample,
    CountPlan,
    CutPlan,
    bucket_of,
    counted_buckets,
    cut_rows,
    files_of,
    finished_buckets,
    learned_rows,
    published_rows,
    sample_below,
    split_parts,
    without_rows,
)
from tclose.spark.verification import SHUFFLED, CountedOnCluster, counted_of, counted_on_cluster
from tclose.table import CountedTable
from tclose.table.groups import GroupedRows, itself
from tclose.types import Ints, Progress, Repeating, silent, stretch

# What is learned from a frame before it is split: counts and a sample come to the driver, no more


def learn(rows: SparkRows, recipe: Recipe) -> LearnedCounts:
    """Look at every row once, on the executors."""
    df, policy, part_rows = rows.frame, recipe.policy, recipe.part_rows or PART_ROWS
    columns = columns_of(df, {name for name, _ in policy.columns()}, rows.beat)
    learning = rows.learning(columns, recipe)
    repeats = learning.identifiers
    buckets = max(1, int(df.sparkSession.conf.get(SHUFFLED) or 1))
    what = CountPlan((learning.groups.grouping, *(groups.grouping for groups in repeats.values())), buckets)
    job = partial(
        learned_rows,
        what=what,
        policy=policy,
        columns=learning.columns,
        seed=recipe.seed,
        part_rows=part_rows,
        row=ROW,
    )
    parcels = numbered(selected(df, what.columns)).mapInArrow(on_executor(job), PARCELS_IN_SPARK)
    with counted_on_cluster(parcels, what, rows.beat) as cluster:
        cluster.check_cells()
        learning.repeating = cluster.warn_of_repeats(repeats)
        _adopt(learning, cluster, part_rows)
    return learning.finished()


def _adopt(learning: TableLearner, cluster: CountedOnCluster, part_rows: int) -> None:
    """Bring counts and sample to the driver."""
    counted = cluster.counted[0]
    if not counted.rows + counted.withheld:
        raise InputError("the table has no rows")
    about: list[AboutSample] = [pickle.loads(payload) for payload in cluster.payloads(ABOUT_SAMPLE)]
    sampled = np.sum([part.sampled for part in about], axis=0)
    halvings = int(np.argmax(sampled <= MOST_SAMPLED))
    groups = GroupedRows.of_buckets(
        counted.grouping,
        counted.each(itself),
        rows=counted.rows,
        withheld=counted.withheld,
        notes=counted.notes,
    )
    seen = {name: set().union(*(part.seen[name] for part in about)) for name in about[0].seen}
    drawn = cluster.answers(SAMPLE, partial(sample_below, bound=sample_bound(part_rows, halvings)))
    samples = [rows for _, rows in sorted(drawn, key=lambda part: part[0])]
    learning.adopt(groups, seen, pl.concat(samples), halvings)


# The rows


TASKS_PER_PART = 4  # so that few tasks have two parts: Spark deals them out by a hash


@contextmanager
def spark_rows(request: Request, told: Repeating) -> Iterator[tuple[SparkRows, int]]:
    """Hold the rows of Parquet files on a cluster; yield them with the seed of the work."""
    if request.master is None:
        raise InputError("say which cluster: --master spark://HOST:7077, yarn, local[4] or sc://HOST:15002")
    seed = seed_of(request.seed)
    with session(request.master) as spark, closing(SparkRows(table_at(spark, str(request.table)), told)) as rows:
        yield rows, seed


class SparkRows(PartedRows):
    """The rows of a Spark frame."""

    engine = "spark"
    grows = False
    shares = Shares(read=0.0, split=0.85)

    def __init__(self, frame: DataFrame, told: Repeating) -> None:
        super().__init__(told.beat)
        self.frame = frame
        self._kept: list[DataFrame] = []
        self._cut: DataFrame | None = None
        self._dealt: DataFrame | None = None
        self.finished: DataFrame | None = None  # the buckets, as bytes of files
        self.names: dict[int, str] = {}  # of the file of each bucket
        self.columns = pl.DataFrame()  # that are published, without rows
        self.about: dict[int, FinishedBucket] = {}  # what is known of each bucket, without its rows
        self.digests: dict[str, str] = {}
        self.sizes: dict[str, int] = {}  # rows of each file
        self._judged: JudgedCounts | None = None

    def close(self) -> None:
        """Give back the space on the executors."""
        for frame in self._kept:
            frame.unpersist()
        self._kept = []

    def whole(self, request: Request) -> FrameRows:
        """Hold all rows in the memory of the driver; a table of more rows than it should get is refused."""
        spark, columns = self.frame.sparkSession, list(self.frame.columns)
        rows = run_job(spark, self.frame.count, self.beat)
        if rows > MOST_IN_ONE_PART:
            raise InputError(
                "{large_part} is not made on Spark, since {spark}: use the engine memory on a machine that holds them",
                large_part=LARGE_PART,
                spark=REFUSED[LARGE_PART]["spark"],
            )
        found = pl.DataFrame(pl.from_arrow(run_job(spark, selected(self.frame, columns).toArrow, self.beat)))
        return FrameRows.of(pl.DataFrame(dict(zip(columns, found.iter_columns(), strict=True))), lowered(request))

    def look(self, recipe: Recipe, progress: Progress) -> LearnedCounts:
        """Look at every row once, on the executors."""
        progress(0.0, "reading")
        return learn(self, recipe)

    def cut(self, learned: LearnedCounts, plan: PartPlan, progress: Progress) -> list[list[int]]:
        """Send every row to its piece; return the pieces of each part."""
        progress(0.0, "cutting the table")
        columns = learned.table.columns
        job = partial(cut_rows, cutting=CutPlan(learned.table, plan, columns), row=ROW)
        self._cut = self._keep(numbered(selected(self.frame, columns)).mapInArrow(on_executor(job), IN_SPARK))
        self._raise_mistakes(self._cut)
        counts, left = PieceCounts(plan, learned.table), _cells(learned)
        for row in self._rows(self._cut, ABOUT_PARCEL):
            found, persons, seen = pickle.loads(row.payload)
            counts.add_counts(PieceCounts(plan, learned.table, found, persons))
            left = {name: cells - seen[name] for name, cells in left.items()}
        if any(cells.any() for cells in left.values()):
            raise InputError(CHANGED)
        return counts.parts()

    def deal(self, splitting: PartSplitter, progress: Progress) -> None:
        """Split every part into classes, and send them to their buckets."""
        plan, parts, cut = splitting.plan, splitting.parts, self._cut
        assert cut is not None
        progress(0.0, f"splitting {len(parts):,} parts")
        part_of = {piece: part for part, pieces in enumerate(parts) for piece in pieces}
        listed = ",".join(str(part_of.get(piece, -1)) for piece in range(plan.pieces))
        part = F.element_at(F.split(F.lit(listed), ","), F.col("place") + 1).cast("int")
        rows = cut.filter(F.col("kind") == ROWS_PARCEL).withColumn("part", part)
        dealt = rows.repartition(len(parts) * TASKS_PER_PART, "part")
        self._dealt = self._keep(dealt.mapInArrow(on_executor(partial(split_parts, splitting=splitting)), IN_SPARK))
        self._raise_mistakes(self._dealt)

    def collect(self, tables: PartedTables, progress: Progress, guard: int = 0) -> None:
        """Finish the buckets on the executors, once, and add them to the totals; a `guard` puts apostrophes in."""
        if self.finished is not None:
            return
        assert self._dealt is not None
        progress(0.0, "bringing classes together")
        job = partial(finished_buckets, finishing=tables.finishing, guard=guard)
        dealt = self._dealt.filter(F.col("kind") == ROWS_PARCEL).repartition(tables.buckets * TASKS_PER_PART, "place")
        self.finished = self._keep(dealt.mapInArrow(on_executor(job), IN_SPARK))
        self._raise_mistakes(self.finished)
        self._forget_but(self.finished)
        found = self._rows(self.finished, ABOUT_PARCEL)
        about = [(row.place, *without_rows(row.payload)) for row in sorted(found, key=lambda row: row.place)]
        self.about = {place: bucket for place, _, bucket in about}
        for bucket in self.about.values():
            tables.totals.add(bucket)
        self.names = dict(zip((place for place, _, _ in about), part_names(len(about)), strict=True))
        self.digests = {self.names[place]: digest for place, digest, _ in about}
        self.sizes = {self.names[place]: int(bucket.sizes.sum()) for place, _, bucket in about}
        self.columns = about[0][2].frame

    def targets(self, output: Output) -> FolderTarget:
        """Name the folder, on this machine."""
        if "://" in str(output.out):
            raise InputError(
                "{out} is on no file system of this machine: write the release here, and copy the folder",
                out=output.out,
            )
        check_folder(Path(output.out))
        return FolderTarget(PendingFolder(Path(output.out)))

    def finish(
        self, tables: PartedTables, output: Output, files: Mapping[str, Pending], progress: Progress
    ) -> list[FinishedFile]:
        """Write the files, and compare what was written with what the executors hold."""
        self.collect(tables, progress, output.guard)
        folder, done, total = files["release"], 0, tables.learned.table.rows
        assert isinstance(folder, PendingFolder)
        for row in each_row(self.files, self.beat):
            name = self.names[row.place]
            content = files_of(row.payload)
            written(PARQUET, partial(folder.write_file, name, partial(put, content)))
            if sha256((folder.path / name).read_bytes()) != self.digests[name]:
                raise InternalError("a file is not what was judged, so nothing was released")
            done += row.first
            progress(done / total, "writing")
        if set(folder.names) != set(self.digests):
            raise InternalError("files of the release are missing on the executors, so nothing was released")
        return self.held(folder.path)

    def buckets(self, tables: PartedTables, progress: Progress) -> Iterator[FinishedBucket]:
        """Bring the finished buckets here, in their order."""
        self.collect(tables, progress)
        found = {row.place: row.payload for row in each_row(self.files, self.beat)}
        for place in sorted(found):
            yield bucket_of(found[place], self.about[place])

    def held(self, folder: Path = Path()) -> list[FinishedFile]:
        """Return the files of the buckets, in their order."""
        return [FinishedFile(name, folder / name, self.sizes[name], digest) for name, digest in self.digests.items()]

    @property
    def files(self) -> DataFrame:
        """The bytes of the finished files."""
        assert self.finished is not None
        return self.finished.filter(F.col("kind") == ROWS_PARCEL)

    def judged(self, finished: Sequence[FinishedFile], policy: Policy, guard: int, progress: Progress) -> JudgedCounts:
        """Judge the finished files from their own bytes, on the executors; once, since they do not change."""
        if self._judged is None:
            self._judged = self._counted(policy, guard)
        return self._judged

    def _counted(self, policy: Policy, guard: int) -> JudgedCounts:
        counting = RowCounter(policy, True, self.beat)
        what = counted_of(counting, self.frame.sparkSession)
        job = partial(counted_buckets, what=what, person=policy.person, guard=guard)
        parcels = self.files.mapInArrow(on_executor(job), PARCELS_IN_SPARK)
        with counted_on_cluster(parcels, what, self.beat) as cluster:
            cluster.check_cells()
            return judge_counted(CountedTable.of(cluster.counted[0], policy), policy)

    def _raise_mistakes(self, frame: DataFrame) -> None:
        """Let Spark make a frame, and raise the first mistake that it met."""
        for row in self._rows(frame, MISTAKE_PARCEL):
            raise pickle.loads(row.payload)

    def _keep(self, frame: DataFrame) -> DataFrame:
        kept = frame.persist(StorageLevel.MEMORY_AND_DISK)
        self._kept.append(kept)
        return kept

    def _forget_but(self, needed: DataFrame) -> None:
        for frame in self._kept:
            if frame is not needed:
                frame.unpersist()
        self._kept = [needed]

    def _rows(self, frame: DataFrame, kind: int) -> list[Row]:
        return rows_of(frame.filter(F.col("kind") == kind), self.beat)


class FolderTarget:
    """A new folder of Parquet files."""

    files: Sequence[Path] = ()

    def __init__(self, folder: PendingFolder) -> None:
        self.targets: Mapping[str, Path | Pending] = {"release": folder}


def _cells(learned: LearnedCounts) -> dict[str, Ints]:
    """Return how many rows show each value of each column; those without a value come first."""
    return {name: np.append(domain.missing, domain.counts) for name, domain in learned.table.domains.items()}


# The release


SPLIT, COLLECTED = 0.85, 0.6  # shares of the work when parts are split, and of the rest when classes are together


def anonymize(
    df: DataFrame,
    policy: PolicyLike,
    *,
    effort: str = "balanced",
    part_rows: int | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> SparkRelease:
    """Publish a Spark frame: the release is made and judged on the executors, and can be looked at or written.

    The table is split by weave in parts of at least `part_rows` rows, 60,000 if absent. A release that does not hold
    what the policy asks for is never returned. Close it, or use it in a `with` block, to give back the executors'
    space.
    """
    policy, options, told = Policy.of(policy), {METHODS[DEFAULT_METHOD].option: effort}, Repeating(progress or silent)
    if (why := parts_refusal(policy, DEFAULT_METHOD, options)) is not None:
        raise InputError(
            "{why}: publish the table with `tclose anonymize --engine spark`, which holds all rows", why=why
        )
    checked_options(DEFAULT_METHOD, options)
    if part_rows is not None and part_rows < 1:
        raise InputError("part_rows is the least number of rows of a part: 1 or more")
    recipe = replace(Recipe.of(policy, DEFAULT_METHOD, options, seed=seed_of(seed)), part_rows=part_rows)
    rows = SparkRows(df, told)
    try:
        return SparkRelease(prepared(rows, recipe, stretch(told, 0.0, SPLIT)), rows, stretch(told, SPLIT, 1.0))
    except BaseException:
        rows.close()
        raise


class SparkRelease:
    """A release that was made and judged; its files are bytes on the executors until it is closed."""

    def __init__(self, made: PreparedRelease, rows: SparkRows, progress: Progress) -> None:
        tables = made.tables
        assert isinstance(tables, PartedTables)
        self._made, self._rows, known, policy = made, rows, tables.learned.counted, made.policy
        rows.collect(tables, stretch(progress, 0.0, COLLECTED))
        found = tables.confirm(
            [rows.held()], made.about, Output(out="", folder=True), stretch(progress, COLLECTED, 1.0)
        )
        self.certificate: Certificate = found.certificate
        self.result: CheckResult = found.results[0]
        self.exposed: ReleaseExposure = found.exposed  # what remains exposed although the release holds its policy
        self.lost: tuple[LostDetail, ...] = found.lost
        self.leaks: tuple[str, ...] = made.leaks  # warnings about columns that give rows away
        self.rigid = tuple(each.sentence for each in rigid_attributes(known, policy))
        self.allows: Mapping[str, Allowance] = allowances(known, policy)  # what each t means in shares

    @property
    def table(self) -> DataFrame:
        """The published rows, as a Spark frame; its order says nothing about the original."""
        fields = [
            StructField(name, StringType() if dtype == pl.String else self._rows.frame.schema[name].dataType)
            for name, dtype in self._rows.columns.schema.items()
        ]
        return self._rows.files.mapInArrow(on_executor(published_rows), StructType(fields))

    def write(
        self,
        path: str | Path,
        *,
        certificate: str | Path | None = None,
        record: str | Path | None = None,
        envelope: str | Path | None = None,
        endorsement: Endorsement = NOTHING_ADDED,
        force: bool = False,
        progress: Progress | None = None,
    ) -> Certificate:
        """Write the release as a new folder of Parquet files on this machine, and what proves it beside.

        The bytes are those that were judged. The folder appears complete or not at all, together with the certificate
        and the record (the seed), if they are asked for. The `endorsement` adds what the steward says to the
        certificate, and its signatures to `envelope`.
        """
        output = Output(
            out=path,
            folder=True,
            certificate=certificate,
            record=record,
            envelope=envelope,
            endorsement=endorsement,
            force=force,
        )
        return self._made.write(output, progress=Repeating(progress or silent)).certificate

    def close(self) -> None:
        """Give back the space on the executors; afterwards, the release can no longer be looked at or written."""
        self._rows.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
