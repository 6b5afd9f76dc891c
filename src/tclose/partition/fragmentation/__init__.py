"""Fragmentation (Bagai, Weber and Gowda, Transactions on Data Privacy 16, 2023; Weber's thesis, 2021), made useful.

The space of all combinations of sensitive values is cut into fragments so small that a class which takes its rows from
them in the table's proportions is within every t, whatever rows it takes. FIND-FRAGMENTATION looks for such fragments,
sizing says how many classes they allow, and GENERATE-CLASSES uses the freedom to keep near rows together.
As printed it needs a common divisor of the fragments' sizes, which is 1 on real tables; `relaxed` does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from tclose.partition.fragmentation.classes import RowDistance, euclidean, generate_classes
from tclose.partition.fragmentation.exact import as_printed
from tclose.partition.fragmentation.plan import Plan
from tclose.partition.fragmentation.relaxed import most_classes
from tclose.partition.fragmentation.strategy import STRATEGIES
from tclose.partition.problem import Problem
from tclose.types import Ints

__all__ = ["Bound", "Sizing", "StrategyName", "partition", "plan"]

Bound = Literal["tight", "published"]
Sizing = Literal["relaxed", "gcd"]
StrategyName = Literal["psi", "sum", "squares"]
Progress = Callable[[float], None]


def partition(
    problem: Problem,
    *,
    bound: Bound = "tight",
    sizing: Sizing = "relaxed",
    strategy: StrategyName = "psi",
    distance: RowDistance = euclidean,
    seed: int = 0,
    progress: Progress | None = None,
) -> Ints:
    """Return a class label per row: 0, 1, 2, …; every class is within every t and has at least k rows.

    `bound="published", sizing="gcd"` is the printed method.
    """
    problem.check_feasible()
    chosen = plan(problem, bound=bound, sizing=sizing, strategy=strategy, progress=progress)
    if chosen is None:
        return np.zeros(problem.rows, dtype=np.int64)
    return generate_classes(problem.points, chosen, distance, seed)


def plan(
    problem: Problem,
    *,
    bound: Bound = "tight",
    sizing: Sizing = "relaxed",
    strategy: StrategyName = "psi",
    progress: Progress | None = None,
) -> Plan | None:
    """Return how many rows each class takes from which fragment, before any row is chosen; None for one class."""
    if sizing == "gcd":
        return as_printed(problem, bound, STRATEGIES[strategy])
    return most_classes(problem, bound, STRATEGIES[strategy], progress or (lambda done: None))
