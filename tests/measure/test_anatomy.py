"""The reconstruction error of Xiao & Tao, against its definition row by row."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.measure.information_loss import reconstruction_error


def by_definition(labels: list[int], codes: list[int]) -> float:
    """Σ over rows of the squared distance between the row's true value and its group's shares, per row."""
    error = 0.0
    for label, code in zip(labels, codes, strict=True):
        mine = [c for other, c in zip(labels, codes, strict=True) if other == label]
        error += sum((count / len(mine) - (value == code)) ** 2 for value, count in Counter(mine).items())
    return error / len(labels)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=30))
def test_it_is_the_papers(rows: list[tuple[int, int]]) -> None:
    labels = np.unique([label for label, _ in rows], return_inverse=True)[1]
    codes = [code for _, code in rows]
    assert reconstruction_error(labels, np.array(codes)) == pytest.approx(by_definition(labels.tolist(), codes))


def test_groups_of_l_different_values_reach_its_lower_bound() -> None:
    """Theorem: with l-diversity the error per row is at least 1 - 1/l, reached by groups of l different values."""
    labels, codes = np.repeat(np.arange(5), 4), np.tile(np.arange(4), 5)
    assert reconstruction_error(labels, codes) == pytest.approx(1 - 1 / 4)
