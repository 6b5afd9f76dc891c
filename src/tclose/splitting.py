"""Step 3, split: one class per row, by a method of choice, within the groups that kept columns force."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.distance.counts import Ints
from tclose.feasibility import Publishable
from tclose.judging import distance_of, verdicts
from tclose.partition import Problem, Sensitive, merged, method_named
from tclose.policy import Policy
from tclose.table.classes import Classes
from tclose.table.quasi import QuasiColumn

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
    partition = method_named(method)
    problem = _problem(possible, policy, quasi)
    labels = np.empty(problem.rows, dtype=np.int64)
    found = 0
    for group in range(len(possible.groups)):
        rows = possible.groups.members(group)
        labels[rows] = found + partition(problem.part(rows), seed=seed, progress=progress, **options)
        found = int(labels[rows].max()) + 1
    groups = possible.groups.labels_by_row()
    return merged(labels, groups, problem.points, lambda labels: _failing(labels, possible, policy))


def _problem(possible: Publishable, policy: Policy, quasi: Sequence[QuasiColumn]) -> Problem:
    columns = possible.table.sensitive.values()
    return Problem(
        points=np.stack([column.points() for column in quasi], axis=1)
        if quasi
        else np.zeros((possible.frame.height, 1)),
        sensitive=tuple(
            Sensitive(column.codes, column.reference, distance_of(column), policy.sensitive[column.name].t)
            for column in columns
        ),
        k=policy.k,
    )


def _failing(labels: Ints, possible: Publishable, policy: Policy) -> NDArray[np.bool_]:
    """Mark the classes that a model other than t-closeness does not admit."""
    found = verdicts(possible.table, Classes.from_labels(labels), policy, without=ENSURED)
    return np.asarray(np.any([~verdict.judgement.admitted for verdict in found], axis=0))
