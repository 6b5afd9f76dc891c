"""The optimum (Liang & Yuan, On the Complexity of t-Closeness Anonymization, 2013): nothing loses less.

Finding it is NP-hard for every t < 1, so there are two ways, each with its reach: a recursion over all subsets of a few
rows, for either loss and every model, and a mixed-integer programme for suppression (`programme.py`), which grows with
the number of different rows and quasi-identifiers rather than with the rows.

The recursion (theorem 8): OPT(M) is the least cost of M over the class of its first row: that class, and OPT of what
remains. The paper halves M to recurse without a table of all subsets; with the table, which fits for as many rows as
3^n steps allow, n rows take 3^n/2 steps, and every subset is judged once. A subset has the number Σ 2^row. Half of all
subsets lack the last row and half have it, so a figure that a row more changes in one step is known for all subsets
after as many doublings as there are rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tclose.distance import Metric, TupleMetric
from tclose.errors import GapWarning, InternalError, PolicyError, Unsuited, did_you_mean
from tclose.messages import say
from tclose.partition.exact.programme import fewest_stars
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared.axes import Axis, SetAxis, range_loss, set_loss
from tclose.partition.shared.kernels import kernel
from tclose.partition.shared.loss_table import columns_of, star_cost
from tclose.partition.shared.pulse import QUIET, Pulse
from tclose.types import Bools, Floats, Ints, Progress, silent

# All subsets of a few rows at once: what each of them shows, loses and holds


BLOCK = 1 << 13  # subsets judged at once


def folded(values: Ints, join: np.ufunc, start: int) -> Ints:
    """Return for every subset its rows' values, joined one after the other.

    >>> folded(np.array([5, 3]), np.add, 0).tolist()
    [0, 5, 3, 8]
    """
    subsets = np.array([start], dtype=np.int64)
    for value in values:
        subsets = np.concatenate((subsets, join(subsets, value)))
    return subsets


def sizes(rows: int) -> Ints:
    """Return how many rows every subset has."""
    return folded(np.ones(rows, dtype=np.int64), np.add, 0)


def admitted(problem: Problem, pulse: Pulse = QUIET) -> Bools:
    """Tell for every subset whether it has k rows and every attribute admits it, exactly; the empty one is none."""
    admitted = sizes(problem.rows) >= problem.k
    admitted[0] = False
    for attribute in problem.sensitive:
        admitted &= _admitted_by(attribute, pulse)
    return admitted


def _admitted_by(attribute: Attribute, pulse: Pulse) -> Bools:
    """Judge one subset for all that show the same values equally often."""
    counts = attribute.row_counts
    place = np.concatenate(([1], np.cumprod(counts + 1)[:-1]))  # digits of a number that no two count vectors share
    _, first, which = np.unique(folded(place[attribute.codes], np.add, 0)[1:], return_index=True, return_inverse=True)
    verdicts = []
    for low in range(0, len(first), BLOCK):
        pulse.beat()
        verdicts.append(_judged(attribute, first[low : low + BLOCK] + 1))
    return np.concatenate(([False], np.concatenate(verdicts)[which]))


def _judged(attribute: Attribute, subsets: Ints) -> Bools:
    labels, rows = np.nonzero(subsets[:, None] >> np.arange(len(attribute.codes)) & 1)
    return replace(attribute, codes=attribute.codes[rows]).admitted(labels)


def stars(problem: Problem) -> Floats:
    """Return how many cells every subset suppresses as a class (Liang & Yuan 2013, section 2)."""
    suppressed = sum((_ends(axis.codes)[2] for axis in problem.all_axes), np.zeros(1 << problem.rows, dtype=np.int64))
    return np.asarray(suppressed * sizes(problem.rows), dtype=np.float64)


def gcp(problem: Problem) -> Floats:
    """Return what every subset loses as a class: its rows times its NCP, summed over the quasi-identifiers.

    A number that is published as a mean loses its range, as GCP has it.
    """
    loss = sum((_loss(axis) for axis in problem.all_axes), np.zeros(1 << problem.rows))
    return np.asarray(loss * sizes(problem.rows))


def _ends(codes: Ints) -> tuple[Ints, Ints, Bools]:
    """Return every subset's smallest and largest code, and whether they differ."""
    low = folded(codes, np.minimum, np.iinfo(np.int64).max)
    high = folded(codes, np.maximum, -1)
    return low, high, low < high


