"""clustering: fuzzy clusters of equal size over all sensitive attributes, one class row from each of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.distance import Equal, Ordered
from tclose.partition import clustering, pca
from tclose.partition.clustering import Clusters, partition
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared.buckets import Embedding

VALUES = 40


def problem_of(columns: np.ndarray, t: str = "1", k: int = 1, points: np.ndarray | None = None) -> Problem:
    """One ordered attribute per column."""
    guarded = tuple(
        Attribute(codes, np.bincount(codes, minlength=VALUES), Ordered(VALUES), Fraction(t)) for codes in columns.T
    )
    places = np.linspace(0, 1, len(columns))[:, None] if points is None else points
    return Problem(places, guarded, k)


def clustered(problem: Problem, count: int) -> np.ndarray:
    embedding = Embedding.of(problem)
    return Clusters.of(embedding, count).shared_out(embedding)


@settings(max_examples=examples(40), deadline=None)
@given(rows=st.integers(1, 80), data=st.data())
def test_clusters_are_equally_large(rows: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, rows))
    columns = np.random.default_rng(rows).integers(0, data.draw(st.integers(1, VALUES)), (rows, 2))
    sizes = np.bincount(clustered(problem_of(columns), count), minlength=count + 1)
    assert (sizes[:-1] == rows // count).all()
    assert sizes[-1] == rows % count


def test_groups_that_lie_apart_are_found() -> None:
    """Four groups in the corners, which no single order of rows would tell apart."""
    random = np.random.default_rng(2)
    corner = random.permutation(np.repeat(np.arange(4), 25))
    columns = np.stack((corner % 2, corner // 2), axis=1) * 32 + random.integers(0, 8, (100, 2))
    found = clustered(problem_of(columns), 4)
    assert len(set(zip(corner.tolist(), found.tolist(), strict=True))) == 4


def test_a_common_value_gets_clusters_in_proportion() -> None:
    codes = np.repeat([0, 1, 2], [50, 30, 20])
    one = Attribute(codes, np.bincount(codes), Equal(), Fraction(1))
    found = clustered(Problem(np.zeros((100, 1)), (one,)), 10)
    assert len(set(zip(codes.tolist(), found.tolist(), strict=True))) == 10


def test_the_surest_rows_choose_first() -> None:
    """Rows in the middle are left over, not those at a mean."""
    codes = np.array([0] * 10 + [20] + [39] * 10)[:, None]
    found = clustered(problem_of(codes), 2)
    assert found[10] == 2
    assert len(set(found[:10])) == len(set(found[11:])) == 1


def within(problem: Problem, of_row: np.ndarray) -> float:
    """Return the squared distances from the buckets' means, added up."""
    embedding = Embedding.of(problem)
    rows = embedding.points[embedding.of_row]
    return sum(float(((rows[of_row == b] - rows[of_row == b].mean(axis=0)) ** 2).sum()) for b in np.unique(of_row))


def test_clusters_are_tighter_than_stretches_of_one_component() -> None:
    problem = problem_of(np.random.default_rng(8).integers(0, VALUES, (400, 2)))
    embedding = Embedding.of(problem)
    rank = np.argsort(embedding.order())
    stretches = pca.cut(np.argsort(rank[embedding.of_row], kind="stable"), 16)
    assert within(problem, clustered(problem, 16)) < 0.7 * within(problem, stretches)


def test_means_may_be_learned_from_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustering, "ENTRIES", 400)
    problem = problem_of(np.random.default_rng(8).integers(0, VALUES, (1000, 2)))
    found = clustered(problem, 4)
    assert np.bincount(found).tolist() == [250] * 4
    assert within(problem, found) < 0.5 * within(problem, np.zeros(1000, dtype=np.int64))


@pytest.mark.parametrize("size", ["searched", "k"])
def test_every_class_holds_what_is_asked_for(size: str) -> None:
    random = np.random.default_rng(9)
    problem = problem_of(random.integers(0, VALUES, (500, 3)), "1/8", 4, random.random((500, 2)))
    labels = partition(problem, size=size)  # type: ignore[arg-type]
    assert problem.admitted(labels).all()
    assert labels.max() >= 20 * (size == "searched")
    assert (labels == partition(problem, size=size, seed=3)).all()  # type: ignore[arg-type]


def test_classes_take_one_row_of_each_cluster() -> None:
    problem = problem_of(np.random.default_rng(1).integers(0, VALUES, (60, 2)), k=5)
    labels, found = partition(problem, size="k"), clustered(problem, 5)
    assert all(sorted(found[labels == label]) == [0, 1, 2, 3, 4] for label in range(12))
