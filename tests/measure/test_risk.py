"""Prosecutor, journalist and marketer, by hand and as laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose.measure.risk import journalist, marketer, prosecutor, unique

CLASSES = st.lists(st.tuples(st.integers(1, 50), st.integers(0, 50)), min_size=1, max_size=20)


def test_by_hand() -> None:
    sizes, people = np.array([2, 3, 5]), np.array([10, 3, 0])
    assert prosecutor(sizes) == 1 / 2
    assert journalist(sizes, people) == 1 / 3
    assert marketer(sizes, people) == pytest.approx((2 / 10 + 3 / 3 + 0) / 10)
    assert unique(np.array([1, 1, 2]), np.array([1, 2, 1])).tolist() == [1, 0, 0]


def test_a_register_that_knows_nobody_links_nobody() -> None:
    sizes = np.array([1, 4])
    assert journalist(sizes, np.zeros(2, dtype=np.int64)) == 0
    assert marketer(sizes, np.zeros(2, dtype=np.int64)) == 0


@settings(deadline=None)
@given(classes=CLASSES)
def test_no_register_helps_more_than_knowing_who_is_in_the_table(classes: list[tuple[int, int]]) -> None:
    sizes, people = (np.array(column) for column in zip(*classes, strict=True))
    assert 0 <= journalist(sizes, people) <= prosecutor(sizes) <= 1
    assert 0 <= marketer(sizes, people) <= len(sizes) / sizes.sum()


@settings(deadline=None)
@given(classes=CLASSES)
def test_the_table_as_its_own_register_is_the_worst_case(classes: list[tuple[int, int]]) -> None:
    sizes = np.array([size for size, _ in classes])
    assert journalist(sizes, sizes) == prosecutor(sizes)
    assert marketer(sizes, sizes) == pytest.approx(len(sizes) / sizes.sum())
