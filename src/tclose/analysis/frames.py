"""The frame of a loaded release: ranges as structs in polars, as intervals in pandas."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import polars as pl

from tclose.analysis.columns import ListColumn, PublishedColumn, RangeColumn
from tclose.errors import InputError
from tclose.recode.typed import CLASS, CLASS_SIZE, HIGH, LABEL, LOW, MEAN
from tclose.table.frames import from_polars


def interval_frame(typed: pl.DataFrame, columns: Mapping[str, PublishedColumn]) -> pl.DataFrame:
    """Return one column per column of the table: structs of `low` and `high`, lists, means and exact cells."""
    made: dict[str, pl.Series] = {}
    for name, column in columns.items():
        if isinstance(column, RangeColumn):
            ends = pl.DataFrame({"low": typed[name + LOW], "high": typed[name + HIGH]})
            made[name] = ends.to_struct()
        elif isinstance(column, ListColumn):
            made |= {end: typed[end] for end in (name, name + LABEL) if end in typed.columns}
        else:
            made[name] = typed[name if name in typed.columns else name + MEAN]
    return pl.DataFrame(made | {name: typed[name] for name in (CLASS, CLASS_SIZE)})


def pandas_frame(typed: pl.DataFrame, columns: Mapping[str, PublishedColumn]) -> Any:
    """Return the same for pandas, with ranges as closed intervals; an open end is infinite, and NaT of dates."""
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise InputError("a pandas frame needs pandas: pip install pandas") from None
    frame = interval_frame(typed, columns) if columns else typed
    ranges = {name: column for name, column in columns.items() if isinstance(column, RangeColumn)}
    rest = [name for name in frame.columns if name not in ranges]
    made = {name: from_polars(frame[[name]], "pandas")[name] for name in rest}
    made |= {name: _intervals(pandas, frame[name], column) for name, column in ranges.items()}
    return pandas.DataFrame({name: made[name] for name in frame.columns})


def _intervals(pandas: Any, structs: pl.Series, column: RangeColumn) -> Any:
    if column.is_date:
        low, high = (structs.struct.field(end).cast(pl.Datetime("us")).to_numpy() for end in ("low", "high"))
        return pandas.arrays.IntervalArray.from_arrays(low, high, closed="both")
    return pandas.arrays.IntervalArray.from_arrays(column.low, column.high, closed="both")
