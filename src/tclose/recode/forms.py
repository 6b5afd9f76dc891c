"""Which form the cells of each quasi-identifier have, and whether every one of them can be read in one way only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tclose.recode.cell import plain_end
from tclose.recode.meaning import form_of
from tclose.recode.spelling import (
    MISSING,
    OR_MISSING,
    Form,
    LabelCell,
    MeanCell,
    RangeCell,
    SetCell,
    Spelling,
    readings,
)
from tclose.recode.typed_values import exact_texts
from tclose.table.quasi import LabelColumn, QuasiColumn, SetColumn


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
