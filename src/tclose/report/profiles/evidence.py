"""The figures that profiles are filled with: of the published tables, and of the original where that is at hand.

Published rows tell by themselves which of them are alone, and which values the other columns give away. Every published
column counts, sensitive and kept ones as well: a reader may know any of them. Numbers are codes: equal numbers are
equal cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np

from tclose.errors import InputError, did_you_mean
from tclose.measure.attack import Attacks
from tclose.measure.pair import Population
from tclose.measure.presence import PresenceCounts, counts_of
from tclose.policy import Context, Policy
from tclose.recode.coverage import worth_of
from tclose.release.certificate import Certificate
from tclose.release.release import WrittenRelease
from tclose.report.profiles.columns import PublishedColumn
from tclose.report.profiles.safe_harbor import HarborFinding, safe_harbor
from tclose.table import CodedTable
from tclose.table.classes import classes_of
from tclose.table.values import values_of
from tclose.types import Bools, Ints
from tclose.words import counted

# What published rows tell by themselves


@dataclass(frozen=True)
class GivenAway:
    """What a sensitive or kept column tells about the rows of a class."""

    name: str
    by_class: int  # rows whose class shows this one value only
    by_all: int  # rows whose class shows this one value only beside what the other columns say of the row
    in_class: float  # the largest share that a value has in a class
    in_table: float  # the share of the same value in the table


@dataclass(frozen=True)
class Records:
    """The rows of a release, or of its tables, as a reader compares them."""

    rows: int
    alone: int  # rows that no other row, or no other person's row, equals in all published columns
    fewest: int  # the fewest rows, or persons, that show the same in all published columns
    columns: tuple[str, ...]
    whole: bool  # one table shows all; several could be joined
    given: tuple[GivenAway, ...] = ()


def crowds(labels: Ints, persons: Ints | None) -> Ints:
    """Return how many rows, or persons, share the label of each row.

    >>> crowds(np.array([0, 0, 1]), None).tolist(), crowds(np.array([0, 0, 1]), np.array([4, 4, 7])).tolist()
    ([2, 2, 1], [1, 1, 1])
    """
    if persons is None:
        return np.bincount(labels)[labels].astype(np.int64)
    pairs = np.unique(np.stack([labels, persons]), axis=1)
    return np.bincount(pairs[0])[labels].astype(np.int64)


def given_away(name: str, values: Ints, classes: Ints, others: Ints) -> GivenAway:
    """Compare a column's values with the classes, and with all other published columns; `others` are their labels.

    A row without an equal in the other columns tells only its own value: it stands alone already.
    """
    if len(np.unique(values)) < 2:  # the table itself tells the value of everyone
        return GivenAway(name, 0, 0, 1.0, 1.0)
    in_class, in_table = _shares(values, classes)
    most = int(np.argmax(in_class - in_table))
    beside = np.bincount(others)[others] > 1
    return GivenAway(
        name,
        int(_single(values, classes).sum()),
        int((_single(values, others) & beside).sum()),
        float(in_class[most]),
        float(in_table[most]),
    )


def _single(values: Ints, labels: Ints) -> Bools:
    """Tell of each row whether all rows of its label show one value."""
    order = np.lexsort((values, labels))
    ordered = labels[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    low, high = np.minimum.reduceat(values[order], starts), np.maximum.reduceat(values[order], starts)
    same: Bools = np.empty(len(values), dtype=np.bool_)
    same[order] = np.repeat(low == high, np.diff(starts, append=len(values)))
    return same


def _shares(values: Ints, labels: Ints) -> tuple[np.ndarray, np.ndarray]:
    """Return the share of each row's value in its class, and in the table."""
    width = int(values.max()) + 1
    pairs = np.unique(labels * width + values, return_inverse=True)[1]
    return np.bincount(pairs)[pairs] / np.bincount(labels)[labels], np.bincount(values)[values] / len(values)


def fewest_of(found: Sequence[Ints]) -> int:
    """Return the smallest crowd of several tables."""
    return min((int(each.min()) for each in found if len(each)), default=0)


