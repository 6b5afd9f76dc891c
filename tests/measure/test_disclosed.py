"""What classes disclose on average: the mean KL divergence of the classes, within the bounds of mutual information."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.distance import Counts
from tclose.measure.detail_kept import disclosed_by_classes
from tclose.privacy.divergence import divergences

rows = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=40)


def entropy(codes: np.ndarray) -> float:
    shares = np.unique(codes, return_counts=True)[1] / len(codes)
    return -sum(share * math.log(share) for share in shares)


@settings(max_examples=examples(60), deadline=None)
@given(rows)
def test_it_is_the_mean_divergence_of_the_classes(given_rows: list[tuple[int, int]]) -> None:
    labels, values = np.array(given_rows).T
    labels = np.unique(labels, return_inverse=True)[1]
    counts = Counts.from_codes(labels, values, 6)
    mean = counts.sizes @ divergences(counts, np.bincount(values, minlength=6)) / len(values)
    found = disclosed_by_classes(labels, values)
    assert found == pytest.approx(mean, rel=1e-9, abs=1e-12)
    assert 0 <= found <= min(entropy(labels), entropy(values)) + 1e-12


def test_one_class_discloses_nothing_and_classes_of_one_value_everything() -> None:
    values = np.array([3, 3, 1, 0])
    assert disclosed_by_classes(np.zeros(4, dtype=np.int64), values) == 0
    assert disclosed_by_classes(values, values) == pytest.approx(entropy(values))
