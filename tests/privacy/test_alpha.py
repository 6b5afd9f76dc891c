from __future__ import annotations

from fractions import Fraction

import numpy as np

from tclose.distance import Counts
from tclose.privacy import Alpha


def test_the_commonest_value_of_a_class_sets_its_level() -> None:
    judgement = Alpha(Fraction(1, 2)).judge(Counts.from_dense([[1, 1, 0], [1, 1, 1], [1, 0, 2]]), np.array([3, 2, 3]))
    assert judgement.admitted.tolist() == [True, True, False]
    assert (judgement.reached, judgement.worst_class) == (Fraction(2, 3), 2)


def test_one_row_more_than_a_third_of_ten_million_fails() -> None:
    third = 3_333_333
    counts = Counts.from_dense([[third] * 3, [third + 1, third, third - 1]])
    judgement = Alpha(Fraction(1, 3)).judge(counts, np.array([1, 1, 1]))
    assert judgement.admitted.tolist() == [True, False]
