"""The published columns of a release: what each row, and each different cell, may have been.

Tools that draw and fit read columns as arrays: what each row may be, as far as its cells tell. Dates are counted in
days since 1970. An end in a coded tail is infinite; what needs a number takes the end of the tail in its place.

Estimates read the exact cells instead: the different cells of a column, and one more for the rows that were withheld.
Nobody sees a withheld row, so its cell says nothing but the column's domain, if one was declared. Numbers are exact
throughout: whole units of a common size, and infinite where an end is open.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import InputError
from tclose.policy import Builder
from tclose.recode.cell import Cell, CellKind, PrefixRule, rule_cell
from tclose.recode.typed_table import (
    ALL,
    BOTTOM,
    CLASS,
    CLASS_SIZE,
    HIGH,
    LABEL,
    LOW,
    MEAN,
    MISSING_ROWS,
    SOME,
    TEXTS,
    TOP,
    bin_columns,
    read_cells,
    suffixes_of,
)
from tclose.recode.typed_values import DAY
from tclose.table.frames import from_polars
from tclose.table.values import values_of
from tclose.types import Bools, Floats, Ints

# Columns as arrays


MICROSECONDS = 86_400_000_000  # of a day
Parts = Mapping[str, pl.Series]  # the typed columns of one column, by what they add to its name


@dataclass(frozen=True, eq=False, repr=False)
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
            raise InputError("column '{name}' holds no numbers", name=self.name)
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


@dataclass(frozen=True, eq=False)
class _Missing:
    """Which rows of a column are of a class with missing values."""

    some: Bools
    every: Bools


def _column(
    name: str, parts: Parts, rules: Mapping[str, Builder | None], bins: Mapping[str, Mapping[str, Cell]]
) -> PublishedColumn:
    rows = len(next(iter(parts.values())))
    words = parts[MISSING_ROWS] if MISSING_ROWS in parts else pl.Series([""]).new_from_index(0, rows)
    missing = _Missing((words == SOME).to_numpy(), (words == ALL).to_numpy())
    if LOW in parts:
        if name in bins:
            missing = replace(missing, every=parts[LOW].is_null().to_numpy())
        return _ranges(name, parts, missing, bins.get(name, {}))
    if MEAN in parts:
        numbers = as_numbers(parts[MEAN])
        return MeanColumn(name, numbers, some_missing=missing.some, all_missing=missing.every, parts=parts)
    return _lists(name, parts, missing, leaves=name not in rules, rule=rules.get(name))


def _ranges(name: str, parts: Parts, missing: _Missing, bins: Mapping[str, Cell]) -> RangeColumn:
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
        some_missing=missing.some,
        all_missing=missing.every,
        parts=parts,
        bins=bins,
    )


def _lists(name: str, parts: Parts, missing: _Missing, *, leaves: bool, rule: Builder | None) -> ListColumn:
    lists = parts[""]
    texts = pl.Series([json.dumps(each.to_list()) for each in lists], dtype=pl.String) if len(lists) else lists
    different = texts.unique(maintain_order=True)
    codes = texts.replace_strict(different, np.arange(len(different)), return_dtype=pl.Int64).to_numpy()
    values = tuple(tuple(json.loads(text)) for text in different)
    return ListColumn(
        name,
        values,
        codes,
        some_missing=missing.some,
        all_missing=missing.every,
        parts=parts,
        leaves=leaves,
        rule=rule,
    )


def parsed_lists(column: pl.Series) -> pl.Series:
    """Return a column of lists, which some formats hold as text."""
    if column.dtype == TEXTS:
        return column
    different = column.unique(maintain_order=True)
    try:
        lists = pl.Series([json.loads(text) for text in different], dtype=TEXTS)
    except (TypeError, ValueError):
        raise InputError("column '{name}' holds something else than lists", name=column.name) from None
    places = column.replace_strict(different, np.arange(len(different)), return_dtype=pl.Int64)
    return lists.gather(places)


def labels_of(column: ListColumn) -> dict[str, tuple[str, ...]]:
    """Return the leaves below each published label."""
    if LABEL not in column.parts:
        return {}
    pairs = pl.DataFrame({"label": column.parts[LABEL], "code": column.codes}).unique().drop_nulls()
    return {label: column.lists[code] for label, code in pairs.iter_rows()}


# Exact cells


Units = NDArray[Any]  # objects: Python integers, or infinite floats
BOOLEANS = ("false", "true")


@dataclass(frozen=True, eq=False)
class NumberCells:
    """The different cells of a column of numbers or dates; the last one is that of withheld rows."""

    name: str
    codes: Ints  # the cell of each row
    low: Units
    high: Units
    per: int  # units of one, or of one microsecond
    above_low: Bools  # values lie above `low`, not at it
    below_high: Bools
    near_low: Floats  # as floats, the end of a coded tail in the place of an open end
    near_high: Floats
    missing: Bools  # whether values may be missing
    present: Bools  # whether there may be values
    whole: int = 0  # the unit of which all values are whole numbers, for what is expected; 0 if there is none
    is_date: bool = False
    labels: Mapping[str, tuple[Fraction, Fraction]] = field(default_factory=dict)  # of bins


@dataclass(frozen=True, eq=False)
class TextCells:
    """The different cells of a column of text; the last one is that of withheld rows."""

    name: str
    codes: Ints
    cells: tuple[Cell, ...]
    rule: PrefixRule | None = None  # that made the labels
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # the leaves below each published label

    @property
    def missing(self) -> Bools:
        """Whether values may be missing."""
        return np.array([cell.missing for cell in self.cells])

    @property
    def present(self) -> Bools:
        """Whether there may be values."""
        return np.array([cell.present for cell in self.cells])

    @property
    def known(self) -> set[str]:
        """All values and labels that the release, or a declared domain, names."""
        return {*self.labels} | {value for cell in self.cells for value in cell.values or ()}

    @property
    def closed(self) -> bool:
        """Whether all values are known that a published row may have."""
        return all(cell.values is not None for cell in self.cells[:-1])


KnownCells = NumberCells | TextCells


def cells_of_column(column: PublishedColumn, domain: Collection[Any] | None) -> KnownCells:
    """Return the cells of a column; `domain` are its declared values, or the two ends of its range."""
    found = _cells_of_column(column, domain)
    if domain is not None and _contradicts(found):
        raise InputError(
            "the domain of '{name}' does not hold what the release shows: some cells lie outside", name=column.name
        )
    return found


def _contradicts(found: KnownCells) -> bool:
    """Tell whether no value of some published cell lies in the domain, which is the last cell."""
    if isinstance(found, TextCells):
        *shown, outside = found.cells
        known = {*(outside.values or ())}
        return any(cell.present and cell.values is not None and known.isdisjoint(cell.values) for cell in shown)
    present, low, high = found.present[:-1], found.low[:-1], found.high[:-1]
    least, most = found.low[-1], found.high[-1]
    above = (low > most) | ((low == most) & found.above_low[:-1])
    below = (high < least) | ((high == least) & found.below_high[:-1])
    return bool((present & (above | below).astype(bool)).any())


def _cells_of_column(column: PublishedColumn, domain: Collection[Any] | None) -> KnownCells:
    if isinstance(column, ExactColumn):
        return _exact_numbers(column, domain) if column.is_number else _exact_texts(column, domain)
    if isinstance(column, ListColumn):
        return _listed(column, domain)
    cells, codes = read_cells(column.parts)
    if isinstance(column, MeanColumn):
        return _numbers(column.name, codes, around_means(cells), domain)
    closed = {cell.low for cell in column.bins.values() if not cell.above_low}
    if column.bins:
        cells = tuple(replace(cell, above_low=cell.low not in closed) for cell in cells)
        typed, _ = read_cells(bin_columns(list(column.bins.values())))
        ends = ((cell.low or Fraction(0), cell.high or Fraction(0)) for cell in typed)
        labels = dict(zip(column.bins, ends, strict=True))
        return replace(_numbers(column.name, codes, cells, domain), labels=labels)
    whole = 0 if not column.whole else DAY if column.is_date else 1
    return _numbers(column.name, codes, cells, domain, whole)


def around_means(cells: Sequence[Cell]) -> list[Cell]:
    """Return where the exact means of classes may lie: half of the last published digit away, and half of a float's."""
    means = [cell.mean for cell in cells if cell.mean is not None]
    digit = Fraction(1, max((_decimal_places(mean) for mean in means), default=1))
    return [cell if cell.mean is None else _around(cell, cell.mean, digit / 2) for cell in cells]


