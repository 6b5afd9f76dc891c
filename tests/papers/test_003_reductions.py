"""Liang & Yuan 2013, lemma 1 and theorems 3 to 7: every reduction holds in both directions, on small instances."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose.errors import PolicyError
from tclose.papers import liang_yuan
from tclose.partition import Problem
from tclose.partition.exact import Solution, solve

few = settings(max_examples=12, deadline=None)
THIRD = Fraction(1, 3)
PAIRS = [*combinations(range(6), 2)]
graphs = st.sets(st.sampled_from(PAIRS), min_size=1).map(sorted)
PATH = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
TRIANGLE = [(0, 1), (0, 2), (1, 2), (3, 4), (4, 5)]


def stars(problem: Problem) -> Solution:
    return solve(problem, loss="stars")


def triples_of(n: int, count: int) -> st.SearchStrategy[list[liang_yuan.Triple]]:
    every = [(x, y, z) for x, y, z in product(range(n), repeat=3)]
    return st.sets(st.sampled_from(every), min_size=1, max_size=count).map(sorted)


@few
@given(st.integers(0, 2**32), st.integers(2, 5))
def test_lemma_1_k_anonymity_is_a_t_closeness(seed: int, k: int) -> None:
    columns = np.random.default_rng(seed).integers(0, 3, (9, 3))
    made = liang_yuan.closeness_of_anonymity(columns, k)
    close = stars(made.problem)
    assert close.cost == stars(liang_yuan.anonymity_problem(columns, k)).cost
    assert np.bincount(close.labels).min() >= k


@few
@given(graphs)
def test_theorem_3_the_fewest_stars_are_the_least_cut(edges: list[liang_yuan.Edge]) -> None:
    table = liang_yuan.anonymity_of_bisection(6, edges)
    found, least = stars(liang_yuan.anonymity_problem(table, 3)), liang_yuan.least_cut(6, edges)
    assert found.cost == 6 * (len(edges) + least) / 2
    assert liang_yuan.cut_of(found.labels, edges) == least


def test_theorem_3_on_a_path() -> None:
    found = stars(liang_yuan.anonymity_problem(liang_yuan.anonymity_of_bisection(6, PATH), 3))
    assert found.cost == 6 * (5 + 1) / 2
    assert found.labels.tolist() == [0, 0, 0, 1, 1, 1]


@few
@given(st.integers(0, 2**32), st.sampled_from([THIRD, Fraction(1, 4)]))
def test_theorem_4_keeps_the_optimum(seed: int, c: Fraction) -> None:
    columns = np.random.default_rng(seed).integers(0, 3, (6, 2))
    table = liang_yuan.anonymity_of_half(columns, c)
    assert table.shape == (6 / (2 * c), 2 + 6 * 2)
    half = stars(liang_yuan.anonymity_problem(columns, 3))
    whole = stars(liang_yuan.anonymity_problem(table, int(c * len(table))))
    assert whole.cost == half.cost
    assert not set(whole.labels[:6].tolist()) & set(whole.labels[6:].tolist())


@few
@given(graphs)
def test_theorem_5_tells_whether_there_is_a_half_clique(edges: list[liang_yuan.Edge]) -> None:
    check_half_clique(edges, liang_yuan.has_half_clique(6, edges))


@pytest.mark.parametrize(("edges", "expected"), [(PATH, False), (TRIANGLE, True)])
def test_theorem_5_on_a_path_and_a_triangle(edges: list[liang_yuan.Edge], expected: bool) -> None:
    check_half_clique(edges, expected)


def check_half_clique(edges: list[liang_yuan.Edge], expected: bool) -> None:
    c = Fraction(3, 8)
    table = liang_yuan.anonymity_of_half_clique(6, edges, c)
    assert len(table) == 8
    found = stars(liang_yuan.anonymity_problem(table, int(c * 8)))
    assert (found.cost <= liang_yuan.clique_stars(6, edges, 8)) is expected
    if expected:
        clique = liang_yuan.half_clique_of(found.labels, 6)
        assert len(clique) == 3
        assert all(pair in edges for pair in combinations(sorted(clique), 2))


@few
@given(triples_of(3, 6), st.sampled_from([Fraction(0), Fraction(1, 10), Fraction(33, 100)]))
def test_theorem_6_tells_whether_there_is_a_matching(triples: list[liang_yuan.Triple], t: Fraction) -> None:
    check_matching(liang_yuan.closeness_of_matching(3, triples, t), 3, triples)


@pytest.mark.parametrize(("last", "expected"), [((2, 2, 2), True), ((2, 1, 2), False)])
def test_theorem_6_by_hand(last: liang_yuan.Triple, expected: bool) -> None:
    triples = [(0, 0, 0), (1, 1, 1), last, (0, 1, 2)]
    made = liang_yuan.closeness_of_matching(3, triples, Fraction(1, 10))
    assert (stars(made.problem).cost <= liang_yuan.matching_stars(3, triples)) is expected
    check_matching(made, 3, triples)


@settings(max_examples=2, deadline=None)
@given(triples_of(2, 3))
def test_theorem_7_tells_whether_there_is_a_matching(triples: list[liang_yuan.Triple]) -> None:
    made = liang_yuan.closeness_of_matching_with_a_centre(2, triples, THIRD)
    assert made.values.tolist() == [0, 0, 1, 1, 2, 2] + 12 * [3]
    check_matching(made, 2, triples)


@pytest.mark.parametrize(("last", "expected"), [(1, True), (0, False)])
def test_theorem_7_by_hand(last: int, expected: bool) -> None:
    triples = [(0, 0, 0), (1, 1, last)]
    made = liang_yuan.closeness_of_matching_with_a_centre(2, triples, THIRD)
    assert (stars(made.problem).cost <= liang_yuan.matching_stars(2, triples)) is expected


def check_matching(made: liang_yuan.Closeness, n: int, triples: list[liang_yuan.Triple]) -> None:
    found = stars(made.problem)
    told = found.cost <= liang_yuan.matching_stars(n, triples)
    assert told == liang_yuan.has_matching(n, triples)
    if told:
        assert liang_yuan.is_matching(n, liang_yuan.matching_of(found.labels, n, triples))


def test_theorem_6_ends_at_a_third() -> None:
    """Its proof begins with t < 1/2; from 1/3 on, pairs are t-close, and they can cost less than a matching allows."""
    triples = [(0, 0, 0), (0, 1, 1), (1, 0, 1)]
    assert not liang_yuan.has_matching(2, triples)
    below = liang_yuan.closeness_of_matching(2, triples, Fraction(33, 100))
    beyond = liang_yuan.Closeness(below.columns, below.values, below.distance, THIRD)
    assert stars(below.problem).cost > liang_yuan.matching_stars(2, triples) >= stars(beyond.problem).cost


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: liang_yuan.anonymity_of_half(np.zeros((6, 1), dtype=np.int64), Fraction(1, 2)), "theorem 4"),
        (lambda: liang_yuan.anonymity_of_half(np.zeros((5, 1), dtype=np.int64), THIRD), "a whole number of rows"),
        (lambda: liang_yuan.anonymity_of_half_clique(6, PATH, THIRD), "theorem 5"),
        (lambda: liang_yuan.closeness_of_matching(1, [(0, 0, 0)], THIRD), "theorem 6"),
        (lambda: liang_yuan.closeness_of_matching_with_a_centre(1, [(0, 0, 0)], Fraction(1, 2)), "theorem 7"),
    ],
)
def test_each_theorem_has_its_range(make: object, said: str) -> None:
    assert callable(make)
    with pytest.raises(PolicyError, match=said):
        make()
