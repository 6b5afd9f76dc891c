"""SABRE: buckets that keep its bound, ECTree leaves that keep it with their slack, and classes within t, exactly."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.distance import Distance, DomainFacts, Equal, Hierarchical, Matrix, Ordered, Value
from tclose.errors import Infeasible, PolicyError, Unsuited
from tclose.partition.problem import Attribute, Problem
from tclose.partition.sabre import bound, bucketize, ground_of, partition
from tclose.partition.shared.redistribution import NEARS, leaves

LEVELS = (np.arange(6), np.array([0, 0, 1, 1, 1, 2]), np.array([0, 0, 0, 0, 0, 1]), np.zeros(6, dtype=np.int64))
DISTANCES: dict[str, Distance] = {
    "ordered": Ordered(6),
    "value": Value(np.array([0, 1, 5, 6, 50, 60])),
    "vast": Value(np.array([0, 1, 10**9, 10**15, 10**18, 10**19], dtype=object)),
    "missing": DomainFacts(6, positions=np.array([0, 1, 5, 6, 50]), missing=True).make("value"),
    "equal": Equal(),
    "hierarchical": Hierarchical(LEVELS),
}
every_distance = pytest.mark.parametrize("kind", DISTANCES)
brief = settings(max_examples=examples(60), deadline=None)
levels = st.sampled_from([Fraction(0), Fraction(1, 50), Fraction(1, 10), Fraction(1, 4), Fraction(1, 2), Fraction(1)])
counts = st.lists(st.integers(0, 12), min_size=6, max_size=6).filter(any)


def attribute(kind: str, here: list[int], t: Fraction | None) -> Attribute:
    codes = np.repeat(np.arange(6), here)
    return Attribute(codes, np.array(here), DISTANCES[kind], t)


def far_at_worst(distance: Distance, here: np.ndarray, values: np.ndarray) -> Fraction:
    """Δ from its definition: all mass of a bucket, in rows, moved onto the worst of its values."""
    return max(sum((int(here[v]) * distance.between(int(v), int(j)) for v in values), Fraction(0)) for j in values)


@every_distance
@brief
@given(here=counts, room=levels)
def test_buckets_satisfy_the_bound(kind: str, here: list[int], room: Fraction) -> None:
    distance, rows = DISTANCES[kind], sum(here)
    ground = ground_of(distance, np.array(here))
    buckets = bucketize(ground, rows, room)
    assert sorted(np.concatenate(buckets)) == [v for v in range(6) if here[v]]
    worst = [far_at_worst(distance, np.array(here), values) for values in buckets]
    assert worst == [Fraction(ground.worst(values), ground.unit) for values in buckets]
    assert sum(worst) / rows <= room


@every_distance
def test_the_ends_of_bucketisation(kind: str) -> None:
    ground = ground_of(DISTANCES[kind], np.array([3, 1, 4, 1, 5, 9]))
    assert len(bucketize(ground, 23, Fraction(1))) == 1
    assert len(bucketize(ground, 23, Fraction(0))) == 6


def test_a_line_is_split_where_the_bound_falls_most() -> None:
    ground = ground_of(Ordered(6), np.array([1, 1, 1, 1, 1, 1]))
    assert [values.tolist() for values in bucketize(ground, 6, Fraction(1, 5))] == [[0, 1, 2], [3, 4, 5]]
    skewed = ground_of(Ordered(6), np.array([50, 1, 1, 1, 1, 1]))
    assert [values.tolist() for values in bucketize(skewed, 55, Fraction(1, 10))] == [[0], [1, 2, 3, 4, 5]]


def test_a_tree_is_split_at_its_nodes_and_equal_values_by_frequency() -> None:
    tree = ground_of(DISTANCES["hierarchical"], np.array([2, 2, 2, 2, 2, 2]))
    assert [values.tolist() for values in bucketize(tree, 12, Fraction(1, 2))] == [[0, 1, 2, 3, 4], [5]]
    assert [values.tolist() for values in bucketize(tree, 12, Fraction(1, 4))] == [[0, 1], [2, 3, 4], [5]]
    flat = ground_of(Equal(), np.array([9, 1, 2, 30, 1, 1]))
    assert [sorted(values.tolist()) for values in bucketize(flat, 44, Fraction(1, 8))] == [[1, 2, 4, 5], [0], [3]]


def test_a_bucket_around_the_middle_is_far_from_the_missing_value() -> None:
    """Its mean lies in the middle of the line, its values do not."""
    one = attribute("missing", [8, 0, 0, 1, 1, 1], Fraction(1, 10))
    slack = bound(one)
    leaf = len(slack.buckets) - 1
    node = [0] * leaf + [1]
    assert one.emd_of(slack.buckets[leaf][:1], one.reference) <= slack.excess(node) + slack.room


@every_distance
@brief
@given(here=counts, t=levels, data=st.data())
def test_no_class_is_farther_than_the_bound_says(kind: str, here: list[int], t: Fraction, data: st.DataObject) -> None:
    """Whatever a class takes from the buckets, and whatever rows it takes."""
    one = attribute(kind, here, t)
    slack = bound(one)
    node = [data.draw(st.integers(0, int(size))) for size in slack.sizes]
    if not any(node):
        return
    taken = []
    for values, rows in zip(slack.buckets, node, strict=True):
        pool = np.repeat(values, np.array(here)[values])
        worst = int(values[data.draw(st.sampled_from([0, -1]))])  # rows of one end first, to be far away
        taken.append(pool[np.argsort(np.abs(pool - worst), kind="stable")][:rows])
    reached = one.emd_of(np.concatenate(taken), one.reference)
    assert reached <= slack.excess(node) + slack.room
    assert slack.admits(np.array([node])).tolist() == [slack.excess(node) <= 0]


@every_distance
@brief
@given(here=counts, t=levels, k=st.integers(1, 4))
def test_leaves_of_the_tree_satisfy_the_bound(kind: str, here: list[int], t: Fraction, k: int) -> None:
    slack = bound(attribute(kind, here, t))
    found = leaves(slack.sizes, slack.admits, k)
    assert found.sum(axis=0).tolist() == slack.sizes.tolist()
    assert all(slack.excess(node) <= 0 for node in found.tolist())


@every_distance
@pytest.mark.parametrize("near", NEARS)
@brief
@given(data=st.data())
def test_every_class_is_within_t(kind: str, near: str, data: st.DataObject) -> None:
    random = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    rows = data.draw(st.integers(1, 200))
    codes = random.choice(6, rows, p=random.dirichlet(np.ones(6)))
    reference = np.bincount(codes, minlength=6) + random.integers(0, 3, 6)  # the rows may be a part of the table
    one = Attribute(codes, reference, DISTANCES[kind], data.draw(levels))
    problem = Problem(random.random((rows, 2)), (one,), data.draw(st.integers(1, min(rows, 5))))
    slack = data.draw(st.sampled_from([Fraction(0), 0.1, Fraction(1, 2), Fraction(999, 1000)]))
    if one.t is not None and one.emd_of(codes, reference) > one.t:
        with pytest.raises(Infeasible):
            partition(problem, near=near, slack=slack)
        return
    labels = partition(problem, near=near, slack=slack, seed=1)
    assert problem.admitted(labels).all()
    assert (partition(problem, near=near, slack=slack, seed=1) == labels).all()


@every_distance
@brief
@given(here=counts, t=levels, slack=st.fractions(0, Fraction(9, 10)))
def test_buckets_leave_the_slack_that_is_asked_for(kind: str, here: list[int], t: Fraction, slack: Fraction) -> None:
    one = attribute(kind, here, t)
    allowed = bound(one, slack)
    shares = [int(rows) for rows in allowed.sizes]  # what a class of all rows takes
    assert allowed.room == t
    assert allowed.excess(shares) <= -slack * t
    assert len(allowed.buckets) >= len(bound(one).buckets)


def test_a_common_divisor_is_used_to_the_full() -> None:
    """The thesis' example: buckets of 16, 32 and 64 rows in 16 classes, which are at distance 0."""
    codes = np.repeat([0, 1, 2], [16, 32, 64])
    one = Attribute(codes, np.bincount(codes), Ordered(3), Fraction(0))
    labels = partition(Problem(np.random.default_rng(0).random((112, 2)), (one,)))
    assert np.bincount(labels).tolist() == [7] * 16