# All evidence of a release


@dataclass(frozen=True, eq=False)
class PolicyEvidence:
    """What is known before a release is made: the policy, and, once the rows are split, what will be published."""

    policy: Policy
    columns: Callable[[], Sequence[PublishedColumn]] | None = None  # all published columns
    year: int = field(default_factory=lambda: datetime.now(UTC).year)  # of the release

    @property
    def context(self) -> Context:
        """The steward's sentences."""
        return self.policy.context or Context()

    @cached_property
    def published(self) -> tuple[PublishedColumn, ...] | None:
        """The published columns, if they are there already."""
        return None if self.columns is None else tuple(self.columns())


@dataclass(frozen=True, eq=False)
class Evidence:
    """Everything that a requirement may be filled with."""

    certificate: Certificate
    policy: Policy  # as it was asked for
    sizes: Sequence[Ints]  # of the classes of each published table, in rows, or in persons where these are told apart
    columns: Callable[[], Sequence[PublishedColumn]]  # looks at all cells of all published columns
    published: Sequence[str] = ()  # names of the columns of the release
    records: Records | None = None  # its rows, compared in all published columns
    attacks: Attacks | None = None
    raw_sizes: Ints | None = None  # people of the original who agree on all quasi-identifiers; each is counted once
    population: int | None = None  # people whom the table was drawn from
    register: PresenceCounts | None = None  # who of the policy's population fits each class

    @cached_property
    def said(self) -> PolicyEvidence:
        """What was known before."""
        created = self.certificate.created
        said = PolicyEvidence(self.policy, self.columns)
        return replace(said, year=int(created[:4])) if created and created[:4].isdigit() else said

    @cached_property
    def harbor(self) -> tuple[HarborFinding, ...]:
        """Which columns hold which of the 18 identifiers."""
        return safe_harbor(self.said.published or (), self.said.year)

    @property
    def context(self) -> Context:
        """The steward's sentences."""
        return self.policy.context or Context()

    @property
    def noun(self) -> str:
        """What a class is made of."""
        return self.certificate.counted.removesuffix("s")

    @property
    def smallest(self) -> int:
        """Rows, or persons, of the smallest class."""
        return min(int(sizes.min()) for sizes in self.sizes)

    @property
    def fraction(self) -> float | None:
        """The part of the population that is in the table."""
        people = None if self.raw_sizes is None else int(self.raw_sizes.sum())
        return None if self.population is None or people is None else people / self.population


