"""A guard for spreadsheet users: text that a spreadsheet would run as a formula gets an apostrophe in front.

A spreadsheet runs a cell that begins with = + - @, a tab or the end of a line. Numbers such as -5 are not run, so they
stay as they are. A text that already has apostrophes before such a character gets one more; removing one apostrophe
therefore restores every cell exactly.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

STARTS_FORMULA = r"^'*[=+\-@\t\r\n]"
IS_GUARDED = r"^'+[=+\-@\t\r\n]"
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def guarded(frame: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before every text that a spreadsheet could run as a formula.

    >>> guarded(pl.DataFrame({"x": ["=1+1", "-5", "'=1", "fine"]}))["x"].to_list()
    ["'=1+1", '-5', "''=1", 'fine']
    """
    return pl.DataFrame([_texts(column, _guard) for column in frame.iter_columns()])


def unguarded(frame: pl.DataFrame) -> pl.DataFrame:
    """Remove the apostrophes that `guarded` added.

    >>> unguarded(pl.DataFrame({"x": ["'=1+1", "-5", "''=1", "fine"]}))["x"].to_list()
    ['=1+1', '-5', "'=1", 'fine']
    """
    return pl.DataFrame([_texts(column, _unguard) for column in frame.iter_columns()])


def cells_unguarded(frame: pl.DataFrame) -> int:
    """Count the cells that `guarded` would not have written like this."""
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
