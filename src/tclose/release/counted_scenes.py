"""Tables that were read in batches, as an adversary sees them: counts of classes become the scenes of attacks.

Of each class its visible cells and its rows are kept, and how many rows show which value of each sensitive attribute.
Which values rows show together is looked at bucket by bucket, whenever an attack asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import polars as pl

from tclose.measure.attack import Scene, Secret
from tclose.measure.attack.base import RowGroups, SomeClasses
from tclose.measure.linkage import Links
from tclose.policy import Policy
from tclose.release.beside import check_people, check_values, coverings, linked, paired, spelled
from tclose.release.scenes import secret_of
from tclose.table import CodedTable, CountedTable, SensitiveColumn
from tclose.table.buckets import Extra, Groups
from tclose.table.counted import CountedClasses
from tclose.table.values import ValueDomain, Values
from tclose.types import Beat, Ints, still

CellOfValue = Mapping[str, Ints]  # by attribute: the number of each value's cell, that of a missing value last


@dataclass(frozen=True, eq=False)
class BucketOfClasses:
    """What is kept of some classes: where they begin, their rows and visible cells, and the values that they show."""

    firsts: Ints
    sizes: Ints
    shown: pl.DataFrame
    values: Mapping[str, Ints]  # by attribute: of each group of rows that show the same, -1 where it is missing
    groups: Mapping[str, RowGroups]


@dataclass(frozen=True, eq=False)
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
    people = linked(columns, published.sizes, beat, group_rows=original.sizes)
    check_people(people, what)
    return published.scene(cells, crowd, people.people, people, beat)


def _cell_of_value(original: CountedPeople, published: CountedPeople, name: str, what: str) -> Ints:
    """Give numbers to the cells of a release; refuse one that shows a value more often than the table does."""
    before, after = original.table.domains[name], published.table.domains[name]
    column, values = original.table.sensitive[name], _all_values(before)
    codes = column.domain.codes_of(values)
    texts, places = spelled(before.texts, values, column, codes, original.policy.sensitive[name])
    pair = paired(texts, places, after.texts, _all_values(after))
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
