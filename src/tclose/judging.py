"""The judge: a coded table, its classes and a policy in; what every model found out.

It knows nothing of how the classes came about, and the reference is always the whole coded table.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.distance import Counts, Distance, Equal, Hierarchical, Matrix, Ordered, Value
from tclose.distance.counts import Ints
from tclose.findings import AttributeFinding, CheckResult, ModelFinding
from tclose.policy import Policy, Sensitive
from tclose.privacy import Judgement, KAnonymity, Model, distribution_models, diversity_models
from tclose.table import CodedTable, SensitiveColumn
from tclose.table.classes import Classes

Progress = Callable[[float, str], None]  # the share done, and what is being done


@dataclass(frozen=True, eq=False)
class Verdict:
    """What one model found about one attribute, or about the classes as such."""

    attribute: str | None
    model: Model
    judgement: Judgement


def judge(table: CodedTable, policy: Policy, progress: Progress) -> CheckResult:
    """Judge the classes that a reader of the table sees."""
    members = members_of(table, table.classes)
    anonymity = Verdict(None, KAnonymity(policy.k), KAnonymity(policy.k).judge(members, members.sizes))
    supersets = list(table.supersets()) if any(spec.n for spec in policy.sensitive.values()) else []

    def judged(column: SensitiveColumn) -> tuple[AttributeFinding, list[Verdict]]:
        return _judge_attribute(column, policy.sensitive[column.name], table, members, supersets)

    verdicts, sensitive = [anonymity], {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, (name, found) in enumerate(
            zip(table.sensitive, pool.map(judged, table.sensitive.values()), strict=True)
        ):
            sensitive[name] = found[0]
            verdicts += found[1]
            progress((done + 1) / len(table.sensitive), name)
    models = tuple(_told(verdict) for verdict in verdicts)
    return CheckResult(
        rows=len(table.classes.rows),
        classes=len(table.classes),
        smallest_class=int(members.sizes.min()),
        satisfied=all(model.satisfied for model in models),
        sensitive=sensitive,
        models=models,
        withheld=table.withheld,
    )


def distance_of(column: SensitiveColumn) -> Distance:
    """Return the ground distance between a column's values."""
    if column.costs is not None:
        return Matrix(column.costs.matrix)
    if column.hierarchy is not None:
        return Hierarchical(column.hierarchy.levels)
    if column.distance == "value" and column.positions is not None:
        return Value(column.positions)
    return Equal() if column.distance == "equal" else Ordered(len(column.labels))


def members_of(table: CodedTable, classes: Classes) -> Counts:
    """Count who is in each class: persons where the policy names them, else rows."""
    members = classes.sizes
    if table.persons is not None:
        people = int(table.persons.max()) + 1
        members = Counts.from_codes(classes.labels, table.persons[classes.rows], people).distinct
    return Counts(np.arange(len(members)), np.zeros_like(members), members, 1)


def counts_of(column: SensitiveColumn, classes: Classes) -> Counts:
    """Count the values of each class."""
    return Counts.from_codes(classes.labels, column.codes[classes.rows], len(column.labels))


def counts_by_person(column: SensitiveColumn, classes: Classes, persons: Ints | None) -> Counts:
    """Count each value of a class once per person who shows it, where rows name persons."""
    if persons is None:
        return counts_of(column, classes)
    domain, people = len(column.labels), int(persons.max()) + 1
    cells = classes.labels_by_row() * domain + column.codes
    shown, which = np.unique(cells, return_inverse=True)
    once = shown[np.unique(which * people + persons) // people]
    return Counts.from_codes(once // domain, once % domain, domain)


def _judge_attribute(
    column: SensitiveColumn, spec: Sensitive, table: CodedTable, members: Counts, supersets: Sequence[Ints]
) -> tuple[AttributeFinding, list[Verdict]]:
    """Judge one attribute by every model that its settings name, and measure its closeness in any case."""
    distance, reference = distance_of(column), column.reference
    counts = counts_of(column, table.classes)
    verdicts = [
        Verdict(column.name, model, model.judge(counts, reference))
        for model in distribution_models(spec, distance, supersets)
    ]
    by_person = counts if table.persons is None else counts_by_person(column, table.classes, table.persons)
    verdicts += [
        Verdict(column.name, model, model.judge(by_person, reference))
        for model in diversity_models(spec, None if table.persons is None else members.sizes)
    ]
    closeness, worst = _closeness(verdicts, distance, counts, reference)
    asked = [verdict.judgement for verdict in verdicts if verdict.model.name in ("t", "(n,t)")]
    finding = AttributeFinding(
        distance=column.distance,
        t=spec.t,
        closeness=closeness,
        satisfied=all(judgement.satisfied for judgement in asked),
        worst_class=worst + 1,
        failing_classes=sum(int(np.count_nonzero(~judgement.admitted)) for judgement in asked),
    )
    return finding, verdicts


def _closeness(
    verdicts: Sequence[Verdict], distance: Distance, counts: Counts, reference: Ints
) -> tuple[Fraction, int]:
    """Return the attribute's closeness to the whole table and its worst class."""
    for verdict in verdicts:
        if verdict.model.name == "t" and isinstance(verdict.judgement.reached, Fraction):
            return verdict.judgement.reached, verdict.judgement.worst_class
    return distance.emd(counts, reference).largest()


def _told(verdict: Verdict) -> ModelFinding:
    judgement = verdict.judgement
    return ModelFinding(
        model=verdict.model.name,
        attribute=verdict.attribute,
        required=verdict.model.required,
        reached=judgement.reached,
        satisfied=judgement.satisfied,
        worst_class=judgement.worst_class + 1,
        failing_classes=int(np.count_nonzero(~judgement.admitted)),
    )