def _around(cell: Cell, mean: Fraction, radius: Fraction) -> Cell:
    radius += Fraction(math.ulp(float(mean))) / 2
    return replace(cell, low=mean - radius, high=mean + radius, bottom=mean, top=mean)


def _decimal_places(number: Fraction) -> int:
    """Return the power of ten that makes a decimal whole."""
    power = 1
    while power % number.denominator:
        power *= 10
    return power


def _exact_numbers(column: ExactColumn, domain: Collection[Any] | None) -> NumberCells:
    values = values_of(column.cells, ())
    outside = _outside("date" if column.is_date else "number", domain)
    per = math.lcm(10**values.scale, *(end.denominator for end in (outside.low, outside.high) if end is not None))
    factor, different = per // 10**values.scale, [] if values.units is None else values.units.tolist()
    units, none = [int(unit) * factor for unit in different], len(different)
    low, high = _units(outside.low, per, -np.inf), _units(outside.high, per, np.inf)
    near = np.array([*(unit / per for unit in units), np.nan, np.nan])
    flags = np.zeros(none + 2, dtype=bool)  # one cell for missing values, and that of withheld rows
    missing, present = flags.copy(), ~flags
    missing[none:], present[none] = True, False
    return NumberCells(
        column.name,
        np.where(values.codes < 0, none, values.codes),
        np.array([*units, 0, low], dtype=object),
        np.array([*units, 0, high], dtype=object),
        per,
        flags,
        flags,
        near,
        near,
        missing,
        present,
        is_date=column.is_date,
    )


