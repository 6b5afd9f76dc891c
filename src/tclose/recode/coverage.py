"""Which values each published text covers, as a matrix: the start of attacks, the report and measures of detail kept.

The cells of the matrix are the values of the table; where an adversary has a register, those of the register as well. A
cell fits a text when it lies in its range, below its label, or in its set; a missing cell fits where the text says "or
missing". Everything is done once per different text and per different value, so that a register of any length costs one
look-up per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InputError
from tclose.recode.cell import MeanCell
from tclose.recode.meaning import ColumnReader, HierarchyLabels, KnownValues, Meaning, form_of, meanings
from tclose.table import hierarchies
from tclose.table.hierarchies import Hierarchy
from tclose.table.quasi import LabelColumn, QuasiColumn
from tclose.table.values import ValueList, Values, exact_values, values_of
from tclose.types import Bools, Floats, Ints

LARGEST = 1e300  # numbers beyond count as this: floats, and sums of them, reach little further


@dataclass(frozen=True, eq=False)
class Coverage:
    """One column: `covers[text, cell]`, the number of each class's text and of each row's cell.

    The last cell stands for "missing". The others are the values, in order: `values` spell them, and `numbers` measure
    them where they are numbers or dates.
    """

    name: str
    covers: Bools
    text_of_class: Ints
    cell_of_row: Ints  # of the register's rows, or of the table's where there is no register
    values: tuple[str, ...]
    numbers: Floats | None
    meanings: tuple[tuple[Meaning, ...], ...]  # of each text
    means: Floats | None = None  # of the texts, where they are means

    def spread(self) -> Floats:
        """Return texts × cells: each text shared out evenly among the cells that it covers.

        A mean goes to the nearest cell.
        """
        if self.means is None or self.numbers is None:
            return np.asarray(self.covers / self.covers.sum(axis=1, keepdims=True))
        shares = np.zeros(self.covers.shape)
        nearest = np.abs(self.means[:, None] - self.numbers).argmin(axis=1)
        shares[np.arange(len(shares)), np.where(np.isnan(self.means), len(self.numbers), nearest)] = 1
        return shares

    def worth(self) -> Floats | None:
        """Return the number that a reader would put in the place of each text, if the column has numbers."""
        if self.numbers is None or self.means is not None:
            return self.means
        covers = self.covers[:, :-1].astype(np.float64)
        width = covers.sum(axis=1)
        return np.where(width > 0, covers @ self.numbers / np.maximum(width, 1), np.nan)


def covering(
    column: QuasiColumn | Values, texts: Sequence[str], register: Values | None = None, *, missing: Sequence[str] = ()
) -> Coverage:
    """Read the texts that the classes publish for a quasi-identifier, or for a kept column (given as its values).

    Without a register, the cells are the values of the table. `missing` are the cells that mean "missing" in the table.
    """
    values, codes = _values(column)
    reader = _reader(column, values, column.hierarchy if isinstance(column, LabelColumn) else None)
    number_of = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    ways = meanings(reader, list(number_of), name=column.name, missing=missing)
    if register is not None:
        values, codes, ways = _beside(register, column, values, ways)
    return Coverage(
        name=column.name,
        covers=_covers(ways, len(values.texts)),
        text_of_class=np.array([number_of[text] for text in texts], dtype=np.int64),
        cell_of_row=np.where(codes < 0, len(values.texts), codes),
        values=values.texts,
        numbers=worth_of(values),
        meanings=tuple(ways),
        means=_means(ways) if reader.form is MeanCell else None,
    )


def _reader(column: QuasiColumn | Values, values: ValueList, hierarchy: Hierarchy | None) -> ColumnReader:
    """Return the reader of a column's texts in the codes of these values."""
    labels = None if hierarchy is None else HierarchyLabels(hierarchy, _leaves(hierarchy, values))
    return ColumnReader(form_of(column), KnownValues.of(values), labels)


def _beside(
    register: Values, column: QuasiColumn | Values, own: ValueList, texts: Sequence[Sequence[Meaning]]
) -> tuple[ValueList, Ints, list[tuple[Meaning, ...]]]:
    """Return the values of table and register, the codes of the register's rows, and what the texts mean.

    How a text can be read depends on the table alone; a register has more values that may fit.
    """
    _check_kind(column, own, register)
    values, codes = _joined(own, register)
    reader = _reader(column, values, _extended(column, own, values) if isinstance(column, LabelColumn) else None)
    read_again = ((reader.meaning(way.spelled) for way in ways) for ways in texts)
    return values, codes, [tuple(way for way in ways if way is not None) for ways in read_again]


