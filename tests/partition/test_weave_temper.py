"""temper: random swaps by Metropolis at a fixed temperature; limits are walls, and the last state is the result."""

from __future__ import annotations

import threading
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.distance import Equal
from tclose.errors import Cancelled
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared import workers
from tclose.partition.weave import partition
from tclose.partition.weave import temper as stage
from tclose.partition.weave.bisection import ranks_of
from tclose.partition.weave.state import seeded, state_of
from tclose.partition.weave.table import WeaveTable
from tclose.partition.weave.temper import proposal_orders, swap_at_random, tempered
from tclose.privacy import Alpha, DistinctL, EntropyL
from tclose.types import silent

MODELS = ((), (DistinctL(2),), (EntropyL(Fraction(3, 2)), Alpha(Fraction(3, 4))))


def problem_of(points: np.ndarray, codes: np.ndarray, k: int, t: Fraction, models: tuple = ()) -> Problem:
    reference = np.bincount(codes, minlength=3).astype(np.int64)
    return Problem(points, (Attribute(codes, reference, Equal(), t, models=models),), k)


def made(rows: int, seed: int, t: Fraction = Fraction(1, 5), k: int = 3) -> Problem:
    random = np.random.default_rng(seed)
    return problem_of(random.random((rows, 2)), (random.random(rows) < 0.3).astype(np.int64), k, t)


@settings(max_examples=examples(40), deadline=None)
@given(
    st.integers(12, 80), st.integers(0, 2**32), st.sampled_from(MODELS), st.sampled_from([0.01, 0.2, 2.0]),
    st.sampled_from([Fraction(1, 3), Fraction(2, 3)]),
)  # fmt: skip
def test_swaps_keep_sizes_and_every_limit(rows: int, seed: int, models: tuple, share: float, t: Fraction) -> None:
    random = np.random.default_rng(seed)
    codes = np.arange(rows) % 3
    problem = problem_of(random.integers(0, 9, (rows, 2)) / 8, codes, 2, t, models)
    before = partition(problem, effort="fast", seed=1)
    after = tempered(problem, before, share, seed, silent)
    assert np.array_equal(np.bincount(after), np.bincount(before))
    assert problem.admitted(after).all()
    assert np.array_equal(after, tempered(problem, before, share, seed, silent))


def test_the_swaps_sample_classes_by_their_loss() -> None:
    """On a small table, every allowed division comes as often as exp(−loss / temperature) says, and no other one."""
    places = np.array([0.0, 0.1, 0.25, 0.5, 0.55, 1.0])
    problem = problem_of(places[:, None], np.array([0, 1, 0, 1, 0, 1]), 2, Fraction(1, 4))
    table, heat = WeaveTable.of(problem, silent), 0.3
    labels = np.array([0, 0, 1, 1, 2, 2])
    allowed = {
        tuple(sorted(rest)): np.exp(-table.loss(labels_of(rest)) / heat)
        for rest in divisions(range(6))
        if problem.admitted(labels_of(rest)).all()
    }
    assert 1 < len(allowed) < 15  # of the 15 divisions into pairs
    seen = sampled(table, problem, labels, heat, times=30_000)
    assert seen.keys() == allowed.keys()
    whole = sum(allowed.values())
    for division, weight in allowed.items():
        assert seen[division] / seen.total() == pytest.approx(weight / whole, abs=0.02)


def divisions(rows: range | tuple[int, ...]) -> list[list[tuple[int, ...]]]:
    if not rows:
        return [[]]
    first, *rest = rows
    return [
        [(first, other), *more]
        for (other,) in combinations(rest, 1)
        for more in divisions(tuple(row for row in rest if row != other))
    ]


def labels_of(division: list[tuple[int, ...]]) -> np.ndarray:
    labels = np.empty(sum(map(len, division)), dtype=np.int64)
    for number, rows in enumerate(division):
        labels[list(rows)] = number
    return labels


def sampled(table: WeaveTable, problem: Problem, labels: np.ndarray, heat: float, times: int) -> Counter:
    state, generator, seen = state_of(table.losses, table.limits, labels, 0), seeded(3), Counter()
    orders = proposal_orders(table.losses, problem.points, np.random.default_rng(4))
    ranks, work = ranks_of(orders), np.empty((2, 1), dtype=np.int64)
    for _ in range(times):
        swap_at_random(table.losses, table.limits, state, orders, ranks, 12, heat, work, generator, table.stop)
        classes = [tuple(np.flatnonzero(state.label == c).tolist()) for c in range(3)]
        seen[tuple(sorted(classes))] += 1
    return seen


def test_every_order_of_proposals_holds_every_row_once() -> None:
    problem = made(60, 1)
    orders = proposal_orders(WeaveTable.of(problem, silent).losses, problem.points, np.random.default_rng(1))
    assert len(orders) == 2 + stage.CURVES
    assert all(np.array_equal(np.sort(order), np.arange(60)) for order in orders)


def test_the_last_state_is_published_and_costs_more() -> None:
    problem = made(600, 2)
    table, before = WeaveTable.of(problem, silent), partition(problem, seed=1)
    losses = [table.loss(tempered(problem, before, share, 1, silent)) for share in (0.2, 1.0, 10.0)]
    assert table.loss(before) < losses[0] < losses[1] < losses[2]


def test_swaps_that_would_pay_are_left() -> None:
    """Without temper hardly any swap is left that would pay: this silence is what an adversary uses."""
    problem = made(300, 3)
    before = partition(problem, seed=1)
    after = tempered(problem, before, 0.2, 1, silent)
    assert paying_swaps(problem, after) > 5 * paying_swaps(problem, before)


def paying_swaps(problem: Problem, labels: np.ndarray) -> int:
    """Count the allowed swaps of rows with equal values that would lower the loss."""
    points, codes = problem.points, problem.sensitive[0].codes

    def loss(c: int, without: int, joining: int) -> float:
        rows = [joining, *(row for row in np.flatnonzero(labels == c) if row != without)]
        return len(rows) * float(np.ptp(points[rows], axis=0).sum())

    count = 0
    for a, b in combinations(range(problem.rows), 2):
        x, y = labels[a], labels[b]
        if x != y and codes[a] == codes[b] and np.abs(points[a] - points[b]).sum() < 0.2:
            count += loss(x, a, b) + loss(y, b, a) < loss(x, a, a) + loss(y, b, b) - 1e-12
    return count


def test_classes_of_equal_rows_stay() -> None:
    problem = problem_of(np.repeat([[0.0], [1.0]], 6, axis=0), np.arange(12) % 3, 3, Fraction(1, 2))
    labels = np.repeat([0, 1], 6)
    assert np.array_equal(tempered(problem, labels, 10.0, 1, silent), labels)


def test_cancelling_ends_the_swaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "HEARTBEAT_SECONDS", 0.001)
    problem, before = made(5000, 4), threading.active_count()
    labels, calls = partition(problem, effort="fast", seed=1), 0

    def progress(share: float, phase: str = "") -> None:
        nonlocal calls
        calls += phase == "tempering"
        if calls == 5:
            raise Cancelled

    with pytest.raises(Cancelled):
        tempered(problem, labels, 0.2, 1, progress)
    assert threading.active_count() == before
