"""Sensitive values lie as far apart as their ground distances say."""

from __future__ import annotations

import numpy as np
import pytest

from tclose.distance import Distance, Equal, Hierarchical, Matrix, Ordered, Value
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared.buckets import LANDMARKS, Embedding, placed

TREE = (np.arange(6), np.array([0, 0, 1, 1, 1, 2]), np.array([0, 0, 0, 0, 0, 1]), np.zeros(6, dtype=np.int64))
PLANE = np.array([[0, 0], [3, 0], [0, 4], [3, 4], [6, 8], [0, 8]])
COSTS = np.rint(1000 * np.sqrt(((PLANE[:, None] - PLANE) ** 2).sum(axis=2))).astype(np.int64)


def shown(distance: Distance, codes: np.ndarray, values: int = 6) -> Attribute:
    return Attribute(codes, np.bincount(codes, minlength=values), distance, None)


@pytest.mark.parametrize(
    "distance",
    [Ordered(6), Value(np.array([0, 1, 5, 7, 8, 20])), Equal(), Hierarchical(TREE), Matrix(COSTS)],
    ids=lambda distance: distance.name,
)
def test_places_are_as_far_apart_as_values(distance: Distance) -> None:
    points = placed(shown(distance, np.array([0, 0, 0, 1, 2, 3, 3, 4, 5])))
    for i in range(6):
        for j in range(6):
            apart = np.linalg.norm(points[i] - points[j])
            assert apart == pytest.approx(float(distance.between(i, j)), abs=1e-3)


def test_several_attributes_add_their_squares() -> None:
    first, second = np.array([0, 0, 1, 1, 5, 5]), np.array([0, 0, 3, 0, 3, 3])
    problem = Problem(np.zeros((6, 1)), (shown(Ordered(6), first), shown(Equal(), second)))
    found = Embedding.of(problem)
    assert found.counts.tolist() == [2, 1, 1, 2]
    apart = np.linalg.norm(found.points[found.of_row[0]] - found.points[found.of_row[4]])
    assert apart == pytest.approx(np.sqrt(1**2 + 1**2))
    assert len({int(found.of_row[row]) for row in (0, 1)}) == 1


def test_a_large_domain_is_fitted_between_its_commonest_values() -> None:
    values = 4 * LANDMARKS
    levels = (np.arange(values), np.arange(values) // 512, np.zeros(values, dtype=np.int64))
    codes = np.concatenate((np.arange(values), np.repeat(np.arange(0, values, 4), 3)))
    points = placed(shown(Hierarchical(levels), codes, values))
    assert points.shape[0] == values
    near = np.linalg.norm(points[1] - points[2])
    assert near < np.linalg.norm(points[1] - points[values - 2])


def test_the_order_follows_the_component_of_most_variation() -> None:
    """Two attributes that rise together: the order is theirs; a third that hardly varies changes nothing."""
    codes = np.random.default_rng(3).permutation(30)
    still = np.zeros(30, dtype=np.int64)
    attributes = (shown(Ordered(30), codes, 30), shown(Ordered(30), codes, 30), shown(Equal(), still))
    found = Embedding.of(Problem(np.zeros((30, 1)), attributes))
    rank = np.empty(30, dtype=np.int64)
    rank[found.order()] = np.arange(30)
    places = rank[found.of_row]
    assert (places == codes).all() or (places == 29 - codes).all()


def test_no_attribute_and_one_value() -> None:
    assert Embedding.of(Problem(np.zeros((3, 1)), ())).counts.tolist() == [3]
    constant = shown(Equal(), np.zeros(4, dtype=np.int64), 1)
    assert Embedding.of(Problem(np.zeros((4, 1)), (constant,))).order().tolist() == [0]
