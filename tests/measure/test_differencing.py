"""The differencing attack against a naive one: rows of both releases as lists, subtracted class by class."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from tclose.distance import Distance, DomainFacts, Equal, Hierarchical, Matrix, Ordered
from tclose.measure.attack.base import Scene, Secret
from tclose.measure.attack.composition import DIFFERENCE, new_rows

CLASSES, VALUES = 4, 3
COSTS = np.array([[0, 2, 5], [2, 0, 4], [5, 4, 0]])
DISTANCES: tuple[Distance, ...] = (
    Matrix(COSTS),
    Equal(),
    Ordered(3),
    Hierarchical((np.arange(3), np.array([0, 0, 1]), np.zeros(3, dtype=np.int64))),
    DomainFacts(3, positions=np.array([0, 4]), missing=True).make("value"),
)
Rows = list[tuple[int, int]]
rows = st.lists(st.tuples(st.integers(0, CLASSES - 1), st.integers(0, VALUES - 1)), min_size=1, max_size=20)


def scene(pairs: Rows, *, crowd: int = 2, distance: Distance = DISTANCES[1]) -> tuple[Scene, list[int]]:
    """Return a release of rows, each of a class and a value, and how its classes are called."""
    names = list(dict.fromkeys(name for name, _ in pairs))
    labels = np.array([names.index(name) for name, _ in pairs])
    cells = np.array([value for _, value in pairs])
    secret = Secret("ill", cells, cells, VALUES, distance=distance)
    return Scene(labels, [secret], crowd, np.bincount(labels)), names


def pair(first: Rows, second: Rows, distance: Distance = DISTANCES[1]) -> Scene:
    (old, old_names), (new, new_names) = scene(first), scene(second, distance=distance)
    twins = np.array([old_names.index(name) if name in old_names else -1 for name in new_names])
    return old.with_second(new, twins)


@given(rows, rows)
def test_rows_that_were_added_are_found_class_by_class(first: Rows, added: Rows) -> None:
    seen = pair(first, first + added)
    finding = DIFFERENCE.run(seen)
    groups = [Counter(value for name, value in added if name == chosen) for chosen in {name for name, _ in added}]
    sizes = [sum(group.values()) for group in groups]
    failing = [size for group, size in zip(groups, sizes, strict=True) if size < 2 or len(group) == 1]
    assert finding.figure == min(sizes)
    assert (finding.rows, finding.of) == (sum(failing), len(added))


@given(rows, rows)
def test_a_new_row_has_a_value_that_the_attack_leaves(first: Rows, added: Rows) -> None:
    """The second release has other classes: all rows are one, so only values can be subtracted."""
    second = [(99, value) for _, value in first + added]
    seen = pair(first, second)
    assert seen.second is not None
    assert seen.twins is not None
    new = new_rows(seen, seen.second, seen.twins, seen.secrets[0], seen.second.secrets[0])
    assert dict(zip(new.cells.tolist(), new.counts.tolist(), strict=True)) == Counter(value for _, value in added)


def test_it_needs_a_second_release_with_more_rows() -> None:
    alone, _ = scene([(0, 0), (0, 1)])
    assert DIFFERENCE.run(alone).figure is None
    assert "no more rows" in DIFFERENCE.run(pair([(0, 0), (0, 1)], [(0, 0), (0, 1)])).sentence


def test_a_class_that_lost_a_row_is_another_class() -> None:
    finding = DIFFERENCE.run(pair([(0, 0), (0, 1)], [(0, 0), (0, 0), (0, 2), (0, 2)]))
    assert finding.figure is not None
    assert finding.details["new_rows"] == 2


def moved(distance: Distance, group: Counter[int], whole: Counter[int]) -> float:
    """Return the least work between two distributions of three values, by a linear programme."""
    apart = [float(distance.between(a, b)) for a in range(VALUES) for b in range(VALUES)]
    ways = np.eye(VALUES * VALUES).reshape(VALUES, VALUES, -1)
    ends = np.concatenate([ways.sum(axis=1), ways.sum(axis=0)])
    shares = [counted[value] / counted.total() for counted in (group, whole) for value in range(VALUES)]
    return float(linprog(apart, A_eq=ends, b_eq=shares).fun)


@given(rows, rows, st.sampled_from(DISTANCES))
def test_distances_of_new_rows_are_those_of_the_policy(first: Rows, added: Rows, distance: Distance) -> None:
    finding = DIFFERENCE.run(pair(first, first + added, distance))
    whole = Counter(value for _, value in first + added)
    groups = [Counter(value for name, value in added if name == chosen) for chosen in {name for name, _ in added}]
    farthest = max(moved(distance, group, whole) for group in groups)
    assert finding.details["distance"]["ill"] == pytest.approx(farthest, abs=6e-5)
