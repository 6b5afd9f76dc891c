"""Star costs: those printed by Liang & Yuan 2013, and what holds for any partition."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tclose.partition.axes import Line, Set, Tree
from tclose.partition.problem import Problem
from tclose.partition.stars import columns_of, star_cost

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


rows_in_classes = st.integers(1, 12).flatmap(
    lambda rows: st.tuples(
        arrays(np.int64, (rows, 3), elements=st.integers(-1, 2)), arrays(np.int64, rows, elements=st.integers(0, 3))
    )
)


@given(rows_in_classes)
def test_the_definition(case: tuple[np.ndarray, np.ndarray]) -> None:
    codes, names = case
    labels = np.unique(names, return_inverse=True)[1]
    classes = defaultdict(list)
    for row, label in zip(codes.tolist(), labels.tolist(), strict=True):
        classes[label].append(row)
    stars = sum(
        len(mine) * sum(len(set(column)) > 1 for column in zip(*mine, strict=True)) for mine in classes.values()
    )
    assert star_cost(codes, labels) == stars
    assert star_cost(codes, np.zeros(len(codes), dtype=np.int64)) >= stars


def test_no_columns_cost_nothing() -> None:
    assert star_cost(np.zeros((3, 0), dtype=np.int64), np.zeros(3, dtype=np.int64)) == 0
    assert star_cost(columns_of(Problem(np.zeros((3, 0)), ())), np.zeros(3, dtype=np.int64)) == 0


def test_every_quasi_identifier_is_a_column() -> None:
    line, tree = Line.of_points(np.array([0.0, 0.5, 0.0])), Tree(np.array([-1, 0, 1]), (np.arange(2), np.zeros(2, int)))
    problem = Problem(np.zeros((3, 3)), (), 1, (line, tree, Set(np.array([1, 1, 1]), 2)))
    assert columns_of(problem).tolist() == [[0, -1, 1], [1, 0, 1], [0, 1, 1]]
