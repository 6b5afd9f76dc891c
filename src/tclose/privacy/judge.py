"""The judge: a coded table and a policy come in, what every model finds about every class comes out.

It does not know how the classes came about. The reference is a field of every sensitive column's domain.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.distance import Counts, Distance, DomainFacts, Ordered, Product
from tclose.errors import Mistakes, PolicyError
from tclose.policy import Policy, Sensitive
from tclose.policy.settings import join
from tclose.privacy import Judgement, KAnonymity, Model, TClosenessByGroup, models_of
from tclose.privacy.results import AttributeFinding, CheckResult, ModelFinding
from tclose.table import CodedTable, JointColumn, SensitiveColumn
from tclose.table.classes import Classes
from tclose.table.matching import known_places
from tclose.types import Ints, Progress, silent
from tclose.words import legible

JudgedColumn = SensitiveColumn | JointColumn


@dataclass(frozen=True, eq=False)
class Verdict:
    """What one model found about one attribute, about attributes together, or about the classes as such."""

    attribute: str | None
    model: Model
    judgement: Judgement

    @property
    def failing_classes(self) -> list[int]:
        """The numbers of the classes that are not admitted, counted from 1."""
        failing: list[int] = (np.flatnonzero(~self.judgement.admitted) + 1).tolist()
        return failing


@dataclass(frozen=True, eq=False)
class JudgedTable:
    """A coded table, what was found about it, and what every model said of every class."""

    table: CodedTable
    result: CheckResult
    verdicts: Sequence[Verdict]


def judge(table: CodedTable, policy: Policy, progress: Progress = silent) -> JudgedTable:
    """Judge the classes that a reader of the table sees, and measure the closeness of every attribute."""
    classes, supersets, required = table.classes, supersets_of(table, policy), policy.required

    def judged(column: JudgedColumn) -> tuple[AttributeFinding, list[Verdict]]:
        spec, counts = required[column.name], counts_of(column, classes)
        verdicts = attribute_verdicts(column, spec, table, classes, counts, supersets)
        return _finding(column, spec, counts, verdicts), verdicts

    verdicts, findings, columns = [anonymity_verdict(table, classes, policy)], {}, table.judged
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = zip(columns, pool.map(judged, columns.values()), strict=True)
        for done, (name, (finding, more)) in enumerate(answers):
            findings[name] = finding
            verdicts += more
            progress((done + 1) / len(columns), "judging")
    models = (*(_model_finding(verdict) for verdict in verdicts), *_withheld(table, policy))
    result = CheckResult(
        rows=len(table),
        classes=len(classes),
        smallest_class=int(classes.sizes.min()),
        satisfied=all(model.satisfied for model in models),
        sensitive={name: findings[name] for name in table.sensitive},
        models=models,
        withheld=table.withheld,
        joint={name: findings[name] for name in table.joint},
    )
    return JudgedTable(table, result, verdicts)


def _withheld(table: CodedTable, policy: Policy) -> list[ModelFinding]:
    """Hold rows that were left out for a missing value against what the policy allows."""
    if not table.withheld:
        return []
    share = Fraction(table.withheld, table.withheld + len(table))
    return [ModelFinding("suppress", None, policy.suppress, share, share <= policy.suppress, 0, 0)]


def supersets_of(table: CodedTable, policy: Policy) -> list[Ints]:
    """Return the groupings of classes that (n,t)-closeness looks at, where a policy asks for it."""
    return list(table.supersets()) if any(spec.n for spec in policy.sensitive.values()) else []


def distance_of(column: JudgedColumn) -> Distance:
    """Return the ground distance between a column's values, or between tuples of values."""
    if isinstance(column, JointColumn):
        if not column.made:
            column.made["distance"] = _distance_of_tuples(column)
        made: Distance = column.made["distance"]
        return made
    facts = DomainFacts(
        size=len(column.labels),
        positions=column.positions,
        levels=None if column.hierarchy is None else column.hierarchy.levels,
        costs=None if column.costs is None else column.costs.matrix,
        missing=column.missing_beside_others,
    )
    return facts.make(column.distance)


def _distance_of_tuples(column: JointColumn) -> Distance:
    if column.distance == "lexicographic":
        return Ordered(len(column.reference))
    geometries = (distance_of(part).geometry(len(part.labels)) for part in column.parts)
    return Product.of(zip(geometries, column.tuples.T, strict=True))


def members_of(table: CodedTable, classes: Classes) -> Counts:
    """Count who is in each class: persons where the policy names them, else rows."""
    members = classes.sizes
    if table.persons is not None:
        people = int(table.persons.max()) + 1
        members = Counts.from_codes(classes.labels, table.persons[classes.rows], people).distinct
    return Counts(np.arange(len(members)), np.zeros_like(members), members, 1)


def counts_of(column: JudgedColumn, classes: Classes) -> Counts:
    """Count the values of each class."""
    return Counts.from_codes(classes.labels, column.codes[classes.rows], len(column.reference))