def _loss(axis: Axis) -> Floats:
    """Return what every subset loses on one quasi-identifier, a missing value nothing."""
    if isinstance(axis, SetAxis):
        shows = [folded((axis.codes == value).astype(np.int64), np.maximum, 0) for value in np.unique(axis.codes)]
        return set_loss(axis, np.sum(shows, axis=0))
    if not (axis.codes >= 0).any():
        return np.zeros(1 << len(axis.codes))
    known = np.where(axis.codes < 0, np.iinfo(np.int64).max, axis.codes)
    high = folded(axis.codes, np.maximum, -1)
    return range_loss(axis, np.where(high < 0, 0, folded(known, np.minimum, np.iinfo(np.int64).max)), high)


# The recursion


MOST_ROWS = 18  # 2^18 subsets to judge, 3^18/2 steps: about a second
MOST_TRANSPORTS = 10_000  # a matrix is judged by a transportation problem of some milliseconds per count vector
MOST_TUPLE_TRANSPORTS = 1_000  # the same for tuples of values, whose vectors repeat less often
COSTS = {"gcp": gcp, "stars": stars}


def check_reach(problem: Problem) -> None:
    """Refuse what would take too long."""
    if problem.rows > MOST_ROWS:
        raise Unsuited(
            "exact: the recursion reaches {most_rows} rows; this table has {rows}; the programme for loss = "
            "'stars' may reach them",
            most_rows=MOST_ROWS,
            rows=problem.rows,
        )
    for attribute in problem.sensitive:
        if isinstance(geometry := attribute.geometry, Metric):
            tuples = isinstance(geometry, TupleMetric)
            most, what = (MOST_TUPLE_TRANSPORTS, "tuples of values") if tuples else (MOST_TRANSPORTS, "a matrix")
            if (vectors := int(np.prod(attribute.row_counts + 1))) > most:
                raise Unsuited(
                    "exact: for {what} the recursion judges {most:,} different counts; there are {vectors:,}",
                    what=what,
                    most=most,
                    vectors=vectors,
                )


def best_classes(problem: Problem, loss: str, pulse: Pulse) -> tuple[Ints, float]:
    """Return the labels of a partition that costs least, and its cost."""
    check_reach(problem)
    costs = np.where(admitted(problem, pulse), COSTS[loss](problem), np.inf)
    best, chosen = np.zeros(len(costs)), np.zeros(len(costs), dtype=np.int64)
    for rows in range(problem.rows):
        _best_of(costs, best, chosen, 1 << rows, 2 << rows)
        pulse(3.0 ** (rows + 1 - problem.rows))
    return _labels(chosen, problem.rows), float(best[-1])


@kernel
def _best_of(costs: Floats, best: Floats, chosen: Ints, begin: int, end: int) -> None:
    """Find the least cost of the subsets from `begin` on, and the class of their first row; smaller ones are known."""
    for mask in range(begin, end):
        first = mask & -mask
        rest = mask ^ first
        least, part, choice = np.inf, rest, mask
        while True:
            cost = costs[part | first] + best[rest ^ part]
            if cost < least:
                least, choice = cost, part | first
            if part == 0:
                break
            part = (part - 1) & rest
        best[mask], chosen[mask] = least, choice


def _labels(chosen: Ints, rows: int) -> Ints:
    """Follow the choices from all rows down to none."""
    labels, left, number = np.empty(rows, dtype=np.int64), (1 << rows) - 1, 0
    while left:
        members = int(chosen[left])
        labels[(members >> np.arange(rows) & 1).astype(bool)] = number
        left, number = left ^ members, number + 1
    return labels


