"""The published frame: quasi-identifiers recoded, sensitive and kept cells as they were, rows in a neutral order."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import InputError
from tclose.policy import Policy
from tclose.recode.published import published
from tclose.table import SensitiveColumn
from tclose.table.classes import Classes
from tclose.table.quasi import QuasiColumn
from tclose.table.sensitive import MISSING

Ints = NDArray[np.int64]


def recoded(
    frame: pl.DataFrame,
    policy: Policy,
    quasi: Iterable[QuasiColumn],
    sensitive: Mapping[str, SensitiveColumn],
    classes: Classes,
) -> pl.DataFrame:
    """Return the rows as they are published, still in the table's order and with the table's order of columns."""
    by_row = classes.labels_by_row()
    new = {column.name: _spread(published(column, classes), by_row) for column in quasi}
    for name, spec in policy.sensitive.items():
        if spec.publish == "bin":
            new[name] = _bins(sensitive[name], frame[name])
    shown = {*policy.quasi, *policy.keep, *policy.unlinkable, *policy.sensitive}
    columns = (name for name in frame.columns if name in shown)
    return pl.DataFrame([(new[name] if name in new else _plain(frame[name])).alias(name) for name in columns])


def ordered(frame: pl.DataFrame) -> tuple[pl.DataFrame, Ints]:
    """Return the rows in an order that depends on published values only, and which row went where."""
    numbered = [column.alias(str(number)) for number, column in enumerate(frame.iter_columns())]
    keys = [key.name for key in numbered]  # polars takes names such as ^x$ for patterns
    position = pl.Series("position", np.arange(frame.height))
    order = pl.DataFrame([*numbered, position]).sort(keys)["position"].to_numpy()
    return pl.DataFrame([_compact(column) for column in frame[order].iter_columns()]), order


def _compact(column: pl.Series) -> pl.Series:
    """Copy text: a column that was filtered still holds the other rows' text, which would get into Arrow files."""
    if column.dtype != pl.String:
        return column
    buffer = io.BytesIO()
    column.alias("").to_frame().write_ipc(buffer, compat_level=pl.CompatLevel.oldest())
    buffer.seek(0)
    return pl.read_ipc(buffer).to_series().alias(column.name)


def _spread(texts: Iterable[str], codes: Ints) -> pl.Series:
    return pl.Series(list(texts), dtype=pl.String).gather(codes)


def _bins(column: SensitiveColumn, cells: pl.Series) -> pl.Series:
    """Publish the bin of each cell; a cell without a value stays as it is."""
    bins = _spread(column.labels, column.codes)
    return pl.select(pl.when(bins == MISSING).then(_plain(cells).cast(pl.String)).otherwise(bins)).to_series()


def _plain(column: pl.Series) -> pl.Series:
    """Drop dictionaries: they could hold values that no published row has."""
    dtype = column.dtype
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        raise InputError(f"column '{column.name}' is of type {dtype.base_type()}: make it text, a number or a date")
    return column.cast(pl.String) if dtype in (pl.Categorical, pl.Enum) else column