def counts_by_person(column: JudgedColumn, classes: Classes, persons: Ints | None) -> Counts:
    """Count each value of a class once per person who shows it, where rows name persons."""
    if persons is None:
        return counts_of(column, classes)
    domain, people = len(column.reference), int(persons.max()) + 1
    cells = classes.labels * domain + column.codes[classes.rows]
    shown, which = np.unique(cells, return_inverse=True)
    once = shown[np.unique(which * people + persons[classes.rows]) // people]
    return Counts.from_codes(once // domain, once % domain, domain)


def codes_by_group(column: JudgedColumn, model: TClosenessByGroup, table: CodedTable) -> tuple[Ints, Ints]:
    """Return the codes of a column with the person's group in them, and how often the table has each of them."""
    asked = model.asked
    values, names = table.values(asked.column), list(asked.t)
    group_of_name = [asked.levels.index(asked.t[name]) for name in names]
    group_of_value = [model.groups - 1 if at < 0 else group_of_name[at] for at in known_places(names, values.domain)]
    groups = np.array([*group_of_value, model.groups - 1], dtype=np.int64)[values.codes]  # a missing value comes last
    codes = column.codes * model.groups + groups
    return codes, np.bincount(codes, minlength=len(column.reference) * model.groups).astype(np.int64)


def check_groups(table: CodedTable, policy: Policy) -> None:
    """Refuse a group that no row has: a misspelt name would leave its persons with the column's t."""
    mistakes = Mistakes()
    for name, spec in policy.sensitive.items():
        asked = spec.t_by
        if asked is None:
            continue
        values = table.values(asked.column).domain
        present = {place for place in known_places(list(asked.t), values) if place >= 0}
        for place, group in enumerate(asked.t):
            if place not in present:
                sentence = f"no row of '{asked.column}' is of group '{legible(group)}': correct it, or leave it out"
                mistakes.add(PolicyError(sentence, place=join(f"{join('sensitive', name)}.t_by.t", group)))
    mistakes.report()


def values_recur(column: JudgedColumn, persons: Ints | None) -> bool:
    """Tell whether some person shows a value in several rows, which two classes can then share."""
    if persons is None:
        return False
    domain = len(column.reference)
    return len(np.unique(persons * domain + column.codes)) < len(persons)


def verdicts(
    table: CodedTable,
    classes: Classes,
    policy: Policy,
    *,
    supersets: Sequence[Ints] = (),
    without: Sequence[str] = (),
) -> list[Verdict]:
    """Judge any classes of a table by all models of a policy, some left out."""
    judged, required = [anonymity_verdict(table, classes, policy)], policy.required
    for column in table.judged.values():
        spec, counts = required[column.name], counts_of(column, classes)
        judged += attribute_verdicts(column, spec, table, classes, counts, supersets, without=without)
    return judged


def anonymity_verdict(table: CodedTable, classes: Classes, policy: Policy) -> Verdict:
    """Judge classes by how many persons or rows they have."""
    members, model = members_of(table, classes), KAnonymity(policy.k)
    return Verdict(None, model, model.judge(members, members.sizes))


def attribute_verdicts(
    column: JudgedColumn,
    spec: Sensitive,
    table: CodedTable,
    classes: Classes,
    counts: Counts,
    supersets: Sequence[Ints],
    *,
    without: Sequence[str] = (),
) -> list[Verdict]:
    """Judge one attribute by every model that its settings name."""
    distance, by_person = distance_of(column), counts
    models = models_of(spec, distance, supersets)
    if table.persons is not None and any(model.counts_persons for model in models):
        models = models_of(spec, distance, supersets, members_of(table, classes).sizes)
        by_person = counts_by_person(column, classes, table.persons)

    def judged(model: Model) -> Judgement:
        if isinstance(model, TClosenessByGroup):
            codes, reference = codes_by_group(column, model, table)
            return model.judge(Counts.from_codes(classes.labels, codes[classes.rows], len(reference)), reference)
        return model.judge(by_person if model.counts_persons else counts, column.reference)

    return [Verdict(column.name, model, judged(model)) for model in models if model.name not in without]


def _finding(column: JudgedColumn, spec: Sensitive, counts: Counts, judged: Sequence[Verdict]) -> AttributeFinding:
    closeness, worst = _closeness(judged, distance_of(column), counts, column.reference)
    asked = [verdict.judgement for verdict in judged if verdict.model.name in ("t", "(n,t)")]
    return AttributeFinding(
        distance=column.distance,
        t=spec.t,
        closeness=closeness,
        satisfied=all(verdict.judgement.satisfied for verdict in judged),
        worst_class=worst + 1,
        failing_classes=sum(int(np.count_nonzero(~judgement.admitted)) for judgement in asked),
    )


def _closeness(judged: Sequence[Verdict], distance: Distance, counts: Counts, reference: Ints) -> tuple[Fraction, int]:
    """Return the attribute's closeness to the whole table and its worst class."""
    for verdict in judged:
        if verdict.model.name == "t" and isinstance(verdict.judgement.reached, Fraction):
            return verdict.judgement.reached, verdict.judgement.worst_class
    return distance.emd(counts, reference).largest()


def _model_finding(verdict: Verdict) -> ModelFinding:
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
