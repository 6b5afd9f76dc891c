"""One part is split and recoded; rows that publish the same values come together in buckets, which are added up.

A bucket holds whole classes, whatever part they come from. The bucket of a class is a hash of what it publishes. Within
a bucket, rows stand in the order of their published cells. So where a row stands says nothing but what it publishes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InternalError
from tclose.measure.exposure import ExposedCounts, PublishedClasses, ReleaseExposure, exposed_counts, exposed_in_parts
from tclose.measure.exposure_counts import LineCounts
from tclose.measure.information_loss import (
    DIGITS,
    LostDetail,
    SquaredSpread,
    SummedPartition,
    class_sizes,
    gcp,
    measures_of,
    summed_loss,
    z_scores,
)
from tclose.messages import say
from tclose.partition.problem import WholeTable
from tclose.partition.split import split, tempered
from tclose.policy import Policy
from tclose.privacy.class_counts import JudgedCounts, counted_by_person
from tclose.privacy.feasibility import NoPartition, Publishable
from tclose.privacy.judge import verdicts
from tclose.privacy.reader import reader_policy
from tclose.privacy.results import CheckResult
from tclose.recode.frame import as_text, ordered
from tclose.release.certificate import Certificate, CertifiedFile
from tclose.release.claims import Tempering
from tclose.release.layouts import LayoutFacts, with_sizes
from tclose.release.published_table import ReleaseInput, recoded_classes
from tclose.release.tables import Confirmation
from tclose.run.engines import NO_CLASSES
from tclose.run.parts.exposure import (
    AboutColumns,
    about_columns,
    attributes_of,
    ends_of_part,
    figures_in_parts,
    lines_of_bucket,
)
from tclose.run.parts.plan import LearnedCounts
from tclose.run.rows import JoinedInfeasible, PartInfeasible
from tclose.table import CodedTable
from tclose.table.classes import Classes, classes_of
from tclose.table.domains import LearnedTable
from tclose.table.groups import bucket_numbers
from tclose.table.quasi import NumberColumn, QuasiColumn, QuasiDomain, extremes_of
from tclose.types import Floats, Ints, Progress, silent, stretch

# One part, split into classes and recoded


CLASS, SIZE, PERSON = "class", "size", "person"
SPLIT = 0.95  # of the progress of a part, when it is split
FORMED = 0.7  # the same, where random swaps follow


@dataclass(frozen=True)
class PublishedColumns:
    """The columns of a release, in the table's order; in frames of parts they have their places as names."""

    names: tuple[str, ...]
    visible: tuple[str, ...]  # that form classes
    sensitive: tuple[str, ...]
    quasi: int  # how many of them are quasi-identifiers
    numbers: int  # how many of these are numbers
    means: tuple[int, ...]  # the places of those that are published as class means, among the quasi-identifiers
    tempered: bool  # whether rows are swapped at random between the classes of a part

    @classmethod
    def of(cls, learned: LearnedTable) -> PublishedColumns:
        """Return what is published of a table."""
        policy = learned.policy
        public = {*policy.quasi, *policy.keep, *policy.unlinkable, *policy.sensitive}
        return cls(
            names=tuple(name for name in learned.columns if name in public),
            visible=policy.visible,
            sensitive=tuple(policy.sensitive),
            quasi=len(policy.quasi),
            numbers=sum(isinstance(domain.column(_NO_ROWS), NumberColumn) for domain in learned.quasi.values()),
            tempered=policy.temper is not None,
            means=tuple(place for place, spec in enumerate(policy.quasi.values()) if spec.publish == "mean"),
        )

    def key(self, name: str) -> str:
        """Return what a column is called in a frame."""
        return str(self.names.index(name))

    @cached_property
    def keys_of_classes(self) -> list[str]:
        """What the visible columns are called."""
        return [self.key(name) for name in self.visible]

    @cached_property
    def keys_of_rows(self) -> list[str]:
        """What the other columns are called."""
        return [self.key(name) for name in self.names if name not in self.visible]

    @property
    def lost(self) -> list[str]:
        """What the losses of classes are called, one for each quasi-identifier."""
        return [f"lost {place}" for place in range(self.quasi)]

    @property
    def before(self) -> list[str]:
        """What is called what the rows of classes lost before random swaps, if there were any."""
        return [f"before {place}" for place in range(self.quasi if self.tempered else 0)]

    @property
    def sums(self) -> list[str]:
        """What the sums of numbers are called, one for each numeric quasi-identifier."""
        return [f"sum {place}" for place in range(self.numbers)]

    @property
    def ends(self) -> dict[int, tuple[str, str]]:
        """What the ends of the ranges behind class means are called, which their cells do not show."""
        return {place: (f"from {place}", f"to {place}") for place in self.means}

    @property
    def cells(self) -> list[str]:
        """What the numbers of sensitive cells are called."""
        return [f"cell {place}" for place in range(len(self.sensitive))]