# The method


__all__ = ["Loss", "Solution", "Way", "partition", "solve"]

Loss = Literal["gcp", "stars"]
Way = Literal["automatic", "recursion", "programme"]

LOSSES = ("gcp", "stars")
WAYS = ("automatic", "recursion", "programme")
NEARLY = 1e-6  # what a solver's bound may lack


@dataclass(frozen=True, eq=False)
class Solution:
    """A partition, its cost (stars, or NCP summed over rows), and by what share of it the optimum may be lower."""

    labels: Ints
    cost: float
    gap: float = 0.0


def partition(
    problem: Problem,
    *,
    loss: Loss = "gcp",
    way: Way = "automatic",
    time_limit: float = 60.0,
    seed: int = 0,
    progress: Progress = silent,
) -> Ints:
    """Return a class label per row: 0, 1, 2, …, of a partition that loses least; chance plays no part.

    Where the programme is stopped by `time_limit` (seconds), a `GapWarning` tells how far the optimum may be.
    """
    solution = solve(problem, loss=loss, way=way, time_limit=time_limit, progress=progress)
    if solution.gap > 0:
        warnings.warn(
            say(
                "exact: stopped after {time_limit:g} s at {cost:.0f} stars; the fewest may be {gap:.1%} lower",
                time_limit=time_limit,
                cost=solution.cost,
                gap=solution.gap,
            ),
            GapWarning,
            stacklevel=2,
        )
    return solution.labels


def solve(
    problem: Problem,
    *,
    loss: Loss = "gcp",
    way: Way = "automatic",
    time_limit: float = 60.0,
    progress: Progress = silent,
) -> Solution:
    """Return the best partition with its cost, and how far from the optimum it may be."""
    _check_one_of("loss", loss, LOSSES)
    _check_one_of("way", way, WAYS)
    problem.check_feasible()
    pulse = Pulse(progress)
    if not problem.rows:
        return Solution(np.zeros(0, dtype=np.int64), 0.0)
    recurs = _recurs(problem, loss, way)
    solution = _by_recursion(problem, loss, pulse) if recurs else _by_programme(problem, time_limit, pulse)
    if not problem.admitted(solution.labels).all():
        raise InternalError("exact made a class that does not hold what was asked for")
    pulse(1.0)
    return solution


def _recurs(problem: Problem, loss: Loss, way: Way) -> bool:
    """Choose the way."""
    if loss == "gcp" and way == "programme":
        raise Unsuited("exact: the programme counts stars; for GCP there is the recursion")
    return loss == "gcp" or way == "recursion" or (way == "automatic" and problem.rows <= MOST_ROWS)


def _by_recursion(problem: Problem, loss: Loss, pulse: Pulse) -> Solution:
    return Solution(*best_classes(problem, loss, pulse))


def _by_programme(problem: Problem, time_limit: float, pulse: Pulse) -> Solution:
    """Count the stars of the solver's answer; without one, one class of all rows is the best that is known."""
    answer = fewest_stars(problem, time_limit, pulse)
    labels = np.zeros(problem.rows, dtype=np.int64) if answer.labels is None else answer.labels
    if not problem.admitted(labels).all():
        raise Unsuited("exact: a class of the solver's answer misses its level by less than the solver can tell")
    cost = star_cost(columns_of(problem), labels)
    least = min(max(math.ceil(answer.bound - NEARLY), 0), cost)
    return Solution(labels, float(cost), (cost - least) / max(cost, 1))


def _check_one_of(name: str, word: str, known: Sequence[str]) -> None:
    if word not in known:
        hint = did_you_mean(word, known) or say("; known are {known}", known=str(known))
        raise PolicyError("there is no {name} '{word}'{hint}", name=name, word=word, hint=hint)
