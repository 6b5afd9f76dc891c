"""Anatomy: groups of l different values as in the paper, and the smallest groups that t allows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose.distance import Distance, Equal, Hierarchical, Ordered
from tclose.errors import Infeasible
from tclose.partition import Attribute, Problem
from tclose.partition.anatomy import most_groups, partition
from tclose.privacy.base import Model
from tclose.privacy.kanonymity import Alpha
from tclose.privacy.ldiversity import DistinctL


def attribute(
    codes: list[int] | np.ndarray,
    t: str | None = None,
    *models: Model,
    distance: Distance | None = None,
    n: int | None = None,
) -> Attribute:
    found = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    reference = np.bincount(found)
    return Attribute(found, reference, distance or Equal(), None if t is None else Fraction(t), n, models)


def problem(*sensitive: Attribute, k: int = 1) -> Problem:
    return Problem(np.zeros((len(sensitive[0].codes), 1)), sensitive, k)


def contents(labels: np.ndarray, codes: np.ndarray) -> list[list[int]]:
    return [sorted(codes[labels == group].tolist()) for group in range(labels.max() + 1)]


# Xiao & Tao: l-diversity

tables = st.tuples(st.integers(2, 4), st.lists(st.integers(0, 9), min_size=2, max_size=50))
eligible = tables.filter(lambda case: np.bincount(case[1]).max() * case[0] <= len(case[1]))


@given(eligible, st.integers(0, 5))
@settings(deadline=None)
def test_groups_have_l_different_values_and_take_up_the_residue(case: tuple[int, list[int]], seed: int) -> None:
    """Of a table in which at most 1/l share a value: n // l groups, no value twice in any, sizes l and little more."""
    l, codes = case  # noqa: E741 - the paper's letter
    one = attribute(codes, None, DistinctL(l))
    labels = partition(problem(one), seed=seed)
    found = contents(labels, one.codes)
    assert len(found) == len(codes) // l
    assert all(len(set(group)) == len(group) >= l for group in found)
    assert sum(len(group) - l for group in found) == len(codes) % l < l


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(2, 4))
@settings(deadline=None)
def test_as_many_groups_as_can_show_l_values(codes: list[int], l: int) -> None:  # noqa: E741
    """A value in more than 1/l of the rows is no obstacle to l different values per group."""
    counts = np.unique(codes, return_counts=True)[1]
    if len(counts) < l:
        return
    one = attribute(codes, None, DistinctL(l))
    labels = partition(problem(one))
    most = max(groups for groups in range(1, len(codes) + 1) if np.minimum(counts, groups).sum() >= l * groups)
    assert most_groups(problem(one), l) == labels.max() + 1 == most
    assert problem(one).admitted(labels).all()


def test_the_papers_own_share_of_1_over_l() -> None:
    """Their l-diversity, at most 1/l of a group sharing a value, is our alpha."""
    one = attribute([0] * 5 + [1] * 5 + [2] * 5, None, Alpha(Fraction(1, 3)))
    labels = partition(problem(one))
    assert contents(labels, one.codes) == [[0, 1, 2]] * 5


# t-closeness as its model


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), min_size=1, max_size=60),
    st.sampled_from(["0", "0.1", "0.3", "1/3", "1"]),
    st.integers(1, 4),
    st.integers(0, 3),
)
@settings(deadline=None)
def test_every_group_is_admitted(rows: list[tuple[int, int]], t: str, k: int, seed: int) -> None:
    first, second = np.array(rows).T
    numbers = attribute(first, t, distance=Ordered(len(np.unique(first))))
    asked = problem(numbers, attribute(second, t), k=k)
    if len(rows) < k:
        with pytest.raises(Infeasible):
            partition(asked, seed=seed)
        return
    labels = partition(asked, seed=seed)
    assert sorted(set(labels.tolist())) == list(range(labels.max() + 1))
    assert asked.admitted(labels).all()
    assert np.array_equal(labels, partition(asked, seed=seed))


