"""The published frame: quasi-identifiers recoded, sensitive and kept cells as they were, rows in a neutral order."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from tclose.errors import InputError
from tclose.policy import Policy
from tclose.recode.spelling import published
from tclose.table import CodedTable, SensitiveColumn
from tclose.table.classes import Classes
from tclose.table.sensitive import MISSING
from tclose.types import Ints

INLINE = 12  # bytes: polars keeps shorter texts in the column itself, longer ones in memory that columns share


def recoded(table: CodedTable, policy: Policy, classes: Classes | None = None) -> pl.DataFrame:
    """Return the rows as they are published, still in the table's order and with the table's order of columns.

    Without classes every row publishes its own quasi-identifiers, coded as the policy has it.
    """
    by_row = None if classes is None else classes.labels_by_row()
    new = {}
    for name, column in table.quasi.items():
        own = classes or Classes.from_labels(np.unique(column.codes, return_inverse=True)[1])
        new[name] = _spread(published(column, own), own.labels_by_row() if by_row is None else by_row)
    for name, spec in policy.sensitive.items():
        if spec.publish == "bin":
            new[name] = _bins(table.sensitive[name], table.frame[name])
    published_columns = {*policy.quasi, *policy.keep, *policy.unlinkable, *policy.sensitive}
    columns = (name for name in table.frame.columns if name in published_columns)
    return pl.DataFrame({name: new[name] if name in new else _plain(table.frame[name]) for name in columns})


def ordered(frame: pl.DataFrame) -> tuple[pl.DataFrame, Ints]:
    """Return the rows in an order that depends on published values only, and which row went where."""
    columns = (column.alias(str(i)) for i, column in enumerate(frame.iter_columns()))  # ^x$ would be a pattern
    ranks = pl.DataFrame([column.rank("dense") for column in columns])
    order = ranks.select(pl.arg_sort_by(ranks.columns)).to_series()
    return frame[order], order.to_numpy().astype(np.int64)


def _spread(texts: Iterable[str], codes: Ints) -> pl.Series:
    return pl.Series(list(texts), dtype=pl.String).gather(codes)


def _bins(column: SensitiveColumn, cells: pl.Series) -> pl.Series:
    """Publish the bin of each cell; a cell without a value stays as it is."""
    bins = _spread(column.labels, column.codes)
    return pl.select(pl.when(bins == MISSING).then(_plain(cells).cast(pl.String)).otherwise(bins)).to_series()


def _plain(column: pl.Series) -> pl.Series:
    """Drop what no published row has: the rest of a dictionary, and text of other rows that a filter left behind."""
    dtype = column.dtype
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        raise InputError(f"column '{column.name}' is of type {dtype.base_type()}: make it text, a number or a date")
    column = column.alias("")  # polars takes names such as ^x$ for patterns
    text = column.cast(pl.String) if isinstance(dtype, pl.Categorical | pl.Enum) else column
    if text.dtype != pl.String or int(text.str.len_bytes().max() or 0) <= INLINE:  # type: ignore[arg-type]
        return text
    return text.cast(pl.Categorical(pl.Categories.random())).cast(pl.String)
