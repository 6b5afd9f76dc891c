"""How far the correlations of numbers move: Pearson's r of all pairs with a quasi-identifier, before and after.

A published range stands for the mean of the values that it covers.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from tclose.measure.detail import Detail, DetailMeasure
from tclose.types import Floats


def correlation(first: Floats, second: Floats) -> float | None:
    """Return r over the rows that have both numbers; None where one of the columns does not vary.

    >>> round(correlation(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0])), 9)
    1.0
    """
    both = ~(np.isnan(first) | np.isnan(second))
    first, second = first[both], second[both]
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    x, y = first - first.mean(), second - second.mean()
    spread = math.sqrt(float(x @ x)) * math.sqrt(float(y @ y))
    return min(max(float(x @ y) / spread, -1.0), 1.0) if spread else None


def pairs(detail: Detail) -> list[tuple[str, str, float, float | None]]:
    """Return every pair with its correlation before, and after: None where a published column no longer varies."""
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
    correlated = []
    for (name, before, after, blurred), (other_name, other_before, other_after, also) in combinations(columns, 2):
        detail.people.beat()
        was = correlation(before, other_before) if blurred or also else None
        if was is not None:
            correlated.append((name, other_name, was, correlation(after, other_after)))
    return correlated


def correlations_moved(detail: Detail) -> float | None:
    """Return the mean change of a correlation, as an amount.

    None without two columns of numbers, and where a pair has no correlation left: its change is not known, and a mean
    over the other pairs would hide that.
    """
    changes = []
    for *_, was, now in pairs(detail):
        if now is None:
            return None
        changes.append(abs(was - now))
    return float(np.mean(changes)) if changes else None


CORRELATIONS = DetailMeasure(
    name="correlations",
    title="mean change of a correlation",
    short="correlations",
    meaning="How much Pearson's r of two numeric columns changes from the table to the release; the mean over all "
    "pairs with a quasi-identifier. No figure where a published column of numbers no longer varies.",
    better="lower",
    low=0.0,
    high=2.0,
    compute=correlations_moved,
    why_none="not known: fewer than two columns of numbers, or a published one no longer varies",
)
