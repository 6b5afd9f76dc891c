"""A table beside its release, column by column: what was there, and what readers still see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from tclose.table.tally import Tally
from tclose.table.values import ValueDomain

RANGE = r"^[\[(](-?[0-9.]+), (-?[0-9.]+)[\])]$"


@dataclass(frozen=True)
class ColumnChange:
    """One published column: different values before and after, and how exact its cells still are."""

    name: str
    before: int
    after: int
    exact: float  # share of rows that publish a value of the table as it is
    width: float | None  # mean width of the ranges of numbers, 0 for an exact one; None where there are none

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return asdict(self)


def before_and_after(
    table: pl.DataFrame, release: pl.DataFrame, columns: Sequence[str], missing: Sequence[str]
) -> list[ColumnChange]:
    """Compare the columns that both tables have."""
    shared = [name for name in columns if name in table.columns and name in release.columns]
    return [_change(table[name], release[name].cast(pl.String), missing) for name in shared]


def _change(table: pl.Series, cells: pl.Series, missing: Sequence[str]) -> ColumnChange:
    domain = ValueDomain.of(Tally.of(table), missing)
    counted = cells.alias("cell").value_counts(name="rows")
    exact = pl.col("cell").is_in(list(domain.texts))
    ends = [pl.col("cell").str.extract(RANGE, group).cast(pl.Float64, strict=False) for group in (1, 2)]
    found = counted.select("rows", exact=exact.fill_null(False), width=ends[1] - ends[0])
    rows, kept, widths = (found[name].to_numpy() for name in ("rows", "exact", "width"))
    measured = kept | ~np.isnan(widths)
    width = float(np.average(np.nan_to_num(widths)[measured], weights=rows[measured])) if measured.any() else None
    return ColumnChange(
        name=table.name,
        before=len(domain.texts),
        after=counted.height,
        exact=float(np.average(kept, weights=rows)),
        width=width if found["width"].is_not_null().any() else None,
    )
