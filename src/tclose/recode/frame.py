"""The published frame: quasi-identifiers recoded, other cells as they were, rows in an order that reveals nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import polars as pl

from tclose.errors import InputError, InternalError
from tclose.policy import Policy
from tclose.recode.spelling import numbered_texts
from tclose.table import CodedTable, SensitiveColumn
from tclose.table.classes import Classes
from tclose.table.ordering import rows_in_order
from tclose.table.pseudonyms import are_pseudonyms
from tclose.table.quasi import QuasiColumn
from tclose.types import Beat, Ints, still

INLINE = 12  # bytes: polars keeps shorter texts in the column itself, longer ones in memory that columns share


def recoded(
    table: CodedTable,
    policy: Policy,
    classes: Classes | None = None,
    beat: Beat = still,
    *,
    as_categories: bool = False,
) -> pl.DataFrame:
    """Return the published cells, with rows and columns still in the table's order.

    Without classes, every row publishes its own values, with steps and tails as the policy says. `beat` is called
    before each column. With `as_categories`, quasi-identifiers are a quarter as large; `ordered` makes them text.
    """
    public = {*policy.quasi, *policy.keep, *policy.unlinkable, *policy.sensitive, *(policy.pseudonym or ())}
    columns = {}
    for name in (name for name in table.frame.columns if name in public):
        beat()
        if name in table.quasi:
            columns[name] = _classes_shown(table.quasi[name], classes, as_categories=as_categories)
        else:
            columns[name] = _unchanged(table, policy, name)
    return pl.DataFrame(columns)


def _unchanged(table: CodedTable, policy: Policy, name: str) -> pl.Series:
    """Return the cells of a column that is published as it is, or as its bins."""
    if name in (policy.pseudonym or ()) and not are_pseudonyms(table.frame[name]):
        raise InternalError("an identifier has no pseudonym, so nothing was released")
    if name in policy.sensitive and policy.sensitive[name].publish == "bin":
        return _bins(table.sensitive[name], table.frame[name])
    return _plain(table.frame[name])


def ordered(frame: pl.DataFrame) -> tuple[pl.DataFrame, Ints]:
    """Return the rows sorted by their published values, and the row of `frame` that stands at each place."""
    order = rows_in_order(frame)
    unnamed = ((column.name, column.alias("")) for column in frame.iter_columns())  # ^x$ would be a pattern
    return pl.DataFrame({name: as_text(column.gather(order)) for name, column in unnamed}), order


def as_text(column: pl.Series) -> pl.Series:
    """Return categories as text, and any other column as it is."""
    return column.cast(pl.String) if isinstance(column.dtype, pl.Categorical) else column


def new_name(name: str, columns: Iterable[str]) -> str:
    """Return a name for a new column that no other has, nor one that differs in case only.

    >>> new_name("group", ["age", "Group"])
    'group_2'
    """
    taken, number, free = {column.casefold() for column in columns}, 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def _classes_shown(column: QuasiColumn, classes: Classes | None, *, as_categories: bool) -> pl.Series:
    """Return the text of each row's class; rows with equal values form a class where none are given."""
    if classes is None:
        present = np.flatnonzero(np.bincount(column.codes + 1))
        each_value = replace(column, codes=present - 1)
        texts, numbers = numbered_texts(each_value, Classes.from_labels(np.arange(len(present))))
        of_value = np.empty(int(present[-1]) + 1, dtype=np.int64)
        of_value[present - 1] = numbers  # that of a missing value comes last
        numbers = of_value[column.codes]
    else:
        texts, numbers = numbered_texts(column, classes)
        numbers = numbers[classes.labels_by_row()]
    return _gathered(texts, numbers, pl.Categorical(pl.Categories.random()) if as_categories else pl.String())


def _gathered(texts: Iterable[str], codes: Ints, dtype: pl.DataType) -> pl.Series:
    return pl.Series(list(texts), dtype=dtype).gather(codes)


def _bins(column: SensitiveColumn, cells: pl.Series) -> pl.Series:
    """Return the bin of each cell; a missing cell stays as it is."""
    bins = _gathered(column.labels, column.codes, pl.String())
    missing = pl.Series(column.codes == column.domain.missing_code)
    return pl.select(pl.when(missing).then(_plain(cells).cast(pl.String)).otherwise(bins)).to_series()


def _plain(column: pl.Series) -> pl.Series:
    """Return a column that shares no memory with unpublished cells.

    A dictionary lists values that no row has, and text of rows that were filtered out stays in memory.
    """
    dtype = column.dtype
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        raise InputError(f"column '{column.name}' is of type {dtype.base_type()}: make it text, a number or a date")
    column = column.alias("")  # polars takes names such as ^x$ for patterns
    text = column.cast(pl.String) if isinstance(dtype, pl.Categorical | pl.Enum) else column
    if text.dtype != pl.String or int(text.str.len_bytes().max() or 0) <= INLINE:  # type: ignore[arg-type]
        return text
    return text.cast(pl.Categorical(pl.Categories.random())).cast(pl.String)
