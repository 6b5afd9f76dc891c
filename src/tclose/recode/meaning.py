"""What a published text means in its column: the codes of the values that it can stand for.

A text is read in every way that the grammar allows (`spelling.py`). Readings that the column could not have published
are dropped; a reader of the release must reckon with all others. Attacks and the report (`covering.py`) and the queries
(`measure/regions.py`) both start from here.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

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
from tclose.table.quasi import LabelColumn, QuasiColumn, SetColumn
from tclose.table.values import Kind, Values, exact_values, values_of
from tclose.types import Ints
from tclose.words import counted

Codes = slice | Ints
# The numbers of a table, whose exponents have three digits at most, and the fractions that a step can make of them.
DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?0*[0-9]{1,3})?")
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


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads the texts of one column: `below` has the codes below each label, where there is a hierarchy."""

    form: Form
    known: KnownValues
    below: Mapping[str, Ints] = field(default_factory=dict)

    def meaning(self, cell: Cell) -> Meaning | None:
        """Return what a cell covers; none where the column could not have published it."""
        match cell:
            case MissingCell():
                return Meaning(cell, slice(0, 0))
            case RangeCell():
                return self._range(cell)
            case MeanCell():
                return self._mean(cell)
            case LabelCell():
                return self._label(cell)
            case SetCell():
                return self._set(cell)
            case ValueCell():
                return self._value(cell, cell.text)

    def _range(self, cell: RangeCell) -> Meaning | None:
        low, high = (self.known.number(end.lstrip(AT_MOST + AT_LEAST)) for end in (cell.low, cell.high))
        numbers = self.known.numbers
        if low is None or high is None or numbers is None:
            return None
        open_low, open_high = cell.low.startswith(AT_MOST), cell.high.startswith(AT_LEAST)
        first = 0 if open_low else bisect_left(numbers, low)
        after = len(numbers) if open_high else bisect_right(numbers, high)
        bounds = Bounds(None if open_low else low, None if open_high else high)
        return Meaning(cell, slice(first, after), bounds) if first < after else None

    def _mean(self, cell: MeanCell) -> Meaning | None:
        mean = self.known.number(cell.mean)
        anything = slice(0, len(self.known.texts))  # any number can be part of a mean
        return None if mean is None else Meaning(cell, anything, Bounds(mean, mean))

    def _label(self, cell: LabelCell) -> Meaning | None:
        codes = self.below.get(cell.label)
        if codes is None:  # a table that was not recoded may spell a leaf in its own way, such as 39.0 for 39
            return self._value(cell, cell.label)
        return Meaning(cell, codes) if len(codes) else None

    def _set(self, cell: SetCell) -> Meaning | None:
        codes = [code for code in map(self.known.code, cell.members) if code is not None]
        return Meaning(cell, np.array(codes, dtype=np.int64)) if len(codes) == len(cell.members) else None

    def _value(self, cell: Cell, text: str) -> Meaning | None:
        code = self.known.code(text)
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


def form_of(column: QuasiColumn | Values) -> Form:
    """Return the form of a column's cells; a column that is given as its values is a kept one."""
    if isinstance(column, Values):
        return ValueCell
    if isinstance(column, LabelColumn):
        return LabelCell
    if isinstance(column, SetColumn):
        return SetCell
    return MeanCell if column.spec.publish == "mean" else RangeCell


def reader_of(column: QuasiColumn) -> Reader:
    """Return the reader of a quasi-identifier, in the column's own codes."""
    if not isinstance(column, LabelColumn):
        return Reader(form_of(column), KnownValues.of(column.values))
    leaves = column.hierarchy.leaves
    return Reader(LabelCell, KnownValues("text", leaves, None), below_labels(column.hierarchy, np.arange(len(leaves))))


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
    if marked and MissingCell() not in cells:
        cells = (*cells, MissingCell())
    return tuple(meaning for meaning in map(reader.meaning, cells) if meaning is not None)
