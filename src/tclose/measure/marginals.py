"""How much of each column's own distribution a reader still sees."""

from __future__ import annotations

import numpy as np

from tclose.measure.detail import Detail, DetailMeasure, VisibleColumn


def of_column(column: VisibleColumn) -> float:
    """Return 1 − the variational distance between a column's shares before and after.

    After, each text is shared out evenly among the cells that it covers.
    """
    return float(1 - np.abs(column.shares_before() - column.shares_after()).sum() / 2)


def marginals_kept(detail: Detail) -> float | None:
    """Return the mean over all quasi-identifiers and kept columns."""
    kept = [of_column(column) for column in detail.visible]
    return float(np.mean(kept)) if kept else None


MARGINALS = DetailMeasure(
    name="marginals",
    title="share of each column's distribution kept",
    short="marginals",
    meaning="How far the distribution of a quasi-identifier, as a reader of the release sees it, agrees with that of "
    "the table; the mean over the columns.",
    better="higher",
    low=0.0,
    high=1.0,
    compute=marginals_kept,
)
