"""Restart passes: regroup whole classes, form classes anew within every group, keep whichever lose less.

A union of admitted classes is admitted by most models, so a group of whole classes can be split again. Groups are not
the parts that the classes were made in, so a pass also mends what the borders of parts have cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from tclose.partition.problem import Problem
from tclose.partition.shared.workers import in_parallel
from tclose.partition.weave.groups import groups_of
from tclose.partition.weave.table import WeaveTable
from tclose.partition.weave.tuples import with_leeway
from tclose.types import Ints, Progress, silent, stretch

GROUPS = (20_000, 5_000)  # rows of the groups in a first and a second pass
SHARE = 1.0  # of t that a cell may use up: a group of classes uses up much of t already


def restarted(
    problem: Problem, labels: Ints, groups: Sequence[int] = GROUPS, *, seed: int = 0, progress: Progress = silent
) -> Ints:
    """Return classes that lose no more than those given; one pass for each size of groups.

    The classes given must be admitted, and so are those that are returned: new classes are judged exactly.
    """
    sensitive = tuple(map(with_leeway, problem.sensitive))
    table = WeaveTable.of(replace(problem, sensitive=sensitive), stretch(progress, 0.0, 0.0, "restarting"))
    random, bounds = np.random.default_rng(seed), np.linspace(0.0, 1.0, len(groups) + 1).tolist()
    for rows, part in zip(groups, pairwise(bounds), strict=True):
        labels = _pass(problem, table, labels, rows, random, stretch(progress, *part, "restarting"))
    return labels


def _pass(
    problem: Problem, table: WeaveTable, labels: Ints, rows: int, random: np.random.Generator, progress: Progress
) -> Ints:
    groups = groups_of(labels, table.losses, rows, random)

    def better(members: Ints) -> Ints:
        return _better(problem.part(members), table.part(members), labels[members])

    new, classes = np.empty_like(labels), 0
    for members, numbers in zip(groups, in_parallel(better, groups, progress, table.stop), strict=True):
        new[members] = classes + numbers
        classes += int(numbers.max()) + 1
    return new


def _better(problem: Problem, table: WeaveTable, labels: Ints) -> Ints:
    """Return new classes of one group if they are admitted and lose less, or else those that it has."""
    old = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    if len(table) < 2 * table.k or not problem.admitted(np.zeros_like(old)).all():
        return old
    new = table.form_classes(SHARE, silent)
    return new if table.loss(new) < table.loss(old) and problem.admitted(new).all() else old
