from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tclose.distance import Counts
from tclose.privacy import DistinctL, EntropyL, RecursiveCL

WHOLE = np.ones(4, dtype=np.int64)


def test_distinct_values() -> None:
    judgement = DistinctL(2).judge(Counts.from_dense([[1, 1, 1, 0], [5, 0, 0, 0], [1, 0, 0, 9]]), WHOLE)
    assert judgement.admitted.tolist() == [True, False, True]
    assert (judgement.reached, judgement.worst_class) == (1, 1)


def test_one_person_with_many_values_is_not_diverse() -> None:
    counts = Counts.from_dense([[1, 1, 1, 0], [1, 1, 1, 0]])
    judgement = DistinctL(3, persons=np.array([3, 1])).judge(counts, WHOLE)
    assert judgement.admitted.tolist() == [True, False]
    assert (judgement.reached, judgement.worst_class) == (1, 1)


def test_entropy_lies_between_1_and_the_number_of_values() -> None:
    judgement = EntropyL(Fraction("2.9")).judge(Counts.from_dense([[1, 1, 1, 0], [2, 1, 1, 0], [4, 0, 0, 0]]), WHOLE)
    assert judgement.admitted.tolist() == [True, False, False]
    assert judgement.reached == 1
    assert judgement.worst_class == 2
    assert EntropyL(Fraction(1)).judge(Counts.from_dense([[4, 0, 0, 0]]), WHOLE).satisfied
    reached = EntropyL(Fraction(2)).judge(Counts.from_dense([[2, 1, 1, 0]]), WHOLE).reached
    assert reached == pytest.approx(math.exp(1.5 * math.log(2)))


def test_the_worst_class_is_one_that_fails_where_floats_see_a_tie() -> None:
    half = 5 * 10**16
    classes = Counts.from_dense([[half, half, 0, 0], [half + 1, half - 1, 0, 0]])
    judgement = EntropyL(Fraction(2)).judge(classes, WHOLE)
    assert judgement.admitted.tolist() == [True, False]
    assert judgement.worst_class == 1
    assert judgement.reached < 2


def test_many_classes_at_the_line_are_decided_by_their_counts() -> None:
    counts = Counts.from_dense([[3, 0, 3, 0], [0, 3, 0, 3], [2, 0, 0, 1]] * 1000)
    assert EntropyL(Fraction(2)).judge(counts, WHOLE).admitted.tolist() == [True, True, False] * 1000


def test_recursive_drops_the_commonest_values_from_the_tail() -> None:
    """r = 5, 3, 2: for l = 2 the tail is 5, for l = 3 it is 2."""
    counts = Counts.from_dense([[2, 5, 3, 0]])
    assert RecursiveCL(Fraction(1), 2).judge(counts, WHOLE).reached == 1
    assert RecursiveCL(Fraction(3), 3).judge(counts, WHOLE).reached == Fraction(5, 2)
    assert RecursiveCL(Fraction(3), 3).judge(counts, WHOLE).satisfied
    assert not RecursiveCL(Fraction(5, 2), 3).judge(counts, WHOLE).satisfied
    assert RecursiveCL(Fraction(3), 3).required == {"c": 3, "l": 3}


def test_recursive_with_fewer_values_than_l_is_infinite() -> None:
    judgement = RecursiveCL(Fraction(100), 3).judge(Counts.from_dense([[1, 1, 1, 0], [1, 1, 0, 0]]), WHOLE)
    assert judgement.admitted.tolist() == [True, False]
    assert (judgement.reached, judgement.worst_class) == (math.inf, 1)


@pytest.mark.parametrize("kind", [lambda by_person: EntropyL(Fraction(2), by_person),
                                  lambda by_person: RecursiveCL(Fraction(2), 2, by_person)])  # fmt: skip
def test_merging_may_break_it_where_persons_are_counted(kind) -> None:
    """Person 2 shows y in both classes and is counted once: x is then twice as common as y."""
    model = kind(True)
    first, second, both = [1, 1], [1, 1], [2, 1]
    admitted = model.judge(Counts.from_dense([first, second, both]), np.array([2, 1])).admitted.tolist()
    assert admitted == [True, True, False]
    assert not model.merging_keeps
    assert kind(False).merging_keeps
