"""Liang & Yuan 2013: within m times the fewest stars for k-anonymity, and the fewest for 2-diversity."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose import Policy, anonymize, check
from tclose.distance import Equal
from tclose.errors import Infeasible, MissingExtra, Unsuited
from tclose.partition.kanonymity import MOST_TYPES, approximate, partition, two_anonymous, two_diverse
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared.axes import SetAxis
from tclose.partition.shared.loss_table import star_cost
from tclose.privacy import Alpha, DistinctL, Model


def fewest_stars(columns: np.ndarray, allowed: Callable[[list[int]], bool]) -> int:
    """Try every partition into classes that are allowed: the first row's class, then the best of the rest."""
    rows = columns.tolist()

    def cost(mine: list[int]) -> int:
        return len(mine) * sum(len(set(column)) > 1 for column in zip(*(rows[row] for row in mine), strict=True))

    @cache
    def best(left: int) -> float:
        if not left:
            return 0
        first, others = left & -left, left & (left - 1)
        least, chosen = float("inf"), others
        while True:
            mine = [row for row in range(len(rows)) if (first | chosen) >> row & 1]
            if allowed(mine):
                least = min(least, cost(mine) + best(others ^ chosen))
            if not chosen:
                return least
            chosen = (chosen - 1) & others

    found = best(2 ** len(rows) - 1)
    assert found < float("inf")
    return int(found)


@st.composite
def tables(draw: st.DrawFn, most: int = 9, widest: int = 4) -> np.ndarray:
    rows, columns = draw(st.integers(2, most)), draw(st.integers(1, widest))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    return random.integers(0, draw(st.integers(1, 5)), (rows, columns))


# --- k-anonymity, theorem 10 ------------------------------------------------------------------------------------------


@settings(max_examples=examples(120), deadline=None)
@given(tables(), st.integers(1, 5))
def test_within_m_of_the_optimum(columns: np.ndarray, k: int) -> None:
    k = min(k, len(columns))
    labels = approximate(columns, k)
    assert np.bincount(labels).min() >= k
    optimum = fewest_stars(columns, lambda mine: len(mine) >= k)
    assert optimum <= star_cost(columns, labels) <= columns.shape[1] * optimum


@settings(max_examples=examples(60), deadline=None)
@given(tables(), st.integers(1, 4))
def test_one_column_is_solved_to_the_optimum(columns: np.ndarray, k: int) -> None:
    columns, k = columns[:, :1], min(k, len(columns))
    assert star_cost(columns, approximate(columns, k)) == fewest_stars(columns, lambda mine: len(mine) >= k)


def grouped(column: str, k: int) -> list[str]:
    labels = approximate(np.array([[ord(letter)] for letter in column]), k)
    return sorted("".join(sorted(np.array(list(column))[labels == label])) for label in range(labels.max() + 1))


def test_nothing_is_starred_where_enough_rows_are_alike() -> None:
    assert grouped("aabbb", 2) == ["aa", "bbb"]


def test_case_1_rare_rows_are_enough_for_a_class() -> None:
    assert grouped("xyaaaz", 3) == ["aaa", "xyz"]


def test_case_2_rare_rows_take_what_others_can_spare() -> None:
    assert grouped("xaaaabbbb", 3) == ["aaa", "abx", "bbb"]
    assert grouped("xaaaaabbb", 3) == ["aaa", "aax", "bbb"]


def test_case_3_rare_rows_join_the_smallest_class() -> None:
    assert grouped("xaaaabbb", 3) == ["aaaa", "bbbx"]


def test_a_million_rows_are_no_matter() -> None:
    random = np.random.default_rng(0)
    labels = approximate(random.integers(0, 60, (1_000_000, 2)), 250)
    assert np.bincount(labels).min() >= 250


# --- 2-diversity, theorem 11 ------------------------------------------------------------------------------------------


def diverse(values: list[int]) -> bool:
    return all(2 * values.count(value) <= len(values) for value in values)


