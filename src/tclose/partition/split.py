"""Step 3, split: one class per row, by a method of choice, within the groups that kept columns force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.errors import InternalError
from tclose.partition import METHODS, Attribute, Problem, Split, merged, partitioned
from tclose.partition.shared.axes import Axis, LabelAxis, NumberAxis, SetAxis
from tclose.partition.shared.dividing import best_division, merged_with_care
from tclose.partition.shared.start import Finish, Start
from tclose.partition.starts import EQUALITY, ONE_CLASS, most_exact_rows
from tclose.policy import Policy
from tclose.policy import Sensitive as Asked
from tclose.privacy import NTCloseness, TCloseness, models_of
from tclose.privacy.feasibility import NoPartition, Publishable
from tclose.privacy.judge import distance_of, verdicts
from tclose.table import CodedTable, SensitiveColumn
from tclose.table.classes import Classes
from tclose.table.quasi import LabelColumn, NumberColumn, QuasiColumn
from tclose.types import Bools, Floats, Ints, Progress, still, stretch

ENSURED = (TCloseness.name, NTCloseness.name)  # by every method; the rest is ensured by merging
FEW_ROWS = 10  # of a group: every division of so few rows can be tried
EVERY_DIVISION = "every division"


Make = Callable[..., Split | None]  # (problem, finish=, first=, progress=): the classes of one group of rows


def split(
    rows: Publishable, policy: Policy, method: str, seed: int, progress: Progress, options: Mapping[str, Any]
) -> Split:
    """Return the class of every row, counted from 0; `NoPartition` says for which rows no classes were found."""
    table, problem, groups = rows.table, problem_of(rows.table, policy), rows.table.groups
    exact_rows = most_exact_rows(groups.sizes)
    make = partial(partitioned, method, seed=seed, options=options, exact_rows=exact_rows)
    divisions = _divisions(rows, policy, make, stretch(progress, 0.0, 0.0, "splitting"))
    labels, rows_of_start = np.empty(problem.rows, dtype=np.int64), Counter[str]()
    classes = done = 0
    for group in range(len(groups)):
        members = groups.members(group)
        share = stretch(progress, done / problem.rows, (done + len(members)) / problem.rows, "splitting")
        finish = None if table.persons is None else partial(_joined_within, members, table, policy)
        parts = divisions[group] if group in divisions else _parts(problem.part(members), make, finish, share)
        labels[members] = classes + parts.labels
        rows_of_start[parts.start or ""] += len(members)
        classes, done = classes + int(parts.labels.max()) + 1, done + len(members)
    start = ", ".join(name for name, _ in rows_of_start.most_common() if name) or None
    return Split(join_failing(labels, rows, policy), start if METHODS[method].takes_starts else None)


def _parts(
    problem: Problem, make: Make, finish: Finish | None, progress: Progress, first: Sequence[Start] = ()
) -> Split:
    """Return the classes of one group as a method makes them; all rows as one class where it finds none."""
    whole = Split(np.zeros(problem.rows, dtype=np.int64), ONE_CLASS)
    if not _within_t(problem):  # large enough for (n,t), which admits it as it is
        return whole
    made = make(problem, finish=finish, first=first, progress=progress)
    return whole if made is None else replace(made, labels=_checked(made.labels, problem.rows))


def _divisions(rows: Publishable, policy: Policy, make: Make, progress: Progress) -> dict[int, Split]:
    """Return classes of each group that cannot stay one class."""
    table, failed, divisions = rows.table, [], {}
    for group in np.flatnonzero(rows.undecided_groups).tolist():
        members = table.groups.members(group)
        division = _division(members, table, policy, make, progress)
        if division is None:
            failed.append(members)
        else:
            divisions[group] = division
    if failed:
        raise NoPartition(np.concatenate(failed))
    return divisions


def _division(members: Ints, table: CodedTable, policy: Policy, make: Make, progress: Progress) -> Split | None:
    """Try the classes that the table has already, every division of a few rows, and the classes of a method."""
    problem, admitted = problem_of(table, policy).part(members), partial(_admitted, members, table, policy)
    own = Split(np.unique(table.classes.labels_by_row()[members], return_inverse=True)[1], EQUALITY)
    if admitted([np.flatnonzero(own.labels == label) for label in range(own.labels.max() + 1)]).all():
        return own
    if len(members) <= FEW_ROWS:
        best = best_division(problem.points, admitted)
        return None if best is None else Split(best, EVERY_DIVISION)

    def mended(labels: Ints) -> Ints | None:
        return merged_with_care(labels, problem.points, admitted, partial(progress, 0.0))

    first = [Start(EQUALITY, own.labels, fast=True)]
    for candidate in (_parts(problem, make, mended, progress, first), own):
        if (labels := mended(candidate.labels)) is not None:
            return replace(candidate, labels=labels)
    return None


def _joined_within(members: Ints, table: CodedTable, policy: Policy, labels: Ints) -> Ints:
    """Merge classes of one group until every model admits them all, as `join_failing` does."""

    def failing(labels: Ints) -> Bools:
        classes = Classes.from_labels(labels)
        return _failing(Classes(members[classes.rows], classes.sizes), table, policy)

    return merged(labels, np.zeros_like(labels), _points(table)[members], failing)


def join_failing(labels: Ints, rows: Publishable, policy: Policy) -> Ints:
    """Merge classes within their groups until every model admits them all."""
    table, undecided = rows.table, rows.undecided_groups
    groups, points = table.groups.labels_by_row(), _points(table)
    if not undecided.any():
        return merged(labels, groups, points, lambda labels: _failing(Classes.from_labels(labels), table, policy))
    joined, classes = np.empty_like(labels), 0
    for group in range(len(table.groups)):
        members = table.groups.members(group)
        parts = np.unique(labels[members], return_inverse=True)[1]
        admitted = partial(_admitted, members, table, policy, without=ENSURED)
        mended = merged_with_care(parts, points[members], admitted, still)
        if mended is None:
            raise NoPartition(members)
        joined[members], classes = classes + mended, classes + int(mended.max()) + 1
    return joined


def _admitted(
    members: Ints, table: CodedTable, policy: Policy, classes: list[Ints], *, without: Sequence[str] = ()
) -> Bools:
    """Judge classes of a group, each given as places in `members`; classes may share rows."""
    sizes = np.array([len(places) for places in classes])
    judged = verdicts(table, Classes(members[np.concatenate(classes)], sizes), policy, without=without)
    return np.asarray(np.all([verdict.judgement.admitted for verdict in judged], axis=0))


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


def _failing(classes: Classes, table: CodedTable, policy: Policy) -> Bools:
    """Mark the classes that a model other than t-closeness does not admit."""
    judged = verdicts(table, classes, policy, without=ENSURED)
    return np.asarray(np.any([~verdict.judgement.admitted for verdict in judged], axis=0))
