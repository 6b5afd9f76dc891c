"""Liang & Yuan 2013: tables 1 to 5, lemma 1 and star costs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.distance import Counts, Equal
from tclose.partition.shared.loss_table import star_cost
from tclose.privacy import Alpha, TCloseness

DISEASE = dict(enumerate("VHHCVVHCCC", start=1))  # viral infection, heart disease, cancer: by record
WHOLE = np.array([3, 3, 4])


def counted(groups: list[list[int]]) -> Counts:
    return Counts.from_dense([[[DISEASE[record] for record in group].count(d) for d in "VHC"] for group in groups])


TABLE_3 = [[1, 2], [3, 5, 8, 9], [4, 6], [7, 10]]
TABLE_5 = [[1, 2, 4], [3, 5, 8, 9], [6, 7, 10]]


def test_first_group_of_table_3() -> None:
    assert Equal().emd(counted(TABLE_3), WHOLE)[0] == Fraction("0.4")
    assert not TCloseness(Fraction("0.3"), Equal()).judge(counted(TABLE_3), WHOLE).satisfied


def test_table_3_is_2_diverse_in_the_sense_of_the_paper() -> None:
    judgement = Alpha(Fraction(1, 2)).judge(counted(TABLE_3), WHOLE)
    assert judgement.satisfied
    assert judgement.reached == Fraction(1, 2)
    assert not Alpha(Fraction(1, 3)).judge(counted(TABLE_3), WHOLE).satisfied


def test_table_5_as_its_three_printed_groups() -> None:
    judgement = TCloseness(Fraction("0.1"), Equal()).judge(counted(TABLE_5), WHOLE)
    assert judgement.satisfied
    assert judgement.reached == Fraction("0.1")
    assert judgement.worst_class == 1


def frame(groups: list[list[int]], shown: list[tuple[str, str, str]]) -> pl.DataFrame:
    rows = [(*values, DISEASE[record]) for group, values in zip(groups, shown, strict=True) for record in group]
    return pl.DataFrame(rows, schema=["zip", "age", "education", "disease"], orient="row")


def test_table_5_as_a_reader_sees_it() -> None:
    """Two of the groups publish the same values, so to a reader they are one class."""
    published = frame(TABLE_5, [("9****", "**", "*"), ("9****", "**", "*"), ("9****", "**", "Bachelor")])
    policy = tclose.Policy(quasi=["zip", "age", "education"], sensitive={"disease": {"t": "1/15"}})
    result = tclose.check(published, policy)
    assert result.classes == 2
    assert result.satisfied
    assert result.sensitive["disease"].closeness == Fraction(1, 15)


def test_table_3_through_check() -> None:
    shown = [("98***", "3*", "*"), ("9****", "**", "*"), ("97***", "**", "Bachelor"), ("9****", "**", "Bachelor")]
    policy = tclose.Policy(
        quasi=["zip", "age", "education"], sensitive={"disease": {"t": 0.3, "alpha": 0.5, "distance": "equal"}}, k=2
    )
    result = tclose.check(frame(TABLE_3, shown), policy)
    assert {model.model: model.satisfied for model in result.models} == {"k": True, "t": False, "alpha": True}
    assert result.sensitive["disease"].closeness == Fraction("0.4")
    assert result.sensitive["disease"].worst_class == 1


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_a_class_of_r_among_n_different_values_is_1_minus_r_over_n_away(n: int) -> None:
    classes = Counts.from_dense([[1] * r + [0] * (n - r) for r in range(1, n + 1)])
    ratios = Equal().emd(classes, np.ones(n, dtype=np.int64))
    assert [ratios[r - 1] for r in range(1, n + 1)] == [1 - Fraction(r, n) for r in range(1, n + 1)]


@pytest.mark.parametrize("l", range(1, 6))
def test_l_diversity_is_alpha_1_over_l(l: int) -> None:  # noqa: E741 - the paper's letter
    """At most 1/l of a class share a value: exactly so passes, one row more fails."""
    just = [[4] * l] if l > 1 else [[4, 0]]
    assert Alpha(Fraction(1, l)).judge(Counts.from_dense(just), np.array(just[0])).satisfied
    if l > 1:
        more = [[5, *[4] * (l - 1)]]
        assert not Alpha(Fraction(1, l)).judge(Counts.from_dense(more), np.array(more[0])).satisfied


TABLE_1 = """98765 38 Bachelor,98654 39 Doctorate,98543 32 Master,97654 65 Bachelor,96689 45 Bachelor
97427 33 Bachelor,96552 54 Bachelor,97017 69 Doctorate,97023 55 Master,97009 62 Bachelor"""


def table_1() -> np.ndarray:
    """Every digit of zip code and age is a column of its own."""
    cells = [row.split() for row in TABLE_1.replace("\n", ",").split(",")]
    return np.array([[*map(int, code + age), len(education)] for code, age, education in cells])


def test_table_2_costs_54() -> None:
    assert star_cost(table_1(), np.array([0, 0, 0, 1, 1, 1, 1, 2, 2, 2])) == 54


def test_table_4_costs_15() -> None:
    assert star_cost(table_1()[:3], np.zeros(3, dtype=np.int64)) == 15


def test_table_3_costs_as_many_stars_as_it_prints() -> None:
    """Five stars in two rows, seven in four, five in two and six in two."""
    assert star_cost(table_1(), np.array([0, 0, 1, 2, 1, 2, 3, 1, 1, 3])) == 2 * 5 + 4 * 7 + 2 * 5 + 2 * 6