@settings(max_examples=examples(150), deadline=None)
@given(tables(most=10, widest=9), st.integers(2, 5), st.integers(0, 2**32))
def test_two_diversity_equals_brute_force(columns: np.ndarray, domain: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, domain, len(columns)) % len(columns)
    if not diverse(values.tolist()):
        values = np.arange(len(columns)) // 2 if len(columns) > 3 else np.arange(len(columns))
    labels = two_diverse(columns, values)
    for label in range(labels.max() + 1):
        mine = values[labels == label].tolist()
        assert len(mine) == len(set(mine)) in (2, 3)
    told = values.tolist()
    assert star_cost(columns, labels) == fewest_stars(columns, lambda mine: diverse([told[row] for row in mine]))


def test_table_1_of_the_paper() -> None:
    """Its printed 2-diverse partition, table 3, costs 60 stars; fewer will do."""
    rows = [98765381, 98654392, 98543323, 97654651, 96689451, 97427331, 96552541, 97017692, 97023553, 97009621]
    columns = np.array([list(map(int, str(row))) for row in rows])  # zip code, age, and a number for the education
    values = np.array([0, 1, 1, 2, 0, 0, 1, 2, 2, 2])
    labels, told = two_diverse(columns, values), values.tolist()
    assert star_cost(columns, np.array([0, 0, 1, 2, 1, 2, 3, 1, 1, 3])) == 60
    assert star_cost(columns, labels) == fewest_stars(columns, lambda mine: diverse([told[row] for row in mine])) < 60


def test_an_odd_number_of_rows_needs_a_triple_though_pairs_would_be_cheaper() -> None:
    """Relaxed, half of each pair costs less than the triple, so prices alone never ask for it."""
    columns = np.array([[0, 0], [0, 1], [1, 1]])
    assert not two_diverse(columns, np.arange(3)).any()


def test_the_first_cover_found_need_not_be_the_best() -> None:
    """The cheapest edges by their prices cover all rows with 38 stars only; edges that seemed dearer do with 36."""
    rows = [23141334, 44203223, 21142440, 42122420, 3032231]
    columns = np.array([list(map(int, f"{row:08}")) for row in rows])
    assert star_cost(columns, two_diverse(columns, np.array([0, 3, 2, 0, 3]))) == 36


def test_many_rows_of_few_types() -> None:
    random = np.random.default_rng(1)
    columns, values = random.integers(0, 2, (3000, 4)), np.arange(3000) % 3
    labels = two_diverse(columns, values)
    assert set(np.bincount(labels)) <= {2, 3}
    counts = np.array([np.bincount(labels, weights=values == value) for value in range(3)])
    assert counts.max() == 1


def test_more_columns_than_a_word_has_bits() -> None:
    columns = np.zeros((4, 40), dtype=np.int64)
    columns[[1, 2], 30:] = 1
    columns[[0, 3], 5] = 1
    labels = two_diverse(columns, np.arange(4))
    assert labels[0] == labels[3] != labels[1] == labels[2]


# --- 2-anonymity ------------------------------------------------------------------------------------------------------


@settings(max_examples=examples(60), deadline=None)
@given(tables(most=9))
def test_two_anonymity_equals_brute_force(columns: np.ndarray) -> None:
    labels = two_anonymous(columns)
    assert set(np.bincount(labels)) <= {2, 3}
    optimum = fewest_stars(columns, lambda mine: len(mine) >= 2)
    assert star_cost(columns, labels) == optimum <= star_cost(columns, approximate(columns, 2))


def test_pairs_alone_would_not_be_enough() -> None:
    """Two triples of equal rows cost nothing; three pairs would star a column of two rows."""
    columns = np.array([[0], [0], [0], [1], [1], [1]])
    assert star_cost(columns, two_anonymous(columns)) == 0


def test_the_fewest_stars_are_found_on_request() -> None:
    """Three rows that agree with nobody join one class by default; one of them has a nearer row."""
    rows = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 2]])
    axes = tuple(SetAxis(column, 3) for column in rows.T)
    asked = Problem(np.zeros((4, 3)), (), 2, axes)
    assert star_cost(rows, partition(asked)) == 12
    assert partition(asked, stars="fewest").tolist() == [0, 0, 1, 1]


