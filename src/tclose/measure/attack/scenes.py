"""Scenes: tables as an adversary sees them, made of coded tables or of counts.

Coded tables become the scenes that attacks look at. The exchange attack also needs codes, losses, and who fits which
class. Tables that were read in batches are counted: of each class its visible cells and its rows are kept, and how many
rows show which value of each sensitive attribute. Which values rows show together is looked at bucket by bucket,
whenever an attack asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tclose.distance import Line, LineWithLeaf, Metric
from tclose.measure.attack import Scene, Secret
from tclose.measure.attack.base import RowGroups, SomeClasses
from tclose.measure.linkage import Links
from tclose.measure.pair import (
    Population,
    TablePair,
    cell_pair,
    check_people,
    check_values,
    coverings,
    equal_people,
    links_to_classes,
    narrowed,
    published_spelling,
)
from tclose.measure.presence import Membership, is_tight, membership_of
from tclose.partition import Attribute
from tclose.partition.problem import ENSURED
from tclose.partition.shared.axes import axes_of
from tclose.policy import Policy
from tclose.privacy.judge import distance_of
from tclose.privacy.registry import class_models_of
from tclose.recode.coverage import Coverage
from tclose.table import CodedTable, CountedTable, SensitiveColumn
from tclose.table.domains import CountedClasses
from tclose.table.groups import Extra, Groups
from tclose.table.values import ValueDomain, Values
from tclose.types import Beat, Floats, Ints, still

if TYPE_CHECKING:
    from tclose.measure.exchange import PublishedRows

# What the exchange attack needs of a release beside its original


def published_rows(beside: TablePair) -> PublishedRows:
    """Return a release as the exchange attack sees it."""
    from tclose.measure.exchange import PublishedRows  # loads numba

    published, policy = beside.published, beside.published.policy
    rows, classes, cells = len(beside.original), published.classes, _numbered(beside)
    return PublishedRows(
        labels=beside.labels,
        attributes=_attributes(published),
        names=tuple(published.sensitive),
        cells=cells[rows:],
        people=beside.people,
        cells_of_people=cells[:rows],
        points=points_of(beside.original),
        axes=axes_of(beside.original, beside.policy),
        centres=_centres([column for column in beside.columns if column.name in beside.policy.quasi], len(classes)),
        group=published.groups.labels_by_row()[classes.rows[classes.starts]],
        k=policy.k,
        apart=bool(beside.policy.both),
        by_mean=any(column.means is not None for column in beside.columns),
    )


def points_of(table: CodedTable) -> Floats:
    """Return rows × quasi-identifiers, each from 0 to 1."""
    columns = [column.points() for column in table.quasi.values()]
    return np.stack(columns, axis=1) if columns else np.zeros((len(table), 1))


def _attributes(published: CodedTable) -> tuple[Attribute, ...]:
    """Return the sensitive attributes, as the release is judged."""
    found = []
    for name, column in published.sensitive.items():
        spec, distance = published.policy.sensitive[name], distance_of(column)
        models = tuple(model for model in class_models_of(spec, distance) if model.name not in ENSURED)
        found.append(Attribute(column.codes, column.reference, distance, spec.t, spec.n, models))
    return tuple(found)


def _numbered(beside: TablePair) -> Ints:
    """Give a number to the sensitive cells of each row, first of the table and then of the release."""
    both = [np.concatenate([pair.before, pair.after]) for pair in beside.cells.values()]
    return np.unique(np.stack(both, axis=1), axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _centres(columns: Sequence[Coverage], classes: int) -> Floats:
    """Return about where each class lies on each quasi-identifier, from 0 to 1."""
    centres = np.zeros((classes, len(columns)))
    for number, column in enumerate(columns):
        places = np.append(np.linspace(0, 1, max(len(column.values), 1))[: len(column.values)], 0.5)
        covered = column.covers @ places / np.maximum(column.covers.sum(axis=1), 1)
        centres[:, number] = covered[column.text_of_class]
    return centres


# Scenes of coded tables


ANONYMIZER = "mondrian"  # makes the k-anonymous table that attacks compare a release with


@dataclass(frozen=True, eq=False, repr=False)
class Adversary:
    """An adversary who knows the quasi-identifiers of the people in the table, or in a register."""

    original: CodedTable
    register: pl.DataFrame | None = None
    beat: Beat = still  # called between columns and blocks of rows
    population: Population | None = None  # that the table is drawn from, if the adversary has it

    @property
    def crowd(self) -> int:
        """How many people everyone should be able to hide among."""
        return crowd_of(self.original.policy)

    @property
    def register_rows(self) -> int:
        """How many people the adversary knows."""
        return len(self.original) if self.register is None else self.register.height

    def raw(self) -> Scene:
        """Return the raw table, without its identifiers."""
        table = self.original
        cells = {name: numbered_cells(table, name) for name in table.policy.sensitive}
        people = table.classes.sizes if self.register is None else equal_people(table, self.register)
        labels = table.classes.labels_by_row()
        return Scene(labels, _secrets(table, cells), self.crowd, people, presence=self._presence(table, tight=True))

    def published(self, beside: TablePair, *, tight: bool | None = None) -> Scene:
        """Return a published table; `tight` says that ranges end at values of their rows, if that is known."""
        links = beside.people
        if self.register is not None:
            columns = coverings(self.original, beside.published, self.register, beat=self.beat)
            links = links_to_classes(narrowed(columns, self.original, beside.published), beside.people.sizes, self.beat)
        cells = {name: pair.after for name, pair in beside.cells.items()}
        return Scene(
            beside.labels,
            _secrets(beside.published, cells),
            self.crowd,
            links.people,
            beside.people,
            published=partial(published_rows, beside),
            presence=self._presence(beside.published, tight=self._is_tight(beside) if tight is None else tight),
            persons=beside.published.persons if beside.published.policy.person else None,
            beat=self.beat,
        )

    def _presence(self, published: CodedTable, *, tight: bool) -> Membership | None:
        if self.population is None:
            return None
        withheld = len(self.original) + self.original.withheld - len(published)
        return membership_of(self.population, published, withheld, tight=tight, beat=self.beat)

    def _is_tight(self, beside: TablePair) -> bool:
        return self.population is not None and self.original.policy.presence is None and is_tight(beside)

    def several_rows(self) -> bool:
        """Say whether some person has more than one row."""
        persons = self.original.persons
        return persons is not None and int(persons.max()) + 1 < len(self.original)


def crowd_of(policy: Policy) -> int:
    """Return how many people everyone should be able to hide among: k, but at least two."""
    return max(policy.k, 2)


def twins(first: CodedTable, second: CodedTable) -> Ints:
    """Return, of each class of the second release, the class of the first that shows the same cells, or -1."""
    shown = ((table.visible[table.classes.rows[table.classes.starts]], table.policy) for table in (first, second))
    texts = [
        list(zip(*(rows[name].alias("").cast(pl.String).fill_null("") for name in policy.visible), strict=True))
        for rows, policy in shown
    ]
    number_of = {cells: number for number, cells in enumerate(texts[0])}
    return np.array([number_of.get(cells, -1) for cells in texts[1]], dtype=np.int64)


def numbered_cells(table: CodedTable, name: str) -> Ints:
    """Give numbers to the different cells of a column; a missing cell has a number, too."""
    values = table.values(name)
    return np.where(values.codes < 0, len(values.texts), values.codes)


def _secrets(table: CodedTable, cells: Mapping[str, Ints]) -> tuple[Secret, ...]:
    columns = table.sensitive.items()
    return tuple(
        secret_of(column, cells[name], column.codes, linked=name not in table.apart) for name, column in columns
    )


def secret_of(column: SensitiveColumn, cells: Ints, codes: Ints, *, linked: bool) -> Secret:
    """Return a sensitive attribute with the cells of some rows and their codes in the domain that is judged."""
    tree, domain = column.hierarchy, len(column.labels)
    distance = distance_of(column)
    geometry = distance.geometry(domain)
    line = geometry.line if isinstance(geometry, LineWithLeaf) else geometry
    return Secret(
        name=column.name,
        cells=cells,
        codes=codes,
        domain=domain,
        distance=distance,
        levels=() if tree is None else tree.levels,
        nodes=() if tree is None else tree.labels,
        positions=line.rounded.positions.astype(np.float64) if isinstance(line, Line) else None,
        costs=geometry.costs.astype(np.float64) if isinstance(geometry, Metric) else None,
        linked=linked,
    )


# Scenes of counted classes


CellOfValue = Mapping[str, Ints]  # by attribute: the number of each value's cell, that of a missing value last


@dataclass(frozen=True, eq=False, repr=False)
class BucketOfClasses:
    """What is kept of some classes: where they begin, their rows and visible cells, and the values that they show."""

    firsts: Ints
    sizes: Ints
    shown: pl.DataFrame
    values: Mapping[str, Ints]  # by attribute: of each group of rows that show the same, -1 where it is missing
    groups: Mapping[str, RowGroups]


@dataclass(frozen=True, eq=False, repr=False)
class CountedPeople:
    """All classes of a counted table, in the order of their first rows."""

    table: CountedTable
    policy: Policy
    firsts: Ints
    sizes: Ints
    shown: pl.DataFrame  # the visible cells of each class
    values: Mapping[str, Ints]
    groups: Mapping[str, RowGroups]

    @classmethod
    def of(cls, table: CountedTable, policy: Policy) -> CountedPeople:
        """Bring the classes of all buckets together."""
        buckets = list(table.groups.each(partial(_kept, table, policy)))
        firsts = np.concatenate([bucket.firsts for bucket in buckets])
        order = np.argsort(firsts)
        numbers = np.split(np.argsort(order), np.cumsum([len(bucket.firsts) for bucket in buckets])[:-1])
        groups = {name: _renumbered([b.groups[name] for b in buckets], numbers) for name in policy.sensitive}
        return cls(
            table,
            policy,
            firsts[order],
            np.concatenate([bucket.sizes for bucket in buckets])[order],
            pl.concat([bucket.shown for bucket in buckets])[order],
            {name: np.concatenate([bucket.values[name] for bucket in buckets]) for name in policy.sensitive},
            groups,
        )

    def one_row_per_class(self) -> CodedTable:
        """Return the visible cells of the classes as a table."""
        return CodedTable(self.shown, self.policy, {}, None, self.firsts, 0, self.table.hierarchies)

    def coded(self) -> CodedTable:
        """Return the same with its values, which are counted in all rows, so that messages say how many."""
        read = {}
        for name, tally in self.table.groups.tallies(self.policy.visible).items():
            domain = ValueDomain.of(tally, self.policy.missing, self.policy.below.get(name))
            read[name] = Values(domain, domain.codes(self.shown[name]))
        return replace(self.one_row_per_class(), read=read)

    def scene(self, cell_of_value: CellOfValue, crowd: int, people: Ints, own: Links | None, beat: Beat) -> Scene:
        """Return the table as an adversary sees it."""
        secrets = [self._secret(column, cell_of_value[name]) for name, column in self.table.sensitive.items()]
        return Scene(
            np.arange(len(self.sizes)),
            secrets,
            crowd,
            people,
            own,
            beat=beat,
            group_rows=self.sizes,
            linked_groups=partial(self._linked, cell_of_value),
        )

    def _secret(self, column: SensitiveColumn, cell_of_value: Ints) -> Secret:
        values = self.values[column.name]
        secret = secret_of(column, cell_of_value[values], column.domain.codes_of(values), linked=True)
        return replace(secret, groups=self.groups[column.name])

    def _linked(self, cell_of_value: CellOfValue) -> Iterator[SomeClasses]:
        """Yield the classes of each bucket, with the groups of rows that show the same values of all attributes."""
        return self.table.groups.each(partial(_linked_groups, self.table, self.firsts, cell_of_value))


def raw_scene(original: CountedPeople, crowd: int, beat: Beat = still) -> Scene:
    """Return a table that was counted, without its identifiers; it is its own register."""
    cells = {name: np.arange(len(original.table.domains[name].texts) + 1) for name in original.policy.sensitive}
    return original.scene(cells, crowd, original.sizes, None, beat)


def published_scene(
    original: CountedPeople, published: CountedPeople, crowd: int, what: str, beat: Beat = still
) -> Scene:
    """Return a release that was counted, beside its original; refuse a release that is not the table's."""
    cells = {name: _cell_of_value(original, published, name, what) for name in original.policy.sensitive}
    beat()
    columns = coverings(original.coded(), published.one_row_per_class(), beat=beat)
    people = links_to_classes(columns, published.sizes, beat, group_rows=original.sizes)
    check_people(people, what)
    return published.scene(cells, crowd, people.people, people, beat)


