"""How many rows of a release fulfil conditions, with the least and the largest number that the table can have had.

`expected` spreads every value evenly over its range, or over the values of its set, and columns independently of each
other within a class. `lower` and `upper` assume nothing: they hold for every table that could have been published so.
Where some rows of a class lack a value, each of them counts half in `expected`.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tclose.analysis.columns import (
    ExactColumn,
    ListColumn,
    MeanColumn,
    PublishedColumn,
    RangeColumn,
    as_numbers,
)
from tclose.errors import InputError
from tclose.table.numbers import are_numbers
from tclose.types import Bools, Floats


@dataclass(frozen=True)
class Estimate:
    """What is expected under an even spread, and the bounds that hold in any case."""

    expected: Any
    lower: Any
    upper: Any


@dataclass(frozen=True, eq=False)
class _Fit:
    """How likely each row fulfils a condition, and which rows surely and possibly do."""

    likely: Floats
    surely: Bools
    possibly: Bools


def count(columns: Mapping[str, PublishedColumn], rows: int, conditions: Mapping[str, Any]) -> Estimate:
    """Return how many rows fulfil all conditions."""
    likely, surely, possibly = np.ones(rows), np.ones(rows, dtype=bool), np.ones(rows, dtype=bool)
    for name, condition in conditions.items():
        fit = _fit(columns[name], condition)
        likely, surely, possibly = likely * fit.likely, surely & fit.surely, possibly & fit.possibly
    return Estimate(float(likely.sum()), int(surely.sum()), int(possibly.sum()))


def _fit(column: PublishedColumn, condition: Any) -> _Fit:
    if isinstance(column, MeanColumn):
        raise InputError(f"column '{column.name}' holds class means, which say nothing about single rows")
    if isinstance(column, ExactColumn):
        holds = _exact(column, condition)
        return _Fit(holds.astype(np.float64), holds, holds)
    fit = _in_range(column, condition) if isinstance(column, RangeColumn) else _in_list(column, condition)
    likely = np.where(column.some_missing, fit.likely / 2, fit.likely)
    present = ~column.all_missing
    return _Fit(np.where(present, likely, 0.0), fit.surely & present & ~column.some_missing, fit.possibly & present)


def _exact(column: ExactColumn, condition: Any) -> Bools:
    if isinstance(condition, tuple):
        low, high = _ends(column.name, condition)
        numbers = column.numbers
        return (numbers >= low) & (numbers <= high)
    wanted = _values(condition)
    if column.is_number:
        spelled = wanted if column.is_date else [_spelled_number(value) for value in wanted]
        return np.isin(column.numbers, [_number(column.name, value) for value in spelled])
    return column.cells.cast(pl.String).is_in([str(value) for value in wanted]).fill_null(False).to_numpy()


def _spelled_number(value: Any) -> Any:
    """Return the number that a text spells: a ZIP code of digits, which a file reads as a number, is asked for as text.

    A text with a leading zero spells none: such codes are text in a release as well.
    """
    return float(value) if isinstance(value, str) and are_numbers(pl.Series([value])).item() else value


def _in_range(column: RangeColumn, condition: Any) -> _Fit:
    low, high = _ends(column.name, condition if isinstance(condition, tuple) else (condition, condition))
    surely = (column.low >= low) & (column.high <= high)
    possibly = (column.low <= high) & (column.high >= low)
    return _Fit(share_between(column, low, high), surely, possibly)


def share_between(column: RangeColumn, low: float, high: float) -> Floats:
    """Return the share of each range that lies between two numbers."""
    first, last = column.closed_low, column.closed_high
    if column.whole:
        inside = np.minimum(last, np.floor(high)) - np.maximum(first, np.ceil(low)) + 1
        return np.asarray(np.clip(inside, 0, None) / (last - first + 1))
    width = last - first
    inside = np.clip(np.minimum(last, high) - np.maximum(first, low), 0, None)
    point = ((first >= low) & (first <= high)).astype(np.float64)
    return np.where(width > 0, inside / np.where(width > 0, width, 1.0), point)


def _in_list(column: ListColumn, condition: Any) -> _Fit:
    if isinstance(condition, tuple):
        raise InputError(f"column '{column.name}' holds lists of values: give a value or a list of them")
    wanted = {str(value) for value in _values(condition)}
    found = [sum(value in wanted for value in each) for each in column.lists]
    sizes = [max(len(each), 1) for each in column.lists]
    likely = np.array(found) / np.array(sizes)
    return _Fit(likely[column.codes], (likely == 1)[column.codes], (likely > 0)[column.codes])


def _values(condition: Any) -> Collection[Any]:
    return condition if isinstance(condition, list | set | frozenset) else [condition]


def _ends(name: str, condition: tuple[Any, ...]) -> tuple[float, float]:
    if len(condition) != 2:
        raise InputError(f"a range of '{name}' has two ends, such as (30, 40); None leaves one open")
    low, high = condition
    return -np.inf if low is None else _number(name, low), np.inf if high is None else _number(name, high)


def _number(name: str, value: Any) -> float:
    try:
        if isinstance(value, str):
            value = datetime.datetime.fromisoformat(value)
        if isinstance(value, datetime.date):
            return float(as_numbers(pl.Series([value]))[0])
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"column '{name}' holds numbers or dates, and the condition is neither") from None
