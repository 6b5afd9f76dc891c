from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

import tclose
from tclose.distance import Counts, Equal, Ordered
from tclose.privacy import NTCloseness

# Two towns of two wards each; within a town the wards are alike, the towns are not.
WARDS = [[3, 1], [3, 1], [1, 3], [1, 3]]
TOWNS = np.array([0, 0, 1, 1])
WHOLE = np.array([8, 8])


def test_a_class_may_be_like_its_town_instead_of_the_whole() -> None:
    counts = Counts.from_dense(WARDS)
    alone = NTCloseness(8, Fraction(0), Equal()).judge(counts, WHOLE)
    assert not alone.admitted.any()
    assert alone.reached == Fraction(1, 4)
    with_towns = NTCloseness(8, Fraction(0), Equal(), [TOWNS]).judge(counts, WHOLE)
    assert with_towns.satisfied
    assert with_towns.reached == 0


def test_a_town_with_too_few_rows_is_no_superset() -> None:
    judgement = NTCloseness(9, Fraction(1, 5), Equal(), [TOWNS]).judge(Counts.from_dense(WARDS), WHOLE)
    assert not judgement.admitted.any()
    assert (judgement.reached, judgement.worst_class) == (Fraction(1, 4), 0)


def test_a_class_of_n_rows_is_its_own_superset() -> None:
    """The paper's own example admits a class because it has n rows itself."""
    counts = Counts.from_dense([[40, 0], [3, 7]])
    judgement = NTCloseness(40, Fraction(1, 10), Equal()).judge(counts, np.array([43, 7]))
    assert judgement.admitted.tolist() == [True, False]
    assert (judgement.reached, judgement.worst_class) == (Fraction(7, 10) - Fraction(7, 50), 1)
    assert NTCloseness(10, Fraction(0), Equal()).judge(counts, np.array([43, 7])).satisfied


def test_more_rows_than_the_table_has_cannot_be_had() -> None:
    judgement = NTCloseness(17, Fraction(1), Equal(), [TOWNS]).judge(Counts.from_dense(WARDS), WHOLE)
    assert not judgement.admitted.any()
    assert judgement.reached == math.inf


def test_what_is_required() -> None:
    assert NTCloseness(5, Fraction(1, 3), Equal()).required == {"n": 5, "t": Fraction(1, 3)}


def test_the_level_reached_is_exact_where_floats_see_a_tie() -> None:
    """The second class is farther than the first by 10⁻¹⁷."""
    unit = 10**17
    rows = np.array([[3 * unit, unit], [3 * unit + 1, unit - 1], [2 * unit, 6 * unit]])
    whole = rows.sum(axis=0)
    judgement = NTCloseness(int(whole.sum()), Fraction(1), Ordered(2)).judge(Counts.from_dense(rows), whole)
    first, second = (
        Equal().emd(Counts.from_dense(rows[:2]), whole)[0],
        Equal().emd(Counts.from_dense(rows[1:2]), whole)[0],
    )
    assert first < second
    assert float(first) == float(second)
    assert (judgement.reached, judgement.worst_class) == (second, 1)
    assert not NTCloseness(int(whole.sum()), first, Ordered(2)).judge(Counts.from_dense(rows), whole).satisfied


FIBONACCI = [1, 1]
while len(FIBONACCI) < 45:
    FIBONACCI.append(FIBONACCI[-2] + FIBONACCI[-1])


@settings(max_examples=examples(200), deadline=None)
@given(st.permutations(range(41, 45)), st.integers(10**9, 3 * 10**9))
def test_the_level_reached_is_exact_among_near_ties(order: list[int], half: int) -> None:
    """Quotients of neighbouring Fibonacci numbers are as near to each other as fractions of their size can be."""
    rows = Counts.from_dense([[FIBONACCI[i - 1], FIBONACCI[i - 2]] for i in order])
    whole = np.array([half, half])
    judgement = NTCloseness(2 * half, Fraction(1), Equal()).judge(rows, whole)
    assert (judgement.reached, judgement.worst_class) == Equal().emd(rows, whole).largest()


def test_through_check_the_towns_are_found() -> None:
    rows = [
        (town, ward, value)
        for (town, ward), counts in zip([("a", 1), ("a", 2), ("b", 1), ("b", 2)], WARDS, strict=True)
        for value, count in zip("xy", counts, strict=True)
        for _ in range(count)
    ]
    frame = pl.DataFrame(rows, schema=["town", "ward", "value"], orient="row")

    def result(n: int) -> tclose.CheckResult:
        return tclose.check(frame, tclose.Policy(quasi=["town", "ward"], sensitive={"value": {"t": 0.1, "n": n}}))

    assert result(8).satisfied
    assert not result(9).satisfied
    assert result(8).sensitive["value"].closeness == Fraction(1, 4)  # from the whole table, whatever is required
    assert [model.model for model in result(8).models] == ["k", "(n,t)"]


def test_merging_may_break_it() -> None:
    """Two classes that equal their own natural supersets make a class that is like no superset, nor like the table."""
    town = np.repeat([0, 1, 2], 4)
    classes = Counts.from_dense([[2, 0, 0]] * 4 + [[0, 2, 0]] * 4 + [[0, 0, 4]] * 4)
    whole = np.array([8, 8, 16])
    model = NTCloseness(8, Fraction(1, 10), Equal(), [town])
    assert model.judge(classes, whole).satisfied
    merged = Counts.from_dense([[2, 2, 0]] + [[2, 0, 0]] * 3 + [[0, 2, 0]] * 3 + [[0, 0, 4]] * 4)
    apart = NTCloseness(8, Fraction(1, 10), Equal(), [np.array([3, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2])])
    assert not apart.judge(merged, whole).admitted[0]
    assert not model.merging_keeps
