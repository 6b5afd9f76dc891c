"""A table beside its release, column by column: what was there, and what readers still see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InputError, PolicyError
from tclose.policy import Policy
from tclose.recode.spelling import MISSING, OR_MISSING
from tclose.release.reconstruction import PublishedCells, Reconstruction, reconstructed
from tclose.table.spellings import with_one_number
from tclose.table.tally import Tally
from tclose.table.values import ValueDomain
from tclose.types import Bools, Floats

RANGE = rf"^[\[(](-?[0-9.]+), (-?[0-9.]+)[\])](?:{OR_MISSING})?$"


@dataclass(frozen=True)
class ColumnChange:
    """One published column: different values before and after, and how exact its cells still are."""

    name: str
    before: int
    after: int
    exact: float  # share of rows that publish a value of the table as it is
    width: float | None  # mean width of the ranges of numbers, 0 for an exact one; None where some have no known width
    reconstruction: Reconstruction | None  # None where the policy could not have published the column's cells
    unreadable: str = ""  # and why not

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return asdict(self)


def before_and_after(
    table: pl.DataFrame, release: pl.DataFrame, policy: Policy, apart: Mapping[str, pl.Series] | None = None
) -> list[ColumnChange]:
    """Compare the columns that both tables have: quasi-identifiers, kept columns, then sensitive ones.

    `apart` holds the exact cells that a release counts by class, beside its rows.
    """
    columns = dict.fromkeys([*policy.visible, *policy.sensitive])
    shared = [name for name in columns if name in table.columns and name in release.columns]
    return [
        _change(with_one_number(table[name], policy.missing), release[name], policy, apart or {}) for name in shared
    ]


def _change(table: pl.Series, published: pl.Series, policy: Policy, apart: Mapping[str, pl.Series]) -> ColumnChange:
    domain = ValueDomain.of(Tally.of(table), policy.missing, policy.below.get(table.name))
    cells = PublishedCells.of(published)
    ends = [cells.texts.str.extract(RANGE, group).cast(pl.Float64, strict=False) for group in (1, 2)]
    kept = cells.texts.is_in(pl.Series(domain.texts, dtype=pl.String).implode()).fill_null(False).to_numpy()
    widths = (ends[1] - ends[0]).to_numpy()
    known = partial(
        ColumnChange,
        name=table.name,
        before=len(domain.texts),
        after=len(cells.texts),
        exact=float(np.average(kept, weights=cells.rows)),
        width=_mean_width(widths, kept, cells),
    )
    exact_cells = apart.get(table.name)
    try:
        if exact_cells is not None:
            return known(reconstruction=reconstructed(domain, PublishedCells.of(exact_cells), policy, apart=True))
        return known(reconstruction=reconstructed(domain, cells, policy))
    except (InputError, PolicyError) as error:  # the hierarchies of a project may have changed since
        return known(reconstruction=None, unreadable=error.sentence)


def _mean_width(widths: Floats, kept: Bools, cells: PublishedCells) -> float | None:
    """Return the mean width of ranges and exact numbers; None without ranges, and where a cell has an unknown width."""
    if np.isnan(widths).all():
        return None
    shown = cells.texts.ne_missing(MISSING).to_numpy() & cells.texts.is_not_null().to_numpy()
    known = np.where(np.isnan(widths) & kept, 0.0, widths)[shown]
    return None if np.isnan(known).any() else float(np.average(known, weights=cells.rows[shown]))
