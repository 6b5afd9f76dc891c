"""Thresholds for groups of persons: what methods that only know t are given, and what weave begins with."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.distance import Ordered
from tclose.errors import Infeasible
from tclose.partition.mondrian import partition
from tclose.partition.problem import Attribute, Problem, Split
from tclose.partition.thresholds import GroupThresholds, starts_by_zone, with_smallest_t
from tclose.policy import ByGroup
from tclose.privacy import TClosenessByGroup
from tclose.types import Progress, silent

LEVELS = (Fraction(1, 10), Fraction(1, 5))


def asked(rows: int, seed: int, named: float) -> tuple[Problem, dict[int, GroupThresholds]]:
    """Rows of which some share has one of two smaller thresholds; all others have t = 1/2."""
    random = np.random.default_rng(seed)
    points, values = random.random((rows, 2)), random.integers(0, 4, size=rows)
    place = np.where(random.random(rows) < named, random.integers(0, 2, size=rows), 2)
    model = TClosenessByGroup(ByGroup("group", dict(zip(("young", "old"), LEVELS, strict=True))), Ordered(4))
    codes = values * 3 + place
    plain = Attribute(values, np.bincount(values, minlength=4), Ordered(4), Fraction(1, 2))
    by_group = Attribute(codes, np.bincount(codes, minlength=12), Ordered(4), None, models=(model,))
    return Problem(points, (plain, by_group), 2), {0: GroupThresholds(place, LEVELS)}


def by_mondrian(problem: Problem, fast: bool, progress: Progress) -> Split:
    problem.check_feasible()
    return Split(partition(problem, seed=1))


@settings(max_examples=examples(25), deadline=None)
@given(rows=st.integers(4, 120), seed=st.integers(0, 999), named=st.sampled_from([0.0, 0.05, 0.3, 1.0]))
def test_every_start_obeys_the_smallest_t_of_each_class(rows: int, seed: int, named: float) -> None:
    problem, guards = asked(rows, seed, named)
    starts = starts_by_zone(problem, guards, by_mondrian, silent)
    assert bool(starts) == bool(guards[0].named.any())
    for start in starts:
        assert sorted(set(start.labels)) == list(range(start.labels.max() + 1))
        assert problem.admitted(start.labels).all()


@settings(max_examples=examples(25), deadline=None)
@given(rows=st.integers(4, 60), seed=st.integers(0, 999), named=st.sampled_from([0.0, 0.1, 1.0]))
def test_a_method_that_only_knows_t_obeys_the_smallest_one(rows: int, seed: int, named: float) -> None:
    problem, guards = asked(rows, seed, named)
    obedient = with_smallest_t(problem, guards)
    place = int(guards[0].place.min())
    assert [attribute.t for attribute in obedient.sensitive] == [(*LEVELS, Fraction(1, 2))[place]]
    assert problem.admitted(partition(obedient, seed=1)).all()


def test_a_zone_that_cannot_be_split_is_left_out() -> None:
    problem, guards = asked(60, 4, 0.2)

    def only_all_rows(part: Problem, fast: bool, progress: Progress) -> Split:
        if part.rows < problem.rows:
            raise Infeasible("too far")
        return Split(np.zeros(part.rows, dtype=np.int64))

    starts = starts_by_zone(problem, guards, only_all_rows, silent)
    assert [start.fast for start in starts] == [True, False]
    assert all(start.labels.max() == 0 for start in starts)


def test_a_zone_loses_less_than_one_t_for_all() -> None:
    """Rows of named groups are few and lie together, so that most rows keep their freedom."""
    random = np.random.default_rng(2)
    points, values = random.random((600, 2)), random.integers(0, 4, size=600)
    place = np.where(points[:, 0] < 0.1, 0, 2)
    problem, _ = asked(600, 1, 0.1)
    codes = values * 3 + place
    plain = replace(problem.sensitive[0], codes=values, reference=np.bincount(values))
    by_group = replace(problem.sensitive[1], codes=codes, reference=np.bincount(codes, minlength=12))
    problem = replace(problem, points=points, sensitive=(plain, by_group))
    starts = starts_by_zone(problem, {0: GroupThresholds(place, LEVELS)}, by_mondrian, silent)
    lost = [_loss(points, start.labels) for start in starts if start.fast]
    assert min(lost) < 0.8 * lost[-1]


def _loss(points: np.ndarray, labels: np.ndarray) -> float:
    return sum(np.ptp(points[labels == c], axis=0).sum() * (labels == c).sum() for c in range(labels.max() + 1))


@pytest.mark.parametrize("named", [0.0, 1.0])
def test_groups_of_nobody_and_of_everybody(named: float) -> None:
    problem, guards = asked(40, 3, named)
    starts = starts_by_zone(problem, guards, by_mondrian, silent)
    assert len(starts) == (2 if named else 0)
