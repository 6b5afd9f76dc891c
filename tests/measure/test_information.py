"""Mutual information and correlations, as laws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.measure import detail_kept
from tclose.measure.detail_kept import (
    Occurring,
    believed_dense,
    believed_sparse,
    correlation,
    information_between,
    of_column,
)
from tclose.measure.linkage import Links, packed
from tclose.measure.pair import Detail, SensitiveCells, VisibleColumn, joint

COUNTS = st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=1, max_size=5).filter(
    lambda rows: any(map(sum, rows))
)


def mutual_information(shares: np.ndarray) -> float:
    return detail_kept._information(shares, shares.sum(axis=1), shares.sum(axis=0))


@settings(deadline=None)
@given(rows=COUNTS)
def test_information_is_symmetric_and_bounded_by_either_entropy(rows: list[list[int]]) -> None:
    shares = np.array(rows) / np.sum(rows)
    found = mutual_information(shares)
    assert found == pytest.approx(mutual_information(shares.T))
    for axis in (0, 1):
        p = shares.sum(axis=axis)
        assert -1e-12 <= found <= -(p[p > 0] * np.log(p[p > 0])).sum() + 1e-12


@settings(deadline=None)
@given(rows=COUNTS, shares=st.lists(st.integers(1, 9), min_size=5, max_size=5))
def test_sharing_out_never_adds_information(rows: list[list[int]], shares: list[int]) -> None:
    """A reader who shares texts out among cells knows no more than the texts say."""
    counts = np.array(rows)
    texts, values = (np.repeat(index.ravel(), counts.ravel()) for index in np.indices(counts.shape))
    spread = np.array([np.roll(shares, row) for row in range(len(rows))]) / sum(shares)
    column = VisibleColumn("q", np.zeros(1, dtype=int), texts, spread, np.ones(len(rows)), None, None)
    other = SensitiveCells("s", values, values, 3, None)
    after = joint(column, other, after=True)
    assert after.sum() == pytest.approx(1)
    assert mutual_information(after) <= mutual_information(counts / counts.sum()) + 1e-9


def test_a_marginal_by_hand() -> None:
    # before: a, a, b; after: {a, b} three times
    column = VisibleColumn(
        "q", np.array([0, 0, 1]), np.zeros(3, dtype=int), np.array([[0.5, 0.5]]), np.array([2]), None, None
    )
    assert of_column(column) == pytest.approx(1 - (2 / 3 - 1 / 2))


def test_correlations_skip_what_is_missing_and_what_is_constant() -> None:
    assert correlation(np.array([1, 2, np.nan, 4]), np.array([2, 4, 9, 8])) == pytest.approx(1)
    assert correlation(np.array([1.0, 1.0]), np.array([1.0, 2.0])) is None
    assert correlation(np.array([1.0]), np.array([1.0])) is None


@settings(deadline=None)
@given(data=st.lists(st.tuples(st.integers(-99, 99), st.integers(-99, 99)), min_size=2, max_size=30))
def test_correlation_agrees_with_numpy(data: list[tuple[int, int]]) -> None:
    one, other = np.array(data, dtype=float).T
    found = correlation(one, other)
    if np.ptp(one) and np.ptp(other):
        assert found == pytest.approx(np.corrcoef(one, other)[0, 1])
    else:
        assert found is None


@settings(deadline=None, max_examples=examples(25))
@given(seed=st.integers(0, 10_000), rows=st.integers(1, 60), classes=st.integers(1, 12), values=st.integers(1, 30))
def test_both_ways_to_look_at_all_pairs_agree(seed: int, rows: int, classes: int, values: int) -> None:
    """Rows against all classes, or only against the classes that show the row's value."""
    chance = np.random.default_rng(seed)
    cells, covers = chance.integers(0, 4, (2, rows)), chance.random((2, classes, 5)) < 0.6
    fits = [packed(column, np.arange(classes)) for column in covers]
    labels = np.unique(chance.integers(0, classes, rows), return_inverse=True)[1]
    people = Links.of(list(cells), fits, np.ones(classes, dtype=np.int64))
    attribute = SensitiveCells("s", chance.integers(0, values, rows), chance.integers(0, values, rows), values, None)
    occurring = Occurring.of(Detail((), (attribute,), labels, people), attribute)
    weights = chance.random(len(occurring.class_number))
    beats = list[int]()
    people = replace(people, beat=lambda: beats.append(1))
    dense, sparse = (way(people, occurring, weights) for way in (believed_dense, believed_sparse))
    assert len(beats) >= 2, "both ways can be stopped"
    assert sparse == pytest.approx(dense)
    for row, classes_of_row in enumerate(people.fitting(slice(0, len(people.rows)))):
        fit = people.fit(np.full(classes, row), np.arange(classes))
        assert fit.tolist() == classes_of_row.tolist()


def test_values_in_stretches_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(3)
    texts, values = chance.integers(0, 3, 90), chance.integers(0, 7, 90)
    column = VisibleColumn("q", texts, texts, np.eye(3), np.ones(3), None, None)
    attribute = SensitiveCells("s", values, values, 7, None)
    whole = mutual_information(joint(column, attribute, after=True))
    monkeypatch.setattr(detail_kept, "VALUES", 2)
    for after in (False, True):
        assert information_between(column, attribute, after=after) == pytest.approx(whole)
