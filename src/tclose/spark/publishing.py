"""A release of a Spark frame: the rows are learned from, cut, split and judged on the executors, part by part.

The steps are those of `engine/in_parts`, in the order of `engine/disk_release.py`. What a step has made stays on the
executors until the next one needs it.
"""

from __future__ import annotations

import pickle
import secrets
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812, as everybody calls it

from tclose.engine.compiling import announced
from tclose.engine.disk import Counting
from tclose.engine.in_parts.buckets import buckets_for
from tclose.engine.in_parts.finishing import Totals, judging_policy
from tclose.engine.in_parts.learning import Learned
from tclose.engine.in_parts.lines import about_columns
from tclose.engine.in_parts.planning import PartPlan, PieceCounts
from tclose.engine.in_parts.refusing import check_in_parts
from tclose.engine.in_parts.shared_values import attributes_of, warned_leaks
from tclose.engine.in_parts.splitting import PublishedColumns
from tclose.engine.memory import given_seed
from tclose.errors import InputError, LeakWarning, PolicyError
from tclose.partition import DEFAULT_METHOD, METHODS
from tclose.partition.options import checked
from tclose.policy import Policy, PolicyLike
from tclose.privacy.counted import JudgedCounts, judge_counted
from tclose.release.folders import part_names
from tclose.release.layouts import WrittenFile
from tclose.release.naming import created
from tclose.release.release import not_judged_as_written
from tclose.spark.columns import ROW, numbered, selected
from tclose.spark.counting import counted_of, counted_on_cluster
from tclose.spark.executors import on_executor
from tclose.spark.jobs import SparkFailed, rows_of
from tclose.spark.learning import learn
from tclose.spark.parcels import CHANGED, PARCELS_IN_SPARK
from tclose.spark.release import SparkRelease
from tclose.spark.row_parcels import (
    ABOUT,
    IN_SPARK,
    MISTAKE,
    ROWS,
    Cutting,
    Splitting,
    counted_buckets,
    cut_rows,
    finished_buckets,
    split_parts,
    without_rows,
)
from tclose.table import CountedTable
from tclose.types import Ints, Progress, Repeating, silent, stretch

LEARNED, CUT, SPLIT, WRITTEN = 0.1, 0.2, 0.85, 0.95  # shares of the work after which a phase is done
TASKS_PER_PART = 4  # so that few tasks have two parts: Spark deals them out by a hash


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
    return published(df, Asked(Policy.of(policy), effort, part_rows, seed), progress or silent)


@dataclass(frozen=True)
class Asked:
    """What is asked of a release that is made on a cluster."""

    policy: Policy
    effort: str
    part_rows: int | None
    seed: int | None = field(repr=False)
    name: str | None = None  # of the table, for the certificate


def published(df: DataFrame, asked: Asked, progress: Progress) -> SparkRelease:
    """Publish a frame."""
    option = {METHODS[DEFAULT_METHOD].option: asked.effort}
    check_in_parts(asked.policy, DEFAULT_METHOD, option)
    checked(DEFAULT_METHOD, option)
    if asked.part_rows is not None and asked.part_rows < 1:
        raise InputError("part_rows is the least number of rows of a part: 1 or more")
    chosen = secrets.randbits(63) if asked.seed is None else given_seed(asked.seed)
    run = _Run(df, asked.policy, asked.effort, asked.part_rows, chosen, Repeating(progress))
    try:
        return run.published(created(), asked.name)
    finally:
        run.forget()


