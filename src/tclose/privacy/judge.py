"""The judge: a coded table and a policy come in, what every model finds about every class comes out.

It does not know how the classes came about. The reference is a field of every sensitive column's domain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from tclose.distance import Counts, Distance, DomainFacts, Ordered, Product
from tclose.errors import Mistakes, PolicyError
from tclose.messages import say
from tclose.policy import Policy, Sensitive
from tclose.policy.settings import join
from tclose.privacy import Judgement, KAnonymity, Model, TClosenessByGroup, models_of
from tclose.privacy.results import AttributeFinding, CheckResult, ModelFinding
from tclose.table import CodedTable, JointColumn, SensitiveColumn
from tclose.table.classes import Classes, threads
from tclose.table.values import ValueDomain, known_places
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


@dataclass(frozen=True, eq=False, repr=False)
class JudgedTable:
    """A coded table, what was found about it, and what every model said of every class."""

    table: CodedTable
    result: CheckResult
    verdicts: Sequence[Verdict]


class ClassCounts(Protocol):
    """How often each class shows each value: all that the judge asks of a table, wherever its rows are."""

    @property
    def by_persons(self) -> bool:
        """Whether rows name persons."""

    def members(self) -> Counts:
        """Count who is in each class: persons where rows name them, else rows."""

    def values(self, column: JudgedColumn) -> Counts:
        """Count the values of each class."""

    def values_by_person(self, column: JudgedColumn) -> Counts:
        """Count each value of a class once per person who shows it."""

    def values_by_group(self, column: JudgedColumn, model: TClosenessByGroup) -> tuple[Counts, Ints]:
        """Count the values of each class apart for each group of persons; return the whole table's counts, too."""


@dataclass(frozen=True, eq=False, repr=False)
class CountsOfRows:
    """The counts of classes of rows that are in memory."""

    table: CodedTable
    classes: Classes

    @property
    def by_persons(self) -> bool:
        """Whether rows name persons."""
        return self.table.persons is not None

    def members(self) -> Counts:
        """Count who is in each class."""
        return members_of(self.table, self.classes)

    def values(self, column: JudgedColumn) -> Counts:
        """Count the values of each class."""
        return counts_of(column, self.classes)

    def values_by_person(self, column: JudgedColumn) -> Counts:
        """Count each value of a class once per person who shows it."""
        return counts_by_person(column, self.classes, self.table.persons)

    def values_by_group(self, column: JudgedColumn, model: TClosenessByGroup) -> tuple[Counts, Ints]:
        """Count the values of each class apart for each group of persons."""
        codes, reference = codes_by_group(column, model, self.table)
        return Counts.from_codes(self.classes.labels, codes[self.classes.rows], len(reference)), reference


@dataclass(frozen=True)
class TableFacts:
    """How many rows and classes a table has."""

    rows: int
    classes: int
    smallest_class: int
    withheld: int


def judge(table: CodedTable, policy: Policy, progress: Progress = silent) -> JudgedTable:
    """Judge the classes that a reader of the table sees, and measure the closeness of every attribute."""
    classes = table.classes
    given, supersets = CountsOfRows(table, classes), supersets_of(table, policy)
    findings, verdicts = judge_counts(given, table.judged, policy, supersets, progress)
    facts = TableFacts(len(table), len(classes), int(classes.sizes.min()), table.withheld)
    return JudgedTable(table, result_of(facts, findings, map(model_finding, verdicts), policy), verdicts)


def judge_counts(
    given: ClassCounts,
    columns: Mapping[str, JudgedColumn],
    policy: Policy,
    supersets: Sequence[Ints],
    progress: Progress = silent,
) -> tuple[dict[str, AttributeFinding], list[Verdict]]:
    """Judge classes by their counts: return what was found about each attribute, and what every model said."""
    required = policy.required

    def judged(column: JudgedColumn) -> tuple[AttributeFinding, list[Verdict]]:
        spec, counts = required[column.name], given.values(column)
        verdicts = attribute_verdicts(column, spec, given, counts, supersets)
        return _finding(column, spec, counts, verdicts), verdicts

    verdicts, findings = [anonymity_verdict(given, policy)], {}
    with ThreadPoolExecutor(threads()) as pool:
        answers = zip(columns, pool.map(judged, columns.values()), strict=True)
        for done, (name, (finding, more)) in enumerate(answers):
            findings[name] = finding
            verdicts += more
            progress((done + 1) / len(columns), "judging")
    return findings, verdicts


def result_of(
    facts: TableFacts, findings: Mapping[str, AttributeFinding], found: Iterable[ModelFinding], policy: Policy
) -> CheckResult:
    """Put together what was found about a table."""
    models = (*found, *_withheld(facts, policy))
    return CheckResult(
        rows=facts.rows,
        classes=facts.classes,
        smallest_class=facts.smallest_class,
        satisfied=all(model.satisfied for model in models),
        sensitive={name: finding for name, finding in findings.items() if name in policy.sensitive},
        models=models,
        withheld=facts.withheld,
        joint={name: finding for name, finding in findings.items() if name not in policy.sensitive},
    )


