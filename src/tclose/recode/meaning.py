"""What a published text means in its column: the codes of the values that it can stand for.

A text is read in every way that the grammar allows (`cell.py`). Readings that the column could not have published
are dropped; a reader of the release must reckon with all others. Attacks and the report (`coverage.py`) and the queries
(`measure/queries.py`) both start from here.

New rows may join a class only if its cells already cover them. Unlike `coverage.py`, this asks nothing of the original
table: a range is its two ends, a set its members, a label every value below it. A text that can be read in several ways
covers what any of these readings covers.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import polars as pl

from tclose.errors import InputError
from tclose.recode.cell import (
    MISSING,
    OR_MISSING,
    Cell,
    CellKind,
    Form,
    LabelCell,
    MeanCell,
    MissingCell,
    RangeCell,
    SetCell,
    Spelling,
    ValueCell,
    missing_cell,
    plain_end,
    range_cell,
    readings,
)
from tclose.recode.typed_values import exact_texts
from tclose.table.hierarchies import Hierarchy
from tclose.table.quasi import LabelColumn, QuasiColumn, SetColumn
from tclose.table.values import Kind, ValueList, Values, exact_values, values_of
from tclose.types import Bools, Ints
from tclose.words import counted

Codes = slice | Ints
# The numbers of a table, whose exponents have three digits at most, and the fractions that a step can make of them.
DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?0*[0-9]{1,3})?")
RATIO = re.compile(r"-?[0-9]+/[1-9][0-9]*")


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

    @property
    def cell_kind(self) -> CellKind:
        """The kind of the cells that a release publishes of such values."""
        return self.kind if self.kind in ("number", "date") else "text"

    def between(self, low: Fraction | None, high: Fraction | None) -> slice:
        """Return the values from one end to the other; an end that is none is open."""
        units, one = self.units or (), 10**self.scale
        first = 0 if low is None else bisect_left(units, math.ceil(low * one))
        after = len(units) if high is None else bisect_right(units, math.floor(high * one))
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
    """One way to read a text: how it is spelled, with values as the column spells them, and what that says."""

    spelled: Spelling
    cell: Cell
    codes: Codes  # of the values that the cell covers

    @property
    def missing(self) -> bool:
        """Whether the text then covers missing values."""
        return self.cell.missing


@dataclass(frozen=True, eq=False)
class HierarchyLabels:
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
class ColumnReader:
    """Reads the texts of one column, in the codes of its known values."""

    form: Form
    known: KnownValues
    labels: HierarchyLabels | None = None

    def meaning(self, spelled: Spelling) -> Meaning | None:
        """Return what a cell says and covers; none where the column could not have published it."""
        match spelled:
            case MissingCell():
                return Meaning(spelled, missing_cell(self.known.cell_kind), slice(0, 0))
            case RangeCell():
                return self._range(spelled)
            case MeanCell():
                return self._mean(spelled)
            case LabelCell():
                return self._label(spelled)
            case SetCell():
                return self._set(spelled)
            case ValueCell():
                return self._value(spelled)

    def _range(self, spelled: RangeCell) -> Meaning | None:
        low, high = (self.known.number(plain_end(end)) for end in (spelled.low, spelled.high))
        if low is None or high is None:
            return None
        cell = range_cell(spelled, self.known.cell_kind, low, high)
        codes = self.known.between(cell.low, cell.high)
        return Meaning(spelled, cell, codes) if codes.start < codes.stop else None

    def _mean(self, spelled: MeanCell) -> Meaning | None:
        mean = self.known.number(spelled.mean)
        anything = slice(0, len(self.known.texts))  # any number can be part of a mean
        cell = Cell(kind=self.known.cell_kind, mean=mean, missing=spelled.missing)
        return None if mean is None else Meaning(spelled, cell, anything)

    def _label(self, spelled: LabelCell) -> Meaning | None:
        codes = None if self.labels is None else self.labels.below(spelled.label)
        if codes is not None:
            return self._of_texts(spelled, codes, label=spelled.label) if len(codes) else None
        code = self.known.code(spelled.label)  # a table that was not recoded may spell the leaf 39 as 39.0
        if code is None:
            return None
        leaf = self.known.texts[code]
        return self._of_texts(replace(spelled, label=leaf), np.array([code], dtype=np.int64), label=leaf)

    def _set(self, spelled: SetCell) -> Meaning | None:
        codes = [code for code in map(self.known.code, spelled.members) if code is not None]
        if len(codes) < len(spelled.members):
            return None
        members = tuple(self.known.texts[code] for code in codes)
        return self._of_texts(replace(spelled, members=members), np.array(codes, dtype=np.int64))

    def _value(self, spelled: ValueCell) -> Meaning | None:
        code = self.known.code(spelled.text)
        if code is None:
            return None
        return self._of_texts(ValueCell(self.known.texts[code]), np.array([code], dtype=np.int64))

    def _of_texts(self, spelled: LabelCell | SetCell | ValueCell, codes: Ints, label: str | None = None) -> Meaning:
        values = tuple(self.known.texts[code] for code in codes.tolist())
        missing = not isinstance(spelled, ValueCell) and spelled.missing
        return Meaning(spelled, Cell(kind="text", values=values, label=label, missing=missing), codes)


def form_of(column: QuasiColumn | Values) -> Form:
    """Return the form of a column's cells; a column that is given as its values is a kept one."""
    if isinstance(column, Values):
        return ValueCell
    if isinstance(column, LabelColumn):
        return LabelCell
    if isinstance(column, SetColumn):
        return SetCell
    return MeanCell if column.spec.publish == "mean" else RangeCell


