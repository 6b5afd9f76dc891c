from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.distance import Counts
from tclose.privacy import BetaLikeness, EnhancedBetaLikeness

WHOLE = np.array([1, 3, 4])


def test_the_largest_relative_gain_sets_the_level() -> None:
    """Against ⅛, ⅜, ½: thirds gain 5/3 on the first value, and (0, ½, ½) gains ⅓ on the second."""
    counts = Counts.from_dense([[0, 1, 1], [1, 1, 1]])
    judgement = BetaLikeness(Fraction(1)).judge(counts, WHOLE)
    assert judgement.admitted.tolist() == [True, False]
    assert (judgement.reached, judgement.worst_class) == (Fraction(5, 3), 1)
    assert BetaLikeness(Fraction(5, 3)).judge(counts, WHOLE).satisfied


def test_losses_do_not_count() -> None:
    judgement = BetaLikeness(Fraction(1, 3)).judge(Counts.from_dense([[0, 2, 2]]), WHOLE)
    assert judgement.satisfied
    assert judgement.reached == Fraction(1, 3)
    assert BetaLikeness(Fraction(1, 10)).judge(Counts.from_dense([[1, 3, 4]]), WHOLE).reached == 0


def test_enhanced_caps_what_frequent_values_may_gain() -> None:
    """−ln ½ ≈ .69 allows p ≤ .846; −ln ⅛ ≈ 2.08 allows the rare value to gain 5/3."""
    counts = Counts.from_dense([[1, 1, 1], [0, 1, 5], [0, 1, 6]])
    judgement = EnhancedBetaLikeness(Fraction(2)).judge(counts, WHOLE)
    assert judgement.admitted.tolist() == [True, True, False]
    assert (judgement.reached, judgement.worst_class) == (math.inf, 2)
    assert EnhancedBetaLikeness(Fraction(2)).judge(counts.only(np.array([0, 1])), WHOLE).reached == Fraction(5, 3)


@settings(max_examples=examples(150), deadline=None)
@given(n=st.integers(300, 999), digits=st.integers(14, 17))
def test_floats_never_decide_at_the_cap(n: int, digits: int) -> None:
    """A value of q = n/1000 of the table may make up (1 − ln q)·q of a class of 10^digits rows, to the row."""
    rows = 10**digits
    with localcontext() as context:
        context.prec = 60
        most = int((1 - (Decimal(n) / 1000).ln()) * n / 1000 * rows)
    classes = [[most + step, rows - most - step] for step in (-1, 0, 1, 2)]
    judgement = EnhancedBetaLikeness(Fraction(9)).judge(Counts.from_dense(classes), np.array([n, 1000 - n]))
    assert judgement.admitted.tolist() == [True, True, False, False]
    assert judgement.worst_class == 2


def test_many_entries_next_to_the_cap() -> None:
    """Each of them is within a billionth of −ln q, where only more digits decide."""
    rows = 10**12
    most = int((1 + math.log(2)) / 2 * rows)
    counts = Counts.from_dense([[most - 1, rows - most + 1], [most + 2, rows - most - 2]] * 500)
    judgement = EnhancedBetaLikeness(Fraction(2)).judge(counts, np.array([1, 1]))
    assert judgement.admitted.tolist() == [True, False] * 500