def _cell_of_value(original: CountedPeople, published: CountedPeople, name: str, what: str) -> Ints:
    """Give numbers to the cells of a release; refuse one that shows a value more often than the table does."""
    before, after = original.table.domains[name], published.table.domains[name]
    column, values = original.table.sensitive[name], _all_values(before)
    codes = column.domain.codes_of(values)
    texts, places = published_spelling(before.texts, values, column, codes, original.policy.sensitive[name])
    pair = cell_pair(texts, places, after.texts, _all_values(after))
    check_values(pair, name, what, _rows_of(before), _rows_of(after))
    return pair.after


def _all_values(domain: ValueDomain) -> Ints:
    """Return the codes of all values, that of a missing one last."""
    return np.append(np.arange(len(domain.texts)), -1)


def _rows_of(domain: ValueDomain) -> Ints:
    return np.append(domain.counts, domain.missing)


def _renumbered(parts: Sequence[RowGroups], numbers: Sequence[Ints]) -> RowGroups:
    """Put the groups of several buckets behind each other; `numbers` are those of each bucket's classes."""
    labels = [number[part.labels] for part, number in zip(parts, numbers, strict=True)]
    return RowGroups(np.concatenate(labels), np.concatenate([part.rows for part in parts]))


def _kept(table: CountedTable, policy: Policy, groups: Groups) -> BucketOfClasses:
    extras: dict[str, Extra] = {name: (name,) for name in policy.sensitive}
    classes = _classes(table, groups, *extras.values())
    cells = classes.shown(np.ones(len(classes), dtype=bool))
    return BucketOfClasses(
        classes.firsts,
        classes.sizes,
        pl.DataFrame({name: cells[table.groups.grouping.key(name)] for name in policy.visible}),
        {name: classes.values(extra, name) for name, extra in extras.items()},
        {name: _groups(classes, extra) for name, extra in extras.items()},
    )


def _linked_groups(table: CountedTable, firsts: Ints, cell_of_value: CellOfValue, groups: Groups) -> SomeClasses:
    """Return the groups of rows that show the same values of all attributes."""
    extra, secrets = tuple(table.sensitive), []
    classes = _classes(table, groups, extra)
    for name, column in table.sensitive.items():
        values = classes.values(extra, name)
        secrets.append(secret_of(column, cell_of_value[name][values], column.domain.codes_of(values), linked=True))
    found = _groups(classes, extra)
    return SomeClasses(np.searchsorted(firsts, classes.firsts), found.labels, found.rows, secrets)


def _classes(table: CountedTable, groups: Groups, *extras: Extra) -> CountedClasses:
    """Return the classes of a bucket, with what is counted by some columns only: to number classes takes a while."""
    return CountedClasses(table, {extra: groups[extra] for extra in ((), *extras)})


def _groups(classes: CountedClasses, extra: Extra) -> RowGroups:
    return RowGroups(classes.labels(extra).astype(np.int64), classes.rows(extra))
