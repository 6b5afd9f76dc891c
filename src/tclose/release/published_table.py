"""One published table: rows split into classes, recoded, put into a neutral order, and the judge who confirms it.

Where δ-presence is asked for, the classes are boxes cut from the population, which publish the hulls of its persons.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InternalError
from tclose.measure.information_loss import (
    DIGITS,
    MeasuredPartition,
    NumberPlaces,
    chosen_loss,
    class_sizes,
    gcp,
    measures_of,
)
from tclose.measure.pair import Population
from tclose.measure.presence_claim import PresenceClaim, PresenceJudge, presence_judge
from tclose.partition import METHODS, Split
from tclose.partition.persons import split_by_person
from tclose.partition.population import BoxLimits, PopulationPart, boxes
from tclose.partition.split import join_failing, split, tempered
from tclose.partition.starts import EQUALITY
from tclose.policy import Policy
from tclose.privacy.feasibility import Publishable
from tclose.privacy.judge import JudgedTable, judge, verdicts
from tclose.privacy.reader import reader_policy
from tclose.recode.cell import Form
from tclose.recode.frame import counts_of, exact_cells, ordered, recoded
from tclose.recode.meaning import clear_forms
from tclose.release.claims import Tempering, release_problems
from tclose.table import CodedTable, encode_quietly
from tclose.table.classes import Classes, classes_of
from tclose.table.quasi import NumberColumn
from tclose.types import Beat, Bools, Floats, Ints, Progress, silent, stretch

# Classes that δ-presence admits


@dataclass(frozen=True, eq=False)
class Boxes:
    """The box of every person of a population, and of every row of the table."""

    population: Population
    people: Ints
    rows: Ints

    @classmethod
    def of(cls, population: Population, table: CodedTable, policy: Policy, withheld: int, beat: Beat) -> Boxes:
        """Cut the population; raise `Infeasible` where not even the coarsest boxes are allowed."""

        def admits(parts: list[PopulationPart]) -> Bools:
            rows, sizes = np.concatenate([part.rows for part in parts]), [len(part.rows) for part in parts]
            judged = verdicts(table, Classes(rows, np.array(sizes)), policy)
            return np.asarray(np.all([verdict.judgement.admitted for verdict in judged], axis=0))

        asked = policy.presence
        assert asked is not None
        limits = BoxLimits(policy.k, asked.min, asked.max, withheld)
        return cls(population, *boxes(population.table, table, limits, admits, beat))

    def published(self, table: CodedTable, policy: Policy, beat: Beat) -> pl.DataFrame:
        """Publish the hulls of the population's persons; rows and columns are still in the table's order."""
        rows = recoded(table, policy, Classes.from_labels(self.rows), beat, as_categories=True)
        everybody, hulls = Classes.from_labels(self.people), self.population.table
        shown = recoded(hulls, hulls.policy, everybody, beat)[everybody.rows[everybody.starts]]
        columns = {name: shown[name][self.rows] if name in policy.quasi else rows[name] for name in rows.columns}
        return pl.DataFrame(columns)

    def losses(self, classes: Classes) -> list[Floats]:
        """Return what each class loses on each quasi-identifier: its box, as a share of the population's range."""
        box, everybody = self.rows[classes.rows[classes.starts]], Classes.from_labels(self.people)
        return [column.loss(everybody)[box] for column in self.population.table.quasi.values()]


# The published table and its judge


