"""Which values lie inside a published cell: new rows may join a class only if its cells already cover them.

Unlike `covering.py`, this asks nothing of the original table: a range is its two ends, a set its members, a label every
value below it. A text that can be read in several ways covers what any of these readings covers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from tclose.recode.meaning import KnownValues, Reader, reader_of
from tclose.recode.spelling import SetCell, Spelling, ValueCell, readings
from tclose.table.quasi import QuasiColumn
from tclose.table.values import Values, values_of
from tclose.types import Bools, Ints


def covered(column: QuasiColumn | Values, texts: Sequence[str], missing: Sequence[str]) -> Bools:
    """Return texts × values of a column, the missing value last: which of them each published text covers.

    A kept column is given as its values. `missing` are the cells that mean "no value".
    """
    kept = isinstance(column, Values)
    reader = Reader(ValueCell, KnownValues.of(column.domain)) if kept else reader_of(column)  # type: ignore[union-attr,arg-type]
    covers = np.zeros((len(texts), len(reader.known.texts) + 1), dtype=bool)
    marked = values_of(pl.Series(texts, dtype=pl.String), missing).codes < 0
    for row, text, mark in zip(covers, texts, marked.tolist(), strict=True):
        row[-1] = mark
        for cell in readings(text, reader.form):
            _cover(row, reader, cell)
    return covers


def _cover(row: Bools, reader: Reader, cell: Spelling) -> None:
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
