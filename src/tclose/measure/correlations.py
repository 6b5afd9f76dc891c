"""How far the correlations of numbers move: Pearson's r of all pairs with a quasi-identifier, before and after.

A published range stands for the mean of the values that it covers.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from tclose.measure.detail import Detail, Kept
from tclose.types import Floats


def correlation(one: Floats, other: Floats) -> float | None:
    """Return r over the rows that have both; none where one of them does not vary.

    >>> round(correlation(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0])), 9)
    1.0
    """
    both = ~(np.isnan(one) | np.isnan(other))
    one, other = one[both], other[both]
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    x, y = one - one.mean(), other - other.mean()
    spread = math.sqrt(float(x @ x)) * math.sqrt(float(y @ y))
    return min(max(float(x @ y) / spread, -1.0), 1.0) if spread else None


def pairs(detail: Detail) -> list[tuple[str, str, float, float]]:
    """Return every pair with its correlation before and after; what no longer varies is no longer correlated."""
    columns = [
        (column.name, column.before[column.cells], column.after[column.texts], True)
        for column in detail.visible
        if column.before is not None and column.after is not None
    ]
    columns += [
        (column.name, column.worth[column.before], column.worth[column.after], False)
        for column in detail.sensitive
        if column.worth is not None
    ]
    found = []
    for (name, before, after, blurred), (other_name, other_before, other_after, also) in combinations(columns, 2):
        was = correlation(before, other_before) if blurred or also else None
        if was is not None:
            found.append((name, other_name, was, correlation(after, other_after) or 0.0))
    return found


def correlations_moved(detail: Detail) -> float | None:
    """Return the mean change of a correlation, as an amount; none without two columns of numbers."""
    found = pairs(detail)
    return float(np.mean([abs(was - now) for *_, was, now in found])) if found else None


MEASURE = Kept("correlations", "mean change of a correlation", "lower", 0.0, 2.0, correlations_moved)