def test_other_models_than_t_leave_it_free() -> None:
    one = attribute("ordered", [3, 3, 3, 3, 3, 3], None)
    assert np.bincount(partition(Problem(np.arange(18)[:, None] / 17, (one,), 4))).max() < 8


def test_what_it_cannot_serve_is_refused() -> None:
    one = attribute("equal", [1, 1, 1, 1, 1, 1], Fraction(1))
    points = np.zeros((6, 1))
    with pytest.raises(Unsuited, match="one sensitive attribute, not 2"):
        partition(Problem(points, (one, one)))
    with pytest.raises(Unsuited, match="distance 'matrix'"):
        partition(Problem(points, (replace(one, distance=Matrix(1 - np.eye(6, dtype=np.int64))),)))
    with pytest.raises(PolicyError, match="slack is the share of t that buckets leave"):
        partition(Problem(points, (one,)), slack=Fraction(1))
    with pytest.raises(PolicyError, match="near by 'far'"):
        partition(Problem(points, (one,)), near="far")  # type: ignore[arg-type]


def test_half_a_million_salaries(pytestconfig: pytest.Config) -> None:
    file = Path(pytestconfig.rootpath).parent / "shared" / "data" / "census_sal500k.csv"
    if not file.exists():
        pytest.skip(f"{file} is not there")
    frame = pl.read_csv(file, columns=["age", "sex", "education", "salary_class"])
    points = frame.select("age", "sex", "education").to_numpy().astype(np.float64)
    codes = frame["salary_class"].to_numpy().astype(np.int64)
    one = Attribute(codes, np.bincount(codes), Ordered(50), Fraction("0.088"))
    problem = Problem((points - points.min(axis=0)) / np.ptp(points, axis=0), (one,), 2)
    labels = partition(problem)
    assert problem.admitted(labels).all()
    assert labels.max() > 10_000


def test_a_hierarchy_of_one_level_is_bucketed_as_equal_values_are() -> None:
    counts, level = np.array([9, 1, 2, 30, 1, 1]), (np.arange(6), np.zeros(6, dtype=np.int64))
    flat, equal = ground_of(Hierarchical(level), counts), ground_of(Equal(), counts)
    found, expected = (bucketize(ground, int(counts.sum()), Fraction(1, 4)) for ground in (flat, equal))
    assert [values.tolist() for values in found] == [values.tolist() for values in expected]
