"""What a problem tells of classes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.distance import Equal, Ordered
from tclose.partition import problem as module
from tclose.partition.problem import Attribute, Problem
from tclose.privacy.ldiversity import DistinctL


@settings(max_examples=examples(80), deadline=None)
@given(st.integers(0, 3), st.integers(1, 12), st.integers(1, 4), st.sampled_from([0, 2**16]), st.integers(0, 99))
def test_a_class_is_admitted_if_it_has_k_rows_and_every_attribute_admits_it(
    attributes: int, classes: int, k: int, most_sorted: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    labels = random.permutation(np.arange(40) % classes)
    kinds = [(Ordered(5), Fraction(1, 5), ()), (Equal(), Fraction(1, 2), ()), (Equal(), None, (DistinctL(3),))]
    sensitive = []
    for distance, t, models in kinds[:attributes]:
        codes = random.integers(0, 5, 40)
        sensitive.append(Attribute(codes, np.bincount(codes, minlength=5), distance, t, models=models))
    expected = np.bincount(labels) >= k
    for attribute in sensitive:
        expected &= attribute.admitted(labels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_SORTED", most_sorted)
        assert Problem(np.zeros((40, 1)), tuple(sensitive), k).admitted(labels).tolist() == expected.tolist()
