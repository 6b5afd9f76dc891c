"""How many rows of a table fulfil conditions, with the least and the largest number that the table can have had.

`expected` spreads every value evenly over its range, or over the values of its set, and columns independently of each
other within a class; withheld rows are expected to be like the others. `lower` and `upper` assume nothing: they hold
for every table that could have been published so. Where some rows of a class lack a value, each of them counts half in
`expected`. Where nobody knows the values below a label, nothing is expected (NaN).
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from tclose.analysis.cells import KnownCells, NumberCells, TextCells, text_of
from tclose.analysis.estimates import Number
from tclose.errors import InputError, did_you_mean
from tclose.recode.cell import Cell
from tclose.recode.typed_cells import exact_number
from tclose.table.numbers import are_numbers
from tclose.types import Bools, Floats

NOBODY_KNOWS = np.nan  # what is expected of a label whose leaves nobody knows


@dataclass(frozen=True, eq=False)
class Fit:
    """How likely each cell of a column fulfils a condition, and which cells surely and possibly do; withheld last."""

    likely: Floats
    surely: Bools
    possibly: Bools

    def by_row(self, cells: KnownCells) -> Fit:
        """Return the same for each row."""
        return Fit(self.likely[cells.codes], self.surely[cells.codes], self.possibly[cells.codes])


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows that may fulfil conditions: how likely each does, which surely and possibly do, and withheld ones."""

    fit: Fit
    withheld: int  # rows that nobody sees and that possibly fulfil the conditions

    @property
    def least(self) -> int:
        """How many rows fulfil the conditions at least."""
        return int(self.fit.surely.sum())

    @property
    def most(self) -> int:
        """How many rows fulfil the conditions at most."""
        return int(self.fit.possibly.sum()) + self.withheld


def rows_that_fit(columns: Mapping[str, KnownCells], conditions: Mapping[str, Any], rows: int, withheld: int) -> Rows:
    """Return which rows fulfil all conditions."""
    likely, surely, possibly = np.ones(rows), np.ones(rows, dtype=bool), np.ones(rows, dtype=bool)
    outside = True
    for name, condition in conditions.items():
        fit = fit_of(columns[name], condition)
        outside = outside and bool(fit.possibly[-1])
        each = fit.by_row(columns[name])
        surely, possibly = surely & each.surely, possibly & each.possibly
        likely = np.where(possibly, likely * each.likely, 0.0)
    return Rows(Fit(likely, surely, possibly), withheld if outside else 0)


def count(found: Rows, rows: int, withheld: int) -> tuple[Number, Fraction, Fraction]:
    """Return how many rows are expected to fulfil the conditions, and at least and at most do."""
    share = (rows + withheld) / rows if rows else 1.0
    expected = float(found.fit.likely.sum()) * share
    return expected if np.isnan(expected) else Fraction(expected), Fraction(found.least), Fraction(found.most)


def fit_of(cells: KnownCells, condition: Any) -> Fit:
    """Return which cells of a column fulfil a condition; None asks for missing values."""
    if condition is None:
        missing, sure = cells.missing, ~cells.present
        return Fit(np.where(sure, 1.0, np.where(missing, 0.5, 0.0)), sure, missing)
    fit = _of_numbers(cells, condition) if isinstance(cells, NumberCells) else _of_texts(cells, condition)
    surely, possibly = fit.surely & cells.present & ~cells.missing, fit.possibly & cells.present
    likely = np.where(fit.surely, 1.0, fit.likely) * np.where(cells.missing, 0.5, 1.0)
    return Fit(np.where(possibly, likely, 0.0), surely, possibly)


def _of_numbers(cells: NumberCells, condition: Any) -> Fit:
    if isinstance(condition, tuple):
        return _between(cells, *_ends(cells, condition))
    fits = [_in_bin(cells, value) or _at(cells, value) for value in _values(condition)]
    none = np.zeros(len(cells.low))
    surely, possibly = (_as_bools(sum((getattr(fit, name) for fit in fits), none)) for name in ("surely", "possibly"))
    return Fit(np.minimum(sum((fit.likely for fit in fits), none), 1.0), surely, possibly)


def _in_bin(cells: NumberCells, label: Any) -> Fit | None:
    """Return which cells are a bin, if a value is the label of one; bins have no value in common."""
    if not isinstance(label, str) or label not in cells.labels:
        return None
    low, high = (end * cells.per for end in cells.labels[label])
    surely = _as_bools(cells.low == low) & _as_bools(cells.high == high)
    outside = np.arange(len(surely)) == len(surely) - 1
    return Fit(surely.astype(np.float64), surely & ~outside, surely | outside)


def _at(cells: NumberCells, value: Any) -> Fit:
    number = _number_in(cells, value)
    return _between(cells, number, number)


def _between(cells: NumberCells, low: Number, high: Number) -> Fit:
    """Return which cells lie between two numbers, both included; all comparisons are exact."""
    first, last = (end * cells.per if isinstance(end, Fraction) else end for end in (low, high))
    surely = _as_bools(cells.low >= first) & _as_bools(cells.high <= last)
    possibly = _as_bools(cells.low <= last) & _as_bools(cells.high >= first)
    possibly &= ~(cells.above_low & _as_bools(cells.low == last)) & ~(cells.below_high & _as_bools(cells.high == first))
    return Fit(share_between(cells, float(low), float(high)), surely, possibly)


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


def _of_texts(cells: TextCells, condition: Any) -> Fit:
    if isinstance(condition, tuple):
        raise InputError(
            f"column '{cells.name}' holds no numbers, so it has no ranges: give a value, or a list of values"
        )
    asked = [text_of(value) for value in _values(condition)]
    _check_known(cells, asked)
    wanted = {leaf for text in asked for leaf in cells.labels.get(text, (text,))}
    fits = [_of_text(cells, cell, asked, wanted) for cell in cells.cells]
    likely, surely, possibly = zip(*fits, strict=True)
    return Fit(np.array(likely, dtype=np.float64), np.array(surely), np.array(possibly))


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
        raise InputError(f"column '{cells.name}' of the release has no value '{unknown[0]}'"
                         f"{did_you_mean(unknown[0], sorted(known))}")  # fmt: skip


def _values(condition: Any) -> Collection[Any]:
    return condition if isinstance(condition, list | set | frozenset) else [condition]


def _ends(cells: NumberCells, condition: tuple[Any, ...]) -> tuple[Number, Number]:
    if len(condition) != 2:
        raise InputError(f"a range of '{cells.name}' has two ends, such as (30, 40); None leaves one open")
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
        raise InputError(f"column '{name}' holds numbers or dates, and the condition is neither") from None
