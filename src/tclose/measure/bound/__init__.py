"""A lower bound on the detail lost (GCP) by any release of a table under a policy, with a proof in integers.

`bound_problem` takes what matters from a coded table and its policy, `lower_bound` searches for some seconds, and
`verify_bound` checks the proof without the search. docs/bound.md says why the bound holds.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tclose.measure.bound.problem import BoundProblem, bound_problem
from tclose.measure.bound.search import CHECKED, Budget, Clock, Part, ball, per_axis
from tclose.measure.bound.verify import FORMAT, Verdict, verify_bound
from tclose.types import Progress, silent

__all__ = ["Bound", "BoundProblem", "Part", "Verdict", "bound_problem", "lower_bound", "verify_bound"]

BALL = 0.3  # share of the time that the ball bound may take


@dataclass(frozen=True, eq=False)
class Bound:
    """No release of this table under this policy loses less than `value` (GCP, an exact fraction).

    `proof` can be written as JSON. It reveals rows, so it stays with the source.
    """

    value: Fraction
    kind: str  # which bound won, in plain words
    seconds: float
    parts: tuple[Part, ...]  # what was added up
    proof: dict[str, Any]


def lower_bound(
    problem: BoundProblem, *, seconds: float = 60, progress: Progress = silent, clock: Clock = time.monotonic
) -> Bound:
    """Search for about so many seconds for the highest loss that every release must have at least."""
    budget = Budget(seconds, progress, clock)
    if not problem.axes:
        return _bound(problem, budget, "nothing is generalised", [])
    balls = [ball(problem, budget, BALL * CHECKED)]
    axes = per_axis(problem, budget)
    if sum(part.value for part in axes) > sum(part.value for part in balls):
        return _bound(problem, budget, "prices on each quasi-identifier", axes)
    return _bound(problem, budget, "nearest possible classes around each row", balls)


def _bound(problem: BoundProblem, budget: Budget, kind: str, parts: list[Part]) -> Bound:
    parts = [part for part in parts if part.value > 0]
    value = sum((part.value for part in parts), Fraction(0)) / max(len(problem.axes), 1)
    proof = {
        "format": FORMAT,
        "table": problem.digest,
        "bound": str(value),
        "parts": [part.proof for part in parts],
    }
    budget.progress(1.0, f"lower bound {float(value):.4f}")
    return Bound(value, kind, budget.used, tuple(parts), proof)
