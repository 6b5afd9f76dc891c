"""How often classes show values, counted from groups of rows, and from a few classes of several buckets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tclose.distance import Counts
from tclose.policy import MODELS, Policy
from tclose.privacy import TClosenessByGroup
from tclose.privacy.judge import JudgedColumn, counted_once, distance_of, groups_of_values
from tclose.privacy.registry import requirement
from tclose.table import JointColumn
from tclose.table.buckets import Extra
from tclose.table.counted import CountedClasses
from tclose.types import Ints


@dataclass(frozen=True, eq=False)
class CountsOfGroups:
    """The counts of classes whose rows were added up in groups."""

    classes: CountedClasses
    policy: Policy

    @property
    def by_persons(self) -> bool:
        """Whether rows name persons."""
        return self.policy.person is not None

    def members(self) -> Counts:
        """Count who is in each class."""
        members = self.classes.sizes
        if self.policy.person is not None:
            members = np.bincount(self.classes.labels((self.policy.person,)))
        return Counts(np.arange(len(members)), np.zeros_like(members), members, 1)

    def values(self, column: JudgedColumn) -> Counts:
        """Count the values of each class."""
        extra = extra_of(column)
        return self._counts(extra, self.classes.codes(column, extra), len(column.reference))

    def values_by_person(self, column: JudgedColumn) -> Counts:
        """Count each value of a class once per person who shows it."""
        assert self.policy.person is not None
        extra = (column.name, self.policy.person)
        codes, persons = self.classes.codes(column, extra), self.classes.persons(extra, self.policy.person)
        return counted_once(self.classes.labels(extra), codes, persons, len(column.reference))

    def values_by_group(self, column: JudgedColumn, model: TClosenessByGroup) -> tuple[Counts, Ints]:
        """Count the values of each class apart for each group of persons.

        Of the table's counts, only their sums over groups are looked at: all rows are counted in the last group.
        """
        by = model.asked.column
        extra = tuple(dict.fromkeys((column.name, by)))
        groups = groups_of_values(model, self.classes.table.domain(by))[self.classes.values(extra, by)]
        reference = np.zeros(len(column.reference) * model.groups, dtype=np.int64)
        reference[model.groups - 1 :: model.groups] = column.reference
        codes = self.classes.codes(column, extra) * model.groups + groups
        return self._counts(extra, codes, len(reference)), reference

    def _counts(self, extra: Extra, codes: Ints, domain: int) -> Counts:
        return Counts.from_entries(self.classes.labels(extra), codes, self.classes.rows(extra), domain)


@dataclass(frozen=True, eq=False)
class ChosenCounts:
    """The counts of a few classes of several buckets, in the order of their first rows."""

    by_persons: bool
    firsts: Ints
    of_members: Counts
    of_values: Mapping[str, Counts]
    by_person: Mapping[str, Counts]
    by_group: Mapping[str, tuple[Counts, Ints]]

    def members(self) -> Counts:
        """Count who is in each class."""
        return self.of_members

    def values(self, column: JudgedColumn) -> Counts:
        """Count the values of each class."""
        return self.of_values[column.name]

    def values_by_person(self, column: JudgedColumn) -> Counts:
        """Count each value of a class once per person who shows it."""
        return self.by_person[column.name]

    def values_by_group(self, column: JudgedColumn, model: TClosenessByGroup) -> tuple[Counts, Ints]:
        """Count the values of each class apart for each group of persons."""
        return self.by_group[column.name]

    @classmethod
    def of(cls, given: CountsOfGroups, chosen: Ints) -> ChosenCounts:
        """Keep the counts of some classes of a bucket."""
        columns, policy = given.classes.table.judged, given.policy
        by_person = counted_by_person(policy)
        by_group = {}
        for name, spec in policy.sensitive.items():
            if spec.t_by is not None:
                model = TClosenessByGroup(spec.t_by, distance_of(columns[name]))
                counts, reference = given.values_by_group(columns[name], model)
                by_group[name] = counts.only(chosen), reference
        return cls(
            given.by_persons,
            given.classes.firsts[chosen],
            given.members().only(chosen),
            {name: given.values(column).only(chosen) for name, column in columns.items()},
            {name: given.values_by_person(columns[name]).only(chosen) for name in by_person},
            by_group,
        )

    @classmethod
    def joined(cls, parts: Sequence[ChosenCounts]) -> ChosenCounts:
        """Put the classes of all buckets in the order of their first rows."""
        firsts = np.concatenate([part.firsts for part in parts])
        order = np.argsort(firsts)

        def together(counts: Sequence[Counts]) -> Counts:
            return Counts.concatenated(counts).only(order)

        def by_group(name: str) -> tuple[Counts, Ints]:
            return together([part.by_group[name][0] for part in parts]), parts[0].by_group[name][1]

        one = parts[0]
        return cls(
            one.by_persons,
            firsts[order],
            together([part.of_members for part in parts]),
            {name: together([part.of_values[name] for part in parts]) for name in one.of_values},
            {name: together([part.by_person[name] for part in parts]) for name in one.by_person},
            {
                name: (together([part.by_group[name][0] for part in parts]), one.by_group[name][1])
                for name in one.by_group
            },
        )


def extra_of(column: JudgedColumn) -> Extra:
    """Return the columns by which rows are counted for a judged column."""
    return column.joint.attributes if isinstance(column, JointColumn) else (column.name,)


def counted_by_person(policy: Policy) -> list[str]:
    """Return the attributes of which some model counts persons, where the policy names persons."""
    if policy.person is None:
        return []
    by_person = [name for name in MODELS if requirement(name).counts_persons]
    return [name for name, spec in policy.sensitive.items() if any(getattr(spec, m) is not None for m in by_person)]
