"""weave, the method of tclose itself: form classes by an exact test, then exchange rows while that lowers the loss.

The classes of a release are known row by row, so their distances can be computed exactly and no worst case has to be
allowed for. weave bisects the rows into cells with as few strata as the exact test needs and carves each cell into
classes. Then neighbouring classes are joined and carved again, and exchange rows. Meanwhile a class may pass beyond a
limit at a price, which rises; what is beyond a limit in the end is mended or merged. The classes of other methods are
considered as well (`starts`): the result is the best of all, so weave is never worse than a method that was considered.
docs/weave.md explains the steps in the order in which they run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from tclose.errors import InternalError, PolicyError, did_you_mean
from tclose.partition.problem import Problem
from tclose.partition.shared.merging import merged
from tclose.partition.shared.start import STARTED, Finish, Split, Start
from tclose.partition.weave.candidates import OWN, Candidates
from tclose.partition.weave.effort import EFFORTS, Effort, EffortName, Pass, effort_for
from tclose.partition.weave.table import WeaveTable
from tclose.types import Ints, Progress, silent, stretch

__all__ = ["EffortName", "best_partition", "partition"]

FEW_ROWS = 100  # of a table on which several runs cost almost nothing
RUNS = 4
REFINING, REFINING_HEAT = 0.25, 0.1  # of the steps and of the first temperature of a pass, where a start is refined
REFINING_PRICE = (30.0, 1000.0)
WOVEN = 0.9  # of the progress of one effort, when its own classes are formed; then the best start is refined
SHARES = {"fast": 1.0, "balanced": 3.0, "best": 12.0}  # of the work, by effort; each effort repeats those before it
FEW_PERSON_ROWS = 5000  # of a table in which a person has several rows


def partition(problem: Problem, *, effort: EffortName = "balanced", seed: int = 0, progress: Progress = silent) -> Ints:
    """Return a class label per row: 0, 1, 2, …; every class is within every t and has at least k rows."""
    best = best_partition(problem, (), effort=effort, seed=seed, progress=progress)
    assert best is not None
    return best.labels


def best_partition(
    problem: Problem,
    starts: Iterable[Start],
    *,
    effort: EffortName = "balanced",
    seed: int = 0,
    finish: Finish | None = None,
    progress: Progress = silent,
) -> Split | None:
    """Return the best of weave's own classes, all starts, and the best start refined.

    Every effort considers whatever the smaller efforts consider, so a larger effort never loses more on the same seed.
    `finish` merges classes for models that the problem does not know; the losses of what it returns are compared.
    Nothing is returned where it finishes none of them.
    """
    if effort not in EFFORTS:
        raise PolicyError(f"there is no effort '{effort}'{did_you_mean(effort, EFFORTS)}")
    problem.check_feasible()
    finished, considered = finish or _finisher(problem), []
    for start in starts:
        if start.optimal and (labels := finished(start.labels)) is not None and np.array_equal(labels, start.labels):
            progress(1.0, "merging classes")
            return Split(start.labels, start.name)
        considered.append(start)
    forming = stretch(progress, STARTED, STARTED, "forming cells")
    tables = [WeaveTable.of(each, forming) for each in _views(problem)]
    candidates = Candidates(problem, tables[0], finished)
    efforts = EFFORTS[: EFFORTS.index(effort) + 1]
    ends = np.cumsum([0.0, *(SHARES[name] for name in efforts)])
    for name, part in zip(efforts, pairwise((STARTED + (1 - STARTED) * ends / ends[-1]).tolist()), strict=True):
        new = [start for start in considered if name == ("fast" if start.fast else "balanced")]
        _consider(candidates, tables, new, name, seed, stretch(progress, *part))
    progress(1.0, "merging classes")
    if (best := candidates.best) is None:
        return None
    _check(problem, best.labels)
    return Split(best.labels, best.name)


def _finisher(problem: Problem) -> Finish:
    """Return what merges classes until the problem admits them."""

    def finish(labels: Ints) -> Ints:
        return merged(labels, np.zeros_like(labels), problem.points, lambda labels: ~problem.admitted(labels))

    return finish


def _views(problem: Problem) -> list[Problem]:
    """Return the problem, and the same without persons: where hardly a class holds a person twice, it may do better."""
    if problem.repeated_persons is None or problem.rows > FEW_PERSON_ROWS:
        return [problem]
    return [problem, replace(problem, persons=None)]


def _consider(
    candidates: Candidates,
    tables: Sequence[WeaveTable],
    starts: Sequence[Start],
    name: EffortName,
    seed: int,
    progress: Progress,
) -> None:
    """Add the starts of an effort, weave's own classes, and the best starts refined."""
    for start in starts:
        candidates.add(start.name, start.labels, is_start=True)
    if candidates.lose_nothing:
        return
    table, effort = candidates.table, effort_for(name, len(candidates.table))
    runs = RUNS if len(table) <= FEW_ROWS and name != "fast" else 1
    for each, part in zip(tables, pairwise(np.linspace(0.0, WOVEN, len(tables) + 1).tolist()), strict=True):
        for labels in _own(each, effort, runs, seed, stretch(progress, *part)):
            candidates.add(OWN, labels)
    chosen = candidates.worth_refining
    for best, part in zip(chosen, pairwise(np.linspace(WOVEN, 1.0, len(chosen) + 1).tolist()), strict=True):
        refining = stretch(progress, *part)
        labels = _improved(table, best.labels, effort, [_cooler(plan) for plan in effort.passes[:1]], seed, refining)
        candidates.add(f"refined {best.name}", labels)


def _cooler(plan: Pass) -> Pass:
    """Return a shorter pass, which keeps most of the classes that it begins with."""
    first, last = plan.heat
    return replace(plan, steps=REFINING * plan.steps, heat=(REFINING_HEAT * first, last), price=REFINING_PRICE)


def _own(table: WeaveTable, effort: Effort, runs: int, seed: int, progress: Progress) -> Iterator[Ints]:
    """Yield weave's own classes of each of several runs."""
    if len(table) < 2 * table.k:
        yield np.zeros(len(table), dtype=np.int64)
        return
    for number in range(runs):
        yield _run(table, effort, seed + number, stretch(progress, number / runs, (number + 1) / runs))


def _run(table: WeaveTable, effort: Effort, seed: int, progress: Progress) -> Ints:
    """Return the improved classes of the best share; on a wide table, the cells themselves."""
    if table.wide:
        return table.form_classes(1.0, effort, progress)
    share = _best_share(table, effort, seed, stretch(progress, 0.0, effort.chosen, "choosing a start"))
    labels = table.form_classes(share, effort, stretch(progress, effort.chosen, effort.started))
    return _improved(table, labels, effort, effort.passes, seed, stretch(progress, effort.started, 1.0))


def _improved(
    table: WeaveTable, labels: Ints, effort: Effort, passes: Sequence[Pass], seed: int, progress: Progress
) -> Ints:
    """Return the best classes after some passes."""
    best, least, bounds = labels, table.loss(labels), np.linspace(0.0, 1.0, len(passes) + 1)
    for number, (plan, part) in enumerate(zip(passes, pairwise(bounds.tolist()), strict=True)):
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
