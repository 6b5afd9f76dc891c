"""Each class takes one row of each bucket; what fails is joined, and judged no more often than it must be."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.distance import Equal, Ordered
from tclose.errors import Infeasible, PolicyError
from tclose.partition.pca import cut
from tclose.partition.problem import Attribute, Problem, axis_orders
from tclose.partition.shared.buckets import one_of_each, spread
from tclose.partition.shared.loss import loss_table, total_loss
from tclose.partition.shared.merge import ROUNDS, Verdicts
from tclose.privacy.ldiversity import DistinctL
from tclose.types import silent


@settings(max_examples=examples(40), deadline=None)
@given(rows=st.integers(1, 60), data=st.data())
def test_a_class_takes_one_row_of_each_bucket(rows: int, data: st.DataObject) -> None:
    buckets = data.draw(st.integers(1, rows))
    random = np.random.default_rng(rows)
    of_row = cut(random.permutation(rows), buckets)
    points = random.random((rows, 2))
    labels = one_of_each(points, axis_orders(points), of_row, buckets)
    taken = np.zeros((int(labels.max()) + 1, buckets + 1), dtype=np.int64)
    np.add.at(taken, (labels, of_row), 1)
    assert len(taken) == rows // buckets
    assert (taken[:, :-1] == 1).all()
    assert taken[:, -1].max() - taken[:, -1].min() <= 1  # left-over rows are shared out evenly


def test_rows_of_a_class_are_near_each_other() -> None:
    """Ten places with one row of each of four buckets: every place is a class."""
    place, bucket = np.divmod(np.random.default_rng(0).permutation(40), 4)
    labels = one_of_each(place[:, None] / 9, axis_orders(place[:, None]), bucket, 4)
    assert all(len(set(labels[place == here])) == 1 for here in range(10))


def test_without_quasi_identifiers() -> None:
    points = np.zeros((6, 0))
    labels = one_of_each(points, axis_orders(points), np.arange(6) % 2, 2)
    assert sorted(np.bincount(labels)) == [2, 2, 2]


def halves(rows: int, t: str = "0", k: int = 4) -> Problem:
    codes = np.arange(rows) % 2
    one = Attribute(codes, np.bincount(codes), Equal(), Fraction(t))
    return Problem(np.linspace(0, 1, rows)[:, None], (one,), k)


def test_stubborn_classes_are_united() -> None:
    """Left-over rows at both ends make two classes fail that no perfect neighbour can mend, only each other."""
    problem = halves(4 * 4 * ROUNDS + 2)
    order = np.argsort(problem.sensitive[0].codes, kind="stable")
    labels = spread(problem, lambda buckets: cut(order, buckets), "k", silent)
    assert problem.admitted(labels).all()
    assert labels.max() >= 4 * ROUNDS - 2 * ROUNDS - 2  # each has swallowed a neighbour per round, no more


def test_verdicts_are_those_of_the_problem() -> None:
    random = np.random.default_rng(4)
    codes = random.integers(0, 4, 60)
    problem = Problem(random.random((60, 1)), (Attribute(codes, np.bincount(codes), Ordered(4), Fraction(1, 5)),), 3)
    verdicts, labels = Verdicts(problem, 100), random.permutation(60)
    while labels.max():
        assert (verdicts.failing(labels) == ~problem.admitted(labels)).all()
        chosen = random.integers(0, labels.max() + 1, 2)
        labels = np.unique(np.where(labels == chosen[0], chosen[1], labels), return_inverse=True)[1]


def test_the_size_that_loses_least_is_taken() -> None:
    """Two rows are nowhere within .05 of an even spread of ten values, so with k = 2 classes are joined at random."""
    codes = np.repeat(np.arange(10), 20)
    one = Attribute(codes, np.bincount(codes), Ordered(10), Fraction(1, 20))
    problem = Problem(np.random.default_rng(1).random((200, 1)), (one,), 2)
    losses = []
    for size in ("k", "searched"):
        labels = spread(problem, lambda buckets: cut(np.arange(200), buckets), size, silent)  # type: ignore[arg-type]
        assert problem.admitted(labels).all()
        losses.append(total_loss(loss_table(problem.all_axes, 200), labels))
    assert losses[1] < 0.8 * losses[0]


def test_progress_ends_at_one() -> None:
    shares: list[float] = []
    bucketing = partial(cut, np.arange(40))
    spread(halves(40, t="1"), bucketing, "searched", lambda share, phase="": shares.append(share))
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_what_cannot_be_reached_or_read() -> None:
    codes = np.zeros(4, dtype=np.int64)
    problem = Problem(np.zeros((4, 1)), (Attribute(codes, np.bincount(codes), Equal(), None, None, (DistinctL(2),)),))
    with pytest.raises(Infeasible, match="of sensitive attribute 0 cannot be reached"):
        spread(problem, lambda buckets: cut(np.arange(4), buckets), "k", silent)
    with pytest.raises(PolicyError, match="did you mean 'searched'"):
        spread(problem, lambda buckets: codes, "search", silent)  # type: ignore[arg-type]