@pytest.mark.parametrize("t", ["0.05", "0.1", "0.25"])
def test_groups_as_small_as_strata_allow(t: str) -> None:
    """One row of each of s equal strata of n different numbers is within (n − s) / (2(n − 1)s): Soria-Comas et al."""
    rows = 1000
    labels = partition(problem(attribute(np.arange(rows), t, distance=Ordered(rows))))
    size = next(s for s in range(1, rows) if Fraction(rows - s, 2 * (rows - 1) * s) <= Fraction(t))
    assert labels.max() + 1 >= rows // size


def test_even_shares_of_a_category() -> None:
    """A third and two thirds: groups of three have them exactly, and t = 0 allows no fewer."""
    one = attribute([0] * 20 + [1] * 40, "0")
    assert contents(partition(problem(one)), one.codes) == [[0, 1, 1]] * 20


def test_branches_of_a_hierarchy_are_spread() -> None:
    """Within 1/2 over two branches of height 2: one of each branch is enough, leaves need not be alike."""
    tree = Hierarchical((np.arange(4), np.array([0, 0, 1, 1]), np.zeros(4, dtype=np.int64)))
    one = attribute([0, 1, 2, 3] * 10, "1/4", distance=tree)
    labels = partition(problem(one))
    assert labels.max() + 1 == 20
    assert all({code // 2 for code in group} == {0, 1} for group in contents(labels, one.codes))


def test_a_group_of_n_rows_may_be_anything() -> None:
    one = attribute(np.arange(12), "0", distance=Ordered(12), n=3)
    labels = partition(problem(one))
    assert np.bincount(labels).tolist() == [3] * 4


def test_two_seeds_differ_and_progress_ends_at_1() -> None:
    asked, told = problem(attribute(np.arange(200) % 20, "0.1", distance=Ordered(20))), [0.0]
    first = partition(asked, seed=1, progress=lambda share, phase="": told.append(share))
    assert not np.array_equal(first, partition(asked, seed=2))
    assert told == sorted(told)
    assert told[-1] == 1.0


@pytest.mark.parametrize("asked", ["numbers", "both", "l"])
def test_large_tables_go_in_blocks(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In blocks there are about as many groups, and all are admitted."""
    chance = np.random.default_rng(1)
    first, second = chance.integers(0, 30, 900), chance.integers(0, 3, 900)
    numbers, names = attribute(first, "0.1", distance=Ordered(30)), attribute(second, "0.2", DistinctL(2))
    one = {"numbers": problem(numbers), "both": problem(numbers, names, k=2), "l": problem(names)}[asked]
    at_once = partition(one)
    monkeypatch.setattr("tclose.partition.anatomy.BLOCK", 150)
    told: list[float] = []
    labels = partition(one, progress=lambda share, phase="": told.append(share))
    assert one.admitted(labels).all()
    assert labels.max() + 1 >= 0.85 * (at_once.max() + 1)
    assert told == sorted(told)


def test_several_attributes_need_exchanges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dealing along a curve spreads several attributes badly; exchanges make groups much smaller."""
    chance = np.random.default_rng(1)
    columns = chance.integers(0, 20, (4, 600))
    asked = problem(*(attribute(column, "0.12", distance=Ordered(20)) for column in columns))
    many = partition(asked).max() + 1
    monkeypatch.setattr("tclose.partition.anatomy.Exchange.run", lambda exchange, pulse: None)
    assert many >= 1.5 * (partition(asked).max() + 1)


def test_blocks_that_cannot_hold_alone_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    """300 and 601 rows have no common divisor, so t = 0 allows one group, and no block by itself."""
    monkeypatch.setattr("tclose.partition.anatomy.BLOCK", 150)
    assert partition(problem(attribute([0] * 300 + [1] * 601, "0"))).max() == 0
