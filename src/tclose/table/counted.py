"""A table as counts: what `encode` learns from rows, learned from groups of rows, and the classes, bucket by bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import polars as pl

from tclose.errors import InputError, Mistakes
from tclose.policy import Joint, Policy
from tclose.table.buckets import Answer, BucketedRows, Extra, Grouping, Groups
from tclose.table.classes import classes_of, forms_classes
from tclose.table.coded import (
    NOTHING_LEFT,
    checked_hierarchies,
    groupings_of,
    sensitive_columns,
    warn_of_like_values,
)
from tclose.table.hierarchy import Hierarchy
from tclose.table.joint import JointColumn, asked_by
from tclose.table.sensitive import SensitiveColumn, SensitiveDomain
from tclose.table.sources.base import FIRST, ROWS
from tclose.table.values import ValueDomain
from tclose.types import Bools, Ints

_NO_CODES = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class CountedTable:
    """What the judge knows of a table whose rows are not at hand: the columns have domains, and no codes."""

    groups: BucketedRows
    domains: Mapping[str, ValueDomain]
    sensitive: Mapping[str, SensitiveColumn]
    joint: Mapping[str, JointColumn]
    hierarchies: Mapping[str, Hierarchy]  # of quasi-identifiers, from their files

    @classmethod
    def of(cls, groups: BucketedRows, policy: Policy) -> CountedTable:
        """Learn the domains of all columns, as `encode` does."""
        if not groups.rows:
            raise InputError(NOTHING_LEFT if groups.withheld else "the table has a header but no rows")
        tallies = groups.tallies(tallied(policy))
        domains = {
            name: ValueDomain.of(tally, policy.missing, policy.below.get(name)) for name, tally in tallies.items()
        }
        mistakes = Mistakes()
        hierarchies = checked_hierarchies(policy, domains.__getitem__, mistakes)
        sensitive = sensitive_columns(
            policy,
            lambda name, spec: SensitiveColumn(SensitiveDomain.of_values(domains[name], spec), _NO_CODES),
            mistakes,
        )
        mistakes.report()
        warn_of_like_values(sensitive)
        table = cls(groups, domains, sensitive, {}, hierarchies)
        joint = {}
        for number, each in enumerate(policy.joint, start=1):
            with asked_by(number):
                joint[each.name] = table.joint_column(each)
        return replace(table, joint=joint)

    def __len__(self) -> int:
        return self.groups.rows

    @property
    def judged(self) -> Mapping[str, SensitiveColumn | JointColumn]:
        """Everything that closeness can be asked of: each sensitive attribute, then attributes together."""
        return {**self.sensitive, **self.joint}

    def domain(self, name: str) -> ValueDomain:
        """Return the different values of a column that is compared."""
        return self.domains[name]

    def by_bucket(self, work: Callable[[CountedClasses], Answer]) -> Iterator[Answer]:
        """Do some work on the classes of each bucket, and yield the answers."""
        return self.groups.each(partial(_on_classes, self, work))

    def all_classes(self) -> CountedClasses:
        """Return all classes, where they are in one bucket."""
        return CountedClasses(self, self.groups.only_bucket())

    def joint_column(self, joint: Joint) -> JointColumn:
        """Find the tuples of some attributes, and how many rows show each."""
        found = list(self.by_bucket(partial(_tuples, names=joint.attributes)))
        names = list(map(str, range(len(joint.attributes))))
        tuples = pl.concat(found).group_by(names).agg(pl.col(ROWS).sum())
        parts = {
            name: SensitiveColumn(self.sensitive[name].domain, tuples[key].to_numpy())
            for key, name in zip(names, joint.attributes, strict=True)
        }
        return JointColumn.of(joint, parts, tuples[ROWS].to_numpy())


class CountedClasses:
    """Classes in the order of their first rows, and how many rows of each show which cells."""

    def __init__(self, table: CountedTable, groups: Groups) -> None:
        others = {extra: frame for extra, frame in groups.items() if extra}
        self.table, self._groups = table, {(): groups[()].sort(FIRST), **others}  # which numbers the classes
        shown = [self._shown(extra) for extra in self._groups]
        labels = classes_of(pl.concat(shown)).labels_by_row()
        ends = np.cumsum([frame.height for frame in shown])[:-1]
        self._labels = dict(zip(self._groups, np.split(labels, ends), strict=True))

    def __len__(self) -> int:
        return self._groups[()].height

    @property
    def sizes(self) -> Ints:
        """How many rows each class has."""
        return self._groups[()][ROWS].to_numpy()

    @property
    def firsts(self) -> Ints:
        """The first row of each class, counted from 0 in the table as it was read."""
        return self._groups[()][FIRST].to_numpy()

    def shown(self, classes: Bools) -> pl.DataFrame:
        """Return the visible keys of some classes."""
        return self._shown(()).filter(pl.Series(classes))

    def supersets(self) -> Iterator[Ints]:
        """Yield groupings of the classes: those that agree on some of the visible columns, on few of them first."""
        yield from groupings_of(self._shown(()))

    def labels(self, extra: Extra) -> Ints:
        """Return the class of each group of rows that is counted by some columns."""
        return self._labels[extra]

    def rows(self, extra: Extra) -> Ints:
        """Return how many rows each of these groups has."""
        return self._groups[extra][ROWS].to_numpy()

    def values(self, extra: Extra, name: str) -> Ints:
        """Return the value that each of these groups shows in a column, -1 where it is missing."""
        return self.table.domains[name].codes(self._cells(extra, name))

    def codes(self, column: SensitiveColumn | JointColumn, extra: Extra) -> Ints:
        """Return the code of a judged column that each of these groups shows."""
        if isinstance(column, SensitiveColumn):
            return column.domain.codes_of(self.values(extra, column.name))
        names = list(map(str, range(len(column.parts))))
        shown = {name: self.codes(part, extra) for name, part in zip(names, column.parts, strict=True)}
        known = pl.DataFrame(dict(zip(names, column.tuples.T, strict=True))).with_row_index("code")
        found = pl.DataFrame(shown).join(known, on=names, how="left", maintain_order="left")
        return found["code"].cast(pl.Int64).to_numpy()

    def persons(self, extra: Extra, person: str) -> Ints:
        """Return a number for the person of each of these groups."""
        return classes_of(self._cells(extra, person).to_frame()).labels_by_row()

    def _cells(self, extra: Extra, name: str) -> pl.Series:
        return self._groups[extra][self._grouping.key(name)]

    def _shown(self, extra: Extra) -> pl.DataFrame:
        return self._groups[extra].select(self._grouping.keys_of())

    @cached_property
    def _grouping(self) -> Grouping:
        return self.table.groups.grouping


def _on_classes(table: CountedTable, work: Callable[[CountedClasses], Answer], groups: Groups) -> Answer:
    return work(CountedClasses(table, groups))


def _tuples(classes: CountedClasses, names: Sequence[str]) -> pl.DataFrame:
    """Return the tuples of codes that classes show, and how many rows show each."""
    extra = tuple(names)
    columns = [classes.codes(classes.table.sensitive[name], extra) for name in names]
    keys = list(map(str, range(len(names))))
    shown = pl.DataFrame({**dict(zip(keys, columns, strict=True)), ROWS: classes.rows(extra)})
    return shown.group_by(keys).agg(pl.col(ROWS).sum())


def tallied(policy: Policy) -> list[str]:
    """Return the columns whose values must be known: sensitive ones, groups of persons, and those of hierarchies."""
    by_file = [name for name, spec in policy.quasi.items() if isinstance(spec.hierarchy, Path)]
    groups = [spec.t_by.column for spec in policy.sensitive.values() if spec.t_by is not None]
    return list(dict.fromkeys([*by_file, *policy.sensitive, *groups]))


def grouping_of(policy: Policy, by_person: Sequence[str]) -> Grouping:
    """Return what has to be counted for a policy; of the attributes `by_person`, persons are counted, too."""
    extras: list[Extra] = [(), *((name,) for name in policy.sensitive), *(joint.attributes for joint in policy.joint)]
    groups = ((name, spec.t_by.column) for name, spec in policy.sensitive.items() if spec.t_by is not None)
    extras += [tuple(dict.fromkeys(pair)) for pair in groups]
    if policy.person is not None:
        extras += [(policy.person,), *((name, policy.person) for name in by_person)]
    return Grouping(
        visible=policy.visible,
        extras=tuple(dict.fromkeys(extras)),
        compared=frozenset(tallied(policy)),
        suppressed=tuple(name for name, spec in policy.sensitive.items() if spec.missing == "suppress"),
        person=policy.person,
        missing=policy.missing,
    )


def linked_grouping(policy: Policy, *, compares_visible: bool) -> Grouping:
    """Return what has to be counted for attacks: rows by each sensitive attribute, and by all of them together.

    With `compares_visible`, the cells of columns that form classes must be text, numbers or dates.
    """
    names, joint = tuple(policy.sensitive), (joint.attributes for joint in policy.joint)
    compared = frozenset([*tallied(policy), *(policy.visible if compares_visible else ())])
    extras = tuple(dict.fromkeys([(), *((name,) for name in names), *joint, names]))
    return replace(grouping_of(policy, ()), extras=extras, compared=compared, person=None)


def persons_grouping(person: str, policy: Policy) -> Grouping:
    """Return how the rows of each person are counted, without the rows that are withheld."""
    suppressed = grouping_of(policy, ()).suppressed
    extras = tuple(dict.fromkeys([(), suppressed]))
    return Grouping((person,), extras, frozenset(), suppressed, person, policy.missing)


def identifiers_to_count(columns: pl.DataFrame, policy: Policy) -> list[str]:
    """Return the identifiers among columns, given without rows, that are counted to warn where they repeat."""
    if policy.person is not None:
        return []
    present = {column.name for column in columns.iter_columns() if forms_classes(column.dtype)}
    return [name for name in policy.identifiers if name in present]


def repeats_of(identifier: str, policy: Policy) -> Grouping:
    """Return how the values of an identifier are counted, to warn where they repeat."""
    return Grouping((identifier,), ((),), frozenset(), (), None, policy.missing)
