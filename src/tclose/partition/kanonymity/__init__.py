"""k-anonymity and 2-diversity by suppression, with few stars or the fewest (Liang & Yuan 2013, theorems 10 and 11).

Columns are starred where a class shows more than one value, and a partition costs its stars (`shared/stars.py`). For
k-anonymity with m columns, the method needs at most m times the stars of the optimum; `stars="fewest"` finds the
optimum for k = 2 (Blocki & Williams 2010). For 2-diversity as they define it (no value makes up more than half of a
class; our alpha = 1/2), it finds the optimum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Literal

import numpy as np

from tclose.distance import Counts
from tclose.errors import Unsuited
from tclose.partition.kanonymity.approximation import approximate
from tclose.partition.kanonymity.pairing import check_solver, two_anonymous, two_diverse
from tclose.partition.problem import Problem
from tclose.partition.shared.pulse import Pulse
from tclose.partition.shared.stars import columns_of
from tclose.privacy import Alpha
from tclose.types import Ints, Progress, silent

__all__ = ["Stars", "partition"]

Stars = Literal["few", "fewest"]

HALF = Fraction(1, 2)


def partition(problem: Problem, *, stars: Stars = "few", seed: int = 0, progress: Progress = silent) -> Ints:
    """Return a class label per row: 0, 1, 2, …; the method is deterministic, so the seed changes nothing.

    `stars="fewest"` finds the optimum where k is 2 at most; for a larger k that is NP-hard.
    """
    diverse = _two_diversity(problem)
    problem.check_feasible()
    if diverse is None and stars == "fewest" and problem.k > 1:
        labels = _fewest(problem, Pulse(progress))
    elif diverse is None:
        labels = approximate(columns_of(problem), problem.k)
    else:
        check_solver()
        labels = two_diverse(columns_of(problem), problem.sensitive[diverse].codes, Pulse(progress))
    progress(1.0)
    return labels


def _fewest(problem: Problem, pulse: Pulse) -> Ints:
    """Return the classes of 2-anonymity with the fewest stars."""
    if problem.k > 2:
        raise Unsuited(
            f"kanonymity finds the fewest stars for k = 2 only, and this policy asks for k = {problem.k}; "
            "for a few rows, the method exact does"
        )
    check_solver()
    return two_anonymous(columns_of(problem), pulse)


def _two_diversity(problem: Problem) -> int | None:
    """Return which attribute must be 2-diverse, if any; raise `Unsuited` where more than that is asked for."""
    binding = list(_binding(problem))
    if not binding:
        return None
    if binding == [(binding[0][0], "alpha", HALF)] and problem.k <= 2:
        return binding[0][0]
    requirements = ", ".join(dict.fromkeys(name for _, name, _ in binding))
    raise Unsuited(
        "kanonymity serves k alone, or alpha = 1/2 of one sensitive attribute with k of 2 at most; "
        f"this policy asks for k = {problem.k} and {requirements}"
    )


def _binding(problem: Problem) -> Iterator[tuple[int, str, object]]:
    """Yield attribute, model and level of each requirement that some single row breaks; no class breaks the others."""
    for number, attribute in enumerate(problem.sensitive):
        alone = Counts.from_codes(np.arange(problem.rows), attribute.codes, len(attribute.reference))
        if not replace(attribute, models=()).admits(alone).all():
            yield number, "t" if attribute.n is None else "(n,t)", attribute.t
        for model in attribute.models:
            if not model.judge(alone, attribute.reference).satisfied:
                yield number, model.name, model.required if isinstance(model, Alpha) else None
