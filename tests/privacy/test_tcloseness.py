from __future__ import annotations

from fractions import Fraction

import numpy as np

from tclose.distance import Counts, Ordered
from tclose.privacy import TCloseness

COUNTS = Counts.from_dense([[1, 0, 1], [2, 0, 0], [0, 2, 0]])
WHOLE = np.array([3, 2, 1])


def test_the_farthest_class_sets_the_level() -> None:
    judgement = TCloseness(Fraction(1, 3), Ordered(3)).judge(COUNTS, WHOLE)
    assert judgement.admitted.tolist() == [True, True, True]
    assert (judgement.reached, judgement.worst_class) == (Fraction(1, 3), 1)
    assert TCloseness(Fraction(0), Ordered(3)).judge(COUNTS, WHOLE).admitted.tolist() == [False] * 3
    assert TCloseness(Fraction(1), Ordered(3)).judge(COUNTS, WHOLE).satisfied


def test_the_reference_is_an_argument_and_never_counted_from_the_classes() -> None:
    """A worker on a cluster sees only part of the rows, and judges them against the whole table."""
    part = Counts.from_dense([[5, 5]])
    assert TCloseness(Fraction(0), Ordered(2)).judge(part, np.array([5, 5])).satisfied
    assert TCloseness(Fraction(0), Ordered(2)).judge(part, np.array([50, 150])).reached == Fraction(1, 4)
