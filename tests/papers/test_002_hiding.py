"""Li et al. 2007, section 8: a hidden sensitive cell, judged by its worst completion, never helps (decision 083)."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.distance import Counts, Distance, Equal, Hierarchical, Ordered

LEVELS = (np.arange(4), np.array([0, 0, 1, 1]), np.zeros(4, dtype=np.int64))
DISTANCES: list[Distance] = [Ordered(4), Equal(), Hierarchical(LEVELS)]
counts = st.lists(st.integers(0, 4), min_size=4, max_size=4).map(np.array)


def emd(distance: Distance, one: np.ndarray, whole: np.ndarray) -> Fraction:
    return distance.emd(Counts.from_dense([one]), whole)[0]


def completions(shown: np.ndarray, others: np.ndarray, hidden: int, allowed: list[int]) -> list[tuple[np.ndarray, ...]]:
    """Return the class and the table for everything that so many hidden cells of the class can be."""
    filled = (np.bincount(some, minlength=len(shown)) for some in combinations_with_replacement(allowed, hidden))
    return [(shown + each, shown + each + others) for each in filled]


def worst(
    distance: Distance, shown: np.ndarray, others: np.ndarray, hidden: int, allowed: list[int] | None = None
) -> Fraction:
    every = completions(shown, others, hidden, [*range(len(shown))] if allowed is None else allowed)
    return max(emd(distance, one, whole) for one, whole in every)


@settings(max_examples=examples(40), deadline=None)
@given(st.sampled_from(DISTANCES), counts, counts, st.integers(1, 3), st.integers(0, 2**32))
def test_hiding_never_helps(distance: Distance, mine: np.ndarray, others: np.ndarray, hidden: int, seed: int) -> None:
    """The truth is one of the completions, and the worst of them is at least (h/2)(1/n − 1/N) away."""
    if mine.sum() < hidden or not others.sum():
        return
    values = np.repeat(np.arange(4), mine)
    taken = np.random.default_rng(seed).choice(len(values), hidden, replace=False)
    shown = mine - np.bincount(values[taken], minlength=4)
    judged = worst(distance, shown, others, hidden)
    assert judged >= emd(distance, mine, mine + others)
    n, rows = int(mine.sum()), int((mine + others).sum())
    assert judged >= Fraction(hidden, 2) * (Fraction(1, n) - Fraction(1, rows))


@settings(max_examples=examples(40), deadline=None)
@given(st.sampled_from(DISTANCES), counts, counts, st.integers(1, 3))
def test_the_worst_completion_has_one_value(
    distance: Distance, shown: np.ndarray, others: np.ndarray, hidden: int
) -> None:
    if not others.sum():
        return
    alike = [hidden * np.eye(4, dtype=np.int64)[value] for value in range(4)]
    by_one_value = max(emd(distance, shown + each, shown + each + others) for each in alike)
    assert worst(distance, shown, others, hidden) == by_one_value


@settings(max_examples=examples(25), deadline=None)
@given(counts, counts, st.integers(1, 2))
def test_a_generalised_cell_costs_less_than_a_hidden_one_and_still_never_helps(
    shown: np.ndarray, others: np.ndarray, hidden: int
) -> None:
    """Generalised to the first node of the tree: the cell is one of the values below it."""
    if not others.sum():
        return
    below = [0, 1]
    for one, whole in completions(shown, others, hidden, below):
        judged = worst(Hierarchical(LEVELS), shown, others, hidden, below)
        assert emd(Hierarchical(LEVELS), one, whole) <= judged <= worst(Hierarchical(LEVELS), shown, others, hidden)


SALARIES = 9  # 3K to 11K, one row each: table 3 of the paper


def of(*salaries: int) -> np.ndarray:
    return np.bincount(np.array(salaries) - 3, minlength=SALARIES)


def test_the_example_of_the_decision() -> None:
    """Judged by what is left, hiding 3K brings the class of 3K, 4K and 8K within 0.2; by the worst completion, not."""
    mine, whole, distance = of(3, 4, 8), of(*range(3, 12)), Ordered(SALARIES)
    left = mine - of(3)
    assert emd(distance, mine, whole) == Fraction(1, 4)
    assert emd(distance, left, whole) == Fraction(1, 6)
    assert worst(distance, left, whole - mine, 1) == Fraction(1, 4)
    assert worst(distance, of(8), whole - mine, 2) == Fraction(5, 18)