_NO_ROWS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class SplitPart:
    """The classes of a part, with what each publishes and loses, and its rows, each with its class."""

    classes: pl.DataFrame
    rows: pl.DataFrame


def split_part(
    rows: pl.DataFrame,
    learned: LearnedTable,
    *,
    method: str,
    options: Mapping[str, Any],
    seed: int,
    whole: WholeTable | None,
    progress: Progress = silent,
) -> SplitPart:
    """Split the rows of a part by a method, against the whole table, and recode them."""
    table, policy = learned.coded(rows), learned.policy
    given = ReleaseInput(Publishable(table, 0), policy, seed, stretch(progress, SPLIT, 1.0))
    splitting = stretch(progress, 0.0, SPLIT if policy.temper is None else FORMED)
    try:
        found = split(given.publishable, policy, method, seed, splitting, options, whole)
    except NoPartition:
        raise _not_found() from None
    labels = found.labels
    if policy.temper is not None:
        swapping = stretch(progress, FORMED, SPLIT)
        labels = tempered(labels, policy.temper, given.publishable, policy, method, seed, swapping)
    published = recoded_classes(given, labels)
    classes = classes_of(published[list(policy.visible)])
    _check(table, classes, policy)
    part = _as_part(published, classes, table, learned)
    return part if policy.temper is None else _with_losses_before(part, found.labels, classes, table, learned)


def _with_losses_before(
    part: SplitPart, labels: Ints, classes: Classes, table: CodedTable, learned: LearnedTable
) -> SplitPart:
    """Add what the rows of each class lost before the random swaps, when they were in the classes of `labels`."""
    before, now = Classes.from_labels(labels), classes.labels_by_row()
    lost = {
        name: np.bincount(now, weights=column.loss(before)[before.labels_by_row()], minlength=len(classes))
        for name, column in zip(PublishedColumns.of(learned).before, table.quasi.values(), strict=True)
    }
    return replace(part, classes=part.classes.with_columns(pl.Series(name, sums) for name, sums in lost.items()))


def _check(table: CodedTable, classes: Classes, policy: Policy) -> None:
    """Refuse classes that some model does not admit: the whole release would not be confirmed."""
    if not all(verdict.judgement.satisfied for verdict in verdicts(table, classes, policy)):
        raise _not_found()


def _not_found() -> PartInfeasible:
    return PartInfeasible(say("{no_classes}: use the engine memory, or ask for less", no_classes=say(NO_CLASSES)))


def _as_part(published: pl.DataFrame, classes: Classes, table: CodedTable, learned: LearnedTable) -> SplitPart:
    columns, firsts = PublishedColumns.of(learned), classes.rows[classes.starts]
    quasi = list(table.quasi.values())
    losses = dict(zip(columns.lost, (column.loss(classes) for column in quasi), strict=True))
    labels = classes.labels_by_row()
    numbers = [column for column in quasi if isinstance(column, NumberColumn)]
    sums = {
        name: np.bincount(labels, weights=column.points(), minlength=len(classes))
        for name, column in zip(columns.sums, numbers, strict=True)
    }
    shown = {columns.key(name): _published(published, name, learned).gather(firsts) for name in columns.visible}
    others = {
        columns.key(name): _published(published, name, learned) for name in columns.names if name not in columns.visible
    }
    cells = {
        key: cell_numbers(table, learned.policy, name).astype(np.int32)
        for key, name in zip(columns.cells, columns.sensitive, strict=True)
    }
    person = {} if learned.policy.person is None else {PERSON: table.frame[learned.policy.person]}
    ends = ends_of_part(table, classes, learned)
    ranges: dict[str, Floats] = {}
    for place, named in columns.ends.items():
        ranges |= zip(named, _range(quasi[place], classes), strict=True)
    return SplitPart(
        pl.DataFrame({**shown, SIZE: classes.sizes, **losses, **sums, **ranges}),
        pl.DataFrame({CLASS: labels.astype(np.int32), **others, **cells, **ends, **person}),
    )


