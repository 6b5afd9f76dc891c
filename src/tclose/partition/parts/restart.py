"""Restart passes: regroup whole classes, form classes anew within every group, exchange rows, keep what loses least.

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
from tclose.partition.weave.limits import Effort, EffortName, effort_for
from tclose.partition.weave.table import WeaveTable
from tclose.partition.weave.trees import with_leeway
from tclose.types import Ints, Progress, silent, stretch

GROUPS = (20_000, 5_000)  # rows of the groups in a first and a second pass
SHARE = 1.0  # of t that a cell may use up: a group of classes uses up much of t already


def restarted(
    problem: Problem,
    labels: Ints,
    groups: Sequence[int] = GROUPS,
    *,
    effort: EffortName = "balanced",
    total_rows: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Ints:
    """Return classes that lose no more than those given; one pass for each size of groups.

    The classes given must be admitted, and so are those that are returned: new classes are judged exactly. Where the
    problem is a part of a table, the effort is that of all `total_rows`.
    """
    sensitive = tuple(map(with_leeway, problem.sensitive))
    table = WeaveTable.of(replace(problem, sensitive=sensitive), stretch(progress, 0.0, 0.0, "restarting"))
    plan = effort_for(effort, total_rows or problem.rows)
    random, bounds = np.random.default_rng(seed), np.linspace(0.0, 1.0, len(groups) + 1).tolist()
    for rows, (low, high) in zip(groups, pairwise(bounds), strict=True):
        regrouped = groups_of(labels, table.losses, rows, random)
        seeds = random.integers(2**31, size=len(regrouped)).tolist()
        jobs = list(zip(regrouped, seeds, strict=True))
        labels = _pass(problem, table, labels, jobs, plan, stretch(progress, low, high, "restarting"))
    return labels


def _pass(
    problem: Problem, table: WeaveTable, labels: Ints, jobs: list[tuple[Ints, int]], effort: Effort, progress: Progress
) -> Ints:
    """Improve the classes of every group of rows, each with a seed."""

    def best(job: tuple[Ints, int]) -> Ints:
        rows, seed = job
        return _best(problem.part(rows), table.part(rows), labels[rows], effort, seed)

    new, classes = np.empty_like(labels), 0
    for (rows, _), numbers in zip(jobs, in_parallel(best, jobs, progress, table.stop), strict=True):
        new[rows] = classes + numbers
        classes += int(numbers.max()) + 1
    return new


def _best(problem: Problem, table: WeaveTable, labels: Ints, effort: Effort, seed: int) -> Ints:
    """Return the classes of a group that lose least: its own, new ones, or the better of both after exchanges."""
    best = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    if len(table) < 2 * table.k or not problem.admitted(np.zeros_like(best)).all():
        return best
    best = _better(problem, table, best, table.form_classes(SHARE, silent))
    if table.wide:
        return best
    return _better(problem, table, best, table.improve(best, effort, effort.passes[0], seed, silent))


def _better(problem: Problem, table: WeaveTable, old: Ints, new: Ints) -> Ints:
    """Return the new classes if they are admitted and lose less, or else the old ones."""
    return new if table.loss(new) < table.loss(old) and problem.admitted(new).all() else old
