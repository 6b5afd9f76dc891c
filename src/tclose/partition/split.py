"""Step 3, split: one class per row, by a method of choice, within the groups that kept columns force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.errors import InternalError, PolicyError
from tclose.partition import (
    METHODS,
    Attribute,
    Problem,
    Split,
    Splitter,
    merged,
    method_called,
    tempering_of,
)
from tclose.partition.problem import ENSURED, OF_THE_TABLE, Start, WholeTable
from tclose.partition.shared.axes import axes_of
from tclose.partition.shared.merge import best_division, merged_with_care
from tclose.partition.starts import EQUALITY, FAST, ONE_CLASS, most_exact_rows
from tclose.partition.thresholds import (
    Thresholds,
    ThresholdsByAttribute,
    group_thresholds_of,
    limited,
    split_by_average,
    starts_by_zone,
    thresholds_of_rows,
    with_smallest_t,
)
from tclose.policy import ByGroup, Policy
from tclose.policy import Sensitive as Asked
from tclose.privacy import DistinctL, TClosenessByGroup, class_models_of
from tclose.privacy.feasibility import NoPartition, Publishable
from tclose.privacy.judge import JudgedColumn, codes_by_group, distance_of, values_recur, verdicts
from tclose.table import CodedTable
from tclose.table.classes import Classes
from tclose.types import Bools, Floats, Ints, Progress, still, stretch

FEW_ROWS = 10  # of a group: every division of so few rows can be tried
EVERY_DIVISION = "every division"


Make = Callable[[Problem, Progress], Split | None]  # the classes of one group of rows


def split(
    rows: Publishable,
    policy: Policy,
    method: str,
    seed: int,
    progress: Progress,
    options: Mapping[str, Any],
    whole: WholeTable | None = None,
) -> Split:
    """Return the class of every row, counted from 0; `NoPartition` says for which rows no classes were found.

    Where the rows are a part of a `whole` table, weave splits them as it would split that table.
    """

    def split_within(limits: Thresholds, part: Progress) -> Split:
        return _split(rows, policy, method, seed, part, options, limits, whole)

    return split_by_average(split_within, rows.table, policy, progress)


def _split(
    rows: Publishable,
    policy: Policy,
    method: str,
    seed: int,
    progress: Progress,
    options: Mapping[str, Any],
    limits: Thresholds,
    whole: WholeTable | None,
) -> Split:
    """Split the rows with `limits` as further thresholds of every class."""
    table, groups = rows.table, rows.table.groups
    problem = problem_of(table, policy, method)
    rival_problem = problem_of(table, policy, points=problem.points)
    exact_rows = most_exact_rows(groups.sizes)
    splitter = Splitter(method=method, seed=seed, options=options, exact_rows=exact_rows, whole=whole)
    divisions = _divisions(rows, policy, problem, splitter, stretch(progress, 0.0, 0.0, "splitting"))
    labels, rows_of_start, guards = (
        np.empty(problem.rows, dtype=np.int64),
        Counter[str](),
        group_thresholds_of(table, policy),
    )
    classes = done = 0
    # a class lies within one group of kept values, so groups are split one after the other, and numbered on
    for group in range(len(groups)):
        members = groups.members(group)
        share = stretch(progress, done / problem.rows, (done + len(members)) / problem.rows, "splitting")
        finish = None if table.persons is None else partial(_joined_within, members, table, policy)
        of_group, of_rivals = (limited(each.part(members), limits) for each in (problem, rival_problem))
        own = replace(splitter, rival_problem=of_rivals, finish=finish)
        make = _guarded(own, thresholds_of_rows(guards, members)) if guards else own.split
        parts = divisions[group] if group in divisions else _parts(of_group, make, share)
        labels[members] = classes + parts.labels
        rows_of_start[parts.start or ""] += len(members)
        classes, done = classes + int(parts.labels.max()) + 1, done + len(members)
    start = ", ".join(name for name, _ in rows_of_start.most_common() if name) or None
    return Split(join_failing(labels, rows, policy), start if METHODS[method].takes_starts else None)


def _guarded(splitter: Splitter, guards: ThresholdsByAttribute) -> Make:
    """Return how the rows of a group are split where some persons have a smaller t than the others.

    A method that does not know groups obeys the smallest t. weave is given starts.
    """
    method, options = METHODS[splitter.method], splitter.options
    if not method.knows_groups:
        return lambda problem, progress: splitter.split(with_smallest_t(problem, guards), progress)

    def of_zone(problem: Problem, fast: bool, progress: Progress) -> Split | None:
        chosen = {**options, method.option: FAST} if fast else options
        without_persons = replace(problem, persons=None)
        of_part = replace(splitter, rival_problem=without_persons, finish=None, options=chosen)
        return of_part.split(problem, progress)

    def with_starts(problem: Problem, progress: Progress) -> Split | None:
        first = starts_by_zone(problem, guards, of_zone, stretch(progress, 0.0, 0.5))
        return replace(splitter, first=first).split(problem, stretch(progress, 0.5, 1.0))

    return with_starts


def tempered(
    labels: Ints, share: Fraction, rows: Publishable, policy: Policy, method: str, seed: int, progress: Progress
) -> Ints:
    """Return the classes after the random swaps that `temper` asks for, made within each group of rows.

    Where the swaps break a model that they do not know, classes are merged. So groups that must not stay one class,
    which merging might not mend, are refused.
    """
    if rows.undecided_groups.any():
        raise PolicyError(
            "some rows cannot stay one class, and random swaps might leave them without admitted classes: "
            "leave temper out, or ask for other models",
            place="temper",
        )
    problem, groups, swapped = problem_of(rows.table, policy, method), rows.table.groups, np.empty_like(labels)
    classes = done = 0
    for group in range(len(groups)):
        members = groups.members(group)
        part = stretch(progress, done / problem.rows, (done + len(members)) / problem.rows, "tempering")
        own = np.unique(labels[members], return_inverse=True)[1].astype(np.int64)
        swapped[members] = classes + tempering_of(method)(problem.part(members), own, float(share), seed + group, part)
        classes, done = classes + int(own.max()) + 1, done + len(members)
    return join_failing(swapped, rows, policy)


def _parts(problem: Problem, make: Make, progress: Progress) -> Split:
    """Return the classes of one group as a method makes them; all rows as one class where it finds none."""
    whole = Split(np.zeros(problem.rows, dtype=np.int64), ONE_CLASS)
    if not _within_t(problem):  # large enough for (n,t), which admits it as it is
        return whole
    made = make(problem, progress)
    return whole if made is None else replace(made, labels=_checked(made.labels, problem.rows))


def _divisions(
    rows: Publishable, policy: Policy, problem: Problem, splitter: Splitter, progress: Progress
) -> dict[int, Split]:
    """Return classes of each group that cannot stay one class."""
    table, failed, divisions = rows.table, [], {}
    for group in np.flatnonzero(rows.undecided_groups).tolist():
        members = table.groups.members(group)
        division = _division(members, table, policy, _without_groups(problem.part(members), table), splitter, progress)
        if division is None:
            failed.append(members)
        else:
            divisions[group] = division
    if failed:
        raise NoPartition(np.concatenate(failed))
    return divisions


def _division(
    members: Ints, table: CodedTable, policy: Policy, problem: Problem, splitter: Splitter, progress: Progress
) -> Split | None:
    """Try the classes that the table has already, every division of a few rows, and the classes of a method."""
    admitted = partial(_admitted, members, table, policy)
    own = Split(np.unique(table.classes.labels_by_row()[members], return_inverse=True)[1], EQUALITY)
    if admitted([np.flatnonzero(own.labels == label) for label in range(own.labels.max() + 1)]).all():
        return own
    if len(members) <= FEW_ROWS:
        best = best_division(problem.points, admitted)
        return None if best is None else Split(best, EVERY_DIVISION)

    def mended(labels: Ints) -> Ints | None:
        return merged_with_care(labels, problem.points, admitted, partial(progress, 0.0))

    rival_problem, first = problem_of(table, policy).part(members), [Start(EQUALITY, own.labels, fast=True)]
    make = replace(splitter, rival_problem=rival_problem, finish=mended, first=first).split
    # the table's own classes come last: they are the finest, so most of them would have to be merged
    for candidate in (_parts(problem, make, progress), own):
        if (labels := mended(candidate.labels)) is not None:
            return replace(candidate, labels=labels)
    return None


def _without_groups(problem: Problem, table: CodedTable) -> Problem:
    """Return the problem without thresholds for groups of persons, which these rows do not obey as one class."""
    return replace(problem, sensitive=problem.sensitive[: len(table.sensitive)])


def _joined_within(members: Ints, table: CodedTable, policy: Policy, labels: Ints) -> Ints:
    """Merge classes of one group until every model admits them all, as `join_failing` does."""

    def failing(labels: Ints) -> Bools:
        classes = Classes.from_labels(labels)
        return _failing(Classes(members[classes.rows], classes.sizes), table, policy)

    return merged(labels, np.zeros_like(labels), points_of(table)[members], failing)


def join_failing(labels: Ints, rows: Publishable, policy: Policy) -> Ints:
    """Merge classes within their groups until every model admits them all."""
    table, undecided = rows.table, rows.undecided_groups
    if not undecided.any():
        return _joined(labels, table, policy)
    joined, classes, points = np.empty_like(labels), 0, points_of(table)
    for group in range(len(table.groups)):
        members = table.groups.members(group)
        parts = np.unique(labels[members], return_inverse=True)[1]
        admitted = partial(_admitted, members, table, policy, without=ENSURED)
        mended = merged_with_care(parts, points[members], admitted, still)
        if mended is None:
            raise NoPartition(members)
        joined[members], classes = classes + mended, classes + int(mended.max()) + 1
    return joined


def _joined(labels: Ints, table: CodedTable, policy: Policy) -> Ints:
    """Merge classes within their groups, as a rule none, until every model admits them all."""

    def failing(labels: Ints) -> Bools:
        return _failing(Classes.from_labels(labels), table, policy)

    if not failing(labels).any():
        return labels
    return merged(labels, table.groups.labels_by_row(), points_of(table), failing)


def _admitted(
    members: Ints, table: CodedTable, policy: Policy, classes: list[Ints], *, without: Sequence[str] = ()
) -> Bools:
    """Judge classes of a group, each given as places in `members`; classes may share rows."""
    sizes = np.array([len(places) for places in classes])
    without = (*without, *OF_THE_TABLE)
    judged = verdicts(table, Classes(members[np.concatenate(classes)], sizes), policy, without=without)
    return np.asarray(np.all([verdict.judgement.admitted for verdict in judged], axis=0))


def _within_t(problem: Problem) -> bool:
    return all(one.t is None or one.emd_of(one.codes, one.reference) <= one.t for one in problem.sensitive)


def _checked(labels: Any, rows: int) -> Ints:
    """Make sure that a method gave every row one class, and left no class out."""
    classes = np.asarray(labels)
    if classes.shape != (rows,) or classes.dtype.kind not in "iu" or not _are_numbered(classes):
        raise InternalError("the method did not put every row into exactly one class, so nothing was released")
    return classes.astype(np.int64)


def _are_numbered(labels: NDArray[Any]) -> bool:
    return bool(0 <= labels.min() <= labels.max() < len(labels) and np.bincount(labels).all())


def problem_of(
    table: CodedTable, policy: Policy, method: str | None = None, *, points: Floats | None = None
) -> Problem:
    """Return what a method is given: codes and losses, no texts; persons only where the method counts them itself.

    Thresholds for groups of persons are attributes of their own, after the others, for a method that knows them. The
    points need not be made again where there is another problem of the table.
    """
    by_persons = table.persons is not None and method is not None and method_called(method).counts_persons
    required = policy.required
    specs = [(column, required[name]) for name, column in table.judged.items()]
    sensitive = tuple(_sensitive(column, spec, table.persons, by_persons=by_persons) for column, spec in specs)
    if method is not None and method_called(method).knows_groups:
        sensitive += tuple(_by_group(column, spec.t_by, table) for column, spec in specs if spec.t_by is not None)
    return Problem(
        points=points_of(table) if points is None else points,
        sensitive=sensitive,
        k=max([policy.k, *(map(_least_persons, sensitive) if by_persons else ())]),
        axes=axes_of(table, policy),
        by_size=policy.loss == "discernibility",
        persons=table.persons if by_persons else None,
    )


def _sensitive(column: JudgedColumn, spec: Asked, persons: Ints | None, *, by_persons: bool) -> Attribute:
    """Return an attribute with its models; those that count persons as no method does are left to the merging."""
    distance = distance_of(column)
    asked = [model for model in class_models_of(spec, distance) if model.name not in ENSURED]
    if persons is not None and not by_persons:
        asked = [model for model in asked if not model.counts_persons]
    elif values_recur(column, persons):  # or else a class has as many rows with a value as persons with it
        asked = [model for model in asked if isinstance(model, DistinctL) or not model.counts_persons]
    return Attribute(column.codes, column.reference, distance, spec.t, spec.n, tuple(asked))


def _by_group(column: JudgedColumn, asked: ByGroup, table: CodedTable) -> Attribute:
    """Return an attribute whose codes hold the group of persons, too."""
    model = TClosenessByGroup(asked, distance_of(column))
    codes, reference = codes_by_group(column, model, table)
    return Attribute(codes, reference, model.distance, None, models=(model,))


def _least_persons(attribute: Attribute) -> int:
    """Return how many persons an attribute asks for: l values must be those of l persons."""
    return max((model.required for model in attribute.models if isinstance(model, DistinctL)), default=1)


def points_of(table: CodedTable) -> Floats:
    """Return where each row lies on every quasi-identifier."""
    if not table.quasi:
        return np.zeros((len(table), 1))
    return np.stack([column.points() for column in table.quasi.values()], axis=1)


def _failing(classes: Classes, table: CodedTable, policy: Policy) -> Bools:
    """Mark the classes that a model other than t-closeness does not admit."""
    judged = verdicts(table, classes, policy, without=ENSURED)
    return np.asarray(np.any([~verdict.judgement.admitted for verdict in judged], axis=0))