def reader_of(column: QuasiColumn) -> ColumnReader:
    """Return the reader of a quasi-identifier, in the column's own codes."""
    if not isinstance(column, LabelColumn):
        return ColumnReader(form_of(column), KnownValues.of(column.values))
    leaves = column.hierarchy.leaves
    return ColumnReader(
        LabelCell, KnownValues("text", leaves, None), HierarchyLabels(column.hierarchy, np.arange(len(leaves)))
    )


def meanings(
    reader: ColumnReader, texts: Sequence[str], *, name: str, missing: Sequence[str] = ()
) -> list[tuple[Meaning, ...]]:
    """Return every way to read each text of a column; refuse texts that nothing could have published.

    `missing` are the cells that mean "missing" in the table; they do so in a release, too.
    """
    marked = values_of(pl.Series(texts, dtype=pl.String), missing).codes < 0
    ways_of_texts = [_meanings(reader, text, mark) for text, mark in zip(texts, marked.tolist(), strict=True)]
    unreadable = [text for text, ways in zip(texts, ways_of_texts, strict=True) if not ways]
    if unreadable:
        raise InputError(
            "the release does not belong to the table: column '{name}' shows {values} that the policy could not "
            "have published",
            name=name,
            values=counted(len(unreadable), "value"),
            detail=f"the first is '{unreadable[0]}'",
        )
    return ways_of_texts


def _meanings(reader: ColumnReader, text: str, marked: bool) -> tuple[Meaning, ...]:
    cells = readings(text, reader.form)
    if marked and MissingCell() not in cells:
        cells = (*cells, MissingCell())
    return tuple(meaning for meaning in map(reader.meaning, cells) if meaning is not None)


# The form of each column's cells, and whether every cell can be read in one way only


def clear_forms(columns: Mapping[str, QuasiColumn]) -> dict[str, Form | None]:
    """Return the form of each column's cells; none where a value or a label looks like a cell of another meaning."""
    return {name: form_of(column) if _clear(column) else None for name, column in columns.items()}


def _clear(column: QuasiColumn) -> bool:
    if isinstance(column, SetColumn):
        return all(len(readings(text, SetCell)) == 1 for text in _suspects(column.values.texts))
    if isinstance(column, LabelColumn):
        labels = (label for level in column.hierarchy.labels for label in level)
        return all(len(readings(label, LabelCell)) == 1 for label in _suspects(labels))
    return True


def _suspects(texts: Iterable[str]) -> Iterable[str]:
    return (text for text in texts if text.startswith("{") or text.endswith(OR_MISSING) or text == MISSING)


def guessed_form(texts: Sequence[str], *, hierarchy: bool = False, mean: bool = False) -> Form:
    """Return the form of a column's different cells, as far as its texts tell."""
    if hierarchy:
        return LabelCell
    if mean:
        return MeanCell
    ways = [readings(text, RangeCell) for text in texts if text]
    ends = ends_of([way[0] for way in ways if way])
    return RangeCell if ends and all(ways) and exact_texts(ends)[0] != "mixed" else SetCell


def ends_of(cells: Iterable[Spelling]) -> list[str]:
    """Return all ends of ranges, without the signs of coded tails."""
    return [plain_end(end) for cell in cells if isinstance(cell, RangeCell) for end in (cell.low, cell.high)]


# Which values lie inside a published cell


def covered(column: QuasiColumn | Values, texts: Sequence[str], missing: Sequence[str]) -> Bools:
    """Return texts × values of a column, the missing value last: which of them each published text covers.

    A kept column is given as its values. `missing` are the cells that mean "no value".
    """
    kept = isinstance(column, Values)
    reader = ColumnReader(ValueCell, KnownValues.of(column.domain)) if kept else reader_of(column)  # type: ignore[union-attr,arg-type]
    covers = np.zeros((len(texts), len(reader.known.texts) + 1), dtype=bool)
    marked = values_of(pl.Series(texts, dtype=pl.String), missing).codes < 0
    for row, text, mark in zip(covers, texts, marked.tolist(), strict=True):
        row[-1] = mark
        for cell in readings(text, reader.form):
            _cover(row, reader, cell)
    return covers


def _cover(row: Bools, reader: ColumnReader, cell: Spelling) -> None:
    if isinstance(cell, SetCell):  # of whose members the new rows need not show all
        codes = [code for code in map(reader.known.code, cell.members) if code is not None]
        row[codes] = True
        row[-1] |= cell.missing
    elif (meaning := reader.meaning(cell)) is not None:
        row[meaning.codes] = True
        row[-1] |= meaning.missing
    elif getattr(cell, "missing", False):  # a range in which no new row has a value
        row[-1] = True


def cells_of_rows(column: QuasiColumn | Values, different: int) -> Ints:
    """Return the value of every row, `different` where it is missing."""
    return np.where(column.codes < 0, different, column.codes)