def class_sizes(table: CodedTable) -> Ints:
    """Return the rows of each class, or the persons where the table tells them apart."""
    classes, persons = table.classes, table.persons
    if persons is None:
        return classes.sizes
    people = int(persons.max()) + 1
    pairs = np.unique(classes.labels_by_row() * people + persons)
    return np.bincount(pairs // people)


def people_by_class(original: CodedTable) -> Ints:
    """Return the people of each class of the original; someone with several rows counts with the first of them."""
    if original.persons is None:
        return original.classes.sizes
    first = np.unique(original.persons, return_index=True)[1]
    sizes = np.bincount(original.classes.labels_by_row()[first])
    return sizes[sizes > 0]


def population_of(original: CodedTable) -> int | None:
    """Return how many people the table was drawn from, by the fraction or the weights that `[context]` names."""
    context = original.policy.context or Context()
    people = int(people_by_class(original).sum())
    if context.sampling_fraction is not None:
        return round(people / context.sampling_fraction)
    if context.sampling_weight is None:
        return None
    if original.persons is not None:
        raise InputError("sampling_weight of [context] counts rows, the policy persons: say sampling_fraction instead")
    total = _sum_of_weights(original, context.sampling_weight)
    if total < people:
        raise InputError(
            "the sampling weights '{sampling_weight}' add up to {total:,.0f}, fewer than the table's {rows}: a "
            "weight is the number of people whom a row stands for",
            sampling_weight=context.sampling_weight,
            total=total,
            rows=counted(people, "row"),
        )
    return round(total)


def _sum_of_weights(original: CodedTable, name: str) -> float:
    columns = original.frame.columns
    if name not in columns:
        raise InputError(
            "the table has no column '{name}', the sampling_weight of [context]{hint}",
            name=name,
            hint=did_you_mean(name, columns),
        )
    values = original.values(name)
    worth = worth_of(values.domain) if values.kind == "number" else None
    if worth is None or values.missing or float(worth.min()) <= 0:
        raise InputError("the sampling weights '{name}' must be numbers above 0 in every row", name=name)
    return float(worth[values.codes].sum())


def evidence_of(written: WrittenRelease, original: CodedTable, *, attacks: Attacks | None) -> Evidence:
    """Gather the figures of a release beside its original.

    A release of groups publishes quasi-identifiers as they are: everyone hides among the same people as before.
    """
    release = written.release
    frames = release.layout.frames
    hidden = written.certificate.identity_protected
    return Evidence(
        written.certificate,
        release.policy,
        [class_sizes(each.table) for each in written.judged] if hidden else [class_sizes(original)],
        published=tuple(dict.fromkeys(name for frame in frames for name in frame.columns)),
        columns=lambda: published_columns(frames, original),
        records=_records(written),
        attacks=attacks,
        raw_sizes=people_by_class(original),
        population=population_of(original),
        register=_register(written, original),
    )


def published_columns(frames: Sequence[Any], original: CodedTable) -> list[PublishedColumn]:
    """Return every published column with the texts of all its cells."""
    names = dict.fromkeys(name for frame in frames for name in frame.columns)
    pseudonyms = {*original.policy.identifiers, original.policy.person} - {None}
    return [PublishedColumn(name, _texts(name, frames, original), name in pseudonyms) for name in names]


def _texts(name: str, frames: Sequence[Any], original: CodedTable) -> tuple[str, ...]:
    """Return the different texts that a release publishes of a column; exact values where these are counted apart."""
    columns = (frame[name] for frame in frames if name in frame.columns)
    texts = [text for column in columns for text in values_of(column, ()).texts]
    if name in original.policy.both:
        texts += original.values(name).texts
    return tuple(dict.fromkeys(texts))


def _records(written: WrittenRelease) -> Records | None:
    """Compare the rows of a release in all of its published columns."""
    layout = written.release.layout
    if not written.certificate.identity_protected or not all(len(each.table.frame) for each in written.judged):
        return None
    tables = [each.table for each in written.judged]
    found = [crowds(classes_of(table.frame).labels_by_row(), table.persons) for table in tables]
    columns = tuple(dict.fromkeys(name for table in tables for name in table.frame.columns))
    return Records(
        rows=max(len(table.frame) for table in tables),
        alone=max(int((crowd == 1).sum()) for crowd in found),
        fewest=fewest_of(found),
        columns=columns,
        whole=len(layout.frames) == 1 and {*columns} >= {*layout.frames[0].columns},
        given=tuple(each for table in tables for each in _given(table)),
    )


def _given(table: CodedTable) -> Iterator[GivenAway]:
    """Compare each published column that is no quasi-identifier with the classes and with the other columns."""
    frame, visible = table.frame, {*table.policy.visible}
    for name in frame.columns:
        if name in visible or name in (*table.policy.identifiers, table.policy.person):
            continue
        values = classes_of(frame[[name]]).labels_by_row()
        rest = [other for other in frame.columns if other != name]
        others = classes_of(frame[rest]).labels_by_row() if rest else np.zeros(len(values), dtype=np.int64)
        yield given_away(name, values, table.classes.labels_by_row(), others)


def _register(written: WrittenRelease, original: CodedTable) -> PresenceCounts | None:
    """Count who of the policy's population fits each class, where the policy names one."""
    presence = written.release.policy.presence
    if presence is None:
        return None
    population = Population.of(presence.population, original.policy, original)
    return counts_of(population, written.judged[0].table)
