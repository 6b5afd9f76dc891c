"""CODIP: what is related stays together, what is not is parted, and every attribute stands in one table."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose.distance import Distance, Equal, Ordered
from tclose.errors import PolicyError, Unsuited
from tclose.partition import DEFAULT_METHOD, Attribute, Problem, Splitter
from tclose.partition.projections import associations, cramer, partition, projections

CHANCE = np.random.default_rng(5)
ROWS = 2000
A, B = CHANCE.integers(0, 6, ROWS), CHANCE.integers(0, 40, ROWS)


def attribute(codes: np.ndarray, distance: Distance | None = None) -> Attribute:
    found = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    return Attribute(found, np.bincount(found), distance or Equal(), Fraction(1, 5))


def line(codes: np.ndarray) -> Attribute:
    return attribute(codes, Ordered(len(np.unique(codes))))


RELATED = [
    attribute(A),
    line(B),
    attribute((A + (CHANCE.random(ROWS) < 0.2)) % 6),  # mostly follows the first
    line(B + CHANCE.integers(0, 8, ROWS)),  # mostly follows the second
    line(CHANCE.permutation(ROWS)),  # follows nothing, and has a value per row
]


def test_what_is_related_stays_together() -> None:
    assert projections(RELATED) == ((0, 2), (1, 3), (4,))


@pytest.mark.parametrize("tables", range(1, 6))
def test_as_many_tables_as_asked_for(tables: int) -> None:
    found = projections(RELATED, tables=tables)
    assert len(found) == tables
    assert sorted(i for group in found for i in group) == list(range(5))
    if tables == 4:
        assert found == ((0,), (1, 3), (2,), (4,)) or found == ((0, 2), (1,), (3,), (4,))


def test_the_more_is_called_related_the_fewer_tables() -> None:
    assert projections(RELATED, related=0) == ((0, 1, 2, 3, 4),)
    assert projections(RELATED, related=1) == ((0,), (1,), (2,), (3,), (4,))


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=30), st.sampled_from([None, 1, 2, 3]))
@settings(deadline=None)
def test_every_attribute_is_in_exactly_one_table(rows: list[tuple[int, ...]], tables: int | None) -> None:
    found = projections([attribute(np.array(column)) for column in zip(*rows, strict=True)], tables=tables)
    assert sorted(i for group in found for i in group) == [0, 1, 2]
    assert tables is None or len(found) == tables


@pytest.mark.parametrize("wrong", [{"tables": 0}, {"tables": 6}, {"tables": True}, {"tables": "2"}, {"related": 2}])
def test_settings_that_make_no_sense(wrong: dict[str, object]) -> None:
    with pytest.raises(PolicyError, match=r"tables is a whole number from 1 to 5|related is a number from 0 to 1"):
        projections(RELATED, **wrong)  # type: ignore[arg-type]


def test_without_sensitive_attributes_there_is_nothing_to_share_out() -> None:
    with pytest.raises(Unsuited, match="names none"):
        projections([])


def test_association_is_cramers_v_without_chance() -> None:
    same = np.arange(100) % 4
    assert cramer(same, same) == pytest.approx(1)
    assert cramer(same, np.arange(100) // 4 % 5) == 0  # exactly independent
    assert cramer(same, np.zeros(100, dtype=np.int64)) == 0
    assert cramer(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)) == 0
    # 2 × 2 of 30, 10, 10, 30: φ² = 1/4; Bergsma takes 1/79 off, and sides of 2 − 1/79
    first, second = np.repeat([0, 0, 1, 1], [30, 10, 10, 30]), np.repeat([0, 1, 0, 1], [30, 10, 10, 30])
    assert cramer(first, second) ** 2 == pytest.approx((1 / 4 - 1 / 79) / (1 - 1 / 79))


def test_many_values_do_not_look_related_by_chance() -> None:
    one, other = line(CHANCE.permutation(500)), line(CHANCE.permutation(500))
    assert associations([one, other])[0, 1] < 0.2
    assert associations([one, line(one.codes[::-1])]).shape == (2, 2)


@pytest.mark.parametrize("base", [DEFAULT_METHOD, "fragmentation"])
def test_the_base_method_splits(base: str) -> None:
    asked = Problem(CHANCE.random((60, 1)), (line(np.arange(60)),), 2)
    labels = partition(asked, seed=3, base=base)
    split = Splitter(method=base, seed=3, options={}).split(asked)
    assert split is not None
    assert np.array_equal(labels, split.labels)
    assert asked.admitted(labels).all()


@pytest.mark.parametrize("base", ["projections", "anatomy"])
def test_a_base_that_publishes_several_tables(base: str) -> None:
    with pytest.raises(Unsuited, match="several tables itself"):
        partition(Problem(np.zeros((2, 1)), (line(np.arange(2)),)), base=base)
