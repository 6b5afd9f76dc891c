"""Means and quantiles of a table, with the least and the largest that it can have had; all bounds are exact.

A row of a class in which some values are missing may count or not, and so may a withheld row: bounds hold in both
cases. `expected` counts the former half, and takes withheld rows to be like the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tclose.analysis.cells import NumberCells, Units
from tclose.analysis.counting import Fit, share_between
from tclose.analysis.estimates import Number
from tclose.types import Floats, Ints

STEPS = 100  # of the search for an expected quantile
TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Sample:
    """Cells of numbers, and how many of the chosen rows surely and possibly have each; withheld rows are possible."""

    cells: NumberCells
    surely: Ints
    possibly: Ints  # beside those that surely do
    weights: Floats  # how many rows each cell is expected to have

    @classmethod
    def of(cls, cells: NumberCells, chosen: Fit, withheld: int) -> Sample:
        """Count the rows of each cell, without those that surely lack a value."""
        size = len(cells.low)
        sure_value, value = cells.present & ~cells.missing, cells.present
        sure = np.bincount(cells.codes[chosen.surely], minlength=size) * sure_value
        every = np.bincount(cells.codes[chosen.possibly], minlength=size) * value
        expected = np.bincount(cells.codes, chosen.likely, minlength=size)
        weights = np.asarray(expected * np.where(cells.missing, 0.5, 1.0) * value, dtype=np.float64)
        every[-1] += withheld
        return cls(cells, sure, every - sure, weights)

    @property
    def exact(self) -> bool:
        """Whether all numbers are known."""
        return not self.possibly.any() and bool((self.cells.low == self.cells.high)[self.surely > 0].all())


def mean(sample: Sample) -> tuple[Number, Number, Number]:
    """Return the expected mean of the chosen rows, and the least and the largest that is possible."""
    cells = sample.cells
    lower = _least_mean(cells.low, sample.surely, sample.possibly)
    upper = -_least_mean(-cells.high, sample.surely, sample.possibly)
    lower, upper = (each / cells.per if isinstance(each, Fraction) else each for each in (lower, upper))
    return lower if sample.exact else _expected_mean(sample), lower, upper


def _least_mean(ends: Units, surely: Ints, possibly: Ints) -> Number:
    """Return the smallest mean of numbers, each of which occurs some times surely, and possibly some times more."""
    counted = (surely + possibly) > 0
    if not counted.any():
        return np.nan
    if (ends[counted] == -np.inf).any():
        return -np.inf
    if (ends[surely > 0] == np.inf).any():
        return np.inf
    rows, total = int(surely.sum()), _total(ends[surely > 0], surely[surely > 0])
    more = np.flatnonzero(possibly)
    for place in more[np.argsort(ends[more], kind="stable")].tolist():
        if rows and ends[place] * rows >= total:  # no further row lowers the mean
            break
        if ends[place] == np.inf:
            return np.inf
        rows, total = rows + int(possibly[place]), total + ends[place] * int(possibly[place])
    return Fraction(total, rows)


def _total(ends: Units, counts: Ints) -> int:
    return int((ends * counts.astype(object)).sum())


def _expected_mean(sample: Sample) -> Number:
    middles = (sample.cells.near_low + sample.cells.near_high) / 2
    counted = sample.weights > 0
    if not counted.any() or np.isnan(middles[counted]).any():
        return np.nan
    return Fraction(float(np.average(middles[counted], weights=sample.weights[counted])))


def quantile(sample: Sample, q: Fraction) -> tuple[Number, Number, Number]:
    """Return a quantile: the smallest value that a share `q` of the rows does not exceed; expected, least, largest."""
    cells = sample.cells
    if not (sample.surely + sample.possibly).any():
        return np.nan, np.nan, np.nan
    ends = (
        _least_quantile(cells.low, sample.surely, sample.possibly, q),
        _largest_quantile(cells.high, sample.surely, sample.possibly, q),
    )
    lower, upper = (Fraction(end, cells.per) if isinstance(end, int) else end for end in ends)
    return lower if sample.exact else _spread_quantile(sample, float(q)), lower, upper


def _sorted(ends: Units, surely: Ints, possibly: Ints) -> tuple[Units, Ints, Ints]:
    counted = np.flatnonzero(surely + possibly)
    order = counted[np.argsort(ends[counted], kind="stable")]
    return ends[order], surely[order], possibly[order]


def _least_quantile(ends: Units, surely: Ints, possibly: Ints, q: Fraction) -> int | float:
    """Return the smallest quantile of numbers of which some may be left out: those above it are."""
    values, sure, more = _sorted(ends, surely, possibly)
    total = int(sure.sum())
    below, extra = np.cumsum(sure + more), np.cumsum(more)
    fits = [b > 0 and b >= q * (total + e) for b, e in zip(below.tolist(), extra.tolist(), strict=True)]
    return _end(values[fits.index(True)])


def _largest_quantile(ends: Units, surely: Ints, possibly: Ints, q: Fraction) -> int | float:
    """Return the largest quantile of numbers of which some may be left out: those below it are."""
    values, sure, more = _sorted(ends, surely, possibly)
    below = np.cumsum(sure) - sure
    rows = int(sure.sum()) + np.cumsum(more[::-1])[::-1]
    fits = [b == 0 or b < q * r for b, r in zip(below.tolist(), rows.tolist(), strict=True)]
    return _end(values[len(fits) - 1 - fits[::-1].index(True)])


def _end(value: int | float) -> int | float:
    return value if isinstance(value, float) else int(value)


def _spread_quantile(sample: Sample, q: float) -> Number:
    """Return the quantile of values that are spread evenly over their cells."""
    cells, weights = sample.cells, sample.weights
    known = weights > 0
    low, high = cells.near_low[known], cells.near_high[known]
    if not known.any() or np.isnan(low + high).any():
        return np.nan
    unit = cells.whole
    first, last = float(low.min()), float(high.max())
    if unit:
        first, last = np.floor(first / unit), np.ceil(last / unit)
    for _ in range(STEPS):
        middle = np.floor((first + last) / 2) if unit else (first + last) / 2
        share = share_between(cells, -np.inf, middle * unit if unit else middle)[known] @ weights[known]
        if float(share) >= (q - TINY) * weights.sum():
            last = middle
        else:
            first = middle + 1 if unit else middle
        if first >= last:
            break
    return Fraction(float(last) * (unit or 1))


def of_whole_classes(cells: NumberCells, chosen: Fit, labels: Ints) -> NumberCells:
    """Return class means for the rows of classes that were chosen as a whole, and what withheld rows say for others."""
    apart = np.bincount(labels, ~chosen.surely) > 0
    return replace(cells, codes=np.where(apart[labels], len(cells.low) - 1, cells.codes))
