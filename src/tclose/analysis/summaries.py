"""Means and quantiles of a release, with the least and the largest that the table can have had.

A row of a class in which some values are missing may count or not: bounds hold in both cases, and `expected` counts it
half.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tclose.analysis.columns import ExactColumn, MeanColumn, PublishedColumn, RangeColumn, as_shown
from tclose.analysis.counting import Estimate, share_between
from tclose.errors import InputError
from tclose.types import Bools, Floats

STEPS = 100  # of the search for an expected quantile
TINY = 1e-12


@dataclass(frozen=True, eq=False)
class _Rows:
    """The least, the expected and the largest value of each row, and which rows surely have one."""

    low: Floats
    middle: Floats
    high: Floats
    surely: Bools
    is_date: bool

    def estimate(self, expected: float, lower: float, upper: float) -> Estimate:
        return Estimate(*(as_shown(number, is_date=self.is_date) for number in (expected, lower, upper)))


def mean(column: PublishedColumn, rows: Bools | None = None) -> Estimate:
    """Return the mean of a column, of some rows or of all."""
    if isinstance(column, MeanColumn):
        if rows is not None or column.some_missing.any():
            raise InputError(f"column '{column.name}' holds class means, which say nothing about parts of classes")
        found = float(np.nanmean(column.means))
        return Estimate(found, found, found)
    given = _rows(column, rows)
    weights = np.where(given.surely, 1.0, 0.5)
    expected = float(np.average(given.middle, weights=weights)) if len(weights) else np.nan
    lower = _least_mean(given.low[given.surely], given.low[~given.surely])
    upper = -_least_mean(-given.high[given.surely], -given.high[~given.surely])
    return given.estimate(expected, lower, upper)


def _least_mean(sure: Floats, possible: Floats) -> float:
    """Return the smallest mean of numbers of which some may be left out."""
    added = np.cumsum(np.append(0.0, np.sort(possible)))
    rows = len(sure) + np.arange(len(added))
    sums = sure.sum() + added
    means = sums[rows > 0] / rows[rows > 0]
    return float(means.min()) if len(means) else np.nan


def quantile(column: PublishedColumn, q: float) -> Estimate:
    """Return a quantile: the smallest value that a share `q` of the rows does not exceed."""
    if not 0 <= q <= 1:
        raise InputError("a quantile is asked for by a share between 0 and 1")
    given = _rows(column, None)
    if not len(given.low):
        return given.estimate(np.nan, np.nan, np.nan)
    lower = _least_quantile(np.sort(given.low[given.surely]), np.sort(given.low[~given.surely]), q)
    upper = _largest_quantile(np.sort(given.high[given.surely]), np.sort(given.high[~given.surely]), q)
    return given.estimate(_spread_quantile(column, q) if isinstance(column, RangeColumn) else lower, lower, upper)


def _least_quantile(sure: Floats, possible: Floats, q: float) -> float:
    """Return the smallest quantile of numbers of which some may be left out: those above it are."""
    values = np.unique(np.concatenate([sure, possible]))
    more = np.searchsorted(possible, values, side="right")
    below = np.searchsorted(sure, values, side="right") + more
    return float(values[np.argmax((below > 0) & (below >= q * (len(sure) + more) - TINY))])


def _largest_quantile(sure: Floats, possible: Floats, q: float) -> float:
    """Return the largest quantile of numbers of which some may be left out: those below it are."""
    values = np.unique(np.concatenate([sure, possible]))
    below = np.searchsorted(sure, values, side="left")
    rows = len(sure) + len(possible) - np.searchsorted(possible, values, side="left")
    return float(values[below < np.maximum(q * rows - TINY, TINY)][-1])


def _spread_quantile(column: RangeColumn, q: float) -> float:
    """Return the quantile of values that are spread evenly over their ranges."""
    known = ~column.all_missing
    weights = np.where(column.some_missing, 0.5, 1.0)[known]
    low, high = float(column.closed_low[known].min()), float(column.closed_high[known].max())
    if column.whole:
        low, high = np.floor(low), np.ceil(high)
    for _ in range(STEPS):
        middle = np.floor((low + high) / 2) if column.whole else (low + high) / 2
        share = float(share_between(column, -np.inf, middle)[known] @ weights / weights.sum())
        if share >= q - TINY:
            high = middle
        else:
            low = middle + 1 if column.whole else middle
        if low >= high:
            break
    return float(high)


def _rows(column: PublishedColumn, rows: Bools | None) -> _Rows:
    """Return what the chosen rows may be, without those that surely lack a value."""
    if isinstance(column, ExactColumn):
        numbers = column.numbers if rows is None else column.numbers[rows]
        known = numbers[~np.isnan(numbers)]
        return _Rows(known, known, known, np.ones(len(known), dtype=bool), column.is_date)
    if not isinstance(column, RangeColumn):
        raise InputError(f"column '{column.name}' holds no numbers")
    chosen = ~column.all_missing if rows is None else ~column.all_missing & rows
    low, middle, high = (each[chosen] for each in (column.low, column.middle, column.high))
    return _Rows(low, middle, high, ~column.some_missing[chosen], column.is_date)
