"""weave, the method of tclose itself: form classes by an exact test, then exchange rows while that lowers the loss.

The classes of a release are known row by row, so their distances can be computed exactly and no worst case has to be
allowed for. weave bisects the rows into cells with as few strata as the exact test needs and carves each cell into
classes. Then neighbouring classes are joined and carved again, and exchange rows. Meanwhile a class may pass beyond a
limit at a price, which rises; what is beyond a limit in the end is mended or merged. The classes of other methods are
considered as well (`starts`): the result is the best of all, so weave is never worse than a method that was considered.
docs/weave.md explains the steps in the order in which they run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from tclose.errors import InternalError, PolicyError, did_you_mean
from tclose.partition.problem import STARTED, Finish, Problem, Split, Start, WholeTable
from tclose.partition.weave.limits import EFFORTS, Effort, EffortName, Pass, colder, effort_within
from tclose.partition.weave.search import OWN, Candidates, OwnClasses, finisher, improved
from tclose.partition.weave.table import WeaveTable
from tclose.partition.weave.trees import are_tuples, with_leeway
from tclose.types import Beat, Ints, Progress, silent, stretch

__all__ = ["EffortName", "best_partition", "partition"]

REFINING, REFINING_HEAT = 0.25, 0.1  # of the steps and of the first temperature of a pass, where a start is refined
REFINING_PRICE = (30.0, 1000.0)
WOVEN = 0.9  # of the progress of one effort, when its own classes are formed; then the best start is refined
WORK = {"fast": 1.0, "balanced": 3.0, "best": 12.0}  # by effort; each goes on from the one before it
FEW_PERSON_ROWS = 5000  # of a table in which a person has several rows


def partition(
    problem: Problem,
    *,
    effort: EffortName = "balanced",
    seed: int = 0,
    whole: WholeTable | None = None,
    progress: Progress = silent,
) -> Ints:
    """Return a class label per row: 0, 1, 2, …; every class is within every t and has at least k rows."""
    best = best_partition(problem, (), effort=effort, seed=seed, whole=whole, progress=progress)
    assert best is not None
    return best.labels


def best_partition(
    problem: Problem,
    starts: Iterable[Start],
    *,
    effort: EffortName = "balanced",
    seed: int = 0,
    finish: Finish | None = None,
    whole: WholeTable | None = None,
    progress: Progress = silent,
) -> Split | None:
    """Return the best of weave's own classes, all starts, and the best start refined.

    Every effort considers whatever the smaller efforts consider, so a larger effort never loses more on the same seed.
    `finish` merges classes for models that the problem does not know; the losses of what it returns are compared.
    Nothing is returned where it finishes none of them. Where the problem is a part of a table, the effort is that of
    the whole table.
    """
    if effort not in EFFORTS:
        raise PolicyError("there is no effort '{effort}'{hint}", effort=effort, hint=did_you_mean(effort, EFFORTS))
    problem.check_feasible()
    beat, considered = partial(progress, STARTED), []
    finished = finisher(problem, beat) if finish is None else _within_t_first(problem, finish, beat)
    for start in starts:
        if start.optimal and (labels := finished(start.labels)) is not None and np.array_equal(labels, start.labels):
            progress(1.0, "merging classes")
            return Split(start.labels, start.name)
        considered.append(start)
    forming = stretch(progress, STARTED, STARTED, "forming cells")
    tables = [OwnClasses(WeaveTable.of(each, forming)) for each in _views(problem)]
    candidates = Candidates(problem, tables[0].table, finished)
    efforts, whole = EFFORTS[: EFFORTS.index(effort) + 1], whole or WholeTable(problem.rows)
    ends = np.cumsum([0.0, *(WORK[name] for name in efforts)])
    for name, part in zip(efforts, pairwise((STARTED + (1 - STARTED) * ends / ends[-1]).tolist()), strict=True):
        new = [start for start in considered if name == ("fast" if start.fast else "balanced")]
        _consider(candidates, tables, new, effort_within(name, whole), seed, stretch(progress, *part))
    progress(1.0, "merging classes")
    if (best := candidates.best) is None:
        return None
    _check(problem, best.labels)
    return Split(best.labels, best.name)


def _within_t_first(problem: Problem, finish: Finish, beat: Beat) -> Finish:
    """Return what brings tuples of values, which have leeway, within t before it merges classes; merging keeps t."""
    tuples = tuple(replace(attribute, models=()) for attribute in problem.sensitive if are_tuples(attribute))
    if not tuples:
        return finish
    within_t = finisher(replace(problem, sensitive=tuples, k=1, persons=None), beat)

    def finished(labels: Ints) -> Ints | None:
        mended = within_t(labels)
        return None if mended is None else finish(mended)

    return finished


def _views(problem: Problem) -> list[Problem]:
    """Return the problem, and the same without persons: where hardly a class holds a person twice, it may do better.

    Tuples of values, which are measured in a tree that is too strict, get leeway.
    """
    if any(map(are_tuples, problem.sensitive)):
        problem = replace(problem, sensitive=tuple(map(with_leeway, problem.sensitive)))
    if problem.repeated_persons is None or problem.rows > FEW_PERSON_ROWS:
        return [problem]
    return [problem, replace(problem, persons=None)]


def _consider(
    candidates: Candidates,
    views: Sequence[OwnClasses],
    starts: Sequence[Start],
    effort: Effort,
    seed: int,
    progress: Progress,
) -> None:
    """Add the starts of an effort, weave's own classes, and the best starts refined."""
    for start in starts:
        candidates.add(start.name, start.labels, is_start=True)
    if candidates.lose_nothing:
        return
    table = candidates.table
    for own, part in zip(views, pairwise(np.linspace(0.0, WOVEN, len(views) + 1).tolist()), strict=True):
        for labels in own.improved(effort, seed, stretch(progress, *part)):
            candidates.add(OWN, labels)
    chosen = candidates.worth_refining
    for best, part in zip(chosen, pairwise(np.linspace(WOVEN, 1.0, len(chosen) + 1).tolist()), strict=True):
        refining = stretch(progress, *part)
        labels = improved(table, best.labels, effort, [_cooler(plan) for plan in effort.passes[:1]], seed, refining)
        candidates.add(f"refined {best.name}", labels)


def _cooler(plan: Pass) -> Pass:
    """Return a shorter pass, which keeps most of the classes that it begins with."""
    first, last = plan.heat
    return colder(replace(plan, steps=REFINING * plan.steps), (REFINING_HEAT * first, last), REFINING_PRICE)


def _check(problem: Problem, labels: Ints) -> None:
    """Judge every class by the distances themselves."""
    if len(labels) and problem.members(labels).min() < problem.k:
        raise InternalError("weave made a class with fewer than k rows or persons")
    for attribute in problem.sensitive:
        if not replace(attribute, models=()).admitted(labels).all():
            raise InternalError("weave made a class that is not within t")
