"""weave, the method of tclose itself: form classes by an exact test, then exchange rows while that lowers the loss.

The classes of a release are known row by row, so their distances can be computed exactly and no worst case has to be
allowed for. weave bisects the rows into cells with as few strata as the exact test needs and carves each cell into
classes. Then neighbouring classes exchange rows, or are joined and carved again. Every step keeps every class within
every limit. docs/weave.md explains the steps in the order in which they run.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from tclose.errors import InternalError, PolicyError, did_you_mean
from tclose.partition.problem import Problem
from tclose.partition.shared.merging import merged
from tclose.partition.weave.effort import EFFORTS, Effort, EffortName, effort_for
from tclose.partition.weave.table import WeaveTable
from tclose.types import Ints, Progress, silent, stretch

__all__ = ["EffortName", "partition"]

FEW_ROWS = 100  # of a table on which several runs cost almost nothing
RUNS = 4
FEW_PERSON_ROWS = 5000  # of a table in which a person has several rows


def partition(problem: Problem, *, effort: EffortName = "balanced", seed: int = 0, progress: Progress = silent) -> Ints:
    """Return a class label per row: 0, 1, 2, …; every class is within every t and has at least k rows."""
    if effort not in EFFORTS:
        raise PolicyError(f"there is no effort '{effort}'{did_you_mean(effort, EFFORTS)}")
    problem.check_feasible()
    table = WeaveTable.of(problem, stretch(progress, 0.0, 0.0, "forming cells"))
    labels = np.zeros(problem.rows, dtype=np.int64)
    if problem.rows >= 2 * table.k:
        part = stretch(progress, 0.0, 0.5) if _persons_may_not_matter(table) else progress
        labels = _best_run(table, effort, seed, part)
    if _persons_may_not_matter(table):
        by_rows = _by_rows(problem, effort, seed, stretch(progress, 0.5, 1.0))
        labels = min(labels, by_rows, key=table.loss)
    _check(problem, labels)
    progress(1.0, "merging classes")
    return merged(labels, np.zeros_like(labels), problem.points, lambda labels: ~problem.admitted(labels))


def _best_run(table: WeaveTable, effort: EffortName, seed: int, progress: Progress) -> Ints:
    """Return the best of several runs, or the only one where the table is large."""
    runs, plan = RUNS if len(table) <= FEW_ROWS and effort != "fast" else 1, effort_for(effort, len(table))
    results = [
        _run(table, plan, seed + number, stretch(progress, number / runs, (number + 1) / runs))
        for number in range(runs)
    ]
    return min(results, key=table.loss)


def _persons_may_not_matter(table: WeaveTable) -> bool:
    """Tell whether the classes by rows are worth a look as well: persons have several rows, which are not many."""
    return len(table.limits.persons) > 0 and len(table) <= FEW_PERSON_ROWS


def _by_rows(problem: Problem, effort: EffortName, seed: int, progress: Progress) -> Ints:
    """Return classes that were formed without a look at persons, and then merged until each has k of them.

    Where hardly a class holds a person twice, chance may make these the better ones.
    """
    labels = partition(replace(problem, persons=None), effort=effort, seed=seed, progress=progress)
    return merged(labels, np.zeros_like(labels), problem.points, lambda labels: ~problem.admitted(labels))


def _run(table: WeaveTable, effort: Effort, seed: int, progress: Progress) -> Ints:
    """Return the improved classes of the best start; on a wide table, the cells themselves."""
    if table.wide:
        return table.form_classes(1.0, effort, progress)
    share = _best_share(table, effort, seed, stretch(progress, 0.0, effort.chosen, "choosing a start"))
    labels = table.form_classes(share, effort, stretch(progress, effort.chosen, effort.started))
    best, least, bounds = labels, table.loss(labels), np.linspace(effort.started, 1.0, len(effort.passes) + 1)
    for number, (plan, part) in enumerate(zip(effort.passes, pairwise(bounds.tolist()), strict=True)):
        labels = table.improve(best, effort, plan, _mixed(seed, number), stretch(progress, *part))
        if (loss := table.loss(labels)) < least:
            best, least = labels, loss
    return best


def _best_share(table: WeaveTable, effort: Effort, seed: int, progress: Progress) -> float:
    """Return the share of t that cells should use up: the share with the least loss after a short improvement."""
    if len(effort.shares) == 1:
        return effort.shares[0]
    if len(table) > effort.sample:
        chosen = np.random.default_rng(seed).choice(len(table), effort.sample, replace=False)
        table = table.part(np.sort(chosen))
    losses, bounds = [], np.linspace(0.0, 1.0, 2 * len(effort.shares) + 1).tolist()
    for number, share in enumerate(effort.shares):
        before, between, after = bounds[2 * number : 2 * number + 3]
        labels = table.form_classes(share, effort, stretch(progress, before, between))
        labels = table.improve(labels, effort, effort.trial, _mixed(seed, 0), stretch(progress, between, after))
        losses.append(table.loss(labels))
    return effort.shares[int(np.argmin(losses))]


def _mixed(seed: int, number: int) -> int:
    """Return the seed of one pass."""
    return int(np.random.default_rng([seed, number]).integers(2**62))


def _check(problem: Problem, labels: Ints) -> None:
    """Judge every class by the distances themselves."""
    if len(labels) and problem.members(labels).min() < problem.k:
        raise InternalError("weave made a class with fewer than k rows or persons")
    for attribute in problem.sensitive:
        if not replace(attribute, models=()).admitted(labels).all():
            raise InternalError("weave made a class that is not within t")
