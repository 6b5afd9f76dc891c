"""On tables of up to 12 rows, weave comes near the best of all partitions, and never beats it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tclose.distance import Equal, Ordered
from tclose.partition.axes import Line, Set
from tclose.partition.problem import Problem, Sensitive
from tclose.partition.weave import partition
from tclose.partition.weave.loss import flat_axes, total_loss


def class_loss(problem: Problem, rows: np.ndarray) -> float:
    """Return what these rows lose as a class; infinite where they are none."""
    if len(rows) < problem.k:
        return np.inf
    if any(one.emd_of(one.codes[rows], one.reference) > one.t for one in problem.sensitive):
        return np.inf
    mine = problem.part(rows)
    return total_loss(flat_axes(mine.axes, len(rows)), np.zeros(len(rows), dtype=np.int64), 1)


def optimum(problem: Problem) -> float:
    """Return the least loss over all partitions: subset by subset, the class of the first row first."""
    rows = problem.rows
    losses = [np.inf] * (1 << rows)
    for mask in range(1, 1 << rows):
        losses[mask] = class_loss(problem, np.flatnonzero([mask >> i & 1 for i in range(rows)]))
    best = [0.0] + [np.inf] * ((1 << rows) - 1)
    for mask in range(1, 1 << rows):
        first = mask & -mask
        rest = part = mask ^ first
        while True:
            if (loss := losses[part | first]) < np.inf:
                best[mask] = min(best[mask], loss + best[rest ^ part])
            if not part:
                break
            part = (part - 1) & rest
    return best[-1]


def small_problem(random: np.random.Generator, rows: int) -> Problem:
    numbers, text = Line.of_points(random.integers(0, 20, rows) / 19), Set(random.integers(0, 4, rows), 4)
    guarded = []
    for distance, t in ((Ordered(5), random.integers(10, 40)), (Equal(), random.integers(20, 60))):
        if random.random() < 0.7:
            codes = random.integers(0, 5, rows)
            guarded.append(Sensitive(codes, np.bincount(codes, minlength=5), distance, Fraction(int(t), 100)))
    return Problem(np.zeros((rows, 2)), tuple(guarded), int(random.integers(1, 4)), (numbers, text))


def ratios(tables: int, most_rows: int, effort: str) -> list[float]:
    random = np.random.default_rng(1)
    found = []
    for _ in range(tables):
        problem = small_problem(random, int(random.integers(6, most_rows + 1)))
        labels = partition(problem, effort=effort)
        loss = total_loss(flat_axes(problem.axes, problem.rows), labels, int(labels.max()) + 1)
        least = optimum(problem)
        assert loss >= least - 1e-9
        found.append(loss / least if least > 1e-9 else 1.0 + loss)
    return found


def test_small_tables_come_near_the_optimum() -> None:
    assert np.median(ratios(20, 9, "best")) <= 1.15
