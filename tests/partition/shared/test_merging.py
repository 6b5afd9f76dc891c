"""Failing classes join a neighbour of their group until none fails."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.conftest import examples

from tclose import InternalError
from tclose.partition import merged
from tclose.types import Ints


def smaller_than(k: int) -> Callable[[Ints], NDArray[np.bool_]]:
    return lambda labels: np.bincount(labels) < k


def on_a_line(count: int) -> NDArray[np.float64]:
    return np.linspace(0, 1, count)[:, None]


def test_nothing_to_do() -> None:
    labels = np.array([0, 0, 1, 1])
    assert merged(labels, np.zeros(4, dtype=int), on_a_line(4), smaller_than(2)) is labels


def test_a_failing_class_joins_the_nearer_neighbour() -> None:
    points = np.array([[0.0], [0.1], [0.45], [0.9], [1.0]])
    labels = np.array([0, 0, 1, 2, 2])
    assert merged(labels, np.zeros(5, dtype=int), points, smaller_than(2)).tolist() == [0, 0, 0, 1, 1]
    points[2] = 0.55
    assert merged(labels, np.zeros(5, dtype=int), points, smaller_than(2)).tolist() == [0, 0, 1, 1, 1]


def test_neighbours_in_the_plane() -> None:
    """Two clusters; the lonely row of each goes to its own cluster."""
    points = np.array([[0, 0], [0.1, 0], [0.1, 0.1], [1, 1], [0.9, 1], [0.9, 0.9]])
    labels = np.array([0, 0, 1, 2, 2, 3])
    assert merged(labels, np.zeros(6, dtype=int), points, smaller_than(2)).tolist() == [0, 0, 0, 1, 1, 1]


def test_groups_stay_apart() -> None:
    groups = np.array([0, 1, 0, 1])
    assert merged(np.arange(4), groups, on_a_line(4), smaller_than(2)).tolist() in ([0, 1, 0, 1], [1, 0, 1, 0])


def test_what_fails_as_a_whole_group_is_a_bug() -> None:
    """It was judged before; to go on would merge groups that are published apart, or never end."""
    for groups in ([0, 0, 0], [0, 1, 1], [0, 1, 2]):
        with pytest.raises(InternalError, match="all of its group"):
            merged(np.arange(3), np.array(groups), on_a_line(3), smaller_than(4))


def test_many_dimensions() -> None:
    points = np.random.default_rng(0).random((9, 100))
    found = merged(np.arange(9), np.zeros(9, dtype=int), points, smaller_than(3))
    assert np.bincount(found).min() >= 3


@settings(max_examples=examples(80), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=40), st.data())
def test_merging_ends_and_only_merges(rows: list[tuple[int, int, int]], data: st.DataObject) -> None:
    given_groups, x, y = (np.array(column) for column in zip(*rows, strict=True))
    groups = np.unique(given_groups, return_inverse=True)[1]
    k = data.draw(st.integers(1, int(np.bincount(groups).min())))
    labels = np.unique(groups * 10 + x // 2, return_inverse=True)[1]
    found = merged(labels, groups, np.stack([x / 9, y / 9], axis=1), smaller_than(k))
    assert np.bincount(found).min() >= k
    assert len(np.unique(found)) == found.max() + 1
    for old in np.unique(labels):
        assert len(set(found[labels == old].tolist())) == 1  # no class was torn apart
    for new in np.unique(found):
        assert len(set(groups[found == new].tolist())) == 1  # and no groups were joined