def _range(column: QuasiColumn, classes: Classes) -> tuple[Floats, Floats]:
    """Return where the values of each class begin and end; a class without values has no place to begin at."""
    if not isinstance(column, NumberColumn) or not column.values.texts:
        return np.full(len(classes), np.inf), np.full(len(classes), -np.inf)
    extremes, ends = extremes_of(column.codes, classes), column.ends()
    known = extremes.high >= 0
    return np.where(known, ends.low[extremes.low], np.inf), np.where(known, ends.high[extremes.high], -np.inf)


def _published(published: pl.DataFrame, name: str, learned: LearnedTable) -> pl.Series:
    return learned.original(name, as_text(published[name].alias("")))


def cell_numbers(table: CodedTable, policy: Policy, name: str) -> Ints:
    """Return a number for the cell that each row publishes of a sensitive column; that of a missing one comes last."""
    if policy.sensitive[name].publish == "bin":
        return table.sensitive[name].codes
    values = table.values(name)
    return np.where(values.codes < 0, len(values.texts), values.codes)


# Buckets of whole classes


BUCKET_ROWS = 100_000  # of a bucket, about


def buckets_for(rows: int, bucket_rows: int | None = None) -> int:
    """Return how many buckets the rows of a release get."""
    return max(1, round(rows / (bucket_rows or BUCKET_ROWS)))


def by_bucket(part: SplitPart, columns: PublishedColumns, buckets: int) -> Iterator[tuple[int, SplitPart]]:
    """Yield what a part has for each bucket, each with classes that are numbered from 0."""
    bucket_of_class = bucket_numbers(part.classes, columns.keys_of_classes, buckets)
    labels = part.rows[CLASS].to_numpy()
    bucket_of_row = bucket_of_class[labels]
    class_order = np.argsort(bucket_of_class, kind="stable")
    row_order = np.argsort(bucket_of_row, kind="stable")
    class_ends = np.searchsorted(bucket_of_class[class_order], np.arange(buckets + 1))
    row_ends = np.searchsorted(bucket_of_row[row_order], np.arange(buckets + 1))
    number = np.empty_like(class_order)
    number[class_order] = np.arange(len(class_order))
    for bucket in np.unique(bucket_of_class).tolist():
        first, end = class_ends[bucket : bucket + 2].tolist()
        rows = row_order[row_ends[bucket] : row_ends[bucket + 1]]
        own = pl.Series(CLASS, (number[labels[rows]] - first).astype(np.int32))
        yield bucket, SplitPart(part.classes[class_order[first:end]], part.rows[rows].with_columns(own))


@dataclass(frozen=True, eq=False, repr=False)
class FinishedBucket:
    """The published rows of a bucket in their order, and what its classes lose."""

    frame: pl.DataFrame
    sizes: Ints
    lost: Floats  # Σ size · NCP, per quasi-identifier
    before: Floats  # the same, before random swaps, if there were any
    sums: Floats  # classes × numeric quasi-identifiers: the sum of the places of their rows
    exposed: ExposedCounts
    lines: LineCounts
    persons: pl.Series | None  # whom the rows belong to, where persons are counted


def finished_bucket(parts: Sequence[SplitPart], columns: PublishedColumns, about: AboutColumns) -> FinishedBucket:
    """Bring the classes of all parts together; those that publish the same are one class.

    `about` says of each sensitive column how many rows of the whole table share its values.
    """
    classes, rows = _joined(parts)
    merged = classes_of(classes.select(columns.keys_of_classes))
    label_of_class = merged.labels_by_row()
    labels = label_of_class[rows[CLASS].to_numpy()]
    sizes = np.bincount(label_of_class, weights=classes[SIZE].to_numpy()).astype(np.int64)
    shown = classes.select(columns.keys_of_classes)[merged.rows[merged.starts]]
    cells = {key: shown[key].gather(labels) for key in columns.keys_of_classes}
    cells |= {key: rows[key] for key in columns.keys_of_rows}
    frame, order = ordered(pl.DataFrame({name: cells[columns.key(name)] for name in columns.names}))
    persons = rows[PERSON] if PERSON in rows.columns else None
    return FinishedBucket(
        frame=frame,
        sizes=sizes,
        lost=_lost(classes, label_of_class, sizes, columns),
        before=np.array([float(classes[name].sum()) for name in columns.before]),
        sums=np.stack([np.bincount(label_of_class, classes[name].to_numpy()) for name in columns.sums], axis=1)
        if columns.sums
        else np.zeros((len(sizes), 0)),
        exposed=exposed_counts(_seen(rows, labels, columns, about, persons)),
        lines=lines_of_bucket(rows, dict(zip(columns.sensitive, columns.cells, strict=True)), labels, about, persons),
        persons=None if persons is None else persons.gather(order),
    )


