"""Step 3, split: one class per row, by a method of choice, within the groups that kept columns force."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.errors import InternalError
from tclose.partition import Attribute, Problem, merged, method_named
from tclose.partition.shared.axes import Axis, LabelAxis, NumberAxis, SetAxis
from tclose.policy import Policy
from tclose.policy import Sensitive as Asked
from tclose.privacy import NTCloseness, TCloseness, models_of
from tclose.privacy.judge import distance_of, verdicts
from tclose.table import CodedTable, SensitiveColumn
from tclose.table.classes import Classes
from tclose.table.quasi import LabelColumn, NumberColumn, QuasiColumn
from tclose.types import Bools, Floats, Ints, Progress, stretch

ENSURED = (TCloseness.name, NTCloseness.name)  # by every method; the rest is ensured by merging


def split(
    table: CodedTable, policy: Policy, method: str, seed: int, progress: Progress, options: Mapping[str, Any]
) -> Ints:
    """Return the class of every row, counted from 0."""
    partition, problem, groups = method_named(method), problem_of(table, policy), table.groups
    labels = np.empty(problem.rows, dtype=np.int64)
    classes = done = 0
    for group in range(len(groups)):
        rows = groups.members(group)
        part = problem.part(rows)
        if _within_t(part):
            share = stretch(progress, done / problem.rows, (done + len(rows)) / problem.rows, "splitting")
            parts = _checked(partition(part, seed=seed, progress=share, **options), len(rows))
        else:
            parts = np.zeros(len(rows), dtype=np.int64)  # large enough for (n,t), which admits it as it is
        labels[rows] = classes + parts
        classes, done = classes + int(parts.max()) + 1, done + len(rows)
    return join_failing(labels, table, policy)


def join_failing(labels: Ints, table: CodedTable, policy: Policy) -> Ints:
    """Merge classes within their groups until every model admits them all."""
    groups, points = table.groups.labels_by_row(), _points(table)
    return merged(labels, groups, points, lambda labels: _failing(labels, table, policy))


def _within_t(problem: Problem) -> bool:
    return all(one.t is None or one.emd_of(one.codes, one.reference) <= one.t for one in problem.sensitive)


def _checked(labels: Any, rows: int) -> Ints:
    """Make sure that a method gave every row one class, and left no class out."""
    classes = np.asarray(labels)
    if classes.shape != (rows,) or classes.dtype.kind not in "iu" or not np.array_equal(*_numbers(classes)):
        raise InternalError("the method did not put every row into exactly one class, so nothing was released")
    return classes.astype(np.int64)


def _numbers(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    different = np.unique(labels)
    return different, np.arange(len(different))


def problem_of(table: CodedTable, policy: Policy) -> Problem:
    """Return what a method is given: codes and losses, no texts."""
    by_rows = table.persons is None
    return Problem(
        points=_points(table),
        sensitive=tuple(
            _sensitive(column, policy.sensitive[name], by_rows=by_rows) for name, column in table.sensitive.items()
        ),
        k=policy.k,
        axes=tuple(_axis(column) for column in table.quasi.values()),
    )


def _sensitive(column: SensitiveColumn, spec: Asked, *, by_rows: bool) -> Attribute:
    """Return an attribute with its models; those that count persons are left to the merging."""
    distance = distance_of(column)
    models = tuple(
        model
        for model in models_of(spec, distance)
        if model.name not in ENSURED and (by_rows or not model.counts_persons)
    )
    return Attribute(column.codes, column.reference, distance, spec.t, spec.n, models)


def _points(table: CodedTable) -> Floats:
    if not table.quasi:
        return np.zeros((len(table), 1))
    return np.stack([column.points() for column in table.quasi.values()], axis=1)


def _axis(column: QuasiColumn) -> Axis:
    """Return what a class loses on a quasi-identifier, without its texts."""
    if isinstance(column, NumberColumn):
        ends = column.ends()
        deviation = float(column.points().std()) or 1.0 if column.spec.publish == "mean" else None
        return NumberAxis(column.codes, ends.low, ends.high, deviation)
    if isinstance(column, LabelColumn):
        return LabelAxis(column.codes, column.hierarchy.levels)
    missing = bool((column.codes < 0).any())
    return SetAxis(column.codes + missing, max(column.domain, len(column.values.texts) + missing))


def _failing(labels: Ints, table: CodedTable, policy: Policy) -> Bools:
    """Mark the classes that a model other than t-closeness does not admit."""
    judged = verdicts(table, Classes.from_labels(labels), policy, without=ENSURED)
    return np.asarray(np.any([~verdict.judgement.admitted for verdict in judged], axis=0))
