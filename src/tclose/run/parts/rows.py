"""Rows that are never all at hand: the table is learned, cut into parts, and each part is split against the whole.

Classes that publish the same come together in buckets, whatever part they come from. A place says how it looks at its
rows, cuts them, deals the classes of its parts out to buckets, finishes the buckets, and counts the finished files.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InputError, LeakWarning, PolicyError, WholeTableWarning
from tclose.messages import say
from tclose.partition import DEFAULT_METHOD, METHODS
from tclose.partition.weave import EffortName
from tclose.policy import Policy
from tclose.privacy.class_counts import JudgedCounts
from tclose.privacy.judge import check_groups
from tclose.release.certificate import CertifiedFile
from tclose.release.files import Pending, give_back_memory
from tclose.release.layouts import LayoutFacts
from tclose.release.output import FinishedFile, Output, file_name
from tclose.release.record import Notes
from tclose.release.tables import Confirmation, Finished, MadeTables, TargetFiles, not_judged_as_written
from tclose.run.engines import MOST_IN_ONE_PART
from tclose.run.parts.buckets import (
    FinishedBucket,
    PublishedColumns,
    SplitPart,
    Totals,
    buckets_for,
    finished_bucket,
    judging_policy,
    split_part,
)
from tclose.run.parts.exposure import AboutColumns, about_columns, attributes_of, leaks_of
from tclose.run.parts.files import gathered_tables, takes_all_rows
from tclose.run.parts.plan import LearnedCounts, PartPlan, TableLearner, whole_of_part
from tclose.run.request import Recipe, Request
from tclose.run.rows import FrameRows, PartInfeasible, Shares
from tclose.table import CountedTable
from tclose.table.coded import check_columns, warn_of_leaks
from tclose.table.domains import LearnedTable
from tclose.table.sources.base import Labels
from tclose.types import Beat, Progress, stretch

_NO_ROWS = np.zeros(0, dtype=np.int64)
PLANNED, CUT = 0.07, 0.14  # shares of the splitting after which parts are planned, and rows are cut into them


@dataclass(frozen=True, eq=False)
class LearnedParts:
    """What is known of a table whose rows are elsewhere."""

    whole: LearnedCounts
    pseudonyms = None

    @property
    def known(self) -> CountedTable:
        """The table as the judge knows it."""
        return self.whole.counted

    @cached_property
    def leaks(self) -> tuple[str, ...]:
        """Warnings about columns that give rows away."""
        return tuple(leaks_of(self.whole))


@dataclass(frozen=True, eq=False, repr=False)
class PartSplitter:
    """What is needed to split any part of a table; it is small, and can be pickled."""

    learned: LearnedTable
    plan: PartPlan
    parts: Sequence[Sequence[int]]  # the pieces of each part
    recipe: Recipe
    buckets: int

    @property
    def columns(self) -> PublishedColumns:
        """What is published."""
        return PublishedColumns.of(self.learned)

    def split(self, part: int, rows: pl.DataFrame, progress: Progress) -> SplitPart:
        """Split the rows of a part."""
        return split_part(
            rows,
            self.learned,
            method=self.recipe.method,
            options=options_of(self.recipe),
            seed=self.recipe.seed + part,
            whole=whole_of_part(self.plan, self.parts[part]),
            progress=progress,
        )


@dataclass(frozen=True, eq=False)
class BucketFinisher:
    """What is needed to finish any bucket of a table; it can be pickled."""

    columns: PublishedColumns
    about: AboutColumns

    @classmethod
    def of(cls, learned: LearnedCounts) -> BucketFinisher:
        """Learn how rows are published."""
        return cls(PublishedColumns.of(learned.table), about_columns(learned, attributes_of(learned)))

    def finished(self, parts: Sequence[SplitPart]) -> FinishedBucket:
        """Bring the classes of all parts together."""
        return finished_bucket(parts, self.columns, self.about)


class PartedRows(ABC):
    """The rows of a table, part by part."""

    kind = "polars"
    labels = None
    at_hand = None
    engine: str  # as records call the place
    grows: bool  # whether one file can be written bucket by bucket
    shares: Shares

    def __init__(self, beat: Beat) -> None:
        self.beat, self.rows = beat, 0

    def learned(self, recipe: Recipe, progress: Progress) -> LearnedParts:
        """Look at every row once: learn the domains, find the rows that can be published, and draw a sample."""
        whole = self.look(recipe, progress)
        self.rows = whole.table.rows
        check_groups(whole.counted.domain, recipe.policy)
        give_back_memory()
        return LearnedParts(whole)

    def split(self, recipe: Recipe, learned: LearnedParts, progress: Progress) -> PartedTables:
        """Cut the table into parts, split each, and deal its classes out to buckets."""
        whole = learned.whole
        plan = PartPlan.of(whole, effort_of(recipe), recipe.seed, stretch(progress, 0.0, PLANNED))
        parts = self.cut(whole, plan, stretch(progress, PLANNED, CUT))
        give_back_memory()
        # classes that publish the same go to the same bucket, whatever part made them: buckets are judged one by one
        buckets = buckets_for(whole.table.rows, recipe.part_rows)
        self.deal(PartSplitter(whole.table, plan, parts, recipe, buckets), stretch(progress, CUT, 1.0))
        give_back_memory()
        return PartedTables(self, recipe, whole, buckets, Totals(whole))

    def learning(self, columns: pl.DataFrame, recipe: Recipe) -> TableLearner:
        """Begin to learn from a table of these columns, given without rows; one that does not fit is refused."""
        policy = recipe.policy
        check_columns(columns, policy, identifiers_too=True)
        warn_of_leaks(columns.clear(), policy)
        learning = TableLearner(policy, columns.columns, recipe.seed, part_rows=recipe.part_rows, beat=self.beat)
        learning.check(columns)
        return learning

    @abstractmethod
    def whole(self, request: Request) -> FrameRows:
        """Hold all rows in memory."""

    def as_one_part(self, request: Request, refusal: PartInfeasible) -> FrameRows:
        """Hold all rows, after parts of them could not be published; a table that is too large stays refused."""
        if self.rows > MOST_IN_ONE_PART:
            raise refusal
        warnings.warn(say("all rows are held in memory: {why}", why=refusal.why), WholeTableWarning, stacklevel=4)
        return self.whole(request)

    @abstractmethod
    def look(self, recipe: Recipe, progress: Progress) -> LearnedCounts:
        """Look at every row once."""

    @abstractmethod
    def cut(self, learned: LearnedCounts, plan: PartPlan, progress: Progress) -> list[list[int]]:
        """Put every row into its piece; return the pieces of each part."""

    @abstractmethod
    def deal(self, splitting: PartSplitter, progress: Progress) -> None:
        """Split every part, and put what it publishes into buckets."""

    @abstractmethod
    def buckets(self, tables: PartedTables, progress: Progress) -> Iterator[FinishedBucket]:
        """Finish the buckets, one after the other, and add them to the totals of the tables."""

    @abstractmethod
    def targets(self, output: Output) -> TargetFiles:
        """Name the files."""

    @abstractmethod
    def finish(
        self, tables: PartedTables, output: Output, files: Mapping[str, Pending], progress: Progress
    ) -> list[FinishedFile]:
        """Write the finished buckets, each as it is."""

    @abstractmethod
    def judged(self, finished: Sequence[FinishedFile], policy: Policy, guard: int, progress: Progress) -> JudgedCounts:
        """Judge the finished files from their own bytes, together with whom their rows belong to.

        `guard` is the rule by which their text has apostrophes; 0 for none.
        """


@dataclass(frozen=True, eq=False)
class PartedTables:
    """One table whose rows lie in buckets."""

    place: PartedRows
    recipe: Recipe
    learned: LearnedCounts
    buckets: int
    totals: Totals  # of the buckets that are finished
    marks = ("",)
    lists_classes = False  # a large table has many

    @property
    def reader_policy(self) -> Policy:
        """The policy by which a reader judges the whole release."""
        return self.totals.reader_policy

    @property
    def withheld(self) -> int:
        """How many rows are not published."""
        return self.learned.table.withheld

    @cached_property
    def finishing(self) -> BucketFinisher:
        """What is needed to finish a bucket."""
        return BucketFinisher.of(self.learned)

    def notes(self) -> Notes:
        """Return what a record keeps."""
        table = self.learned.table
        quasi = {name: domain.column(_NO_ROWS) for name, domain in table.quasi.items()}
        return replace(Notes.of(quasi, table.sensitive, options_of(self.recipe)), engine=self.place.engine)

    def fit_for(self, output: Output, progress: Progress) -> MadeTables:
        """Gather all published rows for what takes them together."""
        room = self.recipe.room > 0
        if not (room or takes_all_rows(output, self.place)):
            return self
        buckets = list(self.place.buckets(self, stretch(progress, 0.0, 0.3)))
        return gathered_tables(self.totals, buckets, self.notes(), place=self.place, most=self.buckets, room=room)

    def files(self, output: Output) -> TargetFiles:
        """Name the files."""
        return self.place.targets(output)

    def write(
        self, output: Output, files: Mapping[str, Pending], labels: Labels | None, progress: Progress
    ) -> Finished:
        """Write the buckets, one after the other."""
        finished = self.place.finish(self, output, files, stretch(progress, 0.0, 0.6))
        give_back_memory()
        return [finished]

    def confirm(self, finished: Finished, about: LayoutFacts, output: Output, progress: Progress) -> Confirmation:
        """Judge the finished files, and certify what was found there."""
        (files,), policy = finished, replace(judging_policy(self.learned), person=self.recipe.policy.person)
        part = stretch(progress, 0.6, 1.0)
        part(0.0, "judging")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeakWarning)
            try:
                judged = self.place.judged(files, policy, output.guard, part)
            except (InputError, PolicyError) as error:
                if type(error) not in (InputError, PolicyError):
                    raise  # the disk is full, or the cluster failed
                raise not_judged_as_written(error) from None
        written = [CertifiedFile(file_name(file.name), file.rows, file.sha256) for file in files]
        confirmed = self.totals.confirmed(judged, written, about)
        return replace(confirmed, certificate=replace(confirmed.certificate, guard=output.guard))


def options_of(recipe: Recipe) -> dict[str, Any]:
    """Return the options of the method; the effort of weave is always named."""
    about = METHODS[recipe.method]
    usual = {about.option: about.choices[0]} if recipe.method == DEFAULT_METHOD else {}
    return {**usual, **recipe.options}


def effort_of(recipe: Recipe) -> EffortName | None:
    """Return the effort by which a table is cut: that of weave, if weave splits the parts."""
    if recipe.method != DEFAULT_METHOD:
        return None
    effort: EffortName = options_of(recipe)[METHODS[DEFAULT_METHOD].option]
    return effort
