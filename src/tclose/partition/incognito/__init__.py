"""Incognito (LeFevre et al. 2005) with t-closeness as its model (Li et al. 2007): full-domain generalisation.

Every quasi-identifier is generalised to one height of its hierarchy in the whole table. What is admitted at some
heights is admitted at greater ones (generalisation property), and with fewer quasi-identifiers (subset property), as
classes only merge; so ever larger sets of quasi-identifiers are searched from the bottom up, and only where all their
subsets passed. Classes of a generalisation are rolled up from those of a more special one; rows are read only once.
Numbers without a hierarchy are put into intervals, of equal width or of equally many rows: the better of the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod
from typing import Literal

import numpy as np

from tclose.errors import Infeasible, Unsuited
from tclose.partition.incognito.frequencies import Frequencies, numbered
from tclose.partition.incognito.ladder import Intervals, Ladder
from tclose.partition.problem import Problem
from tclose.partition.shared.loss import loss_table, total_loss
from tclose.types import Bools, Ints, Progress, silent, stretch

__all__ = ["labels_at", "minimal_solutions", "partition", "tops"]

Heights = tuple[int, ...]

MOST_NODES = 200_000  # generalisations, of all sets of quasi-identifiers together
MOST_CLASSES = 2_000_000  # kept in memory for rolling up, about 100 bytes each


def partition(
    problem: Problem,
    *,
    intervals: Literal["better", "width", "quantiles"] = "better",
    seed: int = 0,
    progress: Progress = silent,
) -> Ints:
    """Return a class label per row: those of the minimal solution that loses least; the seed changes nothing."""
    tried = _differing(problem) if intervals == "better" else (intervals,)
    losses, best, least = loss_table(problem.all_axes, problem.rows), np.zeros(problem.rows, dtype=np.int64), np.inf
    for number, kind in enumerate(tried):
        part = stretch(progress, number / len(tried), (number + 1) / len(tried))
        for heights in minimal_solutions(problem, intervals=kind, progress=part):
            labels = labels_at(problem, heights, kind)
            if (loss := total_loss(losses, labels)) < least:
                best, least = labels, loss
    return best


def minimal_solutions(
    problem: Problem, *, intervals: Intervals = "width", progress: Progress = silent
) -> list[Heights]:
    """Return the heights of every admitted generalisation of which no direct specialisation is admitted.

    A height counts a hierarchy's own levels. Of a number, 0 is its values, and further up come 32, 16, 8, 4 and 2
    intervals, where they differ, and everything; of a set, 0 is its values and 1 everything.
    """
    problem.check_feasible()
    ladders = _ladders(problem, intervals)
    nodes = prod(ladder.top + 2 for ladder in ladders)
    if nodes > MOST_NODES:
        raise Unsuited(
            f"incognito would have to search {nodes:,} generalisations and stops at {MOST_NODES:,}: "
            "name fewer quasi-identifiers, or give them lower hierarchies"
        )
    admitted = _admitted(problem, ladders, progress)
    minimal = admitted & ~_above(admitted)
    if not minimal.any():
        raise Infeasible("no full-domain generalisation satisfies the policy, not even the coarsest one")
    return [tuple(heights) for heights in np.argwhere(minimal).tolist()]


def tops(problem: Problem, intervals: Intervals = "width") -> Heights:
    """Return the greatest height of each quasi-identifier, at which it tells nothing."""
    return tuple(ladder.top for ladder in _ladders(problem, intervals))


def labels_at(problem: Problem, heights: Heights, intervals: Intervals = "width") -> Ints:
    """Return the classes when every quasi-identifier is generalised to its height."""
    ladders = zip(_ladders(problem, intervals), heights, strict=True)
    return numbered([ladder.levels[height][ladder.codes] for ladder, height in ladders], problem.rows)[0]


def _ladders(problem: Problem, intervals: Intervals) -> list[Ladder]:
    return [Ladder.of(axis, intervals) for axis in problem.all_axes]


def _differing(problem: Problem) -> Sequence[Intervals]:
    """Return both kinds of intervals, or one of them where both give the same levels."""
    widths, quantiles = _ladders(problem, "width"), _ladders(problem, "quantiles")
    same = all(one.groups_as(other) for one, other in zip(widths, quantiles, strict=True))
    return ("width",) if same else ("width", "quantiles")


def _admitted(problem: Problem, ladders: list[Ladder], progress: Progress) -> Bools:
    """Tell of all heights of all quasi-identifiers which are admitted, by way of all their subsets."""
    base = Frequencies.of(problem, ladders)
    known: dict[tuple[int, ...], Bools] = {(): np.array(True)}
    subsets = [chosen for size in range(1, len(ladders) + 1) for chosen in combinations(range(len(ladders)), size)]
    for done, chosen in enumerate(subsets):
        candidates = _candidates(chosen, [ladders[axis].top + 1 for axis in chosen], known)
        beat = stretch(progress, done / len(subsets), done / len(subsets))
        known[chosen] = _searched(problem, ladders, chosen, candidates, base, beat)
        progress((done + 1) / len(subsets))
    return known[tuple(range(len(ladders)))]


def _candidates(chosen: tuple[int, ...], shape: list[int], known: dict[tuple[int, ...], Bools]) -> Bools:
    """Keep the heights that pass with any one quasi-identifier left out."""
    possible = np.ones(shape, dtype=bool)
    for place in range(len(chosen)):
        possible &= np.expand_dims(known[chosen[:place] + chosen[place + 1 :]], place)
    return possible


def _searched(
    problem: Problem,
    ladders: list[Ladder],
    chosen: tuple[int, ...],
    candidates: Bools,
    base: Frequencies,
    beat: Progress,
) -> Bools:
    """Judge the candidates from the bottom up; what lies above an admitted one is admitted, and not judged."""
    admitted = np.zeros_like(candidates)
    nodes = np.argwhere(candidates)
    if not len(nodes):
        return admitted
    root = base.rolled_up(ladders, list(zip(chosen, nodes.min(axis=0).tolist(), strict=True)))
    below: dict[Heights, Frequencies] = {}
    for total in range(int(nodes.sum(axis=1).max()) + 1):
        judged: dict[Heights, Frequencies] = {}
        admitted |= candidates & _above(admitted)
        for heights in map(tuple, nodes[nodes.sum(axis=1) == total].tolist()):
            if not admitted[heights]:
                beat(0.0)
                nearest = min((below[low] for low in _specialised(heights) if low in below), key=len, default=root)
                rolled = nearest.rolled_up(ladders, list(zip(chosen, heights, strict=True)))
                admitted[heights] = rolled.admitted(problem)
                if not admitted[heights]:
                    judged[heights] = rolled
        below = _fewest_classes(judged)
    return admitted


def _fewest_classes(rolled: dict[Heights, Frequencies]) -> dict[Heights, Frequencies]:
    """Keep as many as memory should hold, those with the fewest classes first; the rest can be rolled up again."""
    order = sorted(rolled, key=lambda heights: len(rolled[heights]))
    kept = np.cumsum([len(rolled[heights]) for heights in order]) <= MOST_CLASSES
    return {heights: rolled[heights] for heights, keep in zip(order, kept.tolist(), strict=True) if keep}


def _specialised(heights: Heights) -> list[Heights]:
    """Return the direct specialisations: one quasi-identifier a level lower."""
    return [(*heights[:i], height - 1, *heights[i + 1 :]) for i, height in enumerate(heights) if height]


def _above(admitted: Bools) -> Bools:
    """Mark what lies directly above something found."""
    above = np.zeros_like(admitted)
    for axis in range(admitted.ndim):
        before = (slice(None),) * axis
        above[(*before, slice(1, None))] |= admitted[(*before, slice(None, -1))]
    return above
