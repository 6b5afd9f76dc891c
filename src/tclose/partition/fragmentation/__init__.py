"""Fragmentation (Bagai, Weber and Gowda, Transactions on Data Privacy 16, 2023; Weber's thesis, 2021), made useful.

The space of all combinations of sensitive values is cut into fragments so small that a class which takes its rows from
them in the table's proportions is within every t, whatever rows it takes. FIND-FRAGMENTATION looks for such fragments,
sizing says how many classes they allow, and GENERATE-CLASSES uses the freedom to keep near rows together.
As printed it needs a common divisor of the fragments' sizes, which is 1 on real tables; `relaxed` does not.

| variant | bound | sizing | classes |
|---|---|---|---|
| `printed` | as published | common divisor | grown around a row |
| `tight` | mended | common divisor | bisected |
| `relaxed`, the default | mended | any number | bisected |
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from tclose.errors import PolicyError
from tclose.partition.fragmentation.classes import Classes, ClassPlan, RowDistance, euclidean, generate_classes
from tclose.partition.fragmentation.printed import STRATEGIES, as_printed, most_conforming
from tclose.partition.fragmentation.relaxed import most_classes
from tclose.partition.problem import Problem
from tclose.partition.shared.pulse import Pulse
from tclose.types import Ints, Progress, silent, stretch

__all__ = ["Bound", "Classes", "Sizing", "StrategyName", "partition", "plan"]

Bound = Literal["tight", "published"]
Sizing = Literal["relaxed", "gcd"]
StrategyName = Literal["psi", "sum", "squares", "exhaustive"]

PLANNED = 0.5  # the share of the work that looks for fragments; the rest makes classes


def partition(
    problem: Problem,
    *,
    bound: Bound = "tight",
    sizing: Sizing = "relaxed",
    classes: Classes = "bisected",
    strategy: StrategyName = "psi",
    distance: RowDistance = euclidean,
    seed: int = 0,
    progress: Progress = silent,
) -> Ints:
    """Return a class label per row: 0, 1, 2, …; every class is within every t and has at least k rows.

    `bound="published", sizing="gcd", classes="grown"` is the printed method. Growing takes the square of the rows.
    """
    problem.check_feasible()
    chosen = plan(problem, bound=bound, sizing=sizing, strategy=strategy, progress=stretch(progress, 0.0, PLANNED))
    if chosen is None:
        return np.zeros(problem.rows, dtype=np.int64)
    labels = generate_classes(problem.points, chosen, classes, distance, seed, stretch(progress, PLANNED, 1.0))
    progress(1.0)
    return labels


def plan(
    problem: Problem,
    *,
    bound: Bound = "tight",
    sizing: Sizing = "relaxed",
    strategy: StrategyName = "psi",
    progress: Progress = silent,
) -> ClassPlan | None:
    """Return how many rows each class takes from which fragment, before any row is chosen; None for one class.

    `strategy="exhaustive"` tries every fragmentation of a small space, for the most classes of a common divisor.
    """
    if strategy == "exhaustive":
        if sizing != "gcd":
            raise PolicyError("the strategy 'exhaustive' finds the best common divisor: it needs sizing = 'gcd'")
        return most_conforming(problem, bound, Pulse(progress))
    if sizing == "gcd":
        return as_printed(problem, bound, STRATEGIES[strategy], Pulse(progress))
    return most_classes(problem, bound, STRATEGIES[strategy], Pulse(progress))
