from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

import tclose
from tclose.distance import Counts, Distance, Equal, Hierarchical, Matrix, Ordered, Value

M = 6
TREE = Hierarchical(tuple(map(np.array, ([0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 1, 2], [0, 0, 0, 0, 0, 1], [0] * 6))))
LINE = Value(np.array([0, 1, 3, 8, 20, 21]))


def as_matrix(distance: Distance, unit: int) -> Matrix:
    return Matrix(np.array([[int(distance.between(i, j) * unit) for j in range(M)] for i in range(M)]))


SAME = {
    "ordered": (Ordered(M), as_matrix(Ordered(M), 5)),
    "value": (LINE, as_matrix(LINE, 21)),
    "equal": (Equal(), as_matrix(Equal(), 1)),
    "hierarchical": (TREE, as_matrix(TREE, 3)),
    "in other units": (Ordered(M), as_matrix(Ordered(M), 5 * 10**12)),
}
row = st.lists(st.integers(0, 9), min_size=M, max_size=M).filter(any)


@pytest.mark.parametrize(("distance", "matrix"), SAME.values(), ids=SAME)
@settings(max_examples=examples(25), deadline=None)
@given(rows=st.lists(row, min_size=1, max_size=3), whole=row, factor=st.sampled_from([1, 10**6, 10**12]))
def test_a_matrix_of_another_distance_is_that_distance(
    distance: Distance, matrix: Matrix, rows: list[list[int]], whole: list[int], factor: int
) -> None:
    counts = Counts.from_dense(np.array(rows) * factor)
    found, expected = matrix.emd(counts, np.array(whole)), distance.emd(counts, np.array(whole))
    assert [found[j] for j in range(len(rows))] == [expected[j] for j in range(len(rows))]
    assert found.largest() == expected.largest()


def test_classes_alike_are_solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    solved = []
    work = Matrix._work
    monkeypatch.setattr(Matrix, "_work", lambda self, row, whole: solved.append(row) or work(self, row, whole))
    rows = [[1, 2, 0, 0, 0, 0], [0, 1, 0, 0, 0, 2], [1, 2, 0, 0, 0, 0]]
    found = as_matrix(Ordered(M), 5).emd(Counts.from_dense(rows), np.ones(M, dtype=np.int64))
    assert len(solved) == 2
    assert found[0] == found[2]


def test_costs_are_fractions_of_the_largest() -> None:
    matrix = Matrix(np.array([[0, 2, 4], [2, 0, 4], [4, 4, 0]]))
    assert matrix.farthest == 4
    assert [matrix.between(0, j) for j in range(3)] == [0, Fraction(1, 2), 1]


def test_without_scipy_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(tclose.MissingExtra, match=r"pip install 'tclose\[solve\]'"):
        as_matrix(Equal(), 1).emd(Counts.from_dense([[1, 1, 0, 0, 0, 0]]), np.array([0, 0, 1, 1, 0, 0]))