class _Run:
    """One run through all phases."""

    def __init__(
        self, df: DataFrame, policy: Policy, effort: str, part_rows: int | None, seed: int, told: Repeating
    ) -> None:
        self.df, self.policy, self.effort, self.part_rows = df, policy, effort, part_rows
        self.seed, self.told = seed, told
        self._kept: list[DataFrame] = []

    def published(self, begun: str, name: str | None) -> SparkRelease:
        """Learn, cut, split, finish, judge."""
        self.told(0.0, "reading")
        learned = learn(self.df, self.policy, self.seed, self.part_rows, self.told)
        leaks = warned_leaks(learned)
        finished = self._finished(learned)
        found = self._rows(finished, ABOUT)
        about = [(row.place, *without_rows(row.payload)) for row in sorted(found, key=lambda row: row.place)]
        totals = Totals(learned)
        for _, _, bucket in about:
            totals.add(bucket)
        self.told(WRITTEN, "judging")
        judged = self._judged(learned, finished)
        names = dict(zip((place for place, _, _ in about), part_names(len(about)), strict=True))
        files = [WrittenFile(names[place], int(bucket.sizes.sum()), digest) for place, digest, bucket in about]
        release = totals.release(judged, files, leaks, begun=begun, name=name)
        self._kept.remove(finished)
        return SparkRelease(
            **vars(release),
            finished=finished,
            names=names,
            columns=about[0][2].frame,
            original=self.df.schema,
            seed=self.seed,
        )

    def forget(self) -> None:
        """Give back the space of what is no longer needed."""
        for frame in self._kept:
            frame.unpersist()

    def _finished(self, learned: Learned) -> DataFrame:
        """Return the finished buckets, as bytes of files."""
        effort: Any = self.effort
        with announced(self.told, DEFAULT_METHOD, {METHODS[DEFAULT_METHOD].option: effort}) as told:
            plan = PartPlan.of(learned, effort, self.seed, stretch(told, LEARNED, LEARNED))
        self.told(LEARNED, "cutting the table")
        cut, parts = self._cut(learned, plan)
        self.told(CUT, f"splitting {len(parts):,} parts")
        split = self._split(learned, plan, cut, parts)
        self.told(SPLIT, "bringing classes together")
        job = partial(
            finished_buckets,
            columns=PublishedColumns.of(learned.table),
            about=about_columns(learned, attributes_of(learned)),
        )
        count = buckets_for(learned.table.rows, self.part_rows)
        dealt = split.filter(F.col("kind") == ROWS).repartition(count * TASKS_PER_PART, "place")
        finished = self._keep(dealt.mapInArrow(on_executor(job), IN_SPARK))
        self._raise_mistakes(finished)
        for frame in (cut, split):
            frame.unpersist()
            self._kept.remove(frame)
        return finished

    def _cut(self, learned: Learned, plan: PartPlan) -> tuple[DataFrame, list[list[int]]]:
        """Send every row to its piece; return the rows, and the pieces of each part."""
        columns = learned.table.columns
        job = partial(cut_rows, cutting=Cutting(learned.table, plan, columns), row=ROW)
        cut = self._keep(numbered(selected(self.df, columns)).mapInArrow(on_executor(job), IN_SPARK))
        self._raise_mistakes(cut)
        counts, left = PieceCounts(plan, learned.table), _cells(learned)
        for row in self._rows(cut, ABOUT):
            found, persons, seen = pickle.loads(row.payload)
            counts.add_counts(PieceCounts(plan, learned.table, found, persons))
            left = {name: cells - seen[name] for name, cells in left.items()}
        if any(cells.any() for cells in left.values()):
            raise InputError(CHANGED)
        return cut, counts.parts()

    def _split(self, learned: Learned, plan: PartPlan, cut: DataFrame, parts: Sequence[Sequence[int]]) -> DataFrame:
        """Split every part into classes."""
        part_of = {piece: part for part, pieces in enumerate(parts) for piece in pieces}
        listed = ",".join(str(part_of.get(piece, -1)) for piece in range(plan.pieces))
        part = F.element_at(F.split(F.lit(listed), ","), F.col("place") + 1).cast("int")
        rows = cut.filter(F.col("kind") == ROWS).withColumn("part", part)
        count = buckets_for(learned.table.rows, self.part_rows)
        job = partial(split_parts, splitting=Splitting(learned.table, plan, parts, self.effort, count))
        dealt = rows.repartition(len(parts) * TASKS_PER_PART, "part")
        split = self._keep(dealt.mapInArrow(on_executor(job), IN_SPARK))
        self._raise_mistakes(split)
        return split

    def _judged(self, learned: Learned, finished: DataFrame) -> JudgedCounts:
        """Judge the finished files from their own bytes."""
        policy = judging_policy(learned)
        if (person := self.policy.person) is not None:
            policy = replace(policy, person=person)
        counting = Counting(policy, True, self.told.beat)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeakWarning)
            what = counted_of(counting, self.df.sparkSession)
            job = partial(counted_buckets, what=what, person=person)
            files = finished.filter(F.col("kind") == ROWS)
            parcels = files.mapInArrow(on_executor(job), PARCELS_IN_SPARK)
            try:
                with counted_on_cluster(parcels, what, self.told.beat) as cluster:
                    cluster.check_cells()
                    return judge_counted(CountedTable.of(cluster.counted[0], policy), policy)
            except SparkFailed:
                raise
            except (InputError, PolicyError) as error:
                raise not_judged_as_written(error) from None

    def _raise_mistakes(self, frame: DataFrame) -> None:
        """Let Spark make a frame, and raise the first mistake that it met."""
        for row in self._rows(frame, MISTAKE):
            raise pickle.loads(row.payload)

    def _keep(self, frame: DataFrame) -> DataFrame:
        kept = frame.persist(StorageLevel.MEMORY_AND_DISK)
        self._kept.append(kept)
        return kept

    def _rows(self, frame: DataFrame, kind: int) -> list[Row]:
        return rows_of(frame.filter(F.col("kind") == kind), self.told.beat)


def _cells(learned: Learned) -> dict[str, Ints]:
    """Return how many rows show each value of each column; those without a value come first."""
    return {name: np.append(domain.missing, domain.counts) for name, domain in learned.table.domains.items()}
