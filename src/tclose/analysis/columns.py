"""The published columns as arrays, for tools that draw and fit: what each row may be, as far as its cells tell.

Estimates read the exact cells instead (`cells.py`). Dates are counted in days since 1970. An end in a coded tail is
infinite; what needs a number takes the end of the tail in its place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InputError
from tclose.policy import Builder
from tclose.recode.cell import Cell
from tclose.recode.typed import ALL, BOTTOM, HIGH, LABEL, LOW, MEAN, MISSING_ROWS, SOME, TEXTS, TOP
from tclose.recode.untyped import suffixes_of
from tclose.types import Bools, Floats, Ints

MICROSECONDS = 86_400_000_000  # of a day
Parts = Mapping[str, pl.Series]  # the typed columns of one column, by what they add to its name


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
    """Ranges of numbers or dates, both ends included; also the bins of a sensitive column."""

    name: str
    low: Floats  # -inf where a coded tail leaves it open
    high: Floats
    closed_low: Floats  # the end of the tail in the place of an open end
    closed_high: Floats
    whole: bool  # only whole numbers, or whole days, lie in the ranges
    is_date: bool
    some_missing: Bools  # rows of classes in which some values are missing
    all_missing: Bools
    parts: Parts = field(default_factory=dict)
    bins: Mapping[str, Cell] = field(default_factory=dict)  # of a sensitive column, by label

    @property
    def middle(self) -> Floats:
        """The expected value of each row: the midpoint, of the tail's end where a range is open."""
        return (self.closed_low + self.closed_high) / 2


@dataclass(frozen=True, eq=False)
class ListColumn:
    """Sets of values, or the leaves below a label; labels where nobody knows their leaves."""

    name: str
    lists: tuple[tuple[str, ...], ...]  # the different ones
    codes: Ints  # which of them each row has
    some_missing: Bools
    all_missing: Bools
    parts: Parts = field(default_factory=dict)
    leaves: bool = True  # whether the lists hold leaves
    rule: Builder | None = None  # that made the labels

    @cached_property
    def values(self) -> tuple[str, ...]:
        """All values that occur in lists."""
        return tuple(sorted({value for each in self.lists for value in each}))


@dataclass(frozen=True, eq=False)
class MeanColumn:
    """Class means: the mean of the values that a class has, rounded, and no bounds on any of them."""

    name: str
    means: Floats
    some_missing: Bools
    all_missing: Bools
    parts: Parts = field(default_factory=dict)


PublishedColumn = ExactColumn | RangeColumn | ListColumn | MeanColumn


def as_numbers(cells: pl.Series) -> Floats:
    """Return numbers as floats, and dates as days since 1970."""
    if cells.dtype.is_temporal():
        return cells.cast(pl.Datetime("us")).to_physical().cast(pl.Float64).to_numpy() / MICROSECONDS
    return cells.cast(pl.Float64).to_numpy()


def columns_of(
    frame: pl.DataFrame,
    quasi: tuple[str, ...],
    others: tuple[str, ...],
    *,
    rules: Mapping[str, Builder | None] | None = None,
    bins: Mapping[str, Mapping[str, Cell]] | None = None,
) -> dict[str, PublishedColumn]:
    """Return the columns of a typed release by the names that they had in the table.

    `rules` names the columns of labels whose lists hold no leaves, with the rule that made them if it is known. `bins`
    are the bins of sensitive columns, by label.
    """
    columns: dict[str, PublishedColumn] = {name: ExactColumn(name, frame[name]) for name in others}
    places: dict[str, int] = {name: frame.columns.index(name) for name in others}
    for name in (*quasi, *(bins or ())):
        suffixes = suffixes_of(frame.columns, name)
        assert suffixes is not None
        parts = {suffix: frame[name + suffix] for suffix in suffixes}
        places[name] = frame.columns.index(name + suffixes[0])
        columns[name] = _column(name, parts, rules or {}, bins or {})
    return {name: columns[name] for name in sorted(columns, key=places.__getitem__)}


def _column(
    name: str, parts: Parts, rules: Mapping[str, Builder | None], bins: Mapping[str, Mapping[str, Cell]]
) -> PublishedColumn:
    rows = len(next(iter(parts.values())))
    words = parts[MISSING_ROWS] if MISSING_ROWS in parts else pl.Series([""]).new_from_index(0, rows)
    missing: dict[str, Any] = {"some_missing": (words == SOME).to_numpy(), "all_missing": (words == ALL).to_numpy()}
    if LOW in parts:
        if name in bins:
            missing["all_missing"] = parts[LOW].is_null().to_numpy()
        return _ranges(name, parts, missing, bins.get(name, {}))
    if MEAN in parts:
        return MeanColumn(name, as_numbers(parts[MEAN]), **missing, parts=parts)
    return _lists(name, parts, missing, leaves=name not in rules, rule=rules.get(name))


def _ranges(name: str, parts: Parts, missing: Mapping[str, Bools], bins: Mapping[str, Cell]) -> RangeColumn:
    low, high = as_numbers(parts[LOW]), as_numbers(parts[HIGH])
    nothing = np.full(len(low), np.nan)
    bottom, top = (as_numbers(parts[tail]) if tail in parts else nothing for tail in (BOTTOM, TOP))
    ends = [parts[end].dtype for end in (LOW, HIGH, BOTTOM, TOP) if end in parts]  # in a text file, each has its own
    return RangeColumn(
        name,
        np.where(np.isnan(bottom), low, -np.inf),
        np.where(np.isnan(top), high, np.inf),
        np.where(np.isnan(bottom), low, bottom),
        np.where(np.isnan(top), high, top),
        whole=not bins and all(dtype.is_integer() or dtype == pl.Date for dtype in ends),
        is_date=ends[0].is_temporal(),
        **missing,
        parts=parts,
        bins=bins,
    )


def _lists(name: str, parts: Parts, missing: Mapping[str, Bools], *, leaves: bool, rule: Builder | None) -> ListColumn:
    lists = parts[""]
    texts = pl.Series([json.dumps(each.to_list()) for each in lists], dtype=pl.String) if len(lists) else lists
    different = texts.unique(maintain_order=True)
    codes = texts.replace_strict(different, np.arange(len(different)), return_dtype=pl.Int64).to_numpy()
    values = tuple(tuple(json.loads(text)) for text in different)
    return ListColumn(name, values, codes, **missing, parts=parts, leaves=leaves, rule=rule)


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


def labels_of(column: ListColumn) -> dict[str, tuple[str, ...]]:
    """Return the leaves below each published label."""
    if LABEL not in column.parts:
        return {}
    pairs = pl.DataFrame({"label": column.parts[LABEL], "code": column.codes}).unique().drop_nulls()
    return {label: column.lists[code] for label, code in pairs.iter_rows()}
