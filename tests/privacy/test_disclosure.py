from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

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


def test_the_worst_class_is_one_that_fails() -> None:
    """Here floats round both figures to the same number, and only the second class reaches δ."""
    q, delta = np.array([1, 1]) * 10**17, Fraction("0.1")
    least = math.ceil(math.exp(0.1) * 5 * 10**16)
    rows = [[least + step, 10**17 - least - step] for step in range(-30, 31)]
    judgement = DeltaDisclosure(delta).judge(Counts.from_dense(rows), q)
    assert not judgement.satisfied
    assert not judgement.admitted[judgement.worst_class]
    assert judgement.reached >= 0.1