Options = Mapping[str, Any]
SPLIT = 0.9  # share of the work after which all rows have their classes
FORMED = 0.7  # the same, where random swaps follow


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseInput:
    """The rows to publish, what is asked of them, and the seed by which they are split."""

    publishable: Publishable
    policy: Policy
    seed: int
    progress: Progress
    population: Population | None = None  # of which δ-presence is asked for

    @property
    def table(self) -> CodedTable:
        """The rows to publish, coded."""
        return self.publishable.table

    def split(self, method: str, options: Options) -> Split:
        """Return the class of every row.

        Where the rows cannot stay one class per group, nothing is lost if the table can be published as it is. A method
        that takes starts publishes it as it is in any case, if GCP is the loss: nothing has a smaller one.
        """
        if self.policy.pseudonym:
            part = stretch(self.progress, 0.0, SPLIT)
            return split_by_person(self.publishable, self.policy, method, self.seed, part, options)
        starts, least = METHODS[method].takes_starts, self.table.classes.sizes.min(initial=self.policy.k)
        may_hold = starts and self.policy.loss == "gcp" and least >= self.policy.k
        if (self.publishable.undecided or may_hold) and (finest := self._finest_classes()) is not None:
            return Split(finest, EQUALITY if starts else None)
        end = SPLIT if self.policy.temper is None else FORMED
        return split(self.publishable, self.policy, method, self.seed, stretch(self.progress, 0.0, end), options)

    def tempered(self, labels: Ints, share: Fraction, method: str) -> Ints:
        """Return the classes after the random swaps that the policy asks for."""
        progress = stretch(self.progress, FORMED, SPLIT)
        return tempered(labels, share, self.publishable, self.policy, method, self.seed, progress)

    def _finest_classes(self) -> Ints | None:
        """Return the classes of rows that publish the same values by themselves, if everything holds for them."""
        rows = recoded(self.table, self.policy, beat=self.recoding, as_categories=True)
        apart = {name: exact_cells(self.table, self.policy, name) for name in self.policy.both}
        every = np.arange(len(self.table))
        table = replace(self.table.published_as(rows, self.own_policy, every, apart), persons=self.table.persons)
        return table.classes.labels_by_row() if judge(table, self.own_policy).result.satisfied else None

    def recoding(self) -> None:
        """Report that the classes are being recoded, column by column."""
        self.progress(SPLIT, "recoding")

    @property
    def reader_policy(self) -> Policy:
        """The policy by which a reader judges the whole release."""
        return reader_policy(self.policy, self.table.sensitive)

    @property
    def own_policy(self) -> Policy:
        """The policy by which we judge the whole release: unlike a reader, we can tell persons apart."""
        return reader_policy(self.policy, self.table.sensitive, knows_persons=True)

    def persons(self, order: Ints) -> Ints | None:
        """Return whom the rows belong to, in the order in which they are published."""
        persons = self.table.persons
        return None if persons is None else persons[order]


@dataclass(frozen=True, eq=False)
class Judge:
    """Judges a published table from its published values alone; only persons are known besides, where they count."""

    policy: Policy
    persons: Ints | None
    presence: PresenceJudge | None = None

    def confirm(
        self, published: pl.DataFrame, progress: Progress = silent, apart: Mapping[str, pl.Series] | None = None
    ) -> JudgedTable:
        """Judge a table, and the cells that are published apart from it; what does not hold must never be released."""
        return self.confirm_coded(encode_quietly(published, self.policy, apart=apart), progress)

    def confirm_coded(self, table: CodedTable, progress: Progress = silent) -> JudgedTable:
        """Judge a published table that is in codes already."""
        if self.policy.person is None:  # or else pseudonyms tell persons apart
            table = replace(table, persons=self.persons)
        judged = judge(table, self.policy, progress)
        holds = judged.result.satisfied and not release_problems(table)
        if not (holds and (self.presence is None or self.presence.confirms(table))):
            raise InternalError("the finished release does not hold what was asked for, so it was not released")
        return judged


@dataclass(frozen=True, eq=False, repr=False)
class PublishedTable:
    """A table as it is published, its judge, and what it cost."""

    frame: pl.DataFrame  # rows in an order that depends on published values only
    judge: Judge
    measures: Mapping[str, Any]
    losses: Mapping[str, float]  # the mean NCP of each quasi-identifier; GCP is the mean of these
    chosen_loss: float | None  # by the policy's loss; that of queries is for the steward only, and not known in parts
    tempering: Tempering | None = None  # what the random swaps of the policy's `temper` cost
    start: str | None = None  # where the classes come from, if the method considers those of other methods, too
    presence: PresenceClaim | None = None  # what was asked for and reached of δ-presence
    forms: Mapping[str, Form | None] = field(default_factory=dict)  # of cells; none where they can be read in two ways
    counts: pl.DataFrame | None = None  # of the exact values of columns that are both quasi-identifier and sensitive
    rows: Ints | None = None  # where each row stood in the table as it was read: never published


