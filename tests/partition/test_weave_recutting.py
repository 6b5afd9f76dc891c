"""Cells that are cut again: groups stay apart, no loss grows, and every cell could be a class."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.distance import Distance, Equal, Ordered
from tclose.partition.problem import Attribute, Problem, WholeTable
from tclose.partition.weave import partition
from tclose.partition.weave.bisection import Bisection
from tclose.partition.weave.groups import Recutting, groups_of
from tclose.partition.weave.table import WeaveTable
from tclose.table.classes import ranked
from tclose.types import Ints, silent

LARGEST = 8
DISTANCES: dict[str, Distance] = {"ordered": Ordered(6), "equal": Equal()}


def problem(seed: int, rows: int, *, kind: str = "ordered", values: int = 9, persons: bool = False) -> Problem:
    """Return a table of rows that often agree, with a sensitive attribute that follows the first quasi-identifier."""
    random = np.random.default_rng(seed)
    points = random.integers(0, values, (rows, 2)) / values
    codes = np.clip((points[:, 0] * 6).astype(np.int64) + random.integers(-2, 3, rows), 0, 5)
    reference = np.bincount(codes, minlength=6).astype(np.int64)
    whose = random.integers(0, rows // 2, rows) if persons else None
    return Problem(points, (Attribute(codes, reference, DISTANCES[kind], Fraction(1, 5)),), 2, persons=whose)


def recutting_of(table: WeaveTable, share: float = 1.0) -> Recutting:
    return Recutting.of(table.losses, table.limits, table.orders, table.k, LARGEST, share, table.stop)


def one_class(table: WeaveTable) -> Ints:
    return np.zeros(len(table), dtype=np.int64)


def by_first_row(labels: Ints) -> list[int]:
    """Number classes in the order of their first rows, so that equal partitions are equal lists."""
    numbers: dict[int, int] = {}
    return [numbers.setdefault(label, len(numbers)) for label in labels.tolist()]


@given(st.integers(0, 2**32), st.sampled_from(sorted(DISTANCES)), st.booleans(), st.sampled_from([0.7, 1.0]))
def test_all_rows_are_cut_as_by_the_bisection(seed: int, kind: str, persons: bool, share: float) -> None:
    table = WeaveTable.of(problem(seed, 150, kind=kind, persons=persons), silent)
    cells = Bisection(table.losses, table.limits, table.k, share, table.stop).cells(table.orders, LARGEST, silent)
    expected = one_class(table)
    for number, rows in enumerate(cells):
        expected[rows] = number
    if table.loss(expected) < table.loss(one_class(table)):
        found = recutting_of(table, share).recut(one_class(table), [np.arange(len(table))], silent)
        assert by_first_row(found) == by_first_row(expected)


@given(st.integers(0, 2**32), st.sampled_from(sorted(DISTANCES)), st.booleans(), st.integers(10, 120))
def test_cells_cut_again_lose_no_more_and_are_admitted(seed: int, kind: str, persons: bool, group: int) -> None:
    asked, random = problem(seed, 150, kind=kind, persons=persons), np.random.default_rng(seed)
    table = WeaveTable.of(asked, silent)
    recutting = recutting_of(table)
    labels = recutting.recut(one_class(table), [np.arange(len(table))], silent)
    for _ in range(3):
        groups = groups_of(labels, table.losses, group, random)
        before, labels = labels, recutting.recut(labels, groups, silent)
        assert labels.dtype == np.int64
        assert ranked(labels)[1] == labels.max() + 1
        assert table.loss(labels) <= table.loss(before) + 1e-9
        assert asked.admitted(labels).all()
        for rows in groups:  # no cell reaches beyond its group, and a group that is no better stays as it is
            assert np.isin(labels, labels[rows]).sum() == len(rows)
            part = table.part(rows)
            old, new = (ranked(each[rows])[0] for each in (before, labels))
            assert part.loss(new) < part.loss(old) or by_first_row(new) == by_first_row(old)


@pytest.mark.parametrize("seed", range(3))
def test_cutting_again_lowers_the_loss_of_a_table_with_many_equal_rows(seed: int) -> None:
    table = WeaveTable.of(problem(seed, 3000, values=40), silent)
    recutting, random = recutting_of(table), np.random.default_rng(seed)
    first = labels = recutting.recut(one_class(table), [np.arange(len(table))], silent)
    for rows in (1000, 500, 250):
        labels = recutting.recut(labels, groups_of(labels, table.losses, rows, random), silent)
    assert table.loss(labels) < table.loss(first)


@pytest.mark.parametrize("kind", sorted(DISTANCES))
@pytest.mark.parametrize("persons", [False, True])
def test_a_part_of_a_large_table_is_admitted(kind: str, persons: bool) -> None:
    asked = problem(5, 900, kind=kind, persons=persons)
    labels = partition(asked, effort="balanced", seed=1, whole=WholeTable(10**6, 1.0))
    assert asked.admitted(labels).all()
    assert (labels == partition(asked, effort="balanced", seed=1, whole=WholeTable(10**6, 1.0))).all()
