"""Weber's thesis: the earth mover's distance of section 3.2.2 (its method belongs to a later issue)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.distance import Counts, Ordered

P, Q, R = [3, 1, 6], [4, 0, 6], [1, 7, 2]  # tenths
PRINTED = [(Q, P, "0.05"), (P, R, "0.3"), (Q, R, "0.35")]


@pytest.mark.parametrize(("first", "second", "printed"), PRINTED)
def test_distances_of_the_example(first: list[int], second: list[int], printed: str) -> None:
    distance = Ordered(3)
    assert distance.emd(Counts.from_dense([first]), np.array(second))[0] == Fraction(printed)
    assert distance.emd(Counts.from_dense([second]), np.array(first))[0] == Fraction(printed)


@pytest.mark.parametrize(("first", "second", "printed"), PRINTED)
def test_distances_of_the_example_in_a_table(first: list[int], second: list[int], printed: str) -> None:
    """A class of `first` in a table whose distribution is `second`: the other rows make up the difference."""
    others = 10 * np.array(second) - np.array(first)
    values = np.concatenate((np.repeat([1, 2, 3], first), np.repeat([1, 2, 3], others)))
    frame = pl.DataFrame({"group": ["class"] * 10 + ["rest"] * (len(values) - 10), "x": values})
    policy = tclose.Policy(quasi=["group"], sensitive={"x": {"t": printed, "domain": [1, 2, 3]}})
    assert tclose.explain(frame, policy, attribute="x", class_number=1).closeness == Fraction(printed)
    assert tclose.check(frame, policy).satisfied


def test_the_thesis_moves_two_tenths_and_four_tenths_one_step_each() -> None:
    moves = Ordered(3).plan(np.array(P), np.array(R))
    assert [(move.source, move.target, move.mass) for move in moves] == [
        (0, 1, Fraction("0.2")),
        (2, 1, Fraction("0.4")),
    ]
    assert [move.distance for move in moves] == [Fraction(1, 2)] * 2