def _withheld(facts: TableFacts, policy: Policy) -> list[ModelFinding]:
    """Hold rows that were left out for a missing value against what the policy allows."""
    if not facts.withheld:
        return []
    share = Fraction(facts.withheld, facts.withheld + facts.rows)
    return [ModelFinding("suppress", None, policy.suppress, share, share <= policy.suppress, 0, 0)]


def supersets_of(table: CodedTable, policy: Policy) -> list[Ints]:
    """Return the groupings of classes that (n,t)-closeness looks at, where a policy asks for it."""
    return list(table.supersets()) if any(spec.n for spec in policy.sensitive.values()) else []


def distance_of(column: JudgedColumn) -> Distance:
    """Return the ground distance between a column's values, or between tuples of values; it is made once."""
    made = column.made if isinstance(column, JointColumn) else column.domain.made
    if "distance" not in made:
        made["distance"] = _distance_of_tuples(column) if isinstance(column, JointColumn) else _distance_of(column)
    distance: Distance = made["distance"]
    return distance


def _distance_of(column: SensitiveColumn) -> Distance:
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
    return counted_once(classes.labels, column.codes[classes.rows], persons[classes.rows], len(column.reference))


def counted_once(labels: Ints, codes: Ints, persons: Ints, domain: int) -> Counts:
    """Count each value of a class once per person who shows it."""
    people = int(persons.max()) + 1
    shown, which = np.unique(labels * domain + codes, return_inverse=True)
    once = shown[np.unique(which * people + persons) // people]
    return Counts.from_codes(once // domain, once % domain, domain)


def codes_by_group(column: JudgedColumn, model: TClosenessByGroup, table: CodedTable) -> tuple[Ints, Ints]:
    """Return the codes of a column with the person's group in them, and how often the table has each of them."""
    values = table.values(model.asked.column)
    codes = column.codes * model.groups + groups_of_values(model, values.domain)[values.codes]
    return codes, np.bincount(codes, minlength=len(column.reference) * model.groups).astype(np.int64)


def groups_of_values(model: TClosenessByGroup, values: ValueDomain) -> Ints:
    """Return the group of persons that each value stands for; that of a missing value comes last."""
    asked, names = model.asked, list(model.asked.t)
    group_of_name = [asked.levels.index(asked.t[name]) for name in names]
    group_of_value = [model.groups - 1 if at < 0 else group_of_name[at] for at in known_places(names, values)]
    return np.array([*group_of_value, model.groups - 1], dtype=np.int64)


def check_groups(domain_of: Callable[[str], ValueDomain], policy: Policy) -> None:
    """Refuse a group that no row has: a misspelt name would leave its persons with the column's t."""
    mistakes = Mistakes()
    for name, spec in policy.sensitive.items():
        asked = spec.t_by
        if asked is None:
            continue
        values = domain_of(asked.column)
        present = {place for place in known_places(list(asked.t), values) if place >= 0}
        for place, group in enumerate(asked.t):
            if place not in present:
                sentence = say(
                    "no row of '{column}' is of group '{group}': correct it, or leave it out",
                    column=asked.column,
                    group=legible(group),
                )
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
    given, required = CountsOfRows(table, classes), policy.required
    judged = [anonymity_verdict(given, policy)]
    for column in table.judged.values():
        spec, counts = required[column.name], given.values(column)
        judged += attribute_verdicts(column, spec, given, counts, supersets, without=without)
    return judged


def anonymity_verdict(given: ClassCounts, policy: Policy) -> Verdict:
    """Judge classes by how many persons or rows they have."""
    members, model = given.members(), KAnonymity(policy.k)
    return Verdict(None, model, model.judge(members, members.sizes))


def attribute_verdicts(
    column: JudgedColumn,
    spec: Sensitive,
    given: ClassCounts,
    counts: Counts,
    supersets: Sequence[Ints],
    *,
    without: Sequence[str] = (),
) -> list[Verdict]:
    """Judge one attribute by every model that its settings name."""
    distance, by_person = distance_of(column), counts
    models = models_of(spec, distance, supersets)
    if given.by_persons and any(model.counts_persons for model in models):
        models = models_of(spec, distance, supersets, given.members().sizes)
        by_person = given.values_by_person(column)

    def judged(model: Model) -> Judgement:
        if isinstance(model, TClosenessByGroup):
            return model.judge(*given.values_by_group(column, model))
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


def model_finding(verdict: Verdict) -> ModelFinding:
    """Return what a verdict says for people."""
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
