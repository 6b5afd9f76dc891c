"""Redistribution: the leaves of the ECTree share every bucket out, and classes are filled with just those rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.errors import PolicyError
from tclose.partition.shared.redistribution import NEARS, check_near, filled, leaves, within

brief = settings(max_examples=examples(50), deadline=None)


def shares_within(room: float, sizes: np.ndarray):
    return lambda nodes: np.abs(nodes / nodes.sum(axis=1, keepdims=True) - sizes / sizes.sum()).max(axis=1) <= room


@brief
@given(st.lists(st.integers(1, 60), min_size=1, max_size=6), st.integers(1, 9), st.sampled_from([0.0, 0.05, 0.2, 1.0]))
def test_leaves_share_all_rows_out_and_are_all_admitted(sizes: list[int], k: int, room: float) -> None:
    whole = np.array(sizes)
    admits = shares_within(room, whole)
    found = leaves(whole, admits, k)
    assert found.sum(axis=0).tolist() == sizes
    assert admits(found).all()
    assert len(found) == 1 or found.sum(axis=1).min() >= k
    if room == 1.0 and whole.sum() >= 2 * k:
        assert found.sum(axis=1).max() <= 2 * k  # whatever can be halved is halved


def test_odd_rows_go_to_either_half_in_turns() -> None:
    found = leaves(np.array([3, 5, 7, 9]), lambda nodes: nodes.sum(axis=1) > 6, 1)
    assert sorted(found.tolist()) == [[1, 3, 3, 5], [2, 2, 4, 4]]


def test_a_fraction_decides_at_the_line() -> None:
    nodes = np.array([[1, 2], [2, 4], [1, 3], [1, 1]])
    excess = np.array([1e-17, -1e-17, -0.1, 0.1])
    asked: list[list[int]] = []

    def exactly(node: list[int]) -> Fraction:
        asked.append(node)
        return Fraction(node[0] - 1)

    assert within(excess, nodes, exactly).tolist() == [True, False, True, False]
    assert asked == [[1, 2], [2, 4]]


@pytest.mark.parametrize("near", NEARS)
@brief
@given(data=st.data())
def test_every_class_gets_the_rows_that_it_takes(near: str, data: st.DataObject) -> None:
    takes = np.array(data.draw(st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=8)))
    takes = takes[takes.sum(axis=1) > 0]
    if not len(takes):
        return
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    bucket = random.permutation(np.repeat(np.arange(3), takes.sum(axis=0)))
    points = random.integers(0, 4, (len(bucket), 2)) / 3
    labels = filled(points, bucket, takes, near, 1, lambda done: None)
    found = np.zeros_like(takes)
    np.add.at(found, (labels, bucket), 1)
    assert (found == takes).all()
    assert (filled(points, bucket, takes, near, 1, lambda done: None) == labels).all()


@pytest.mark.parametrize("near", NEARS)
def test_rows_apart_come_into_classes_apart(near: str) -> None:
    points = np.repeat(np.arange(8) / 7, 6)[:, None]
    bucket = np.tile([0, 0, 0, 0, 1, 1], 8)
    labels = filled(points, bucket, np.tile([4, 2], (8, 1)), near, 3, lambda done: None)
    assert all(len(set(labels[i : i + 6])) == 1 for i in range(0, 48, 6))


def test_nearest_rows_are_nearest() -> None:
    points = np.array([[0.0], [0.1], [0.2], [0.9], [1.0], [0.8]])
    labels = filled(points, np.zeros(6, dtype=np.int64), np.array([[3], [3]]), "nearest", 0, lambda done: None)
    assert {frozenset(np.flatnonzero(labels == c).tolist()) for c in (0, 1)} == {
        frozenset({0, 1, 2}),
        frozenset({3, 4, 5}),
    }


def test_progress_only_grows() -> None:
    told: list[float] = []
    filled(
        np.zeros((1000, 1)), np.zeros(1000, dtype=np.int64), np.ones((1000, 1), dtype=int), "hilbert", 0, told.append
    )
    assert told == sorted(told)
    assert len(told) > 3
    assert told[-1] == 1.0


def test_there_is_no_other_way() -> None:
    with pytest.raises(PolicyError, match="did you mean 'hilbert'"):
        check_near("hilber")
