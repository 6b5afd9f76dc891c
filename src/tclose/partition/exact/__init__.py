"""The optimum (Liang & Yuan, On the Complexity of t-Closeness Anonymization, 2013): nothing loses less.

Finding it is NP-hard for every t < 1, so there are two ways, each with its reach: a recursion over all subsets of a few
rows, for either loss and every model, and a mixed-integer programme for suppression, which grows with the number of
different rows and quasi-identifiers rather than with the rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tclose.errors import GapWarning, InternalError, PolicyError, Unsuited, did_you_mean
from tclose.partition.exact.programme import fewest_stars
from tclose.partition.exact.recursion import MOST_ROWS, best_classes
from tclose.partition.problem import Problem
from tclose.partition.shared.pulse import Pulse
from tclose.partition.shared.stars import columns_of, star_cost
from tclose.types import Ints, Progress, silent

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
            f"exact: stopped after {time_limit:g} s at {solution.cost:.0f} stars; the fewest may be "
            f"{solution.gap:.1%} lower",
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
        raise PolicyError(f"there is no {name} '{word}'{did_you_mean(word, known) or f'; known are {known}'}")
