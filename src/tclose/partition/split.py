"""Step 3, split: one class per row, by a method of choice, within the groups that kept columns force."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.errors import InternalError
from tclose.partition import Problem, Sensitive, merged, method_named
from tclose.partition.shared.axes import Axis, Line, Set, Tree
from tclose.policy import Policy
from tclose.policy import Sensitive as Asked
from tclose.privacy import distribution_models, diversity_models
from tclose.privacy.feasibility import Publishable
from tclose.privacy.judge import distance_of, verdicts
from tclose.table import SensitiveColumn
from tclose.table.classes import Classes
from tclose.table.quasi import LabelColumn, NumberColumn, QuasiColumn
from tclose.types import Ints, Progress

ENSURED = ("t", "(n,t)")  # by every method; the rest is ensured by merging


def split(
    possible: Publishable,
    policy: Policy,
    quasi: Sequence[QuasiColumn],
    method: str,
    seed: int,
    progress: Callable[[float], None],
    options: Mapping[str, Any],
) -> Ints:
    """Return the class of every row, counted from 0."""
    partition, problem, groups = method_named(method), problem_of(possible, policy, quasi), possible.groups
    labels = np.empty(problem.rows, dtype=np.int64)
    classes = done = 0
    for group in range(len(groups)):
        rows = groups.members(group)
        part, tell = problem.part(rows), _share_of(progress, done / problem.rows, len(rows) / problem.rows)
        if _within_t(part):
            found = _checked(partition(part, seed=seed, progress=tell, **options), len(rows))
        else:
            found = np.zeros(len(rows), dtype=np.int64)  # large enough for (n,t), which admits it as it is
        labels[rows] = classes + found
        classes, done = classes + int(found.max()) + 1, done + len(rows)
    return join_failing(labels, possible, policy, quasi)


def join_failing(labels: Ints, possible: Publishable, policy: Policy, quasi: Sequence[QuasiColumn]) -> Ints:
    """Merge classes within their groups until every model admits them all."""
    groups, points = possible.groups.labels_by_row(), _points(possible, quasi)
    return merged(labels, groups, points, lambda labels: _failing(labels, possible, policy))


def _share_of(progress: Callable[[float], None], before: float, share: float) -> Progress:
    return lambda inner, phase="": progress(before + share * inner)


def _within_t(problem: Problem) -> bool:
    return all(one.t is None or one.emd_of(one.codes, one.reference) <= one.t for one in problem.sensitive)


def _checked(labels: Any, rows: int) -> Ints:
    """Make sure that a method gave every row one class, and left no class out."""
    found = np.asarray(labels)
    if found.shape != (rows,) or found.dtype.kind not in "iu" or not np.array_equal(*_numbers(found)):
        raise InternalError("the method did not put every row into exactly one class, so nothing was released")
    return found.astype(np.int64)


def _numbers(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    different = np.unique(labels)
    return different, np.arange(len(different))


def problem_of(possible: Publishable, policy: Policy, quasi: Sequence[QuasiColumn]) -> Problem:
    """Return what a method is given: codes and losses, no texts."""
    columns = possible.table.sensitive.values()
    return Problem(
        points=_points(possible, quasi),
        sensitive=tuple(
            _sensitive(column, policy.sensitive[column.name], by_rows=possible.table.persons is None)
            for column in columns
        ),
        k=policy.k,
        axes=tuple(_axis(column) for column in quasi),
    )


def _sensitive(column: SensitiveColumn, spec: Asked, *, by_rows: bool) -> Sensitive:
    """Return an attribute with its models; those that count persons are left to the merging."""
    distance = distance_of(column)
    models = [model for model in distribution_models(spec, distance, ()) if model.name not in ENSURED]
    models += diversity_models(spec, None) if by_rows else []
    return Sensitive(column.codes, column.reference, distance, spec.t, spec.n, tuple(models))


def _points(possible: Publishable, quasi: Sequence[QuasiColumn]) -> NDArray[np.float64]:
    if not quasi:
        return np.zeros((possible.frame.height, 1))
    return np.stack([column.points() for column in quasi], axis=1)


def _axis(column: QuasiColumn) -> Axis:
    """Return what a class loses on a quasi-identifier, without its texts."""
    if isinstance(column, NumberColumn):
        ends = column.ends()
        deviation = float(column.points().std()) or 1.0 if column.spec.publish == "mean" else None
        return Line(column.codes, np.asarray(ends.low, dtype=float), np.asarray(ends.high, dtype=float), deviation)
    if isinstance(column, LabelColumn):
        return Tree(column.codes, column.hierarchy.levels)
    missing = bool(column.values.missing)
    return Set(column.codes + missing, max(column.domain, len(column.values.texts) + missing))


def _failing(labels: Ints, possible: Publishable, policy: Policy) -> NDArray[np.bool_]:
    """Mark the classes that a model other than t-closeness does not admit."""
    found = verdicts(possible.table, Classes.from_labels(labels), policy, without=ENSURED)
    return np.asarray(np.any([~verdict.judgement.admitted for verdict in found], axis=0))
