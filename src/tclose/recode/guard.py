"""A guard for spreadsheet users: text that a spreadsheet would run as a formula gets an apostrophe in front.

A spreadsheet runs a cell that begins with = + - @, a tab or a line's end. What reads as a number is none of
these, and stays. Text that already has apostrophes before such a letter gets one more, so that taking one away gives
back every cell exactly.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

STARTS_FORMULA = r"^'*[=+\-@\t\r\n]"
IS_GUARDED = r"^'+[=+\-@\t\r\n]"
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def guarded(frame: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before every text that could be taken for a formula.

    >>> guarded(pl.DataFrame({"x": ["=1+1", "-5", "'=1", "fine"]}))["x"].to_list()
    ["'=1+1", '-5', "''=1", 'fine']
    """
    return pl.DataFrame([_texts(column, _guard) for column in frame.iter_columns()])


def unguarded(frame: pl.DataFrame) -> pl.DataFrame:
    """Take the apostrophes away again.

    >>> unguarded(pl.DataFrame({"x": ["'=1+1", "-5", "''=1", "fine"]}))["x"].to_list()
    ['=1+1', '-5', "'=1", 'fine']
    """
    return pl.DataFrame([_texts(column, _unguard) for column in frame.iter_columns()])


def cells_unguarded(frame: pl.DataFrame) -> int:
    """Count the cells that the guard would have written otherwise."""
    texts = [column.alias("") for column in frame.iter_columns() if column.dtype == pl.String]
    return sum(int((column != _guard(_unguard(column))).sum()) for column in texts)


def _texts(column: pl.Series, change: Callable[[pl.Series], pl.Series]) -> pl.Series:
    if column.dtype != pl.String:
        return column
    return change(column.alias("")).alias(column.name)  # polars takes names such as ^x$ for patterns


def _guard(column: pl.Series) -> pl.Series:
    runs = column.str.contains(STARTS_FORMULA) & ~column.str.contains(NUMBER)
    return pl.select(pl.when(runs).then("'" + column).otherwise(column)).to_series()


def _unguard(column: pl.Series) -> pl.Series:
    return pl.select(pl.when(column.str.contains(IS_GUARDED)).then(column.str.slice(1)).otherwise(column)).to_series()