def _exact_texts(column: ExactColumn, domain: Collection[Any] | None) -> TextCells:
    texts = column.cells.cast(pl.String)
    different = texts.drop_nulls().unique().sort()
    codes = texts.replace_strict(different, np.arange(len(different)), default=None, return_dtype=pl.Int64)
    cells = [Cell(kind="text", values=(text,)) for text in different]
    cells += [Cell(kind="text", missing=True, present=False), _outside("text", domain)]
    return TextCells(column.name, codes.fill_null(len(different)).to_numpy(), tuple(cells))


def _listed(column: ListColumn, domain: Collection[Any] | None) -> KnownCells:
    cells, codes = read_cells(column.parts, leaves=column.leaves)
    rule = column.rule
    if rule is not None and rule.kind in ("width", "date"):
        read = [rule_cell(str(cell.label), rule, missing=cell.missing) if cell.present else cell for cell in cells]
        return _numbers(column.name, codes, read, domain)
    labels = [str(cell.label) for cell in cells if cell.label is not None]
    prefix = PrefixRule.of(rule, labels) if rule is not None and rule.kind == "prefix" else None
    leaves = labels_of(column) if column.leaves else {}
    return TextCells(column.name, codes, (*cells, _outside("text", domain)), prefix, leaves)


def _outside(kind: CellKind, domain: Collection[Any] | None) -> Cell:
    """Return the cell of withheld rows: anything in the domain, which may be unknown."""
    if kind == "text":
        return Cell(kind=kind, values=None if domain is None else tuple(map(text_of, domain)), missing=True)
    low, high = (None, None) if domain is None else (min(domain), max(domain))
    return Cell(kind=kind, low=low, high=high, missing=True)


