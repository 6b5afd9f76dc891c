from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.distance import Counts, Move, Ordered, Value


def emd(distance: Ordered | Value, row: list[int], whole: list[int]) -> Fraction:
    return distance.emd(Counts.from_dense([row]), np.array(whole))[0]


def test_names() -> None:
    assert Ordered(3).name == "ordered"
    assert Value(np.array([0, 1])).name == "value"


def test_ranks_count_declared_values_that_nobody_shows() -> None:
    assert emd(Ordered(2), [1, 0], [1, 1]) == Fraction(1, 2)
    assert emd(Ordered(3), [1, 0, 0], [1, 1, 0]) == Fraction(1, 4)
    assert emd(Ordered(3), [1, 0, 0], [1, 0, 1]) == Fraction(1, 2)


def test_magnitudes_weigh_the_gaps() -> None:
    distance = Value(np.array([0, 1, 10]))
    assert emd(distance, [0, 2, 0], [1, 0, 1]) == Fraction(1 + 9, 20)
    assert emd(distance, [1, 1, 0], [1, 0, 1]) == Fraction(9, 20)


def test_a_class_may_begin_late_and_end_early() -> None:
    """Running sums count before the first and after the last value that a class shows, too."""
    whole = [1, 1, 1, 1, 1]
    assert emd(Ordered(5), [0, 0, 1, 0, 0], whole) == Fraction(1 + 2 + 2 + 1, 20)
    assert emd(Ordered(5), [0, 0, 0, 0, 1], whole) == Fraction(1 + 2 + 3 + 4, 20)
    assert emd(Ordered(5), [1, 0, 0, 0, 0], whole) == Fraction(4 + 3 + 2 + 1, 20)


def test_a_reference_may_lack_the_first_and_last_values() -> None:
    assert emd(Ordered(4), [1, 0, 0, 1], [0, 1, 1, 0]) == Fraction(1, 3)
    assert emd(Ordered(4), [0, 1, 1, 0], [1, 0, 0, 1]) == Fraction(1, 3)


def test_equal_positions_of_one_value() -> None:
    for distance in (Ordered(1), Value(np.array([0]))):
        assert emd(distance, [4], [9]) == 0
        assert distance.plan(np.array([4]), np.array([9])) == []
        assert distance.between(0, 0) == 0


@settings(max_examples=examples(50), deadline=None)
@given(m=st.integers(1, 40), seed=st.integers(0, 999))
def test_consecutive_magnitudes_are_ranks(m: int, seed: int) -> None:
    draws = np.random.default_rng(seed)
    rows = draws.integers(0, 3, (5, m)) + np.eye(5, m, dtype=np.int64) + (np.arange(m) == m - 1)
    whole = rows.sum(axis=0)
    ranks = Ordered(m).emd(Counts.from_dense(rows), whole)
    magnitudes = Value(np.arange(m, dtype=object) * 10**30).emd(Counts.from_dense(rows), whole)
    assert [ranks[j] for j in range(5)] == [magnitudes[j] for j in range(5)]


def test_moves_go_from_left_to_right() -> None:
    moves = Ordered(4).plan(np.array([0, 2, 2, 0]), np.array([1, 1, 1, 1]))
    quarter, third = Fraction(1, 4), Fraction(1, 3)
    assert moves == [Move(1, 0, quarter, third), Move(2, 3, quarter, third)]
    assert moves[0].cost == Fraction(1, 12)


@pytest.mark.parametrize("distance", [Ordered(3), Value(np.array([0, 2, 3]))])
def test_alike_needs_no_move(distance: Ordered | Value) -> None:
    assert distance.plan(np.array([2, 4, 6]), np.array([1, 2, 3])) == []
