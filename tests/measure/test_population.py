"""Population uniqueness and the risk of a sample: laws against naive sums, and populations that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.measure.risk import (
    PopulationUniques,
    average_prosecutor,
    journalist_by_sample,
    log_gamma_ratio,
    pitman,
    pitman_parameters,
    prosecutor,
    zayatz,
)
from tclose.types import Ints

SIZES = st.lists(st.integers(1, 30), min_size=1, max_size=40).map(np.array)


@given(start=st.one_of(st.floats(0.01, 5000), st.integers(1, 10**6)), steps=st.integers(0, 60))
def test_rising_products(start: float, steps: int) -> None:
    naive = math.fsum(math.log(start + i) for i in range(steps))
    assert log_gamma_ratio(start, steps) == pytest.approx(naive, rel=1e-9, abs=1e-9)


def mean_of_inverse(rows: int, p: float) -> float:
    """Sum 1/F over the negative binomial distribution, term by term."""
    total, chance, people = 0.0, p**rows, rows
    while chance > 1e-18 or people < rows / p:
        total += chance / people
        chance *= (1 - p) * people / (people - rows + 1)
        people += 1
    return total


@settings(deadline=None, max_examples=examples(60))
@given(rows=st.integers(1, 80), p=st.floats(0.02, 1.0))
def test_the_risk_of_a_sample_is_the_mean_of_its_distribution(rows: int, p: float) -> None:
    assert journalist_by_sample(np.array([rows]), p)[0] == pytest.approx(mean_of_inverse(rows, p), rel=1e-7)


@settings(deadline=None, max_examples=examples(40))
@given(sizes=SIZES, p=st.floats(1e-6, 1.0))
def test_a_sample_hides_people(sizes: Ints, p: float) -> None:
    """Not knowing who was sampled never helps an adversary, and everyone sampled is the prosecutor's case."""
    chances = journalist_by_sample(sizes, p)
    assert (chances <= 1 / sizes + 1e-12).all()
    assert (chances > 0).all()
    assert journalist_by_sample(sizes, 1.0) == pytest.approx(1 / sizes)
    order = np.argsort(sizes, kind="stable")
    assert (np.diff(chances[order]) <= 1e-12).all(), "larger classes are safer"


@given(sizes=SIZES)
def test_average_risk(sizes: Ints) -> None:
    naive = sum(1 / int(size) for size in sizes for _ in range(int(size))) / int(sizes.sum())
    assert average_prosecutor(sizes) == pytest.approx(naive)
    assert average_prosecutor(sizes) <= prosecutor(sizes)


@settings(deadline=None, max_examples=examples(40))
@given(sizes=SIZES, times=st.integers(1, 50))
def test_estimates_are_possible(sizes: Ints, times: int) -> None:
    people = int(sizes.sum()) * times
    for found in (zayatz(sizes, people), pitman(sizes, people)):
        assert 0 <= found.population <= people
        assert 0 <= found.sampled <= (sizes == 1).sum() + 1e-9


@given(sizes=SIZES)
def test_the_whole_population_needs_no_estimate(sizes: Ints) -> None:
    alone = float((sizes == 1).sum())
    assert zayatz(sizes, int(sizes.sum())) == PopulationUniques(pytest.approx(alone), pytest.approx(alone))


def test_nobody_is_alone_where_the_sample_has_nobody_alone() -> None:
    assert zayatz(np.array([2, 3, 9]), 1000) == PopulationUniques(0.0, 0.0)
    assert pitman(np.array([2, 3, 9]), 1000).sampled == 0


def likelihood(sizes: Ints, alpha: float, theta: float) -> float:
    """Return the logarithm of Pitman's sampling formula, factor by factor."""
    grouped = sum(math.log(theta + i * alpha) for i in range(1, len(sizes)))
    seated = sum(math.log(theta + i) for i in range(1, int(sizes.sum())))
    return grouped - seated + sum(math.log(i - alpha) for size in sizes for i in range(1, int(size)))


@settings(deadline=None, max_examples=examples(25))
@given(sizes=st.lists(st.integers(1, 12), min_size=3, max_size=25).map(np.array))
def test_no_other_parameters_are_more_likely(sizes: Ints) -> None:
    alpha, theta = pitman_parameters(sizes)
    best = likelihood(sizes, alpha, theta)
    for other in (0.01, 0.2, 0.5, 0.8, 0.99):
        for strength in (0.01, 0.5, 2, 10, 100, 1000):
            assert likelihood(sizes, other, strength) <= best + 1e-3


def population(alpha: float, theta: float, people: int, chance: np.random.Generator) -> Ints:
    """Seat people as Pitman's model does; return everyone's class."""
    seats, sizes = [0], [1]
    for person in range(1, people):
        if chance.random() < (theta + len(sizes) * alpha) / (theta + person):
            seats.append(len(sizes))
            sizes.append(1)
            continue
        chosen = seats[chance.integers(person)]
        while chance.random() < alpha / sizes[chosen]:
            chosen = seats[chance.integers(person)]
        seats.append(chosen)
        sizes[chosen] += 1
    return np.array(seats)


def test_a_population_that_is_known() -> None:
    """Of a population that follows its model, Pitman's estimate is near; that of Zayatz is too large for 5 %."""
    chance = np.random.default_rng(11)
    everyone = population(0.5, 100, 20_000, chance)
    true = int((np.bincount(everyone) == 1).sum())
    samples = [np.unique(chance.choice(everyone, 1000, replace=False), return_counts=True)[1] for _ in range(8)]
    near = float(np.median([pitman(sizes, 20_000).population for sizes in samples]))
    assert 0.75 * true < near < 1.25 * true
    assert float(np.median([zayatz(sizes, 20_000).population for sizes in samples])) > 1.25 * true
    half = np.unique(chance.choice(everyone, 10_000, replace=False), return_counts=True)[1]
    assert 0.9 * true < zayatz(half, 20_000).population < 1.1 * true