def _covers(texts: Sequence[Sequence[Meaning]], values: int) -> Bools:
    """Return which cells each text covers, in any of the ways to read it."""
    covers = np.zeros((len(texts), values + 1), dtype=bool)
    for row, ways in zip(covers, texts, strict=True):
        for meaning in ways:
            row[meaning.codes] = True
            row[-1] |= meaning.missing
    return covers


def _means(texts: Sequence[Sequence[Meaning]]) -> Floats:
    """Return the mean that each text gives; none (NaN) where all values are missing."""
    means = (ways[0].cell.mean for ways in texts)
    return np.array([np.nan if mean is None else _ratio(mean.numerator, mean.denominator) for mean in means])


def worth_of(values: ValueList) -> Floats | None:
    """Return what each value is worth, where they are numbers or dates."""
    if values.kind not in ("number", "date") or values.units is None:
        return None
    return np.array([_ratio(unit, 10**values.scale) for unit in values.units.tolist()])


def _ratio(whole: int, part: int) -> float:
    """Return the nearest float, but none beyond the largest that sums can be made of."""
    try:
        return min(max(whole / part, -LARGEST), LARGEST)
    except OverflowError:
        return LARGEST if whole > 0 else -LARGEST


def _values(column: QuasiColumn | Values) -> tuple[ValueList, Ints]:
    """Return the values of a column, and the codes of its rows; those of a hierarchy are the leaves that occur."""
    if isinstance(column, Values):
        return column.domain, column.codes
    if not isinstance(column, LabelColumn):
        return column.values, column.codes
    leaves = np.unique(column.codes[column.codes >= 0])
    texts = pl.Series(column.name, [column.hierarchy.leaves[leaf] for leaf in leaves.tolist()], dtype=pl.String)
    values = values_of(texts, ())
    place = np.full(len(column.hierarchy.leaves) + 1, -1, dtype=np.int64)
    place[leaves] = values.codes
    return values.domain, place[column.codes]


def _check_kind(column: QuasiColumn | Values, own: ValueList, register: Values) -> None:
    """Refuse a register of another kind where values are compared by size."""
    by_size = not isinstance(column, LabelColumn) or (column.builder and column.builder.kind in ("width", "date"))
    if by_size and own.kind in ("number", "date") and register.texts and register.kind != own.kind:
        raise InputError(
            "the register's column '{name}' is not all {kind}s, as the table's is", name=column.name, kind=own.kind
        )


def _joined(own: ValueList, register: Values) -> tuple[ValueList, Ints]:
    """Return the values of the table and of the register, with the codes of the register's rows.

    Values of one kind are equal by size (1.0 is 1), and spelled as in the table; others are equal when their texts are.
    """
    alike = own.kind == register.kind or not register.texts
    by_size = alike and own.units is not None
    scale = max(own.scale, register.scale)
    keys = [key for values in (own, register.domain) for key in (_units(values, scale) if by_size else values.texts)]
    spelled: dict[Any, str] = {}
    for key, text in zip(keys, (*own.texts, *register.texts), strict=True):
        spelled.setdefault(key, text)
    different = sorted(spelled)
    code = {key: number for number, key in enumerate(different)}
    values = ValueList(
        name=own.name,
        kind=own.kind if alike else "mixed",
        texts=tuple(spelled[key] for key in different),
        units=np.array(different, dtype=object) if by_size else None,
        scale=scale,
    )
    return values, np.array([*(code[key] for key in keys[len(own.texts) :]), -1], dtype=np.int64)[register.codes]


def _units(values: ValueList, scale: int) -> list[int]:
    return [] if values.units is None else [int(unit) * 10 ** (scale - values.scale) for unit in values.units]


def _extended(column: LabelColumn, own: ValueList, values: ValueList) -> Hierarchy:
    """Return a hierarchy with leaves for the register's values, where a rule makes them."""
    if column.builder is None or column.builder.kind == "rows":
        return column.hierarchy
    if column.builder.kind == "prefix":  # a longer value would change every label
        longest = max((len(text) for text in own.texts), default=0)
        values = replace(values, texts=tuple(text for text in values.texts if len(text) <= longest), units=None)
    return hierarchies.build(column.builder, values)


def _leaves(hierarchy: Hierarchy, values: ValueList) -> Ints:
    """Return the leaf of each value, -1 where the hierarchy has none; numbers are found by size (39.0 is 39)."""
    by_text = {text: leaf for leaf, text in enumerate(hierarchy.leaves)}
    leaves = [by_text.get(text, -1) for text in values.texts]
    if values.units is not None and -1 in leaves:
        by_size = {number: leaf for leaf, number in enumerate(exact_values(hierarchy.leaves, values.kind))}
        numbers = (Fraction(unit, 10**values.scale) for unit in values.units.tolist())
        leaves = [by_size.get(size, -1) if leaf < 0 else leaf for leaf, size in zip(leaves, numbers, strict=True)]
    return np.array(leaves, dtype=np.int64)
