"""Further models inside weave: a rule is broken exactly where the model refuses, and classes are made to keep it."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.distance import Counts, Equal
from tclose.errors import Infeasible
from tclose.partition import merged
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared.kernels import kernel
from tclose.partition.weave import partition
from tclose.partition.weave.limits import SAFE, Limits, _fitted_c, _share_bounds, limits_of
from tclose.partition.weave.transport import class_work, work_after_exchange, work_after_move
from tclose.privacy import (
    Alpha,
    BetaLikeness,
    DeltaDisclosure,
    DistinctL,
    EnhancedBetaLikeness,
    EntropyL,
    KLDivergence,
    Model,
    RecursiveCL,
)


@kernel
def breach(limits: Limits, counts: np.ndarray, size: int) -> int:
    return class_work(limits, counts, 0, size, 0)


@kernel
def breach_after_move(limits: Limits, counts: np.ndarray, size: int, value: int, sign: int) -> int:
    return work_after_move(limits, counts, 0, size, 0, value, sign)


@kernel
def breach_after_exchange(limits: Limits, counts: np.ndarray, size: int, leaving: int, joining: int) -> int:
    return work_after_exchange(limits, counts, 0, size, class_work(limits, counts, 0, size, 0), 0, leaving, joining)


levels = st.fractions(Fraction(1, 10), 3, max_denominator=12)
models = st.one_of(
    st.integers(1, 5).map(DistinctL),
    st.fractions(1, 5, max_denominator=4).map(EntropyL),
    st.tuples(levels, st.integers(1, 4)).map(lambda pair: RecursiveCL(*pair)),
    st.fractions(Fraction(1, 8), 1, max_denominator=8).map(Alpha),
    levels.map(BetaLikeness),
    levels.map(EnhancedBetaLikeness),
    levels.map(DeltaDisclosure),
    levels.map(KLDivergence),
)
tallies = st.lists(st.integers(0, 12), min_size=6, max_size=6).filter(any)


def guarded(counts: list[int], others: list[int], asked: list[Model]) -> tuple[Attribute, np.ndarray]:
    """Return an attribute of a table of which a class has some counts and the rest of the table others."""
    reference = np.add(counts, others).astype(np.int64)
    codes = np.repeat(np.arange(6), reference)
    return Attribute(codes, reference, Equal(), None, models=tuple(asked)), np.array([counts], dtype=np.int32)


def kept(one: Attribute, counts: np.ndarray) -> bool:
    dense = Counts.from_dense(counts.astype(np.int64))
    return all(model.judge(dense, one.reference).satisfied for model in one.models)


@settings(max_examples=examples(300), deadline=None)
@given(tallies, tallies, st.lists(models, min_size=1, max_size=2, unique_by=type))
def test_a_rule_is_broken_exactly_where_its_model_refuses(counts: list[int], others: list[int], asked: list) -> None:
    attribute, class_counts = guarded(counts, others, asked)
    limits = limits_of((attribute,), len(attribute.codes))
    assert (breach(limits, class_counts, sum(counts)) == 0) == kept(attribute, class_counts)


@settings(max_examples=examples(100), deadline=None)
@given(tallies, tallies, st.lists(models, min_size=1, max_size=2, unique_by=type), st.integers(0, 5))
def test_one_row_more_less_or_exchanged_is_answered_as_if_counted(
    counts: list[int], others: list[int], asked: list, new: int
) -> None:
    attribute, before = guarded(counts, others, asked)
    limits, size, old = limits_of((attribute,), len(attribute.codes)), sum(counts), int(np.flatnonzero(counts)[0])
    step = np.eye(6, dtype=np.int32)[:, None, :]
    assert breach_after_move(limits, before, size, new, 1) == breach(limits, before + step[new], size + 1)
    exchanged = breach(limits, before - step[old] + step[new], size)
    assert breach_after_exchange(limits, before, size, old, new) == exchanged
    if size > 1:
        assert breach_after_move(limits, before, size, old, -1) == breach(limits, before - step[old], size - 1)
    assert before.tolist() == [counts]


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(1, 60), st.integers(0, 2**32), st.lists(models, min_size=1, max_size=3, unique_by=type))
def test_every_class_keeps_every_rule_and_t(rows: int, seed: int, asked: list) -> None:
    random = np.random.default_rng(seed)
    codes = random.integers(0, 4, size=rows)
    reference = np.bincount(codes, minlength=4).astype(np.int64)
    problem = Problem(
        random.random((rows, 2)),
        (Attribute(codes, reference, Equal(), Fraction(1, 2), models=tuple(asked)),),
        1,
    )
    try:
        labels = partition(problem, effort="fast", seed=1)
    except Infeasible:
        assert not problem.admitted(np.zeros(rows, dtype=np.int64)).all()
        return
    assert problem.admitted(labels).all()


@pytest.mark.parametrize(
    "model",
    [
        DistinctL(3),
        EntropyL(Fraction(3)),
        RecursiveCL(Fraction(2), 3),
        Alpha(Fraction(1, 3)),
        KLDivergence(Fraction(3, 10)),
    ],
    ids=type,
)
def test_rules_while_weaving_lose_less_than_merging_afterwards(model: Model) -> None:
    random = np.random.default_rng(2)
    points, codes = random.random((2000, 2)), random.integers(0, 6, size=2000)
    reference = np.bincount(codes).astype(np.int64)
    asked = Problem(points, (Attribute(codes, reference, Equal(), None, models=(model,)),), 3)
    free = Problem(points, (Attribute(codes, reference, Equal(), None),), 3)
    woven = partition(asked, seed=1)
    joined = merged(
        partition(free, seed=1), np.zeros(2000, dtype=np.int64), points, lambda labels: ~asked.admitted(labels)
    )
    assert _loss(points, woven) < 0.9 * _loss(points, joined)


def _loss(points: np.ndarray, labels: np.ndarray) -> float:
    return sum(np.ptp(points[labels == c], axis=0).sum() * (labels == c).sum() for c in range(labels.max() + 1))


def test_very_many_values_are_left_to_merging() -> None:
    codes = np.arange(5000)
    one = Attribute(codes, np.ones(5000, dtype=np.int64), Equal(), None, models=(DistinctL(4),))
    problem = Problem(np.random.default_rng(1).random((5000, 2)), (one,), 2)
    assert problem.admitted(partition(problem, effort="fast")).all()


@given(
    st.fractions(Fraction(1, 10**40), 10**40) | st.integers(1, 60).map(lambda n: Fraction(n, 7) + Fraction(1, 10**30)),
    st.integers(1, 40),
)
def test_a_c_of_many_digits_admits_the_same_classes(c: Fraction, rows: int) -> None:
    c += Fraction(1, 3**50)  # which 64 bits cannot hold
    fitted = _fitted_c(c, rows)
    assert max(fitted.numerator, fitted.denominator) * rows < SAFE
    for tail in range(1, rows + 1):
        for largest in range(rows + 1):
            assert (largest < fitted * tail) == (largest < c * tail)


@given(level=levels, counts=tallies, rows=st.sampled_from([100, 10**6, 10**9]))
def test_shares_that_64_bits_do_not_hold_are_rounded_to_the_strict_side(
    level: Fraction, counts: list[int], rows: int
) -> None:
    """Those of δ are: the exponential of a fraction is a float, which has 53 digits."""
    rule = DeltaDisclosure(level).rule([Fraction(count, sum(counts)) for count in counts])
    tree: Any = SimpleNamespace(rule=rule, weight=counts)
    for high, low, (most, most_per, least, least_per, _) in zip(
        rule.most, rule.least, _share_bounds(tree, rows), strict=True
    ):
        assert max(most, most_per, least, least_per) < SAFE
        assert max(most, least) * rows < SAFE
        assert Fraction(most, most_per) <= min(high, 1) < Fraction(most, most_per) + Fraction(1, 10**9)
        assert Fraction(least, least_per) - Fraction(1, 10**9) < low <= Fraction(least, least_per)