def test_a_larger_k_is_refused_where_the_fewest_stars_are_asked_for() -> None:
    with pytest.raises(Unsuited, match="for k = 2 only, and this policy asks for k = 3"):
        partition(problem(k=3), stars="fewest")
    assert partition(problem(k=1), stars="fewest").tolist() == partition(problem(k=1)).tolist()


# --- what it serves ---------------------------------------------------------------------------------------------------


def problem(*models: Model, t: Fraction | None = None, k: int = 2, codes: str = "0011") -> Problem:
    values = np.array(list(map(int, codes)))
    guarded = Attribute(values, np.bincount(values).astype(np.int64), Equal(), t, None, models)
    axes = (SetAxis(np.arange(len(codes)) % 2, 2),)
    return Problem(np.zeros((len(codes), 1)), (guarded,), k, axes)


def test_alpha_a_half_gives_pairs() -> None:
    for k in (1, 2):
        labels = partition(problem(Alpha(Fraction(1, 2)), k=k))
        assert labels[0] == labels[2] != labels[1] == labels[3]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (problem(t=Fraction(1, 4)), "asks for k = 2 and t"),
        (problem(Alpha(Fraction(1, 3)), codes="012"), "and alpha"),
        (problem(DistinctL(2)), "and l"),
        (problem(Alpha(Fraction(1, 2)), k=3), "asks for k = 3 and alpha"),
        (problem(Alpha(Fraction(1, 2)), DistinctL(2)), "and alpha, l"),
    ],
)
def test_what_the_theorems_do_not_serve_is_refused(asked: Problem, told: str) -> None:
    with pytest.raises(Unsuited, match=told):
        partition(asked)


def test_two_diversity_of_two_attributes_is_refused() -> None:
    one = problem(Alpha(Fraction(1, 2)))
    with pytest.raises(Unsuited, match="of one sensitive attribute"):
        partition(Problem(one.points, one.sensitive * 2, 2, one.axes))


def test_what_every_row_meets_alone_stands_in_nobodys_way() -> None:
    asked = problem(Alpha(Fraction(1)), DistinctL(1), t=Fraction(1), k=2)
    assert partition(asked).tolist() == [0, 1, 0, 1]


def test_too_few_rows_or_too_common_a_value_cannot_be() -> None:
    with pytest.raises(Infeasible, match="k = 5"):
        partition(problem(k=5))
    with pytest.raises(Infeasible, match="alpha = 1/2"):
        partition(problem(Alpha(Fraction(1, 2)), codes="0001"))


def test_beyond_its_reach_it_says_so() -> None:
    rows = MOST_TYPES + 1
    with pytest.raises(Unsuited, match=f"1,000 different rows at most: there are {rows:,}"):
        two_diverse(np.arange(rows).reshape(-1, 1), np.arange(rows))


def test_without_the_solver_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(MissingExtra, match=r"tclose\[solve\]"):
        partition(problem(Alpha(Fraction(1, 2))))
    with pytest.raises(MissingExtra, match=r"tclose\[solve\]"):
        partition(problem(), stars="fewest")
    partition(problem())


def test_no_quasi_identifier_leaves_one_class() -> None:
    for stars in ("few", "fewest"):
        assert not partition(Problem(np.zeros((3, 0)), (), 2), stars=stars).any()  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
def test_a_release_is_2_diverse() -> None:
    random = np.random.default_rng(3)
    frame = pl.DataFrame({"zone": random.integers(0, 9, 60), "ill": random.choice(["flu", "cold", "cut"], 60)})
    policy = Policy.from_dict({"quasi": {"zone": {}}, "sensitive": {"ill": {"alpha": "0.5"}}, "k": 2})
    release = anonymize(frame, policy, method="kanonymity", seed=1)
    assert check(release.table, policy).satisfied
    assert release.certificate.content["classes"] > 5
