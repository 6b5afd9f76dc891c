"""What holds for every lower bound: no partition loses less, and an altered proof is refused."""

from __future__ import annotations

from copy import deepcopy
from fractions import Fraction
from itertools import count

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.distance import Distance, DomainFacts, Equal, Hierarchical, Matrix, Ordered, Value
from tclose.errors import Infeasible, Unsuited
from tclose.measure.bound import Bound, BoundProblem, lower_bound, verify_bound
from tclose.measure.bound.block import Block
from tclose.measure.bound.lattice import lattice_of
from tclose.measure.bound.search import Budget, PricedBlock, PricedLattice, block_of
from tclose.measure.bound.verifier import part_value
from tclose.partition import METHODS, method_named
from tclose.partition.exact import solve
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared.axes import Axis, LabelAxis, NumberAxis, SetAxis
from tclose.partition.shared.loss import loss_table, total_loss
from tclose.types import Ints, silent, still

METRIC = np.array([[0, 2, 3, 1, 2], [2, 0, 2, 1, 3], [3, 2, 0, 2, 4], [1, 1, 2, 0, 2], [2, 3, 4, 2, 0]])


def tiny_problem(random: np.random.Generator, most_rows: int = 10) -> BoundProblem:
    """Return a table with up to three quasi-identifiers and two attributes of any kinds; some have kept values."""
    rows = int(random.integers(4, most_rows + 1))
    axes = tuple(_axis(random, rows) for _ in range(int(random.integers(1, 4))))
    attributes = tuple(_attribute(random, rows) for _ in range(int(random.integers(1, 3))))
    groups = np.zeros(rows, dtype=np.int64)
    if random.random() < 0.25:
        groups = np.unique(random.integers(0, 2, rows), return_inverse=True)[1].astype(np.int64)
    return BoundProblem(
        axes,
        tuple(f"axis {q}" for q in range(len(axes))),
        attributes,
        tuple(f"attribute {a}" for a in range(len(attributes))),
        groups,
        int(random.integers(1, 4)),
    )


def _axis(random: np.random.Generator, rows: int) -> Axis:
    lowest = -1 if random.random() < 0.3 else 0
    kind = random.integers(4)
    if kind < 2:
        places = np.sort(random.random(int(random.integers(1, 7))))
        places = (places - places[0]) / ((places[-1] - places[0]) or 1.0)
        width = float(random.choice([0.0, 0.0, 0.05]))  # ends that are snapped outward
        low, high = np.maximum(places - width, 0.0), np.minimum(places + width, 1.0)
        if random.random() < 0.2 and len(places) > 2:  # a step or a tail gives two values the same ends
            low[1], high[1] = low[0], high[0]
        return NumberAxis(random.integers(lowest, len(places), rows), low, high)
    if kind == 2:
        leaves = int(random.integers(2, 7))
        middle = np.unique(np.sort(random.integers(0, 3, leaves)), return_inverse=True)[1]
        root = (np.zeros(leaves, dtype=np.int64),) if random.random() < 0.8 else ()
        return LabelAxis(random.integers(lowest, leaves, rows), (np.arange(leaves), middle, *root))
    values = int(random.integers(2, 6))
    return SetAxis(random.integers(0, values, rows), values)


def _attribute(random: np.random.Generator, rows: int) -> Attribute:
    distances: list[Distance] = [
        Ordered(5),
        Value(np.array([0, 1, 4, 6, 20])),
        Equal(),
        Equal(),
        Hierarchical((np.arange(5), np.array([0, 0, 1, 1, 2]), np.zeros(5, dtype=np.int64))),
        Matrix(METRIC),
        DomainFacts(5, positions=np.array([0, 1, 4, 6]), missing=True).make("value"),
        DomainFacts(5, missing=True).make("ordered"),
        Value(np.array([0, 1, 2**40, 2**41, 2**50], dtype=object)),
    ]
    codes = random.integers(0, int(random.integers(2, 6)), rows)
    t = Fraction(int(random.integers(0, 60)), 100)
    distance = distances[int(random.integers(len(distances)))]
    return Attribute(codes, np.bincount(codes, minlength=5).astype(np.int64), distance, t)


def optimum(problem: BoundProblem) -> float | None:
    """Return the least GCP of all partitions; None where no partition holds."""
    total = 0.0
    whole = Problem(np.zeros((problem.rows, 1)), problem.attributes, problem.k, problem.axes)
    for group in range(int(problem.groups.max()) + 1):
        part = whole.part(np.flatnonzero(problem.groups == group))
        try:
            total += solve(part, loss="gcp", way="recursion").cost
        except Infeasible:
            return None
    return total / problem.rows / len(problem.axes)


def bounded(problem: BoundProblem, steps: int = 70) -> Bound:
    """Search for so many looks at the clock, whatever the machine does besides."""
    ticks = count()
    return lower_bound(problem, seconds=steps, clock=lambda: float(next(ticks)))


