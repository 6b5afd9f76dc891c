"""Counts of exact values narrow down which people fit a class: those whose value the class does not list do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from tclose.recode.covering import Covering
from tclose.table import CodedTable
from tclose.table.values import values_of
from tclose.types import Bools, Ints


def narrowed(columns: Sequence[Covering], original: CodedTable, published: CodedTable) -> list[Covering]:
    """Return coverings in which the columns that are counted apart cover listed values only, class by class.

    Bins stay as they are: which bin a value of a register belongs to is not published.
    """
    specs = original.policy.sensitive
    return [
        _narrowed(column, published)
        if column.name in published.apart and specs[column.name].publish != "bin"
        else column
        for column in columns
    ]


def _narrowed(column: Covering, published: CodedTable) -> Covering:
    """Give every class a text of its own, which covers what the class's range covers and its counts list."""
    classes, values = published.classes, published.values(column.name)
    listed: Bools = np.zeros((len(classes), column.covers.shape[1]), dtype=bool)
    cells = _cells(column, values.texts)[values.codes[classes.rows]]
    known = cells >= 0
    listed[classes.labels[known], cells[known]] = True
    covers = column.covers[column.text_of_class] & listed
    return replace(column, covers=covers, text_of_class=np.arange(len(classes)))


def _cells(column: Covering, texts: Sequence[str]) -> Ints:
    """Return the cell of each listed value, -1 where there is none; last comes a missing value, which has the last."""
    both = values_of(pl.Series([*column.values, *texts], dtype=pl.String), ()).codes  # equal by size: 1.0 is 1
    of_value = np.full(int(both.max(initial=-1)) + 1, -1, dtype=np.int64)
    of_value[both[: len(column.values)]] = np.arange(len(column.values))
    return np.append(of_value[both[len(column.values) :]], column.covers.shape[1] - 1)