def text_of(value: Any) -> str:
    """Return a value as a table spells it."""
    return BOOLEANS[value] if isinstance(value, bool) else str(value)


def _numbers(
    name: str, codes: Ints, cells: Sequence[Cell], domain: Collection[Any] | None, whole: int = 0
) -> NumberCells:
    """Return cells as arrays; a declared domain also closes open ends."""
    is_date = any(cell.kind == "date" for cell in cells)
    outside = _outside("date" if is_date else "number", domain)
    every = [*(_closed(cell, outside) for cell in cells), outside]
    per = math.lcm(*(end.denominator for cell in every for end in (cell.low, cell.high) if end is not None))

    def units(end_of: Callable[[Cell], Fraction | None], nothing: float) -> Units:
        ends = (end_of(cell) if cell.present else Fraction(0) for cell in every)
        return np.array([_units(end, per, nothing) for end in ends], dtype=object)

    return NumberCells(
        name,
        codes,
        units(lambda cell: cell.low, -np.inf),
        units(lambda cell: cell.high, np.inf),
        per,
        np.array([cell.above_low for cell in every]),
        np.array([cell.below_high for cell in every]),
        np.array([_near(cell.low, cell.bottom) for cell in every]),
        np.array([_near(cell.high, cell.top) for cell in every]),
        np.array([cell.missing for cell in every]),
        np.array([cell.present for cell in every]),
        whole,
        is_date,
    )


def _units(end: Fraction | None, per: int, nothing: float) -> int | float:
    return nothing if end is None else int(end * per)


def _closed(cell: Cell, outside: Cell) -> Cell:
    if not cell.present:
        return cell
    return replace(
        cell,
        low=outside.low if cell.low is None else cell.low,
        high=outside.high if cell.high is None else cell.high,
    )


def _near(end: Fraction | None, tail: Fraction | None) -> float:
    known = end if tail is None else tail
    return np.nan if known is None else float(known)


def interval_frame(typed: pl.DataFrame, columns: Mapping[str, PublishedColumn]) -> pl.DataFrame:
    """Return one column per column of the table: structs of `low` and `high`, lists, means and exact cells."""
    made: dict[str, pl.Series] = {}
    for name, column in columns.items():
        if isinstance(column, RangeColumn):
            ends = pl.DataFrame({"low": typed[name + LOW], "high": typed[name + HIGH]})
            made[name] = ends.to_struct()
        elif isinstance(column, ListColumn):
            made |= {end: typed[end] for end in (name, name + LABEL) if end in typed.columns}
        else:
            made[name] = typed[name if name in typed.columns else name + MEAN]
    return pl.DataFrame(made | {name: typed[name] for name in (CLASS, CLASS_SIZE)})


def pandas_frame(typed: pl.DataFrame, columns: Mapping[str, PublishedColumn]) -> Any:
    """Return the same for pandas, with ranges as closed intervals; an open end is infinite, and NaT of dates."""
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise InputError("a pandas frame needs pandas: pip install pandas") from None
    frame = interval_frame(typed, columns) if columns else typed
    ranges = {name: column for name, column in columns.items() if isinstance(column, RangeColumn)}
    rest = [name for name in frame.columns if name not in ranges]
    made = {name: from_polars(frame[[name]], "pandas")[name] for name in rest}
    made |= {name: _intervals(pandas, frame[name], column) for name, column in ranges.items()}
    return pandas.DataFrame({name: made[name] for name in frame.columns})


def _intervals(pandas: Any, structs: pl.Series, column: RangeColumn) -> Any:
    if column.is_date:
        low, high = (structs.struct.field(end).cast(pl.Datetime("us")).to_numpy() for end in ("low", "high"))
        return pandas.arrays.IntervalArray.from_arrays(low, high, closed="both")
    return pandas.arrays.IntervalArray.from_arrays(column.low, column.high, closed="both")
