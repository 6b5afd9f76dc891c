"""The judge of a table whose rows are not in memory: classes are judged by their counts, bucket by bucket.

A bucket holds whole classes. Each model names the worst class of a bucket; these few classes are then judged together,
which finds the worst of all. A class is known by its first row, which gives it the number that it has in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tclose.policy import Policy
from tclose.privacy.group_counts import ChosenCounts, CountsOfGroups
from tclose.privacy.judge import TableFacts, Verdict, judge_counts, model_finding, result_of
from tclose.privacy.results import CheckResult
from tclose.table import CountedTable
from tclose.table.counted import CountedClasses
from tclose.types import Ints, Progress, silent

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
