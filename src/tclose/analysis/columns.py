"""The published columns as arrays: what each row may be, as far as its cells tell.

Dates are counted in days since 1970. An end in a coded tail is infinite; estimates that need a number put the end of
the tail in its place.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InputError
from tclose.recode.typed import ALL, BOTTOM, HIGH, LOW, MEAN, MISSING_ROWS, SOME, TEXTS, TOP
from tclose.recode.untyped import suffixes_of
from tclose.types import Bools, Floats, Ints

MICROSECONDS = 86_400_000_000  # of a day
FIRST_DAY = datetime.datetime(1970, 1, 1)


@dataclass(frozen=True, eq=False)
class ExactColumn:
    """Cells that are published as they are: sensitive and kept columns."""

    name: str
    cells: pl.Series

    @property
    def is_number(self) -> bool:
        """Whether the cells are numbers or dates."""
        return self.cells.dtype.is_numeric() or self.is_date

    @property
    def is_date(self) -> bool:
        """Whether the cells are dates."""
        return self.cells.dtype.is_temporal()

    @property
    def numbers(self) -> Floats:
        """The cells as numbers; a missing one is NaN."""
        if not self.is_number:
            raise InputError(f"column '{self.name}' holds no numbers")
        return as_numbers(self.cells)


@dataclass(frozen=True, eq=False)
class RangeColumn:
    """Ranges of numbers or dates, both ends included."""

    name: str
    low: Floats  # -inf where a coded tail leaves it open
    high: Floats
    closed_low: Floats  # the end of the tail in the place of an open end
    closed_high: Floats
    whole: bool  # only whole numbers, or whole days, lie in the ranges
    is_date: bool
    some_missing: Bools  # rows of classes in which some values are missing
    all_missing: Bools

    @property
    def middle(self) -> Floats:
        """The expected value of each row: the midpoint, of the tail's end where a range is open."""
        return (self.closed_low + self.closed_high) / 2


@dataclass(frozen=True, eq=False)
class ListColumn:
    """Sets of values, or the leaves below a label."""

    name: str
    lists: tuple[tuple[str, ...], ...]  # the different ones
    codes: Ints  # which of them each row has
    some_missing: Bools
    all_missing: Bools

    @cached_property
    def values(self) -> tuple[str, ...]:
        """All values that occur in lists."""
        return tuple(sorted({value for each in self.lists for value in each}))


@dataclass(frozen=True, eq=False)
class MeanColumn:
    """Class means: the mean of the values that a class has, and no bounds on any of them."""

    name: str
    means: Floats
    some_missing: Bools
    all_missing: Bools


PublishedColumn = ExactColumn | RangeColumn | ListColumn | MeanColumn


def as_numbers(cells: pl.Series) -> Floats:
    """Return numbers as floats, and dates as days since 1970."""
    if cells.dtype.is_temporal():
        return cells.cast(pl.Datetime("us")).to_physical().cast(pl.Float64).to_numpy() / MICROSECONDS
    return cells.cast(pl.Float64).to_numpy()


def as_shown(number: float, *, is_date: bool) -> Any:
    """Return a number as people know it: dates as dates."""
    return FIRST_DAY + datetime.timedelta(days=number) if is_date and np.isfinite(number) else float(number)


def columns_of(frame: pl.DataFrame, quasi: tuple[str, ...], others: tuple[str, ...]) -> dict[str, PublishedColumn]:
    """Return the columns of a typed release by the names that they had in the table."""
    columns: dict[str, PublishedColumn] = {name: ExactColumn(name, frame[name]) for name in others}
    places: dict[str, int] = {name: frame.columns.index(name) for name in others}
    for name in quasi:
        suffixes = suffixes_of(frame.columns, name)
        assert suffixes is not None
        parts = {suffix: frame[name + suffix] for suffix in suffixes}
        places[name] = frame.columns.index(name + suffixes[0])
        words = parts[MISSING_ROWS] if MISSING_ROWS in parts else pl.Series([""]).new_from_index(0, frame.height)
        missing = {"some_missing": (words == SOME).to_numpy(), "all_missing": (words == ALL).to_numpy()}
        if LOW in parts:
            columns[name] = _ranges(name, parts, missing)
        elif MEAN in parts:
            columns[name] = MeanColumn(name, as_numbers(parts[MEAN]), **missing)
        else:
            columns[name] = _lists(name, parts[""], missing)
    return {name: columns[name] for name in sorted(columns, key=places.__getitem__)}


def _ranges(name: str, parts: Mapping[str, pl.Series], missing: Mapping[str, Bools]) -> RangeColumn:
    low, high = as_numbers(parts[LOW]), as_numbers(parts[HIGH])
    nothing = np.full(len(low), np.nan)
    bottom, top = (as_numbers(parts[tail]) if tail in parts else nothing for tail in (BOTTOM, TOP))
    dtype = parts[LOW].dtype
    return RangeColumn(
        name,
        np.where(np.isnan(bottom), low, -np.inf),
        np.where(np.isnan(top), high, np.inf),
        np.where(np.isnan(bottom), low, bottom),
        np.where(np.isnan(top), high, top),
        whole=dtype.is_integer() or dtype == pl.Date,
        is_date=dtype.is_temporal(),
        **missing,
    )


def _lists(name: str, lists: pl.Series, missing: Mapping[str, Bools]) -> ListColumn:
    texts = pl.Series([json.dumps(each.to_list()) for each in lists], dtype=pl.String) if len(lists) else lists
    different = texts.unique(maintain_order=True)
    codes = texts.replace_strict(different, np.arange(len(different)), return_dtype=pl.Int64).to_numpy()
    return ListColumn(name, tuple(tuple(json.loads(text)) for text in different), codes, **missing)


def parsed_lists(column: pl.Series) -> pl.Series:
    """Return a column of lists, which some formats hold as text."""
    if column.dtype == TEXTS:
        return column
    different = column.unique(maintain_order=True)
    try:
        lists = pl.Series([json.loads(text) for text in different], dtype=TEXTS)
    except (TypeError, ValueError):
        raise InputError(f"column '{column.name}' holds something else than lists") from None
    places = column.replace_strict(different, np.arange(len(different)), return_dtype=pl.Int64)
    return lists.gather(places)
