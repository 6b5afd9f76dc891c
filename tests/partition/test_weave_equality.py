"""Equality classes of a large table: equal rows only, every class and the rest admitted, and less loss than without."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.distance import Distance, Equal, Ordered
from tclose.partition.problem import Attribute, Problem, WholeTable
from tclose.partition.shared.axes import NumberAxis
from tclose.partition.weave import partition, table
from tclose.partition.weave.equality import equality_classes, points_of
from tclose.partition.weave.table import WeaveTable
from tclose.types import Ints, silent

VALUES = 6
DISTANCES: dict[str, Distance] = {"ordered": Ordered(VALUES), "equal": Equal()}


def attribute(random: np.random.Generator, like: Ints, kind: str, t: Fraction) -> Attribute:
    """Return an attribute that follows some codes."""
    codes = np.clip(like + random.integers(-3, 4, len(like)), 0, VALUES - 1)
    return Attribute(codes, np.bincount(codes, minlength=VALUES).astype(np.int64), DISTANCES[kind], t)


def problem(seed: int, rows: int, *kinds: str, points: int = 4, t: Fraction = Fraction(1, 5), k: int = 2) -> Problem:
    """Return a table in which many rows have equal quasi-identifiers, which tell something of what is sensitive."""
    random = np.random.default_rng(seed)
    places = random.integers(0, points, (rows, 2))
    like = places[:, 0] * VALUES // points
    sensitive = tuple(attribute(random, like, kind, t) for kind in kinds or ("ordered",))
    return Problem(places / max(points - 1, 1), sensitive, k)


def classes_of(asked: Problem, share: float = 1.0) -> tuple[WeaveTable, Ints]:
    laid_out = WeaveTable.of(asked, silent)
    return laid_out, equality_classes(laid_out.losses, laid_out.limits, laid_out.k, share, laid_out.stop)


@given(
    st.integers(0, 2**32),
    st.lists(st.sampled_from(sorted(DISTANCES)), min_size=1, max_size=2),
    st.sampled_from([Fraction(1, 20), Fraction(1, 8), Fraction(1, 3)]),
    st.sampled_from([0.9, 1.0]),
    st.integers(1, 30),
)
def test_classes_hold_equal_rows_and_are_admitted_with_the_rest(
    seed: int, kinds: list[str], t: Fraction, share: float, k: int
) -> None:
    asked = problem(seed, 600, *kinds, t=t, k=k)
    laid_out, labels = classes_of(asked, share)
    points = points_of(laid_out.losses)
    for label in range(labels.max() + 1):
        assert len(set(points[labels == label].tolist())) == 1
    completed = np.where(labels < 0, labels.max() + 1, labels)
    assert asked.admitted(completed).all()


@given(st.integers(0, 2**32), st.sampled_from(sorted(DISTANCES)))
def test_equal_rows_count_whatever_their_order(seed: int, kind: str) -> None:
    asked = problem(seed, 500, kind)
    order = np.random.default_rng(seed).permutation(asked.rows)

    def kept(each: Problem) -> list[tuple[float, ...]]:
        labels = classes_of(each)[1]
        codes = each.sensitive[0].codes
        return sorted((*each.points[row].tolist(), float(codes[row])) for row in np.flatnonzero(labels >= 0))

    assert kept(asked) == kept(asked.part(order))


def test_rows_that_are_admitted_as_they_are_stay_together() -> None:
    codes = np.tile(np.arange(VALUES), 100)
    places = np.repeat(np.arange(10.0), 60)[:, None] / 9
    asked = Problem(places, (Attribute(codes, np.bincount(codes), Ordered(VALUES), Fraction(1, 10)),), 2)
    laid_out, labels = classes_of(asked)
    assert (labels == points_of(laid_out.losses)).all()


def test_points_shed_no_more_than_they_must() -> None:
    """Two points lean to either side, and shed rows at their own end only; a third gives what the rest then lacks."""
    counts = np.array([[40, 20, 20], [60, 80, 60], [20, 20, 40]])
    codes, places = np.repeat(np.tile(np.arange(3), 3), counts.ravel()), np.repeat(np.arange(3), counts.sum(axis=1))
    asked = Problem(places[:, None] / 2, (Attribute(codes, np.bincount(codes), Ordered(3), Fraction(1, 10)),), 2)
    _, labels = classes_of(asked)
    assert [set(codes[(labels < 0) & (places == point)].tolist()) for point in range(3)] == [{0}, {1}, {2}]
    for point in (0, 2):  # a class that takes one of its rows back is beyond t
        one_more = np.where(labels < 0, 3, labels)
        one_more[np.flatnonzero((labels < 0) & (places == point))[0]] = point
        assert not asked.admitted(one_more)[point]


def test_very_many_kinds_of_rows_at_a_point() -> None:
    random, rows, values = np.random.default_rng(1), 4000, 50
    places = random.integers(0, 3, rows)
    lean = [np.clip(random.normal(15 + 10 * places, 12), 0, values - 1).astype(np.int64) for _ in range(2)]
    sensitive = tuple(
        Attribute(each, np.bincount(each, minlength=values), Ordered(values), Fraction(1, 8)) for each in lean
    )
    asked = Problem(places[:, None] / 2, sensitive, 5)
    _, labels = classes_of(asked)
    assert labels.max() == 2
    assert asked.admitted(np.where(labels < 0, 3, labels)).all()


def test_a_raised_flag_leaves_all_rows_to_the_rest() -> None:
    laid_out = WeaveTable.of(problem(1, 500), silent)
    laid_out.stop[0] = 1
    assert (equality_classes(laid_out.losses, laid_out.limits, 2, 1.0, laid_out.stop) == -1).all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("effort", ["fast", "balanced"])
def test_a_large_table_of_equal_rows_loses_less_with_them(
    seed: int, effort: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, whole = problem(seed, 6000, points=6), WholeTable(10**6, 1.0)
    loss = WeaveTable.of(asked, silent).loss
    labels = partition(asked, effort=effort, seed=seed, whole=whole)
    monkeypatch.setattr(table, "LEAST_EQUAL", 2.0)
    without = partition(asked, effort=effort, seed=seed, whole=whole)
    assert asked.admitted(labels).all()
    assert loss(labels) < loss(without)


def test_regions_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = problem(2, 6000, points=6)
    monkeypatch.setattr(table, "REGION", 2000)
    labels = partition(asked, seed=2, whole=WholeTable(10**6, 1.0))
    assert asked.admitted(labels).all()
    points = points_of(WeaveTable.of(asked, silent).losses)
    assert sum(len(set(points[labels == label].tolist())) == 1 for label in range(labels.max() + 1)) > 10


def test_tables_on_which_they_do_not_pay_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Ints:
        raise AssertionError("equality classes were made")

    monkeypatch.setattr(table, "equality_classes", refuse)
    asked = problem(3, 5500)  # of fewer rows, weave also looks at classes that do not count persons
    partition(asked, effort="fast", seed=3)
    persons = np.random.default_rng(3).integers(0, 1500, 5500)
    whole = WholeTable(10**6, 1.0)
    partition(Problem(asked.points, asked.sensitive, 2, persons=persons), effort="fast", seed=3, whole=whole)
    partition(Problem(asked.points, asked.sensitive, 2, by_size=True), effort="fast", seed=3, whole=whole)
    partition(problem(3, 3000, "equal"), effort="fast", seed=3, whole=whole)
    means = tuple(replace(NumberAxis.of_points(column), deviation=0.3) for column in asked.points.T)
    partition(replace(asked, axes=means), effort="fast", seed=3, whole=whole)
    with pytest.raises(AssertionError, match="were made"):
        partition(asked, effort="fast", seed=3, whole=whole)
