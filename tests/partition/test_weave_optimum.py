"""On tables of up to 12 rows, weave comes near the best of all partitions, and never beats it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tclose.distance import Counts, Equal, Ordered
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared.axes import NumberAxis, SetAxis
from tclose.partition.shared.loss import loss_table, total_loss
from tclose.partition.weave import partition


def class_losses(problem: Problem) -> np.ndarray:
    """Return what every subset of the rows loses as a class, by its mask; infinite where it is none."""
    member = np.arange(1, 1 << problem.rows)[:, None] >> np.arange(problem.rows) & 1 == 1
    line, text = problem.axes
    places, sizes = np.asarray(line.low)[line.codes], member.sum(axis=1)
    width = np.where(member, places, -np.inf).max(axis=1) - np.where(member, places, np.inf).min(axis=1)
    different = sum((member & (text.codes == value)).any(axis=1).astype(int) for value in range(text.domain_size))
    allowed = sizes >= problem.k
    for one in problem.sensitive:
        counts = member.astype(np.int64) @ np.eye(len(one.reference), dtype=np.int64)[one.codes]
        allowed &= one.distance.emd(Counts.from_dense(counts), one.reference).at_most(one.t)
    losses = sizes * (width + (different - 1) / (text.domain_size - 1))
    return np.append(np.inf, np.where(allowed, losses, np.inf))


def optimum(problem: Problem) -> float:
    """Return the least loss over all partitions: subset by subset, the class of the first row first."""
    losses = class_losses(problem)
    classes = np.flatnonzero(np.isfinite(losses))
    by_first = {1 << i: classes[classes & -classes == 1 << i] for i in range(problem.rows)}
    best = np.full(1 << problem.rows, np.inf)
    best[0] = 0.0
    for mask in range(1, 1 << problem.rows):
        found = by_first[mask & -mask]
        found = found[found & ~mask == 0]
        if len(found):
            best[mask] = (losses[found] + best[mask ^ found]).min()
    return float(best[-1])


def small_problem(random: np.random.Generator, rows: int) -> Problem:
    numbers, text = NumberAxis.of_points(random.integers(0, 20, rows) / 19), SetAxis(random.integers(0, 4, rows), 4)
    guarded = []
    for distance, t in ((Ordered(5), random.integers(10, 40)), (Equal(), random.integers(20, 60))):
        if random.random() < 0.7:
            codes = random.integers(0, 5, rows)
            guarded.append(Attribute(codes, np.bincount(codes, minlength=5), distance, Fraction(int(t), 100)))
    return Problem(np.zeros((rows, 2)), tuple(guarded), int(random.integers(1, 4)), (numbers, text))


def ratios(tables: int, most_rows: int, effort: str) -> list[float]:
    random = np.random.default_rng(1)
    found = []
    for _ in range(tables):
        problem = small_problem(random, int(random.integers(6, most_rows + 1)))
        labels = partition(problem, effort=effort)
        loss = total_loss(loss_table(problem.axes, problem.rows), labels)
        least = optimum(problem)
        assert loss >= least - 1e-9
        found.append(loss / least if least > 1e-9 else 1.0 + loss)
    return found


@pytest.mark.parametrize("tables", [60, pytest.param(200, marks=pytest.mark.soak)])
def test_small_tables_come_near_the_optimum(tables: int) -> None:
    assert np.median(ratios(tables, 12, "best")) <= 1.15
