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
from tclose.measure.bound.search import BoundPart, Budget, Clock, best_parts, has_solver
from tclose.measure.bound.verifier import FORMAT, verify_bound
from tclose.types import Progress, silent

__all__ = ["Bound", "BoundProblem", "Part", "bound_problem", "lower_bound", "verify_bound"]

WITHOUT_SOLVER = (
    "scipy is not installed, so the search was simpler and the bound may be lower: pip install 'tclose[solve]'"
)


@dataclass(frozen=True, eq=False)
class Bound:
    """No release of this table under this policy loses less than `value` (GCP, an exact fraction).

    `proof` can be written as JSON. It reveals rows, so it stays with the source.
    """

    value: Fraction
    kind: str  # which bound won, in plain words
    seconds: float
    parts: tuple[BoundPart, ...]  # what was added up
    proof: dict[str, Any]
    note: str = ""  # what could not be tried in this installation


def lower_bound(
    problem: BoundProblem, *, seconds: float = 60, progress: Progress = silent, clock: Clock = time.monotonic
) -> Bound:
    """Search for about so many seconds for the highest loss that every release must have at least."""
    budget = Budget(seconds, progress, clock)
    budget.report(0.0)
    name, parts = best_parts(problem, budget) if problem.axes else ("no quasi-identifier", [])
    parts = [part for part in parts if part.value > 0]
    value = sum((part.value for part in parts), Fraction(0)) / max(len(problem.axes), 1)
    proof = {"format": FORMAT, "table": problem.digest, "bound": str(value), "parts": [part.proof for part in parts]}
    budget.best = float(value)
    budget.report(1.0)
    return Bound(value, name, budget.used, tuple(parts), proof, "" if has_solver() else WITHOUT_SOLVER)
