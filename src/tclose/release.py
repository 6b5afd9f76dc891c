"""The steps of tclose, readable as prose: check() and explain() read a table, judge it and tell what they found."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np

from tclose.distance import Counts, Distance, Equal, Hierarchical, Matrix, Ordered, Value
from tclose.distance.counts import Ints
from tclose.errors import InputError, did_you_mean
from tclose.findings import AttributeFinding, CheckResult, Explanation, ModelFinding, Step
from tclose.policy import Policy, Sensitive
from tclose.privacy import Judgement, KAnonymity, Model, distribution_models, diversity_models
from tclose.table import CodedTable, SensitiveColumn, encode, to_polars

Progress = Callable[[float, str], None]  # the share done, and what is being done


def check(frame: Any, policy: Policy, *, ignore_others: bool = False, progress: Progress | None = None) -> CheckResult:
    """Tell whether a table holds what a policy asks for; the table is judged as it is, nothing is changed.

    `frame` is a pandas, polars or pyarrow frame. Rows that show equal quasi-identifiers and kept columns form a
    class. With `ignore_others`, columns that the policy does not name play no role.

    >>> import polars as pl
    >>> table = pl.DataFrame({"zone": ["a", "a", "b", "b"], "salary": [3, 4, 3, 4]})
    >>> check(table, Policy(quasi=["zone"], sensitive={"salary": {"t": 0.1}}, k=2)).satisfied
    True
    """
    tell = progress or (lambda share, what: None)
    tell(0.0, "reading")
    table = encode(to_polars(frame), policy, ignore_others=ignore_others)
    tell(0.5, "judging")
    members = _members(table)
    anonymity = KAnonymity(policy.k)
    models = [_told(anonymity, None, anonymity.judge(members, members.sizes))]
    supersets = list(table.supersets()) if any(spec.n for spec in policy.sensitive.values()) else []
    sensitive: dict[str, AttributeFinding] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:

        def judged(column: SensitiveColumn) -> tuple[AttributeFinding, list[ModelFinding]]:
            return _judge(column, policy.sensitive[column.name], table, members, supersets)

        for done, (name, found) in enumerate(
            zip(table.sensitive, pool.map(judged, table.sensitive.values()), strict=True)
        ):
            sensitive[name] = found[0]
            models += found[1]
            tell(0.5 + 0.5 * (done + 1) / len(table.sensitive), name)
    return CheckResult(
        rows=len(table.classes.rows),
        classes=len(table.classes),
        smallest_class=int(members.sizes.min()),
        satisfied=all(model.satisfied for model in models),
        sensitive=sensitive,
        models=tuple(models),
        withheld=table.withheld,
    )


def explain(frame: Any, policy: Policy, *, attribute: str, class_number: int) -> Explanation:
    """Tell which earth has to move where to turn one class's distribution into the whole table's.

    Classes are counted from 1 in the order in which the table shows them first.
    """
    table = encode(to_polars(frame), policy, ignore_others=True)
    if attribute not in table.sensitive:
        raise InputError(
            f"'{attribute}' is no sensitive attribute of the policy{did_you_mean(attribute, table.sensitive)}"
        )
    classes, column = table.classes, table.sensitive[attribute]
    if not 1 <= class_number <= len(classes):
        raise InputError(f"there is no class {class_number:,}: the table has classes 1 to {len(classes):,}")
    mine = column.codes[np.split(classes.rows, classes.starts[1:])[class_number - 1]]
    row = np.bincount(mine, minlength=len(column.labels)).astype(np.int64)
    moves = distance_of(column).plan(row, column.reference)
    return Explanation(
        attribute=attribute,
        class_number=class_number,
        rows=len(mine),
        distance=column.distance,
        moves=tuple(
            Step(column.labels[move.source], column.labels[move.target], move.mass, move.distance) for move in moves
        ),
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


def _members(table: CodedTable) -> Counts:
    """Count who is in each class: persons where the policy names them, else rows."""
    members = table.classes.sizes
    if table.persons is not None:
        people = int(table.persons.max()) + 1
        members = Counts.from_codes(table.classes.labels, table.persons[table.classes.rows], people).distinct
    return Counts(np.arange(len(members)), np.zeros_like(members), members, 1)


def _judge(
    column: SensitiveColumn, spec: Sensitive, table: CodedTable, members: Counts, supersets: list[Ints]
) -> tuple[AttributeFinding, list[ModelFinding]]:
    """Judge one attribute by every model that its settings name, and measure its closeness in any case."""
    distance, reference = distance_of(column), column.reference
    counts = Counts.from_codes(table.classes.labels, column.codes[table.classes.rows], len(column.labels))
    told = [
        _told(model, column.name, model.judge(counts, reference))
        for model in distribution_models(spec, distance, supersets)
    ]
    by_person = counts if table.persons is None else _once_per_person(column, table)
    told += [
        _told(model, column.name, model.judge(by_person, reference))
        for model in diversity_models(spec, None if table.persons is None else members.sizes)
    ]
    closeness, worst, failing = _closeness(told, distance, counts, reference)
    asked = [found for found in told if found.model in ("t", "(n,t)")]
    return (
        AttributeFinding(
            distance=column.distance,
            t=spec.t,
            closeness=closeness,
            satisfied=all(found.satisfied for found in asked),
            worst_class=worst + 1,
            failing_classes=failing,
        ),
        told,
    )


def _closeness(
    told: list[ModelFinding], distance: Distance, counts: Counts, reference: Ints
) -> tuple[Fraction, int, int]:
    """Return the attribute's closeness to the whole table, its worst class, and how many classes fail."""
    failing = sum(found.failing_classes for found in told if found.model in ("t", "(n,t)"))
    for found in told:
        if found.model == "t" and isinstance(found.reached, Fraction):
            return found.reached, found.worst_class - 1, failing
    return (*distance.emd(counts, reference).largest(), failing)


def _once_per_person(column: SensitiveColumn, table: CodedTable) -> Counts:
    """Count each value of a class once per person who shows it."""
    assert table.persons is not None
    domain, people = len(column.labels), int(table.persons.max()) + 1
    cells = table.classes.labels_by_row() * domain + column.codes
    shown, which = np.unique(cells, return_inverse=True)
    once = shown[np.unique(which * people + table.persons) // people]
    return Counts.from_codes(once // domain, once % domain, domain)


def _told(model: Model, attribute: str | None, judgement: Judgement) -> ModelFinding:
    return ModelFinding(
        model=model.name,
        attribute=attribute,
        required=model.required,
        reached=judgement.reached,
        satisfied=judgement.satisfied,
        worst_class=judgement.worst_class + 1,
        failing_classes=int(np.count_nonzero(~judgement.admitted)),
    )
