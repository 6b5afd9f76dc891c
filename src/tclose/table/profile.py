"""What a draft of a policy needs to know about each column of a table: its kind and some counts, never a cell."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from tclose.policy.draft import MISSING, Profile
from tclose.table.values import values_of


def profiles(frame: pl.DataFrame) -> list[Profile]:
    """Describe every column."""
    return [_profile(frame[name]) for name in frame.columns]


def _profile(column: pl.Series) -> Profile:
    values = values_of(column, MISSING)
    return Profile(
        name=column.name,
        kind=values.kind,
        rows=len(values.codes),
        distinct=len(values.texts),
        missing=values.missing,
        markers=_markers(column),
    )


def _markers(column: pl.Series) -> Sequence[str]:
    """Return the usual spellings of a missing value that the column shows, apart from the empty cell."""
    if column.dtype != pl.String:
        return ()
    return tuple(marker for marker in MISSING if marker and (column == marker).any())
