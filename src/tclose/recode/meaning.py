"""What a published text means in its column: the codes of the values that it can stand for.

A text is read in every way that the grammar allows (`spelling.py`). Readings that the column could not have published
are dropped; a reader of the release must reckon with all others. Attacks and the report (`covering.py`) and the queries
(`measure/regions.py`) both start from here.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
import polars as pl

from tclose.errors import InputError
from tclose.recode.spelling import (
    AT_LEAST,
    AT_MOST,
    Cell,
    Form,
    LabelCell,
    MeanCell,
    MissingCell,
    RangeCell,
    SetCell,
    ValueCell,
    readings,
)
from tclose.table.hierarchy import Hierarchy
from tclose.table.quasi import LabelColumn, NumberColumn, QuasiColumn, SetColumn
from tclose.table.values import Kind, Values, exact_values, values_of
from tclose.types import Ints
from tclose.words import counted

Codes = slice | Ints
NO_CODES = slice(0, 0)
# The numbers of a table, whose exponents have three digits at most, and the fractions that a step can make of them.
DECIMAL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?0*[0-9]{1,3})?")
RATIO = re.compile(r"-?[0-9]+/[1-9][0-9]*")


@dataclass(frozen=True, eq=False)
class KnownValues:
    """The different values of a column, in order: code i is spelled `texts[i]`, and is `numbers[i]` unless it is text.

    Dates are numbers of microseconds; false and true are 0 and 1.
    """

    kind: Kind
    texts: Sequence[str]
    numbers: Sequence[Fraction] | None

    @classmethod
    def of(cls, values: Values) -> KnownValues:
        """Take the values of one column."""
        return cls(values.kind, values.texts, exact_numbers(values))

    @cached_property
    def _by_text(self) -> dict[str, int]:
        return {text: code for code, text in enumerate(self.texts)}

    @cached_property
    def _by_number(self) -> dict[Fraction, int]:
        return {number: code for code, number in enumerate(self.numbers or ())}

    def number(self, text: str) -> Fraction | None:
        """Return the number or date that a text spells, whether or not the column has it; none where it spells none."""
        if self.numbers is None:
            return None
        if text in self._by_text:
            return self.numbers[self._by_text[text]]
        return _number(text) if self.kind == "number" else exact_values([text], self.kind)[0]

    def code(self, text: str) -> int | None:
        """Return the value that a text spells; none where the column does not have it."""
        code = self._by_text.get(text)
        if code is None and (number := self.number(text)) is not None:
            code = self._by_number.get(number)
        return code


def exact_numbers(values: Values) -> list[Fraction] | None:
    """Return the values as numbers, none for text."""
    if values.units is None:
        return None
    return [Fraction(int(unit), 10**values.scale) for unit in values.units]


def _number(text: str) -> Fraction | None:
    """Read a number as tables spell it; what would take the memory of the machine to compute is none."""
    if not (DECIMAL.fullmatch(text) or RATIO.fullmatch(text)):
        return None
    try:
        return Fraction(text)
    except ValueError:  # more digits than Python reads
        return None


@dataclass(frozen=True)
class Bounds:
    """The smallest and the largest number of a range; none where a coded tail leaves it open."""

    low: Fraction | None
    high: Fraction | None


@dataclass(frozen=True, eq=False)
class Meaning:
    """One way to read a text: the cell, the codes that it covers and, for a number, its bounds."""

    cell: Cell
    codes: Codes
    bounds: Bounds | None = None

    @property
    def missing(self) -> bool:
        """Whether the text then covers missing values."""
        return isinstance(self.cell, MissingCell) or (not isinstance(self.cell, ValueCell) and self.cell.missing)


class Reader(Protocol):
    """Knows the values of a column, and which of them a cell covers."""

    form: ClassVar[Form]  # of the column's cells

    def meaning(self, cell: Cell) -> Meaning | None:
        """Return what a cell of this form covers; none where the column could not publish it."""


@dataclass(frozen=True, eq=False)
class RangeReader:
    """Reads ranges of numbers or dates."""

    form: ClassVar[Form] = RangeCell
    known: KnownValues

    def meaning(self, cell: Cell) -> Meaning | None:
        """Return the codes between the ends of a range."""
        bounds = self._bounds(cell) if isinstance(cell, RangeCell) else None
        if bounds is None:
            return None
        numbers = self.known.numbers or ()
        first = 0 if bounds.low is None else bisect_left(numbers, bounds.low)
        after = len(numbers) if bounds.high is None else bisect_right(numbers, bounds.high)
        return Meaning(cell, slice(first, after), bounds) if first < after else None

    def _bounds(self, cell: RangeCell) -> Bounds | None:
        low, high = (self.known.number(end.lstrip(AT_MOST + AT_LEAST)) for end in (cell.low, cell.high))
        if low is None or high is None:
            return None
        return Bounds(None if cell.low.startswith(AT_MOST) else low, None if cell.high.startswith(AT_LEAST) else high)


@dataclass(frozen=True, eq=False)
class MeanReader:
    """Reads means, which any of the column's numbers can be part of."""

    form: ClassVar[Form] = MeanCell
    known: KnownValues

    def meaning(self, cell: Cell) -> Meaning | None:
        """Return all codes, and the mean as both bounds."""
        mean = self.known.number(cell.mean) if isinstance(cell, MeanCell) else None
        return None if mean is None else Meaning(cell, slice(0, len(self.known.texts)), Bounds(mean, mean))


