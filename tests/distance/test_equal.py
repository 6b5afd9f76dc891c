from __future__ import annotations

from fractions import Fraction

import numpy as np

from tclose.distance import Counts, Equal, Move


def test_half_the_sum_of_differences() -> None:
    ratios = Equal().emd(Counts.from_dense([[2, 2, 0], [0, 0, 1]]), np.array([2, 2, 4]))
    assert [ratios[0], ratios[1]] == [Fraction(1, 2), Fraction(1, 2)]


def test_between() -> None:
    assert Equal().between(2, 2) == 0
    assert Equal().between(0, 5) == 1


def test_moves_in_the_order_of_the_domain() -> None:
    moves = Equal().plan(np.array([2, 0, 2, 0]), np.array([1, 1, 1, 1]))
    assert moves == [Move(0, 1, Fraction(1, 4), Fraction(1)), Move(2, 3, Fraction(1, 4), Fraction(1))]
