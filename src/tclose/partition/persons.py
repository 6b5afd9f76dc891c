"""Classes that hold all rows of a person or none: for releases in which pseudonyms link the rows of a person.

A method splits a table with one row per person (`table/persons.py`). The classes of persons are judged with all
their rows. Where a class of rows is not admitted, it is merged with the nearest class that mends it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from tclose.errors import Infeasible
from tclose.partition.problem import Split
from tclose.partition.shared.merge import merged, merged_with_care
from tclose.partition.split import points_of, split
from tclose.partition.starts import ONE_CLASS
from tclose.policy import MODELS, Policy
from tclose.privacy.feasibility import NoPartition, Publishable, publishable
from tclose.privacy.judge import verdicts
from tclose.table import CodedTable
from tclose.table.classes import Classes
from tclose.table.persons import PersonTable
from tclose.types import Bools, Floats, Ints, Progress, stretch

MOST_CAREFUL = 500  # failing classes: more of them are merged with their neighbours, which takes less time


def split_by_person(
    rows: Publishable, policy: Policy, method: str, seed: int, progress: Progress, options: Mapping[str, Any]
) -> Split:
    """Return the class of every row, with all rows of a person in one class."""
    table = rows.table
    assert table.persons is not None
    if len(np.unique(table.persons)) == len(table):
        return split(rows, policy, method, seed, progress, options)
    made: list[Split] = []
    refusals: list[NoPartition] = []
    for number, t_alone in enumerate(ways := _ways(policy)):
        part = stretch(progress, number / len(ways), (number + 1) / len(ways))
        people = PersonTable.of(table, policy, t_alone=t_alone)
        found = _of_persons(people.table, method, seed, stretch(part, 0.0, 0.9), options)
        try:
            labels = _admitted_classes(found.labels[people.persons], rows, policy, stretch(part, 0.9, 1.0))
            made.append(Split(labels, found.start))
        except NoPartition as refusal:
            refusals.append(refusal)
    if not made:
        raise refusals[0]
    return min(made, key=lambda split: _extent(split.labels, points_of(table)))


def _ways(policy: Policy) -> tuple[bool, ...]:
    """Return the ways to try, each as whether persons are asked for t alone; several where there are other models.

    One value stands for each person, and all rows together may show more values than these.
    """
    others = [name for name in MODELS if name != "t"]
    asked = any(getattr(spec, name) is not None for spec in policy.sensitive.values() for name in others)
    return (False, True) if asked else (False,)


def _extent(labels: Ints, points: Floats) -> float:
    """Return how far the rows of classes are apart in all quasi-identifiers, added up over all rows."""
    classes = Classes.from_labels(labels)
    grouped = points[classes.rows]
    ranges = np.maximum.reduceat(grouped, classes.starts) - np.minimum.reduceat(grouped, classes.starts)
    return float(classes.sizes @ ranges.sum(axis=1))


def _of_persons(table: CodedTable, method: str, seed: int, progress: Progress, options: Mapping[str, Any]) -> Split:
    """Split the table of persons by its kept values alone if no more can be: all rows together may be admitted."""
    try:
        return split(publishable(table, table.policy), table.policy, method, seed, progress, options)
    except Infeasible:
        return Split(table.groups.labels_by_row(), ONE_CLASS)


def _admitted_classes(labels: Ints, rows: Publishable, policy: Policy, progress: Progress) -> Ints:
    """Merge classes within groups of kept values until every model admits them with all rows of their persons."""
    table, groups = rows.table, rows.table.groups
    points = points_of(table)

    def failing(labels: Ints) -> Bools:
        return ~_admitted(Classes.from_labels(labels), table, policy)

    if not (bad := failing(labels)).any():
        return labels
    if np.count_nonzero(bad) > MOST_CAREFUL and not rows.undecided_groups.any():
        return merged(labels, groups.labels_by_row(), points, failing)
    joined, classes = np.empty_like(labels), 0
    for group in range(len(groups)):
        members = groups.members(group)
        own = np.unique(labels[members], return_inverse=True)[1].astype(np.int64)
        mended = merged_with_care(
            own, points[members], partial(_each_admitted, members, table, policy), partial(progress, 0.0, "merging")
        )
        if mended is None:
            raise NoPartition(members)
        joined[members], classes = classes + mended, classes + int(mended.max()) + 1
    return joined


def _each_admitted(members: Ints, table: CodedTable, policy: Policy, classes: list[Ints]) -> Bools:
    """Judge classes of a group, each given as places in `members`; classes may share rows."""
    sizes = np.array([len(places) for places in classes])
    return _admitted(Classes(members[np.concatenate(classes)], sizes), table, policy)


def _admitted(classes: Classes, table: CodedTable, policy: Policy) -> Bools:
    judged = verdicts(table, classes, policy)
    return np.asarray(np.all([verdict.judgement.admitted for verdict in judged], axis=0))