def check_against_the_optimum(seed: int) -> bool:
    """Compare one table; tell whether it has an optimum."""
    problem = tiny_problem(np.random.default_rng(seed))
    least = optimum(problem)
    if least is None:
        return False
    bound = bounded(problem)
    assert bound.value <= least + 1e-9, seed
    assert verify_bound(bound.proof, problem).holds, seed
    return True


@pytest.mark.one_in(3)
@pytest.mark.parametrize("first", range(0, 300, 50))
def test_no_partition_loses_less(first: int) -> None:
    assert sum(map(check_against_the_optimum, range(first, first + 50))) > 30


@pytest.mark.parametrize("first", range(1_000, 6_400, 400))
def test_no_partition_of_thousands_loses_less(first: int) -> None:
    assert sum(map(check_against_the_optimum, range(first, first + 400))) > 300


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(10**6, 10**9))
def test_no_partition_of_any_table_loses_less(seed: int) -> None:
    check_against_the_optimum(seed)


def random_block(problem: BoundProblem, random: np.random.Generator) -> Block:
    """Return a block of some quasi-identifiers, its cells as coarse as chance has it."""
    axes = tuple(q for q in range(len(problem.axes)) if random.random() < 0.7) or (0,)
    attribute = int(random.integers(len(problem.attributes)))
    block = block_of(problem, axes, attribute, int(random.integers(2, 8)), Budget(1.0, silent))
    assert block is not None
    return block


def loss_on(problem: BoundProblem, axes: tuple[int, ...], labels: Ints) -> float:
    """Return the mean loss over rows, summed over some quasi-identifiers."""
    return total_loss(loss_table(tuple(problem.axes[q] for q in axes), problem.rows), labels) / problem.rows


@pytest.mark.parametrize("method", [name for name, about in METHODS.items() if about.tables == "one"])
def test_any_prices_bound_every_method(method: str) -> None:
    """For random prices, good or bad, no partition of any method loses less than they prove."""
    served = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        problem = tiny_problem(random)
        block = random_block(problem, random)
        whole = Problem(random.random((problem.rows, 2)), problem.attributes, problem.k, problem.axes)
        try:
            labels = method_named(method)(whole, seed=seed)
        except (Unsuited, Infeasible):
            continue
        together = np.unique(labels * (problem.groups.max() + 1) + problem.groups, return_inverse=True)[1]
        if not whole.admitted(together).all():
            continue
        served += 1
        lost = loss_on(problem, block.axes, together)
        for _ in range(5):
            prices = random.normal(0.3, 0.5, len(block.cells))
            assert block.evaluate(prices).bound <= lost + 1e-7, seed
    if not served:
        pytest.skip(f"{method} serves none of these tables")


def test_the_proof_in_integers_shows_no_more_than_the_search_in_floats() -> None:
    for seed in range(60):
        random = np.random.default_rng(seed)
        priced = PricedBlock(random_block(tiny_problem(random), random))
        priced.prices = random.normal(0.3, 0.5, len(priced.prices))
        floats = priced.block.evaluate(priced.prices).bound
        proven = float(priced.part().value)
        assert floats - 2e-4 <= proven <= floats + 1e-6, seed


def test_lattice_prices_bound_the_optimum_whatever_they_are() -> None:
    compared = 0
    for seed in range(600):
        random = np.random.default_rng(seed)
        problem = tiny_problem(random)
        lattice = lattice_of(problem, 0, still)
        if lattice is None or (least := optimum(problem)) is None:
            continue
        compared += 1
        priced = PricedLattice(lattice)
        priced.prices = np.abs(random.normal(0.3, 0.5, len(priced.prices)))
        part = priced.part()
        assert part.value <= least * len(problem.axes) + 1e-9, seed
        assert part.value <= part_value(part.proof, problem), seed
    assert compared > 25


def test_an_altered_proof_is_refused() -> None:
    refused = 0
    for seed in range(40):
        problem = tiny_problem(np.random.default_rng(seed))
        if optimum(problem) is None or not (bound := bounded(problem)).value:
            continue
        refused += 1
        higher = {**bound.proof, "bound": str(bound.value + Fraction(1, 10**6))}
        assert verify_bound(higher, problem).reason == "the proof shows less than it claims"
        cheaper = deepcopy(bound.proof)
        numbers = cheaper["parts"][0].get("prices") or cheaper["parts"][0]["radii"]
        numbers[int(np.argmax(numbers))] -= 1
        assert verify_bound(cheaper, problem).reason == "the proof shows less than it claims"
        other = tiny_problem(np.random.default_rng(1000 + seed))
        assert verify_bound(bound.proof, other).reason == "the proof is about another table, or another policy"
    assert refused > 5
