"""The published frame: quasi-identifiers recoded, sensitive and kept cells as they were, rows in a neutral order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.policy import Policy
from tclose.recode.published import published
from tclose.table import SensitiveColumn
from tclose.table.classes import Classes
from tclose.table.quasi import QuasiColumn

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
            new[name] = _spread(sensitive[name].labels, sensitive[name].codes)
    shown = {*policy.quasi, *policy.keep, *policy.unlinkable, *policy.sensitive}
    return pl.DataFrame([new.get(name, _plain(frame[name])).alias(name) for name in frame.columns if name in shown])


def neutral_order(frame: pl.DataFrame) -> Ints:
    """Return an order of the rows that depends on published values only."""
    ranks = [column.rank("dense").fill_null(0).to_numpy() for column in frame.iter_columns()]
    return np.lexsort(ranks[::-1]).astype(np.int64)


def _spread(texts: Iterable[str], codes: Ints) -> pl.Series:
    return pl.Series(list(texts), dtype=pl.String).gather(codes)


def _plain(column: pl.Series) -> pl.Series:
    """Drop dictionaries: they could hold values that no published row has."""
    return column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else column
