from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.distance import Counts
from tclose.privacy import DeltaDisclosure

WHOLE = np.array([1, 3])


def test_gains_and_losses_both_count() -> None:
    """p/q is 2 and ⅔ in the first class, ½ and 7/6 in the second."""
    judgement = DeltaDisclosure(Fraction("0.7")).judge(Counts.from_dense([[1, 1], [1, 7]]), WHOLE)
    assert judgement.satisfied
    assert judgement.reached == pytest.approx(math.log(2))
    assert DeltaDisclosure(Fraction("0.69")).judge(Counts.from_dense([[1, 1], [1, 7]]), WHOLE).admitted.tolist() == [
        False,
        False,
    ]


def test_the_worst_class() -> None:
    judgement = DeltaDisclosure(Fraction(1)).judge(Counts.from_dense([[1, 3], [1, 7], [1, 4]]), WHOLE)
    assert judgement.worst_class == 1


def log(ratio: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = 60
        return Fraction(Decimal(ratio.numerator).ln() - Decimal(ratio.denominator).ln())


@settings(max_examples=examples(150), deadline=None)
@given(c=st.integers(1, 999), n=st.integers(1, 999), digits=st.integers(14, 20))
def test_floats_never_decide_at_the_line(c: int, n: int, digits: int) -> None:
    counts, whole = Counts.from_dense([[c, 1000 - c]]), np.array([n, 1000 - n])
    exact = max(abs(log(Fraction(c, n))), abs(log(Fraction(1000 - c, 1000 - n))))
    step = Fraction(1, 10**digits)
    below = exact // step * step
    for delta in (below - step, below, below + step, below + 2 * step):
        if delta > 0:
            assert DeltaDisclosure(delta).judge(counts, whole).satisfied is (exact < delta)


def test_the_worst_class_is_one_that_fails() -> None:
    """Floats see no difference between the last class that is within δ and the first that is not."""
    rows, whole = 10**17, np.array([1, 1])
    with localcontext() as context:
        context.prec = 60
        least = int(Decimal("-0.1").exp() / 2 * rows) + 1
    classes = [[least, rows - least], [least - 1, rows - least + 1]]
    judgement = DeltaDisclosure(Fraction("0.1")).judge(Counts.from_dense(classes), whole)
    assert judgement.admitted.tolist() == [True, False]
    assert judgement.worst_class == 1
    assert judgement.reached >= 0.1
