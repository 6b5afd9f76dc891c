"""What a published text means in its column: the codes of the values that it can stand for.

A text is read in every way that the grammar allows (`spelling.py`). Readings that the column could not have published
are dropped; a reader of the release must reckon with all others. Attacks and the report (`covering.py`) and the queries
(`measure/regions.py`) both start from here.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import polars as pl

from tclose.errors import InputError
from tclose.recode.spelling import (
    AT_LEAST,
    AT_MOST,
    Form,
    LabelCell,
    MeanCell,
    MissingCell,
    RangeCell,
    SetCell,
    Spelling,
    ValueCell,
    readings,
)
from tclose.table.hierarchy import Hierarchy
from tclose.table.quasi import LabelColumn, QuasiColumn, SetColumn
from tclose.table.values import Kind, ValueList, Values, exact_values, values_of
from tclose.types import Ints
from tclose.words import counted

Codes = slice | Ints
# The numbers of a table, whose exponents have three digits at most, and the fractions that a step can make of them.
DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?0*[0-9]{1,3})?")
RATIO = re.compile(r"-?[0-9]+/[1-9][0-9]*")


@dataclass(frozen=True)
class Bounds:
    """The smallest and the largest number of a range; none where a coded tail leaves it open."""

    low: Fraction | None
    high: Fraction | None


@dataclass(frozen=True, eq=False)
class KnownValues:
    """The different values of a column, in order: code i is spelled `texts[i]`, and is `units[i]` / 10^scale.

    Dates count microseconds, false and true are 0 and 1; text has no units.
    """

    kind: Kind
    texts: Sequence[str]
    units: Sequence[int] | None
    scale: int = 0

    @classmethod
    def of(cls, values: ValueList) -> KnownValues:
        """Take the values of one column."""
        return cls(values.kind, values.texts, None if values.units is None else values.units.tolist(), values.scale)

    @cached_property
    def _by_text(self) -> dict[str, int]:
        return {text: code for code, text in enumerate(self.texts)}

    @cached_property
    def _by_unit(self) -> dict[int | Fraction, int]:
        return {unit: code for code, unit in enumerate(self.units or ())}

    def number(self, text: str) -> Fraction | None:
        """Return the number or date that a text spells, whether or not the column has it; none where it spells none."""
        if self.units is None:
            return None
        if text in self._by_text:
            return Fraction(self.units[self._by_text[text]], 10**self.scale)
        return _number(text) if self.kind == "number" else exact_values([text], self.kind)[0]

    def code(self, text: str) -> int | None:
        """Return the value that a text spells; none where the column does not have it."""
        code = self._by_text.get(text)
        if code is None and (number := self.number(text)) is not None:
            code = self._by_unit.get(number * 10**self.scale)
        return code

    def between(self, bounds: Bounds) -> slice:
        """Return the values from one bound to the other."""
        units, one = self.units or (), 10**self.scale
        first = 0 if bounds.low is None else bisect_left(units, math.ceil(bounds.low * one))
        after = len(units) if bounds.high is None else bisect_right(units, math.floor(bounds.high * one))
        return slice(first, max(first, after))


def _number(text: str) -> Fraction | None:
    """Read a number as tables spell it; what would take the memory of the machine to compute is none."""
    if not (DECIMAL.fullmatch(text) or RATIO.fullmatch(text)):
        return None
    try:
        return Fraction(text)
    except ValueError:  # more digits than Python reads
        return None


@dataclass(frozen=True, eq=False)
class Meaning:
    """One way to read a text: the cell with values as the column spells them, the codes covered, a number's bounds."""

    cell: Spelling
    codes: Codes
    bounds: Bounds | None = None

    @property
    def missing(self) -> bool:
        """Whether the text then covers missing values."""
        return isinstance(self.cell, MissingCell) or (not isinstance(self.cell, ValueCell) and self.cell.missing)


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of a hierarchy, and the codes below each; code i lies at leaf `leaves[i]`, or at none (-1)."""

    hierarchy: Hierarchy
    leaves: Ints

    @cached_property
    def _nodes(self) -> dict[str, list[tuple[int, int]]]:
        """The height and the number of every node that has a label."""
        nodes: dict[str, list[tuple[int, int]]] = {}
        for height, labels in enumerate(self.hierarchy.labels):
            for number, label in enumerate(labels):
                nodes.setdefault(label, []).append((height, number))
        return nodes

    @cached_property
    def _levels(self) -> list[tuple[Ints, Ints]]:
        """For every height, the codes in the order of their nodes, and where the codes of each node begin."""
        above = [np.append(level, -1)[self.leaves] for level in self.hierarchy.levels]
        above[-1][:] = 0  # what lies at no leaf is below the root
        orders = [np.argsort(nodes, kind="stable") for nodes in above]
        return [
            (order, np.searchsorted(nodes[order], np.arange(len(labels) + 1)))
            for order, nodes, labels in zip(orders, above, self.hierarchy.labels, strict=True)
        ]

    def below(self, label: str) -> Ints | None:
        """Return the codes below a label, at whatever heights it stands; none where there is no such label."""
        if label not in self._nodes:
            return None
        levels = ((*self._levels[height], number) for height, number in self._nodes[label])
        codes = [order[starts[node] : starts[node + 1]] for order, starts, node in levels]
        return codes[0] if len(codes) == 1 else np.unique(np.concatenate(codes))


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads the texts of one column, in the codes of its known values."""

    form: Form
    known: KnownValues
    labels: Labels | None = None

    def meaning(self, cell: Spelling) -> Meaning | None:
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
                return self._value(cell)

    def _range(self, cell: RangeCell) -> Meaning | None:
        low, high = (self.known.number(end.lstrip(AT_MOST + AT_LEAST)) for end in (cell.low, cell.high))
        if low is None or high is None:
            return None
        bounds = Bounds(None if cell.low.startswith(AT_MOST) else low, None if cell.high.startswith(AT_LEAST) else high)
        codes = self.known.between(bounds)
        return Meaning(cell, codes, bounds) if codes.start < codes.stop else None

    def _mean(self, cell: MeanCell) -> Meaning | None:
        mean = self.known.number(cell.mean)
        anything = slice(0, len(self.known.texts))  # any number can be part of a mean
        return None if mean is None else Meaning(cell, anything, Bounds(mean, mean))

    def _label(self, cell: LabelCell) -> Meaning | None:
        codes = None if self.labels is None else self.labels.below(cell.label)
        if codes is not None:
            return Meaning(cell, codes) if len(codes) else None
        code = self.known.code(cell.label)  # a table that was not recoded may spell the leaf 39 as 39.0
        return None if code is None else Meaning(replace(cell, label=self.known.texts[code]), slice(code, code + 1))

    def _set(self, cell: SetCell) -> Meaning | None:
        codes = [code for code in map(self.known.code, cell.members) if code is not None]
        if len(codes) < len(cell.members):
            return None
        members = tuple(self.known.texts[code] for code in codes)
        return Meaning(replace(cell, members=members), np.array(codes, dtype=np.int64))

    def _value(self, cell: ValueCell) -> Meaning | None:
        code = self.known.code(cell.text)
        return None if code is None else Meaning(ValueCell(self.known.texts[code]), slice(code, code + 1))


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
    return Reader(LabelCell, KnownValues("text", leaves, None), Labels(column.hierarchy, np.arange(len(leaves))))


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
