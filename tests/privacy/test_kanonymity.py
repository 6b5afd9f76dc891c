from __future__ import annotations

import numpy as np

from tclose.distance import Counts
from tclose.privacy import KAnonymity

COUNTS = Counts.from_dense([[2, 1], [1, 1], [4, 0], [0, 2]])


def test_the_smallest_class_sets_the_level() -> None:
    judgement = KAnonymity(3).judge(COUNTS, np.array([7, 4]))
    assert judgement.admitted.tolist() == [True, False, True, False]
    assert (judgement.reached, judgement.worst_class) == (2, 1)
    assert not judgement.satisfied
    assert KAnonymity(2).judge(COUNTS, np.array([7, 4])).satisfied
