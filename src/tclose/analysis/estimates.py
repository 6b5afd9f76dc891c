"""Estimates about a table: counts, means and quantiles, what is expected of them, and bounds that hold.

`expected` spreads every value evenly over its range, or over the values of its set, and columns independently of each
other within a class; withheld rows are expected to be like the others. `lower` and `upper` assume nothing: they hold
for every table that could have been published so, and are rounded outwards where no float is exact. Where some rows of
a class lack a value, each of them counts half in `expected`. Where nobody knows the values below a label, nothing is
expected (NaN).

All bounds of means and quantiles are exact. A row of a class in which some values are missing may count or not, and so
may a withheld row: bounds hold in both cases.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from tclose.analysis.columns import KnownCells, NumberCells, TextCells, Units, text_of
from tclose.errors import InputError, did_you_mean
from tclose.recode.cell import Cell
from tclose.recode.typed_table import exact_number
from tclose.recode.typed_values import EPOCH, float_near
from tclose.table.numbers import are_numbers
from tclose.types import Bools, Floats, Ints

# An estimate


WHOLE = range(-(2**63), 2**63)  # what a column of whole numbers holds

Number = Fraction | float  # a float is infinite, or no number at all


@dataclass(frozen=True)
class Estimate:
    """What is expected under an even spread, and the bounds between which the original table's figure lies.

    `needs` says what is needed for bounds where the release alone gives none, or none about the original table.
    """

    expected: Any
    lower: Any
    upper: Any
    needs: str = ""

    def __repr__(self) -> str:
        """Show the figures; what is needed only where something is."""
        needs = f", needs={self.needs!r}" if self.needs else ""
        return f"Estimate(expected={self.expected!r}, lower={self.lower!r}, upper={self.upper!r}{needs})"


def estimate(expected: Number, lower: Number, upper: Number, *, is_date: bool = False, needs: str = "") -> Estimate:
    """Return exact figures as people know them: the expected one within the bounds, dates as dates."""
    if not (_is_nan(expected) or _is_nan(lower)):
        expected = min(max(expected, lower), upper)
    shown = _date if is_date else _number
    return Estimate(shown(expected, 0), shown(lower, -1), shown(upper, 1), needs)


def _is_nan(number: Number) -> bool:
    return isinstance(number, float) and math.isnan(number)


def _number(number: Number, towards: int) -> float | int:
    """Return a float whose shortest spelling is the number, else a whole number, else the next float `towards` it."""
    if isinstance(number, float):
        return number
    near = float_near(number)
    if Fraction(repr(near)) == number:
        return near
    return int(number) if number.denominator == 1 else float_near(number, towards)


def _date(number: Number, towards: int) -> datetime.datetime | float:
    """Return a moment, to the microsecond."""
    if isinstance(number, float):
        return number
    microseconds = math.floor(number) if towards < 0 else math.ceil(number) if towards else round(number)
    try:
        return EPOCH + datetime.timedelta(microseconds=microseconds)
    except OverflowError:
        return math.copysign(math.inf, number)


def series(figures: Sequence[Any], *, towards: int, is_date: bool) -> pl.Series:
    """Return figures of estimates as one column; where it has fractions too, whole numbers are rounded `towards`.

    A column of dates has no open ends: they are null there.
    """
    if is_date:
        moments = [figure if isinstance(figure, datetime.datetime) else None for figure in figures]
        return pl.Series(moments, dtype=pl.Datetime("us"))
    if figures and all(isinstance(figure, int) and figure in WHOLE for figure in figures):
        return pl.Series(figures, dtype=pl.Int64)
    floats = [float_near(Fraction(each), towards) if isinstance(each, int) else each for each in figures]
    return pl.Series(floats, dtype=pl.Float64)


# How many rows fulfil conditions


NOBODY_KNOWS = np.nan  # what is expected of a label whose leaves nobody knows


@dataclass(frozen=True, eq=False)
class CellMatch:
    """How likely each cell of a column fulfils a condition, and which cells surely and possibly do; withheld last."""

    likely: Floats
    surely: Bools
    possibly: Bools

    def by_row(self, cells: KnownCells) -> CellMatch:
        """Return the same for each row."""
        return CellMatch(self.likely[cells.codes], self.surely[cells.codes], self.possibly[cells.codes])


@dataclass(frozen=True, eq=False)
class MatchingRows:
    """The rows that may fulfil conditions: how likely each does, which surely and possibly do, and withheld ones."""

    fit: CellMatch
    withheld: int  # rows that nobody sees and that possibly fulfil the conditions

    @property
    def least(self) -> int:
        """How many rows fulfil the conditions at least."""
        return int(self.fit.surely.sum())

    @property
    def most(self) -> int:
        """How many rows fulfil the conditions at most."""
        return int(self.fit.possibly.sum()) + self.withheld


def rows_that_fit(
    columns: Mapping[str, KnownCells], conditions: Mapping[str, Any], rows: int, withheld: int
) -> MatchingRows:
    """Return which rows fulfil all conditions."""
    likely, surely, possibly = np.ones(rows), np.ones(rows, dtype=bool), np.ones(rows, dtype=bool)
    outside = True
    for name, condition in conditions.items():
        fit = fit_of(columns[name], condition)
        outside = outside and bool(fit.possibly[-1])
        each = fit.by_row(columns[name])
        surely, possibly = surely & each.surely, possibly & each.possibly
        likely = np.where(possibly, likely * each.likely, 0.0)
    return MatchingRows(CellMatch(likely, surely, possibly), withheld if outside else 0)


def count(found: MatchingRows, rows: int, withheld: int) -> tuple[Number, Fraction, Fraction]:
    """Return how many rows are expected to fulfil the conditions, and at least and at most do."""
    share = (rows + withheld) / rows if rows else 1.0
    expected = float(found.fit.likely.sum()) * share
    return expected if np.isnan(expected) else Fraction(expected), Fraction(found.least), Fraction(found.most)


def fit_of(cells: KnownCells, condition: Any) -> CellMatch:
    """Return which cells of a column fulfil a condition; None asks for missing values."""
    if condition is None:
        missing, sure = cells.missing, ~cells.present
        return CellMatch(np.where(sure, 1.0, np.where(missing, 0.5, 0.0)), sure, missing)
    fit = _of_numbers(cells, condition) if isinstance(cells, NumberCells) else _of_texts(cells, condition)
    surely, possibly = fit.surely & cells.present & ~cells.missing, fit.possibly & cells.present
    likely = np.where(fit.surely, 1.0, fit.likely) * np.where(cells.missing, 0.5, 1.0)
    return CellMatch(np.where(possibly, likely, 0.0), surely, possibly)


def _of_numbers(cells: NumberCells, condition: Any) -> CellMatch:
    if isinstance(condition, tuple):
        return _between(cells, *_ends(cells, condition))
    fits = [_in_bin(cells, value) or _at(cells, value) for value in _values(condition)]
    none = np.zeros(len(cells.low))
    surely, possibly = (_as_bools(sum((getattr(fit, name) for fit in fits), none)) for name in ("surely", "possibly"))
    return CellMatch(np.minimum(sum((fit.likely for fit in fits), none), 1.0), surely, possibly)


def _in_bin(cells: NumberCells, label: Any) -> CellMatch | None:
    """Return which cells are a bin, if a value is the label of one; bins have no value in common."""
    if not isinstance(label, str) or label not in cells.labels:
        return None
    low, high = (end * cells.per for end in cells.labels[label])
    surely = _as_bools(cells.low == low) & _as_bools(cells.high == high)
    outside = np.arange(len(surely)) == len(surely) - 1
    return CellMatch(surely.astype(np.float64), surely & ~outside, surely | outside)


def _at(cells: NumberCells, value: Any) -> CellMatch:
    number = _number_in(cells, value)
    return _between(cells, number, number)


def _between(cells: NumberCells, low: Number, high: Number) -> CellMatch:
    """Return which cells lie between two numbers, both included; all comparisons are exact."""
    first, last = (end * cells.per if isinstance(end, Fraction) else end for end in (low, high))
    surely = _as_bools(cells.low >= first) & _as_bools(cells.high <= last)
    possibly = _as_bools(cells.low <= last) & _as_bools(cells.high >= first)
    possibly &= ~(cells.above_low & _as_bools(cells.low == last)) & ~(cells.below_high & _as_bools(cells.high == first))
    return CellMatch(share_between(cells, float(low), float(high)), surely, possibly)


def _as_bools(compared: Any) -> Bools:
    return np.asarray(compared, dtype=bool)


def share_between(cells: NumberCells, low: float, high: float) -> Floats:
    """Return the share of each cell that lies between two numbers, if its values are spread evenly."""
    first, last = cells.near_low, cells.near_high
    if cells.whole:
        inside = np.minimum(last, np.floor(high / cells.whole) * cells.whole)
        inside = (inside - np.maximum(first, np.ceil(low / cells.whole) * cells.whole)) / cells.whole + 1
        return np.asarray(np.clip(inside, 0, None) / ((last - first) / cells.whole + 1))
    width = last - first
    inside = np.clip(np.minimum(last, high) - np.maximum(first, low), 0, None)
    point = ((first >= low) & (first <= high)).astype(np.float64)
    return np.where(width > 0, inside / np.where(width > 0, width, 1.0), np.where(np.isnan(width), np.nan, point))


def _of_texts(cells: TextCells, condition: Any) -> CellMatch:
    if isinstance(condition, tuple):
        raise InputError(
            "column '{name}' holds no numbers, so it has no ranges: give a value, or a list of values", name=cells.name
        )
    asked = [text_of(value) for value in _values(condition)]
    _check_known(cells, asked)
    wanted = {leaf for text in asked for leaf in cells.labels.get(text, (text,))}
    fits = [_of_text(cells, cell, asked, wanted) for cell in cells.cells]
    likely, surely, possibly = zip(*fits, strict=True)
    return CellMatch(np.array(likely, dtype=np.float64), np.array(surely), np.array(possibly))


def _of_text(cells: TextCells, cell: Cell, asked: Sequence[str], wanted: Collection[str]) -> tuple[float, bool, bool]:
    """Return how likely one cell is one of the wanted values, whether it surely is, and whether it can be."""
    if cell.values is not None:
        found = sum(value in wanted for value in cell.values)
        return found / max(len(cell.values), 1), found == len(cell.values) > 0, found > 0
    if cell.label is None:  # of a withheld row
        return NOBODY_KNOWS, False, True
    if cells.rule is None:  # a label that is asked for covers its own rows; any other may stand for anything
        return (1.0, True, True) if cell.label in asked else (NOBODY_KNOWS, False, True)
    surely = any(cells.rule.covers(text, cell.label) for text in asked)
    possibly = surely or any(cells.rule.covers(cell.label, text) for text in asked)
    return (1.0 if surely else NOBODY_KNOWS if possibly else 0.0), surely, possibly


def _check_known(cells: TextCells, asked: Sequence[str]) -> None:
    """Refuse a value that no row can have as far as the release tells: it may be misspelt."""
    known = cells.known
    unknown = [text for text in asked if text not in known]
    if unknown and cells.closed:
        hint = did_you_mean(unknown[0], sorted(known))
        raise InputError(
            "column '{name}' of the release has no value '{text}'{hint}", name=cells.name, text=unknown[0], hint=hint
        )


def _values(condition: Any) -> Collection[Any]:
    return condition if isinstance(condition, list | set | frozenset) else [condition]


def _ends(cells: NumberCells, condition: tuple[Any, ...]) -> tuple[Number, Number]:
    if len(condition) != 2:
        raise InputError("a range of '{name}' has two ends, such as (30, 40); None leaves one open", name=cells.name)
    low, high = condition
    return -np.inf if low is None else _number_in(cells, low), np.inf if high is None else _number_in(cells, high)


def _number_in(cells: NumberCells, value: Any) -> Number:
    """Return a number or date that is asked for; a ZIP code of digits, read as a number, may be asked for as text."""
    spelled = isinstance(value, str) and not cells.is_date and are_numbers(pl.Series([value])).item()
    return Fraction(value) if spelled else number_of(cells.name, value)


def number_of(name: str, value: Any) -> Number:
    """Return a number exactly, a float as its shortest spelling; dates are counted in microseconds."""
    try:
        if isinstance(value, str):
            value = datetime.datetime.fromisoformat(value)
        if isinstance(value, datetime.date):
            return exact_number(value) or Fraction(0)
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float) and np.isinf(value):
            return value
        return Fraction(repr(value) if isinstance(value, float) else value)
    except (TypeError, ValueError):
        raise InputError("column '{name}' holds numbers or dates, and the condition is neither", name=name) from None


# Means and quantiles


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
    def of(cls, cells: NumberCells, chosen: CellMatch, withheld: int) -> Sample:
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


def of_whole_classes(cells: NumberCells, chosen: CellMatch, labels: Ints) -> NumberCells:
    """Return class means for the rows of classes that were chosen as a whole, and what withheld rows say for others."""
    apart = np.bincount(labels, ~chosen.surely) > 0
    return replace(cells, codes=np.where(apart[labels], len(cells.low) - 1, cells.codes))
