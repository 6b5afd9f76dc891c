"""Bagai, Weber & Gowda 2023: section 2 (conformance and fragmentation belong to a later issue)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.distance import Counts, Ordered

P, Q, R = [2, 1, 7], [3, 0, 7], [1, 0, 9]  # tenths

M = np.array([[15, 75, 0], [15, 0, 15], [30, 30, 45], [15, 30, 30]])
E = np.array([[3, 3, 0], [1, 0, 4], [0, 4, 0], [1, 1, 3]])


@pytest.mark.parametrize(("first", "second", "printed"), [(P, Q, "0.05"), (Q, R, "0.2"), (P, R, "0.15")])
def test_distances_of_the_example(first: list[int], second: list[int], printed: str) -> None:
    assert Ordered(3).emd(Counts.from_dense([first]), np.array(second))[0] == Fraction(printed)


def test_the_example_moves_the_second_tenth_to_the_first_place() -> None:
    (move,) = Ordered(3).plan(np.array(P), np.array(Q))
    assert (move.source, move.target, move.mass, move.distance) == (1, 0, Fraction("0.1"), Fraction(1, 2))


def test_one_value_is_at_distance_0() -> None:
    assert Ordered(1).emd(Counts.from_dense([[3]]), np.array([7]))[0] == 0


def test_sums_of_figure_1() -> None:
    assert M.sum() == 300
    assert E.sum() == 20
    assert (M.sum(axis=1) / 300).tolist() == [0.3, 0.1, 0.35, 0.25]
    assert (M.sum(axis=0) / 300).tolist() == [0.25, 0.45, 0.3]
    assert (E.sum(axis=1) / 20).tolist() == [0.3, 0.25, 0.2, 0.25]
    assert (E.sum(axis=0) / 20).tolist() == [0.25, 0.4, 0.35]


def test_distances_of_figure_1() -> None:
    assert Ordered(4).emd(Counts.from_dense([E.sum(axis=1)]), M.sum(axis=1))[0] == Fraction("0.05")
    assert Ordered(3).emd(Counts.from_dense([E.sum(axis=0)]), M.sum(axis=0))[0] == Fraction("0.025")


def rows(matrix: np.ndarray, group: str) -> pl.DataFrame:
    x, y = (np.repeat(where.ravel(), matrix.ravel()) for where in np.indices(matrix.shape))
    return pl.DataFrame({"group": [group] * len(x), "x": x + 1, "y": y + 1})


def test_the_table_of_figure_1_is_judged_on_both_attributes() -> None:
    frame = pl.concat([rows(E, "E"), rows(M - E, "rest")])
    policy = tclose.Policy(quasi=["group"], sensitive={"x": {"t": 0.05}, "y": {"t": 0.025}})
    result = tclose.check(frame, policy)
    assert result.rows == 300
    assert result.satisfied
    assert result.sensitive["x"].closeness == Fraction("0.05")
    assert result.sensitive["y"].closeness == Fraction("0.025")
    assert {found.worst_class for found in result.sensitive.values()} == {1}
    assert tclose.explain(frame, policy, attribute="x", class_number=1).closeness == Fraction("0.05")

    stricter = tclose.Policy(quasi=["group"], sensitive={"x": {"t": 0.05}, "y": {"t": "0.02499999999999999"}})
    result = tclose.check(frame, stricter)
    assert not result.satisfied
    assert result.sensitive["x"].satisfied
    assert not result.sensitive["y"].satisfied
