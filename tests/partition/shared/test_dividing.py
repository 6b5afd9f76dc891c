"""Rows that cannot stay one class: divided in every way, or merged with the neighbour that mends a class."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.errors import Cancelled
from tclose.partition.shared.merge import best_division, merged_with_care
from tclose.types import Bools, Ints, still

Admitted = Callable[[list[Ints]], Bools]


def on_a_line(count: int) -> np.ndarray:
    return np.linspace(0, 1, count)[:, None]


def of_sizes(*allowed: int) -> Admitted:
    return lambda classes: np.isin([len(rows) for rows in classes], allowed)


def test_a_class_joins_the_nearest_class_that_mends_it() -> None:
    """The nearest class would make three rows of the one row, and three are not admitted."""
    labels, points = np.array([0, 1, 1, 2, 2, 2]), np.array([[0.0], [0.1], [0.1], [1.0], [1.0], [1.0]])
    found = merged_with_care(labels, points, of_sizes(2, 4), still)
    assert found is not None
    assert found.tolist() == [1, 0, 0, 1, 1, 1]


def test_a_class_that_no_neighbour_mends_joins_the_nearest() -> None:
    found = merged_with_care(np.arange(6), on_a_line(6), of_sizes(3, 6), still)
    assert found is not None
    assert set(np.bincount(found).tolist()) <= {3, 6}


def test_nothing_to_do_and_nothing_to_find() -> None:
    labels = np.array([0, 1, 0, 1])
    assert merged_with_care(labels, on_a_line(4), of_sizes(2), still).tolist() == [0, 1, 0, 1]  # type: ignore[union-attr]
    assert merged_with_care(np.arange(4), on_a_line(4), of_sizes(3, 5), still) is None
    assert merged_with_care(np.zeros(1, dtype=int), on_a_line(1), of_sizes(2), still) is None


def test_it_can_be_stopped() -> None:
    def stop() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        merged_with_care(np.arange(4), on_a_line(4), of_sizes(4), stop)


def test_the_best_division_keeps_near_rows_together() -> None:
    found = best_division(np.array([[0.0], [1.0], [0.1], [0.9]]), of_sizes(2))
    assert found is not None
    assert found.tolist() == [0, 1, 0, 1]
    assert best_division(on_a_line(5), of_sizes(2, 4)) is None


@settings(max_examples=examples(80), deadline=None)
@given(st.integers(1, 7), st.sets(st.integers(1, 7), min_size=1))
def test_a_division_is_found_whenever_there_is_one(count: int, allowed: set[int]) -> None:
    """Rows can be divided if their number is a sum of admitted sizes."""
    sums = {0}
    for _ in range(count):
        sums |= {part + size for part in sums for size in allowed if part + size <= count}
    found = best_division(on_a_line(count), of_sizes(*allowed))
    assert (found is not None) == (count in sums)
    if found is not None:
        assert set(np.bincount(found).tolist()) <= allowed
