"""BUREL: the fewest buckets that β allows, and classes that the β models admit, exactly."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.distance import Counts, Equal, Ordered
from tclose.errors import Infeasible, PolicyError, Unsuited
from tclose.partition.burel import bucketize, limits_of, partition
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared.redistribution import NEARS, leaves
from tclose.privacy.likeness import BetaLikeness, EnhancedBetaLikeness

brief = settings(max_examples=examples(60), deadline=None)
betas = st.sampled_from([Fraction(0), Fraction(1, 5), Fraction(1), Fraction(3), Fraction(9)])
models = st.one_of(
    betas.map(lambda beta: (BetaLikeness(beta),)),
    betas.map(lambda beta: (EnhancedBetaLikeness(beta),)),
    st.tuples(betas, betas).map(lambda both: (BetaLikeness(both[0]), EnhancedBetaLikeness(both[1]))),
)
counts = st.lists(st.integers(0, 30), min_size=2, max_size=7).filter(any)


def attribute(here: list[int], asked: tuple[BetaLikeness | EnhancedBetaLikeness, ...]) -> Attribute:
    codes = np.repeat(np.arange(len(here)), here)
    return Attribute(codes, np.array(here), Equal(), None, models=asked)


def admitted(one: Attribute, dense: list[int]) -> bool:
    judged = [model.judge(Counts.from_dense([dense]), one.reference) for model in one.models]
    return all(judgement.satisfied for judgement in judged)


@brief
@given(here=counts, asked=models, size=st.integers(1, 40))
def test_a_limit_is_what_the_models_admit(here: list[int], asked: tuple[BetaLikeness, ...], size: int) -> None:
    """Of `size` rows, the share that the limit allows is within every β, and one row more is not."""
    one = attribute(here, asked)
    for value, limit in limits_of(one).items():
        share = Fraction(here[value], sum(here))
        most = int(limit * size)
        for rows in (most, most + 1):
            gain = Fraction(rows, size) / share - 1
            allowed = [
                (gain <= model.required and (model.name == "beta" or gain <= -np.log(float(share)))) or gain <= 0
                for model in one.models
            ]
            assert all(allowed) == (rows == most) or rows > size


@brief
@given(here=counts, asked=models)
def test_buckets_are_the_fewest_and_within_their_limits(here: list[int], asked: tuple[BetaLikeness, ...]) -> None:
    one = attribute(here, asked)
    limits, found, rows = limits_of(one), bucketize(one), sum(here)
    values = sorted(limits, key=lambda value: limits[value])
    for bucket, (size, limit) in enumerate(zip(found.sizes.tolist(), found.limits, strict=True)):
        mine = [value for value in values if found.of_value[value] == bucket]
        assert size == sum(here[value] for value in mine)
        assert limit == min(limits[value] for value in mine)
        assert Fraction(size, rows) <= limit

    def allowed(cuts: tuple[int, ...]) -> bool:
        parts = [values[a:b] for a, b in pairwise((0, *cuts, len(values)))]
        return all(Fraction(sum(here[v] for v in part), rows) <= limits[part[0]] for part in parts)

    fewest = next(n for n in range(len(values)) if any(map(allowed, combinations(range(1, len(values)), n)))) + 1
    assert len(found.sizes) == fewest


def test_of_the_fewest_buckets_those_with_most_to_spare_are_taken() -> None:
    found = bucketize(attribute([10, 10, 10, 10], (BetaLikeness(Fraction(2)),)))
    assert found.sizes.tolist() == [20, 20]  # [30, 10] would leave nothing for odd rows


@brief
@given(here=counts, asked=models, data=st.data())
def test_leaves_are_admitted_whatever_rows_they_take(
    here: list[int], asked: tuple[BetaLikeness, ...], data: st.DataObject
) -> None:
    one = attribute(here, asked)
    found = bucketize(one)
    for node in leaves(found.sizes, found.admits, 1).tolist():
        dense = np.zeros(len(here), dtype=np.int64)
        for bucket, taken in enumerate(node):
            favourite = data.draw(st.sampled_from(np.flatnonzero(found.of_value == bucket).tolist()))
            order = sorted(np.flatnonzero(found.of_value == bucket).tolist(), key=lambda value: value != favourite)
            for value in order:
                rows = min(taken, here[value])
                dense[value] += rows
                taken -= rows
        assert admitted(one, dense.tolist())


@pytest.mark.parametrize("near", NEARS)
@brief
@given(data=st.data())
def test_every_class_is_within_beta_and_t(near: str, data: st.DataObject) -> None:
    random = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    rows = data.draw(st.integers(1, 200))
    codes = random.choice(6, rows, p=random.dirichlet(np.ones(6)))
    reference = np.bincount(codes, minlength=6) + random.integers(0, 3, 6)  # the rows may be a part of the table
    t = data.draw(st.sampled_from([None, Fraction(0), Fraction(1, 10), Fraction(1, 3)]))
    one = Attribute(codes, reference, Ordered(6), t, models=data.draw(models))
    problem = Problem(random.random((rows, 2)), (one,), data.draw(st.integers(1, min(rows, 5))))
    if not problem.admitted(np.zeros(rows, dtype=np.int64)).all():
        with pytest.raises(Infeasible):
            partition(problem, near=near)
        return
    labels = partition(problem, near=near, seed=1)
    assert problem.admitted(labels).all()
    assert (partition(problem, near=near, seed=1) == labels).all()


def test_more_beta_gives_smaller_classes_and_t_larger_ones() -> None:
    random = np.random.default_rng(5)
    codes = np.minimum(random.geometric(0.3, 3000) - 1, 7)
    one = Attribute(codes, np.bincount(codes), Ordered(8), None)
    problem = Problem(random.random((3000, 2)), (one,))

    def classes(beta: str, t: Fraction | None) -> int:
        asked = replace(one, t=t, models=(BetaLikeness(Fraction(beta)),))
        return int(partition(replace(problem, sensitive=(asked,))).max()) + 1

    assert 1 < classes("0.5", None) < classes("5", None)
    assert classes("5", Fraction(1, 20)) < classes("5", None)


def test_what_it_cannot_serve_is_refused() -> None:
    one = attribute([3, 3], (BetaLikeness(Fraction(1)),))
    points = np.zeros((6, 1))
    with pytest.raises(Unsuited, match="one sensitive attribute, not 2"):
        partition(Problem(points, (one, one)))
    with pytest.raises(Unsuited, match="needs beta or enhanced_beta"):
        partition(Problem(points, (replace(one, t=Fraction(1, 2), models=()),)))
    with pytest.raises(PolicyError, match="near by"):
        partition(Problem(points, (one,)), near="far")  # type: ignore[arg-type]
    with pytest.raises(Infeasible, match="beta = 1 of sensitive attribute 0 cannot be reached"):
        partition(Problem(points, (replace(one, reference=np.array([3, 15]), codes=np.array([0, 0, 0, 1, 1, 1])),)))
