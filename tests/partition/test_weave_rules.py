"""Further models inside weave: a rule is broken exactly where the model refuses, and classes are made to keep it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose.distance import Counts, Equal
from tclose.errors import Infeasible
from tclose.partition import merged
from tclose.partition.problem import Problem, Sensitive
from tclose.partition.weave import partition
from tclose.partition.weave.aims import aims_of
from tclose.partition.weave.work import moved_work, swapped_work, work_of
from tclose.privacy import (
    Alpha,
    BetaLikeness,
    DeltaDisclosure,
    DistinctL,
    EnhancedBetaLikeness,
    EntropyL,
    Model,
    RecursiveCL,
)

levels = st.fractions(Fraction(1, 10), 3, max_denominator=12)
models = st.one_of(
    st.integers(1, 5).map(DistinctL),
    st.fractions(1, 5, max_denominator=4).map(EntropyL),
    st.tuples(levels, st.integers(1, 4)).map(lambda pair: RecursiveCL(*pair)),
    st.fractions(Fraction(1, 8), 1, max_denominator=8).map(Alpha),
    levels.map(BetaLikeness),
    levels.map(EnhancedBetaLikeness),
    levels.map(DeltaDisclosure),
)
tallies = st.lists(st.integers(0, 12), min_size=6, max_size=6).filter(any)


def guarded(counts: list[int], others: list[int], asked: list[Model]) -> tuple[Sensitive, np.ndarray]:
    """Return an attribute of a table of which a class has some counts and the rest of the table others."""
    reference = np.add(counts, others).astype(np.int64)
    codes = np.repeat(np.arange(6), reference)
    return Sensitive(codes, reference, Equal(), None, models=tuple(asked)), np.array(counts, dtype=np.int32)


def kept(one: Sensitive, counts: np.ndarray) -> bool:
    dense = Counts.from_dense(counts[None, :].astype(np.int64))
    return all(model.judge(dense, one.reference).satisfied for model in one.models)


@settings(max_examples=300, deadline=None)
@given(tallies, tallies, st.lists(models, min_size=1, max_size=2, unique_by=type))
def test_a_rule_is_broken_exactly_where_its_model_refuses(counts: list[int], others: list[int], asked: list) -> None:
    one, mine = guarded(counts, others, asked)
    aims = aims_of((one,), len(one.codes))
    assert (work_of(aims, mine, int(mine.sum()), 0) == 0) == kept(one, mine)


@settings(max_examples=100, deadline=None)
@given(tallies, tallies, st.lists(models, min_size=1, max_size=2, unique_by=type), st.integers(0, 5))
def test_one_row_more_less_or_swapped_is_answered_as_if_counted(
    counts: list[int], others: list[int], asked: list, new: int
) -> None:
    one, mine = guarded(counts, others, asked)
    aims, size, gone = aims_of((one,), len(one.codes)), int(mine.sum()), int(np.flatnonzero(mine)[0])
    step = np.eye(6, dtype=np.int32)
    work = work_of(aims, mine, size, 0)
    assert moved_work(aims, mine, size, 0, new, 1) == work_of(aims, mine + step[new], size + 1, 0)
    assert swapped_work(aims, mine, size, work, 0, gone, new) == work_of(aims, mine - step[gone] + step[new], size, 0)
    if size > 1:
        assert moved_work(aims, mine, size, 0, gone, -1) == work_of(aims, mine - step[gone], size - 1, 0)
    assert mine.tolist() == counts


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.integers(0, 2**32), st.lists(models, min_size=1, max_size=3, unique_by=type))
def test_every_class_keeps_every_rule_and_t(rows: int, seed: int, asked: list) -> None:
    random = np.random.default_rng(seed)
    codes = random.integers(0, 4, size=rows)
    reference = np.bincount(codes, minlength=4).astype(np.int64)
    problem = Problem(
        random.random((rows, 2)), (Sensitive(codes, reference, Equal(), Fraction(1, 2), models=tuple(asked)),), 1
    )
    try:
        labels = partition(problem, effort="fast", seed=1)
    except Infeasible:
        assert not problem.admitted(np.zeros(rows, dtype=np.int64)).all()
        return
    assert problem.admitted(labels).all()


@pytest.mark.parametrize(
    "model", [DistinctL(3), EntropyL(Fraction(3)), RecursiveCL(Fraction(2), 3), Alpha(Fraction(1, 3))], ids=type
)
def test_rules_while_weaving_lose_less_than_merging_afterwards(model: Model) -> None:
    random = np.random.default_rng(2)
    points, codes = random.random((2000, 2)), random.integers(0, 6, size=2000)
    reference = np.bincount(codes).astype(np.int64)
    asked = Problem(points, (Sensitive(codes, reference, Equal(), None, models=(model,)),), 3)
    free = Problem(points, (Sensitive(codes, reference, Equal(), None),), 3)
    woven = partition(asked, seed=1)
    joined = merged(
        partition(free, seed=1), np.zeros(2000, dtype=np.int64), points, lambda labels: ~asked.admitted(labels)
    )
    assert _loss(points, woven) < 0.9 * _loss(points, joined)


def _loss(points: np.ndarray, labels: np.ndarray) -> float:
    return sum(np.ptp(points[labels == c], axis=0).sum() * (labels == c).sum() for c in range(labels.max() + 1))


def test_very_many_values_are_left_to_merging() -> None:
    codes = np.arange(5000)
    one = Sensitive(codes, np.ones(5000, dtype=np.int64), Equal(), None, models=(DistinctL(4),))
    problem = Problem(np.random.default_rng(1).random((5000, 2)), (one,), 2)
    assert problem.admitted(partition(problem, effort="fast")).all()
