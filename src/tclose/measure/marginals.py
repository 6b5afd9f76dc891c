"""How much of each column's own distribution a reader still sees."""

from __future__ import annotations

import numpy as np

from tclose.measure.detail import Detail, Kept, Visible


def of_column(column: Visible) -> float:
    """Return 1 − the variational distance between a column's shares before and after.

    After, each text is shared out evenly among the cells that it covers.
    """
    before = np.bincount(column.cells, minlength=column.spread.shape[1]) / len(column.cells)
    after = np.bincount(column.texts, minlength=len(column.spread)) @ column.spread / len(column.texts)
    return float(1 - np.abs(before - after).sum() / 2)


def marginals_kept(detail: Detail) -> float | None:
    """Return the mean over all quasi-identifiers and kept columns."""
    kept = [of_column(column) for column in detail.visible]
    return float(np.mean(kept)) if kept else None


MEASURE = Kept("marginals", "share of each column's distribution kept", "higher", 0.0, 1.0, marginals_kept)
