"""The transportation problem: exact whatever the solver proposes, and however many ties there are."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.conftest import examples

from tclose.distance import Counts, Matrix, Ordered, transport

Proposal = Callable[..., np.ndarray]


def zeros(costs: np.ndarray, supply: list[int], demand: list[int]) -> np.ndarray:
    return np.zeros(costs.shape)


def rubbish(costs: np.ndarray, supply: list[int], demand: list[int]) -> np.ndarray:
    draws = np.random.default_rng(sum(supply) % 2**32)
    flow = draws.normal(0, 2 * float(sum(supply)), costs.shape)
    flow[draws.random(costs.shape) < 0.2] = np.nan
    return flow


def worst(costs: np.ndarray, supply: list[int], demand: list[int]) -> np.ndarray:
    return transport_by_solver(-costs, supply, demand)


def a_little_off(costs: np.ndarray, supply: list[int], demand: list[int]) -> np.ndarray:
    return transport_by_solver(costs, supply, demand) * (1 - 1e-6) + 0.7


transport_by_solver = transport._propose
PROPOSALS = [transport_by_solver, zeros, rubbish, worst, a_little_off]
whatever_is_proposed = pytest.mark.parametrize("propose", PROPOSALS, ids=lambda propose: propose.__name__)


def solved(costs: np.ndarray, extra: list[int], propose: Proposal) -> list[tuple[int, int, int]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transport, "_propose", propose)
        return transport.cheapest_flow(costs, extra)


def cost_of(flow: list[tuple[int, int, int]], costs: np.ndarray) -> int:
    return sum(int(costs[i, j]) * amount for i, j, amount in flow)


def optimum(costs: np.ndarray, extra: list[int]) -> int:
    """By a linear programme; the amounts are small, so that its answer rounds to the exact one."""
    sources, targets = [i for i, e in enumerate(extra) if e > 0], [j for j, e in enumerate(extra) if e < 0]
    if not sources:
        return 0
    between = costs[np.ix_(sources, targets)]
    leaving = np.kron(np.eye(len(sources)), np.ones(len(targets)))
    arriving = np.kron(np.ones(len(sources)), np.eye(len(targets)))
    masses = [abs(extra[i]) for i in sources + targets]
    return round(linprog(between.ravel(), A_eq=np.vstack((leaving, arriving)), b_eq=masses, method="highs").fun)


def levels(flow: list[tuple[int, int, int]], extra: list[int]) -> bool:
    left = list(extra)
    for i, j, amount in flow:
        assert amount > 0
        left[i] -= amount
        left[j] += amount
    return not any(left)


extras = st.integers(2, 9).flatmap(
    lambda m: st.lists(st.integers(-9, 9), min_size=m - 1, max_size=m - 1).map(lambda e: [*e, -sum(e)])
)


@whatever_is_proposed
@pytest.mark.parametrize("largest", [1, 2, 5, 1000])
@settings(max_examples=examples(25), deadline=None)
@given(extra=extras, seed=st.integers(0, 999))
def test_the_optimum_is_found(propose: Proposal, largest: int, extra: list[int], seed: int) -> None:
    """Costs of few sizes are full of ties, on which the search for negative cycles must not go round for ever."""
    costs = np.random.default_rng(seed).integers(1, largest + 1, (len(extra), len(extra)))
    flow = solved(costs, extra, propose)
    assert levels(flow, extra)
    assert cost_of(flow, costs) == optimum(costs, extra)


# Costs and a flow for which walking back over ties used to find a "cycle" of cost 0, cancelled again and again.
TIED = [
    ([[1, 1, 1], [1, 1, 1], [2, 1, 1], [1, 1, 2]], [[1, 0, 0], [1, 2, 0], [0, 1, 0], [0, 1, 3]]),
    ([[1, 2, 2, 2], [1, 2, 2, 1], [1, 2, 2, 2], [2, 2, 2, 2], [1, 1, 2, 2]],
     [[1, 0, 0, 0], [3, 0, 0, 1], [0, 4, 0, 0], [0, 0, 3, 1], [0, 1, 0, 4]]),
    ([[7, 0, 5, 8, 6], [5, 0, 9, 1, 3], [6, 4, 5, 5, 1], [0, 9, 8, 1, 6]],
     [[1, 1, 1, 0, 0], [0, 0, 0, 3, 1], [0, 0, 1, 0, 0], [4, 0, 0, 0, 0]]),
]  # fmt: skip


@pytest.mark.parametrize(("costs", "start"), TIED)
def test_every_cycle_that_is_cancelled_lowers_the_cost(costs: list[list[int]], start: list[list[int]]) -> None:
    between, flow = np.array(costs), np.array(start, dtype=object)
    before = (between * flow).sum()
    while cycle := transport._negative_cycle(between, flow):
        less, more = cycle[0::2], cycle[1::2]
        assert sum(between[arc] for arc in more) < sum(between[arc] for arc in less)
        transport._cancel(flow, cycle)
        assert (between * flow).sum() < before
        assert (flow >= 0).all()
        before = (between * flow).sum()


def assignment(n: int) -> tuple[np.ndarray, list[int]]:
    """n sources and n targets of one unit each: the most degenerate of transportation problems."""
    places = np.arange(2 * n) % n
    return np.abs(places[:, None] - places), [1] * n + [-1] * n


@whatever_is_proposed
@pytest.mark.parametrize("n", [2, 5, 12])
def test_a_degenerate_assignment(propose: Proposal, n: int) -> None:
    costs, extra = assignment(n)
    flow = solved(costs, extra, propose)
    assert levels(flow, extra)
    assert cost_of(flow, costs) == 0


@whatever_is_proposed
def test_many_equal_amounts_and_all_costs_equal(propose: Proposal) -> None:
    extra = [3] * 8 + [-4] * 6
    flow = solved(1 - np.eye(14, dtype=np.int64), extra, propose)
    assert levels(flow, extra)
    assert cost_of(flow, np.ones((14, 14), dtype=np.int64)) == 24


@pytest.mark.parametrize("propose", [transport_by_solver, zeros], ids=lambda propose: propose.__name__)
def test_amounts_that_a_float_cannot_tell_apart(propose: Proposal) -> None:
    """One unit of 10³⁰ in the wrong place is one unit too many."""
    big = 10**30
    extra = [big + 1, big, -big, -big - 1]
    costs = np.array([[0, 9, 1, 8], [9, 0, 8, 1], [1, 8, 0, 9], [8, 1, 9, 0]])
    flow = solved(costs, extra, propose)
    assert levels(flow, extra)
    assert cost_of(flow, costs) == 2 * big + 8


def test_costs_whose_walks_pass_64_bits() -> None:
    """A single cost fits, a walk over two hundred values need not."""
    m = 200
    costs = np.abs(np.arange(m)[:, None] - np.arange(m)) * (2**57 // m)
    rows = np.zeros((1, m), dtype=np.int64)
    rows[0, : m // 2] = 1
    whole = np.ones(m, dtype=np.int64)
    found, expected = (distance.emd(Counts.from_dense(rows), whole) for distance in (Matrix(costs), Ordered(m)))
    assert found[0] == expected[0]


def test_one_source_or_one_target_needs_no_solver() -> None:
    def fails(*_: object) -> np.ndarray:
        raise AssertionError

    costs = 1 - np.eye(4, dtype=np.int64)
    assert solved(costs, [3, -1, -2, 0], fails) == [(0, 1, 1), (0, 2, 2)]
    assert solved(costs, [-3, 1, 2, 0], fails) == [(1, 0, 1), (2, 0, 2)]
    assert solved(costs, [0, 0, 0, 0], fails) == []


def test_a_class_of_a_billion_rows_by_a_matrix() -> None:
    row = np.array([[999_999_937, 1, 0, 5, 62]])
    whole = np.array([10**9, 7, 10**9 + 9, 998_244_353, 3])
    line = np.abs(np.arange(5)[:, None] - np.arange(5))
    found = Matrix(line).emd(Counts.from_dense(row), whole)[0]
    assert found == Ordered(5).emd(Counts.from_dense(row), whole)[0]
    assert found == sum((move.cost for move in Matrix(line).plan(row[0], whole)), Fraction(0))