@dataclass(frozen=True, eq=False)
class SetReader:
    """Reads sets of values."""

    form: ClassVar[Form] = SetCell
    known: KnownValues

    def meaning(self, cell: Cell) -> Meaning | None:
        """Return the codes of the members, if the column has them all."""
        members = cell.members if isinstance(cell, SetCell) else ()
        codes = [code for code in map(self.known.code, members) if code is not None]
        return Meaning(cell, np.array(codes, dtype=np.int64)) if 0 < len(codes) == len(members) else None


@dataclass(frozen=True, eq=False)
class ValueReader:
    """Reads the cells of a kept column."""

    form: ClassVar[Form] = ValueCell
    known: KnownValues

    def meaning(self, cell: Cell) -> Meaning | None:
        """Return the code of the value."""
        code = self.known.code(cell.text) if isinstance(cell, ValueCell) else None
        return None if code is None else Meaning(cell, slice(code, code + 1))


@dataclass(frozen=True, eq=False)
class LabelReader:
    """Reads labels of a hierarchy; a leaf may also be spelled as in the table, such as 39.0 for 39."""

    form: ClassVar[Form] = LabelCell
    below: Mapping[str, Ints]
    known: KnownValues | None = None

    def meaning(self, cell: Cell) -> Meaning | None:
        """Return the codes below a label."""
        if not isinstance(cell, LabelCell):
            return None
        if cell.label in self.below:
            codes = self.below[cell.label]
            return Meaning(cell, codes) if len(codes) else None
        code = None if self.known is None else self.known.code(cell.label)
        return None if code is None else Meaning(cell, slice(code, code + 1))


def below_labels(hierarchy: Hierarchy, leaves: Ints) -> dict[str, Ints]:
    """Return the codes below each label, at whatever height it stands; code i lies at leaf `leaves[i]`.

    A code that lies at no leaf (-1) is below the root alone.
    """
    below: dict[str, list[Ints]] = {}
    for labels, level in zip(hierarchy.labels, hierarchy.levels, strict=True):
        nodes = np.append(level, -1)[leaves]
        order = np.argsort(nodes, kind="stable")
        starts = np.searchsorted(nodes[order], np.arange(len(labels) + 1))
        for number, label in enumerate(labels):
            below.setdefault(label, []).append(order[starts[number] : starts[number + 1]])
    below.setdefault(hierarchy.labels[-1][0], []).append(np.flatnonzero(leaves < 0))
    return {label: np.concatenate(codes) for label, codes in below.items()}


def reader_of(column: QuasiColumn) -> Reader:
    """Return the reader of a quasi-identifier, in the column's own codes."""
    if isinstance(column, LabelColumn):
        hierarchy = column.hierarchy
        return LabelReader(below_labels(hierarchy, np.arange(len(hierarchy.leaves))))
    return values_reader(column, KnownValues.of(column.values))


def values_reader(column: NumberColumn | SetColumn | Values, known: KnownValues) -> Reader:
    """Return the reader of a column without a hierarchy, in the codes of these values."""
    if isinstance(column, Values):
        return ValueReader(known)
    if isinstance(column, SetColumn):
        return SetReader(known)
    return MeanReader(known) if column.spec.publish == "mean" else RangeReader(known)


def meanings(
    reader: Reader, texts: Sequence[str], *, name: str, missing: Sequence[str] = ()
) -> list[tuple[Meaning, ...]]:
    """Return every way to read each text of a column; refuse texts that nothing could have published.

    `missing` are the cells that mean "missing" in the table; they do so in a release, too.
    """
    marked = values_of(pl.Series(texts, dtype=pl.String), missing).codes < 0
    ways_of_texts = [_meanings(reader, text, mark) for text, mark in zip(texts, marked.tolist(), strict=True)]
    unreadable = [text for text, ways in zip(texts, ways_of_texts, strict=True) if not ways]
    if unreadable:
        raise InputError(
            f"the release does not belong to the table: column '{name}' shows "
            f"{counted(len(unreadable), 'value')} that the policy could not have published",
            detail=f"the first is '{unreadable[0]}'",
        )
    return ways_of_texts


def _meanings(reader: Reader, text: str, marked: bool) -> tuple[Meaning, ...]:
    cells = readings(text, reader.form)
    ways = [reader.meaning(cell) for cell in cells if not isinstance(cell, MissingCell)]
    if marked or MissingCell() in cells:
        ways.append(Meaning(MissingCell(), NO_CODES))
    return tuple(way for way in ways if way is not None)
