from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tclose.distance.base import extras, in_order


def test_extras_are_whole_numbers_of_one_unit() -> None:
    assert extras(np.array([1, 1, 0]), np.array([2, 1, 1])) == ([0, 2, -2], 8)


def test_extras_beyond_64_bits() -> None:
    found, unit = extras(np.array([10**18, 0]), np.array([1, 10**18]))
    assert found == [(10**18 + 1) * 10**18 - 10**18, -(10**36)]
    assert unit == 10**18 * (10**18 + 1)


def test_the_first_surplus_goes_into_the_first_deficit() -> None:
    assert in_order([3, -1, 0, -4, 2]) == [(0, 1, 1), (0, 3, 2), (4, 3, 2)]
    assert in_order([0, 0]) == []


@given(st.lists(st.integers(-9, 9), max_size=8).map(lambda extra: [*extra, -sum(extra)]))
def test_everything_is_levelled_in_the_fewest_moves_that_an_order_allows(extra: list[int]) -> None:
    left = list(extra)
    moves = in_order(extra)
    for source, target, amount in moves:
        assert amount > 0
        left[source] -= amount
        left[target] += amount
    assert not any(left)
    assert len(moves) <= max(sum(map(bool, extra)) - 1, 0)