def published_table(given: ReleaseInput, method: str, options: Options) -> PublishedTable:
    """Split the rows by a method, and publish one common value per class."""
    if given.population is not None:
        return boxed_table(given, given.population)
    split, share = given.split(method, options), given.policy.temper
    labels = split.labels if share is None else given.tempered(split.labels, share, method)
    rows = recoded_classes(given, labels)
    given.recoding()
    classes = classes_of(rows[list(given.policy.visible)])
    partition = partition_of(given, classes)
    tempering = None if share is None else Tempering.of(share, gcp(_partition(given, split.labels)), gcp(partition))
    return _table_of(given, rows, classes, partition, tempering=tempering, start=split.start)


def boxed_table(given: ReleaseInput, population: Population) -> PublishedTable:
    """Publish boxes of the population, as δ-presence asks for."""
    asked, withheld = given.policy.presence, given.publishable.withheld
    assert asked is not None
    boxes = Boxes.of(population, given.table, given.policy, withheld, lambda: given.progress(0.0, "splitting"))
    rows = boxes.published(given.table, given.policy, given.recoding)
    classes = classes_of(rows[list(given.policy.visible)])
    partition = replace(partition_of(given, classes), losses=boxes.losses(classes))
    judge = presence_judge(population, asked, _seen(given, rows), withheld)
    return _table_of(given, rows, classes, partition, presence=judge)


def _table_of(
    given: ReleaseInput,
    rows: pl.DataFrame,
    classes: Classes,
    partition: MeasuredPartition,
    *,
    tempering: Tempering | None = None,
    start: str | None = None,
    presence: PresenceJudge | None = None,
) -> PublishedTable:
    """Put published rows into a neutral order, with their judge and what they cost."""
    given.recoding()
    frame, order = ordered(rows)
    return PublishedTable(
        frame,
        Judge(given.own_policy, given.persons(order), presence),
        {**measures_of(partition), "class_sizes": class_sizes(partition)},
        losses_of(given, partition),
        round(chosen_loss(given.table, given.policy, classes, partition), DIGITS),
        tempering,
        start,
        None if presence is None else presence.claim,
        clear_forms(given.table.quasi),
        counts_of(rows, given.table, given.policy) if given.policy.both else None,
        given.table.rows[order],
    )


def _seen(given: ReleaseInput, rows: pl.DataFrame) -> CodedTable:
    """Return published rows as their judge reads them."""
    return replace(encode_quietly(rows, given.own_policy), persons=given.table.persons)


def _partition(given: ReleaseInput, labels: Ints) -> MeasuredPartition:
    return partition_of(given, Classes.from_labels(labels))


def recoded_classes(given: ReleaseInput, labels: Ints) -> pl.DataFrame:
    """Publish the classes; rows and columns are still in the table's order.

    Classes that publish the same text merge; merging can drop them below k persons, so repeat until stable.
    """
    table, policy = given.table, given.policy
    while True:
        rows = recoded(table, policy, Classes.from_labels(labels), given.recoding, as_categories=True)
        if policy.person is None:
            return rows
        seen = classes_of(rows[list(policy.visible)]).labels_by_row()
        labels = join_failing(seen, given.publishable, policy)
        if labels.max() == seen.max():
            return rows


def partition_of(given: ReleaseInput, classes: Classes) -> MeasuredPartition:
    """Return a partition as measures see it."""
    columns = list(given.table.quasi.values())
    return MeasuredPartition(
        sizes=classes.sizes,
        losses=[column.loss(classes) for column in columns],
        withheld=given.publishable.withheld,
        k=given.policy.k,
        labels=classes.labels_by_row(),
        numbers=[
            NumberPlaces(column.all_places(), column.codes) for column in columns if isinstance(column, NumberColumn)
        ],
        weights=[float(weight) for weight in given.policy.weights.values()],
    )


def losses_of(given: ReleaseInput, partition: MeasuredPartition) -> dict[str, float]:
    """Return what each quasi-identifier lost, between 0 and 1."""
    return {
        name: round(gcp(replace(partition, losses=[loss])), DIGITS)
        for name, loss in zip(given.table.quasi, partition.losses, strict=True)
    }