def _lost(classes: pl.DataFrame, label_of_class: Ints, sizes: Ints, columns: PublishedColumns) -> Floats:
    """Add up what all rows lose on each quasi-identifier; classes of one mean lose the range of them all."""
    lost = [float(classes[SIZE].to_numpy() @ classes[name].to_numpy()) for name in columns.lost]
    for place, (low, high) in columns.ends.items():
        begins, ends = np.full(len(sizes), np.inf), np.full(len(sizes), -np.inf)
        np.minimum.at(begins, label_of_class, classes[low].to_numpy())
        np.maximum.at(ends, label_of_class, classes[high].to_numpy())
        lost[place] = float(sizes @ np.maximum(ends - begins, 0.0))
    return np.array(lost)


def _joined(parts: Sequence[SplitPart]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Put parts together; their classes are numbered one part after the other."""
    heights = [part.classes.height for part in parts]
    starts = np.repeat(np.cumsum([0, *heights[:-1]]), [part.rows.height for part in parts])
    rows = pl.concat([part.rows for part in parts])
    numbered = rows.with_columns(pl.Series(CLASS, rows[CLASS].to_numpy() + starts))
    return pl.concat([part.classes for part in parts]), numbered


def _seen(
    rows: pl.DataFrame,
    labels: Ints,
    columns: PublishedColumns,
    about: AboutColumns,
    persons: pl.Series | None,
) -> PublishedClasses:
    classes = Classes.from_labels(labels)
    attributes = [
        replace(about.attributes[name], values=rows[key].to_numpy().astype(np.int64))
        for key, name in zip(columns.cells, columns.sensitive, strict=True)
    ]
    numbers = None if persons is None else np.zeros(0, dtype=np.int64)  # only that persons are counted matters here
    return PublishedClasses(classes.rows, classes.starts, attributes, about.crowd, numbers)


# Totals: what the release costs and what remains exposed in it, added up over its buckets; and its certificate


@dataclass(eq=False)
class Totals:
    """What the buckets of a release add up to."""

    learned: LearnedCounts
    rows: int = 0
    sizes: list[Ints] = field(default_factory=list)
    lost: Floats | float = 0.0
    before: Floats | float = 0.0  # what was lost before random swaps
    between: Floats | float = 0.0  # per numeric quasi-identifier
    exposed: ExposedCounts = field(default_factory=lambda: ExposedCounts({}))
    lines: LineCounts = field(default_factory=LineCounts)

    def add(self, bucket: FinishedBucket) -> None:
        """Add one more bucket."""
        self.rows += int(bucket.sizes.sum())
        self.sizes.append(bucket.sizes)
        self.lost = self.lost + bucket.lost
        self.before = self.before + bucket.before
        self.exposed = self.exposed + bucket.exposed
        self.lines = self.lines + bucket.lines
        slopes, starts = (np.array([line[place] for line in self._lines]) for place in range(2))
        # z-scores are a line in the places, so sums of places are enough: Σ z = slope · Σ place + start · rows
        sums = bucket.sums * slopes + bucket.sizes[:, None] * starts
        self.between = self.between + (sums**2 / bucket.sizes[:, None]).sum(axis=0)

    @cached_property
    def _lines(self) -> list[tuple[float, float, float]]:
        """How the places of each number become z-scores, a slope and a start, and what their squares add up to."""
        return [_line(column, counts) for column, counts in self._numbers]

    @property
    def _numbers(self) -> list[tuple[NumberColumn, Ints]]:
        """The numeric quasi-identifiers, and how many rows are at each place; those that are missing come last."""
        domains = self.learned.table.quasi.values()
        columns = [(domain.column(_NO_ROWS), domain.values) for domain in domains]
        return [
            (column, np.append(values.counts, values.missing))
            for column, values in columns
            if isinstance(column, NumberColumn)
        ]

    @property
    def partition(self) -> SummedPartition:
        """What the measures are computed from."""
        policy = self.learned.table.policy
        between = np.broadcast_to(self.between, len(self._lines)).tolist()
        spreads = [
            SquaredSpread(part, whole) for part, (_, _, whole) in zip(between, self._lines, strict=True) if whole
        ]
        return SummedPartition(
            sizes=np.concatenate(self.sizes),
            lost=np.broadcast_to(self.lost, len(policy.quasi)).tolist(),
            spreads=spreads,
            withheld=self.learned.table.withheld,
            k=policy.k,
            weights=[float(weight) for weight in policy.weights.values()],
        )

    def confirmed(self, judged: JudgedCounts, files: Sequence[CertifiedFile], about: LayoutFacts) -> Confirmation:
        """Say what was found, what it cost and what remains exposed; what does not hold must never be released."""
        policy = self.learned.table.policy
        if not judged.result.satisfied and joining_can_break(policy):
            raise not_as_one_class()
        if not judged.result.satisfied or int(judged.sizes.sum()) != self.learned.table.rows:
            raise InternalError("the finished release does not hold what was asked for, so it was not released")
        certificate = with_sizes(self._certificate(judged.result, files, about), [judged.sizes], policy.k)
        return Confirmation(certificate, (judged.result,), self.exposed_in_all(), self._lost(certificate))

    def exposed_in_all(self) -> ReleaseExposure:
        """Return what remains exposed in the whole release."""
        about = about_columns(self.learned, attributes_of(self.learned))
        attributes = list(about.attributes.values())
        policy = self.learned.table.policy
        persons = None if policy.person is None else _NO_ROWS
        seen = PublishedClasses(_NO_ROWS, _NO_ROWS, attributes, max(policy.k, 2), persons)
        found = exposed_in_parts([self.exposed], seen, self.rows)
        return replace(found, figures=figures_in_parts(self.lines, self.learned, about))

    def figures(self) -> tuple[Mapping[str, Any], float | None]:
        """Return what the measures find, and the loss that the policy chooses, if it is known."""
        partition = self.partition
        loss = summed_loss(self.learned.table.policy, partition, self._squared_errors())
        found = {**measures_of(partition), "class_sizes": class_sizes(partition)}
        return found, None if loss is None else round(loss, DIGITS)

    @property
    def tempering(self) -> Tempering | None:
        """What random swaps cost, if there were any."""
        share, after = self.learned.table.policy.temper, self.partition
        if share is None:
            return None
        before = replace(after, lost=np.broadcast_to(self.before, len(after.lost)).tolist())
        return Tempering.of(share, gcp(before), gcp(after))

    def _squared_errors(self) -> dict[int, float | None]:
        """Return the squared error of each number within its classes, by its place; None where it does not vary."""
        between = np.broadcast_to(self.between, len(self._lines)).tolist()
        places = [place for place, domain in enumerate(self.learned.table.quasi.values()) if _is_number(domain)]
        found = zip(places, between, self._lines, strict=True)
        return {place: whole - part if whole else None for place, part, (_, _, whole) in found}

    @property
    def reader_policy(self) -> Policy:
        """The policy by which a reader judges the whole release."""
        return reader_policy(self.learned.table.policy, self.learned.table.sensitive)

    def _certificate(self, result: CheckResult, files: Sequence[CertifiedFile], about: LayoutFacts) -> Certificate:
        measures, loss = self.figures()
        certificate = about.with_loss([loss]).certificate(files, result, measures)
        return replace(certificate, temper=self.tempering)

    def _lost(self, certificate: Certificate) -> tuple[LostDetail, ...]:
        """Return that everything was lost, if that is so."""
        sizes: Any = certificate.measures["class_sizes"]
        gcp: Any = certificate.measures["gcp"]
        loss = LostDetail(self.rows, sizes["largest"] == self.rows, gcp, self.learned.table.withheld)
        return (loss,) if loss.everything else ()


def joining_can_break(policy: Policy) -> bool:
    """Tell whether classes that hold may not hold as one: a person who has rows in several of them counts once."""
    return bool(counted_by_person(policy))


def not_as_one_class() -> JoinedInfeasible:
    """Say that the release cannot be made in parts."""
    return JoinedInfeasible(say("{why}: use the engine memory, or ask for less", why=JoinedInfeasible.why))


def judging_policy(learned: LearnedCounts) -> Policy:
    """Return the policy by which we judge the whole release: unlike a reader, we can tell persons apart."""
    return reader_policy(learned.table.policy, learned.table.sensitive, knows_persons=True)


def _is_number(domain: QuasiDomain) -> bool:
    return isinstance(domain.column(_NO_ROWS), NumberColumn)


def _line(column: NumberColumn, counts: Ints) -> tuple[float, float, float]:
    """Return how places become z-scores: slope · place + start; and the sum of their squares, 0 if all are equal."""
    places = column.all_places()
    if (scores := z_scores(places, counts)) is None:
        return 0.0, 0.0, 0.0
    low, high = int(np.argmin(places)), int(np.argmax(places))
    slope = float((scores[high] - scores[low]) / (places[high] - places[low]))
    return slope, float(scores[low] - slope * places[low]), float(counts @ scores**2)
