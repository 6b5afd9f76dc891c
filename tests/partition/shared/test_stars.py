"""Star costs, from their definition (those printed by Liang & Yuan 2013 are in tests/papers)."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tclose.partition.problem import Problem
from tclose.partition.shared.axes import LabelAxis, NumberAxis, SetAxis
from tclose.partition.shared.loss_table import columns_of, star_cost

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
    line, tree = (
        NumberAxis.of_points(np.array([0.0, 0.5, 0.0])),
        LabelAxis(np.array([-1, 0, 1]), (np.arange(2), np.zeros(2, int))),
    )
    problem = Problem(np.zeros((3, 3)), (), 1, (line, tree, SetAxis(np.array([1, 1, 1]), 2)))
    assert columns_of(problem).tolist() == [[0, -1, 1], [1, 0, 1], [0, 1, 1]]
