"""weave: our own method. Rows that are actually chosen can be judged exactly, so nothing is spent on worst cases.

A start parts the rows by stratified bisection with as few strata as the exact test needs, and carves each part into
classes that grow from a seed by the row of least loss. Then classes near each other exchange rows, or are joined
and carved anew, as long as that lowers the loss which the release pays; every step keeps every class within every t.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from tclose.errors import InternalError, PolicyError, did_you_mean
from tclose.partition.problem import Problem
from tclose.partition.shared.merging import merged
from tclose.partition.weave.cloth import Cloth
from tclose.partition.weave.effort import EFFORTS, Effort, EffortName
from tclose.types import Ints

__all__ = ["EffortName", "partition"]

Progress = Callable[[float], None]

SMALL = 100  # rows of a table on which several runs cost nothing
STARTS = 4
TRIAL = 0.2  # of the steps of one pass, spent on each start before they are compared


def partition(
    problem: Problem, *, effort: EffortName = "balanced", seed: int = 0, progress: Progress | None = None
) -> Ints:
    """Return a class label per row: 0, 1, 2, …; every class is within every t and has at least k rows."""
    if effort not in EFFORTS:
        raise PolicyError(f"there is no effort '{effort}'{did_you_mean(effort, EFFORTS)}")
    problem.check_feasible()
    tell = progress or _silent
    cloth = Cloth.of(problem)
    labels = np.zeros(problem.rows, dtype=np.int64)
    if problem.rows >= 2 * cloth.k:
        starts = STARTS if problem.rows <= SMALL and effort != "fast" else 1
        tries = [
            _woven(cloth, EFFORTS[effort], seed + number, _part_of(tell, number / starts, (number + 1) / starts))
            for number in range(starts)
        ]
        labels = min(tries, key=cloth.loss)
    _check(problem, labels)
    tell(1.0)
    return merged(labels, np.zeros_like(labels), problem.points, lambda labels: ~problem.admitted(labels))


def _woven(cloth: Cloth, effort: Effort, seed: int, tell: Progress) -> Ints:
    """Return the classes of the best start, refined; of a wide cloth the cells themselves."""
    if cloth.wide:
        return cloth.start(1.0, effort, tell)
    share = _best_share(cloth, effort, seed, _part_of(tell, 0.0, effort.chosen))
    labels = cloth.start(share, effort, _part_of(tell, effort.chosen, effort.started))
    heats = np.geomspace(effort.hot, effort.cold, effort.passes + 1)
    ends = np.linspace(effort.started, 1.0, effort.passes + 1)
    best, least = labels, cloth.loss(labels)
    for turn, (heat, told) in enumerate(zip(pairwise(heats.tolist()), pairwise(ends.tolist()), strict=True)):
        steps, chance = effort.steps(len(cloth)), _mixed(seed, turn)
        labels = cloth.refine(labels, effort, steps, heat, chance, _part_of(tell, *told))
        if (loss := cloth.loss(labels)) < least:
            best, least = labels, loss
    return best


def _best_share(cloth: Cloth, effort: Effort, seed: int, tell: Progress) -> float:
    """Return the share of t which cells should use up: the one that loses least after a short refinement."""
    if len(effort.shares) == 1:
        return effort.shares[0]
    if len(cloth) > effort.sample:
        chosen = np.random.default_rng(seed).choice(len(cloth), effort.sample, replace=False)
        cloth = cloth.only(np.sort(chosen))
    losses, ends = [], np.linspace(0.0, 1.0, 2 * len(effort.shares) + 1).tolist()
    for number, share in enumerate(effort.shares):
        before, between, after = ends[2 * number : 2 * number + 3]
        labels = cloth.start(share, effort, _part_of(tell, before, between))
        steps, heat = TRIAL * effort.steps(len(cloth)), (effort.hot / 10, effort.cold)
        labels = cloth.refine(labels, effort, steps, heat, _mixed(seed, 0), _part_of(tell, between, after))
        losses.append(cloth.loss(labels))
    return effort.shares[int(np.argmin(losses))]


def _silent(done: float) -> None:
    pass


def _part_of(tell: Progress, low: float, high: float) -> Progress:
    """Return how to tell the progress of a part of the work, which reaches from low to high."""
    return lambda done: tell(low + (high - low) * done)


def _mixed(seed: int, turn: int) -> int:
    return int(np.random.default_rng([seed, turn]).integers(2**62))


def _check(problem: Problem, labels: Ints) -> None:
    """Judge every class by the distances themselves."""
    if len(labels) and np.bincount(labels).min() < problem.k:
        raise InternalError("weave made a class with fewer than k rows")
    for one in problem.sensitive:
        if not replace(one, models=()).admitted(labels).all():
            raise InternalError("weave made a class that is not within t")
