"""Classes of a table whose rows are not in memory: they are judged by their counts, bucket by bucket.

The counts come from groups of rows, and from a few classes of several buckets. A bucket holds whole classes. Each model
names the worst class of a bucket; these few classes are then judged together, which finds the worst of all. A class is
known by its first row, which gives it the number that it has in memory. What is asked of counts is in `judge.py`, as
for rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tclose.distance import Counts
from tclose.policy import MODELS, Policy
from tclose.privacy import TClosenessByGroup
from tclose.privacy.allowance import with_policy_notes
from tclose.privacy.judge import (
    JudgedColumn,
    TableFacts,
    Verdict,
    check_groups,
    counted_once,
    distance_of,
    groups_of_values,
    judge_counts,
    model_finding,
    result_of,
)
from tclose.privacy.registry import requirement
from tclose.privacy.results import CheckResult
from tclose.table import CountedTable, JointColumn
from tclose.table.domains import CountedClasses
from tclose.table.groups import Extra
from tclose.types import Ints, Progress, silent

# How often classes show values


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


# The verdicts on a counted table


MOST_LISTED = 100  # failing classes of a model whose numbers are known


@dataclass(frozen=True)
class FailingModel:
    """How many classes a model does not admit, and the numbers of the first of them, counted from 1."""

    model: str
    attribute: str | None
    classes: int
    numbers: Sequence[int]

    @classmethod
    def of(cls, verdict: Verdict) -> FailingModel:
        """Take what a verdict says of classes that it numbers itself."""
        failing = verdict.failing_classes
        return cls(verdict.model.name, verdict.attribute, len(failing), failing[:MOST_LISTED])


@dataclass(frozen=True, eq=False)
class JudgedCounts:
    """What was found about a counted table, which models fail where, and how many rows each class has."""

    result: CheckResult
    failing: Sequence[FailingModel]
    sizes: Ints


@dataclass(frozen=True, eq=False)
class JudgedBucket:
    """What is kept of a bucket: which classes of it fail, and the classes that some model found to be its worst."""

    firsts: Ints
    sizes: Ints
    failing: Sequence[tuple[int, Ints]]  # per verdict, how many classes fail, and where the first of these begin
    failing_by_attribute: Mapping[str, int]
    worst: ChosenCounts


def needs_all_classes(policy: Policy) -> bool:
    """Tell whether some model looks at all classes at once, so that they cannot be judged bucket by bucket."""
    return any(spec.n is not None or spec.average_t is not None for spec in policy.sensitive.values())


def check_counted(table: CountedTable, policy: Policy, progress: Progress = silent) -> JudgedCounts:
    """Say whether a counted table holds what a policy asks for, and what its steward should know of the policy."""
    check_groups(table.domain, policy)
    judged = judge_counted(table, policy, progress)
    return replace(judged, result=with_policy_notes(judged.result, table, policy))


def judge_counted(table: CountedTable, policy: Policy, progress: Progress = silent) -> JudgedCounts:
    """Judge the classes of a counted table."""
    if not table.groups.in_buckets:
        return next(table.by_bucket(partial(_judged_at_once, policy=policy, progress=progress)))
    done, judged = 0, []
    for bucket in table.by_bucket(partial(_judged_bucket, policy=policy)):
        judged.append(bucket)
        done += int(bucket.sizes.sum())
        progress(done / len(table), "judging")
    return _reduced(judged, table, policy)


def _judged_at_once(classes: CountedClasses, policy: Policy, progress: Progress) -> JudgedCounts:
    table, asks = classes.table, any(spec.n for spec in policy.sensitive.values())
    supersets = list(classes.supersets()) if asks else []
    findings, verdicts = judge_counts(CountsOfGroups(classes, policy), table.judged, policy, supersets, progress)
    facts = TableFacts(len(table), len(classes), int(classes.sizes.min()), table.groups.withheld)
    result = result_of(facts, findings, map(model_finding, verdicts), policy)
    return JudgedCounts(result, [FailingModel.of(verdict) for verdict in verdicts], classes.sizes)


def _judged_bucket(classes: CountedClasses, policy: Policy) -> JudgedBucket:
    given = CountsOfGroups(classes, policy)
    findings, verdicts = judge_counts(given, classes.table.judged, policy, ())
    worst = [verdict.judgement.worst_class for verdict in verdicts]
    worst += [finding.worst_class - 1 for finding in findings.values()]
    failing = [np.flatnonzero(~verdict.judgement.admitted) for verdict in verdicts]
    return JudgedBucket(
        classes.firsts,
        classes.sizes,
        [(len(places), classes.firsts[places[:MOST_LISTED]]) for places in failing],
        {name: finding.failing_classes for name, finding in findings.items()},
        ChosenCounts.of(given, np.unique(worst)),
    )


def _reduced(judged: Sequence[JudgedBucket], table: CountedTable, policy: Policy) -> JudgedCounts:
    """Find the worst of the worst classes, and give classes the numbers that they have in the whole table."""
    chosen = ChosenCounts.joined([bucket.worst for bucket in judged])
    findings, verdicts = judge_counts(chosen, table.judged, policy, ())
    every = np.concatenate([bucket.firsts for bucket in judged])
    order = np.argsort(every)
    sizes, every = np.concatenate([bucket.sizes for bucket in judged])[order], every[order]

    def numbers(firsts: Ints) -> list[int]:
        found: list[int] = (np.searchsorted(every, firsts) + 1).tolist()
        return found

    failing = [_failing(verdict, [bucket.failing[place] for bucket in judged], numbers)
               for place, verdict in enumerate(verdicts)]  # fmt: skip
    number_of = numbers(chosen.firsts)
    models = [
        replace(
            model_finding(verdict), worst_class=number_of[verdict.judgement.worst_class], failing_classes=fail.classes
        )
        for verdict, fail in zip(verdicts, failing, strict=True)
    ]
    attributes = {
        name: replace(
            finding,
            worst_class=number_of[finding.worst_class - 1],
            failing_classes=sum(bucket.failing_by_attribute[name] for bucket in judged),
        )
        for name, finding in findings.items()
    }
    facts = TableFacts(len(table), len(sizes), int(sizes.min()), table.groups.withheld)
    return JudgedCounts(result_of(facts, attributes, models, policy), failing, sizes)


def _failing(verdict: Verdict, found: Sequence[tuple[int, Ints]], numbers: Callable[[Ints], list[int]]) -> FailingModel:
    firsts = np.sort(np.concatenate([first for _, first in found]))[:MOST_LISTED]
    return FailingModel(verdict.model.name, verdict.attribute, sum(number for number, _ in found), numbers(firsts))
