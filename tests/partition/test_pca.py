"""pca: rows in the order of the sensitive values' first principal component, one class row from each stretch."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.distance import Equal, Hierarchical, Ordered
from tclose.partition.pca import cut, partition
from tclose.partition.problem import Attribute, Problem

DATA = Path(__file__).parents[3] / "shared" / "data"
TREE = (np.arange(6), np.array([0, 0, 1, 1, 1, 1]), np.zeros(6, dtype=np.int64))


def ranks(rows: int, t: str, k: int) -> Problem:
    """Distinct values, in an order that has nothing to do with the quasi-identifier's."""
    codes = np.random.default_rng(rows).permutation(rows)
    one = Attribute(codes, np.ones(rows, dtype=np.int64), Ordered(rows), Fraction(t))
    return Problem(np.linspace(0, 1, rows)[:, None], (one,), k)


def test_the_rows_left_over_are_central() -> None:
    of_row = cut(np.arange(11), 4)
    assert of_row.tolist() == [0, 0, 1, 1, 4, 4, 4, 2, 2, 3, 3]


@pytest.mark.parametrize("k", [2, 5, 10])
def test_each_class_has_one_row_of_each_stretch(k: int) -> None:
    problem = ranks(100, "1", k)
    labels = partition(problem, size="k")
    codes = problem.sensitive[0].codes
    for label in range(100 // k):
        assert sorted(codes[labels == label] * k // 100) == list(range(k))


def test_one_row_of_each_stretch_bounds_the_distance() -> None:
    """Earth moves within its stretch of n/k ranks only: nobody is farther than half of that from the table."""
    rows, k = 120, 6
    problem = ranks(rows, str(Fraction(rows // k, 2 * (rows - 1))), k)
    labels = partition(problem, size="k")
    assert np.bincount(labels).tolist() == [k] * (rows // k)


def test_any_number_of_attributes_and_distances() -> None:
    random = np.random.default_rng(6)
    kinds = (Ordered(6), Equal(), Hierarchical(TREE))
    guarded = tuple(
        Attribute(codes, np.bincount(codes, minlength=6), kind, Fraction(1, 4))
        for kind, codes in zip(kinds, random.integers(0, 6, (3, 300)), strict=True)
    )
    problem = Problem(random.random((300, 2)), guarded, 3)
    labels = partition(problem)
    assert problem.admitted(labels).all()
    assert labels.max() >= 10
    assert (labels == partition(problem, seed=5)).all()


@pytest.mark.skipif(not DATA.exists(), reason="needs ../shared/data")
def test_a_real_table_with_two_attributes() -> None:
    frame = pl.read_csv(DATA / "census_casc.csv")
    policy = tclose.Policy.from_dict(
        {
            "quasi": ["TAXINC", "POTHVAL"],
            "sensitive": {"FEDTAX": {"t": 0.25}, "FICA": {"t": 0.25}},
            "k": 3,
            "others": "drop",
        }
    )
    with pytest.warns(tclose.LeakWarning):
        content = tclose.anonymize(frame, policy, method="pca", seed=1).certificate.content
    assert content["classes"] > 300
    assert content["measures"]["gcp"] < 0.35
