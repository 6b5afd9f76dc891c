"""What each class of a release loses, column by column, read off the published texts.

The loss is the NCP of `table/quasi.py`: the share of the table's range, of a hierarchy's leaves, or of the table's
values that a cell covers. A mean does not say how far its class reaches, so its loss is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from tclose.policy import Policy
from tclose.recode.meaning import meanings, reader_of
from tclose.recode.spelling import MISSING, OR_MISSING
from tclose.table.quasi import LabelColumn, NumberColumn, QuasiColumn, SetColumn
from tclose.types import Floats

TWO_ENDS = r"^\[([^\[\],]+), ([^\[\],]+)\]$"


def losses_of(columns: Mapping[str, QuasiColumn], cells: pl.DataFrame) -> dict[str, Floats]:
    """Return the loss of every class in each quasi-identifier; not a number where the release does not tell it."""
    found = {}
    for name, column in columns.items():
        shown = cells[name].alias("").cast(pl.String).fill_null(MISSING)
        texts = shown.unique(maintain_order=True)
        losses = pl.Series(_losses(column, texts))
        found[name] = shown.replace_strict(texts, losses, return_dtype=pl.Float64).to_numpy()
    return found


def together(losses: Mapping[str, Floats], policy: Policy) -> Floats | None:
    """Return the loss of every class over all columns, weighted as the policy says; None where it is not known."""
    if not losses:
        return None
    weights = [float(policy.quasi[name].weight) for name in losses]
    means = np.average(list(losses.values()), axis=0, weights=weights)
    return None if np.isnan(means).any() else means


def _losses(column: QuasiColumn, texts: pl.Series) -> Floats:
    if isinstance(column, NumberColumn):
        return _widths(column, texts)
    covered = _covered(column, texts.to_list())
    if isinstance(column, LabelColumn):
        return np.where(covered == 1, 0.0, covered / len(column.hierarchy.leaves))
    return (covered - 1) / max(column.domain - 1, 1)


def _widths(column: NumberColumn, texts: pl.Series) -> Floats:
    """Return how far apart the published ends are, as a share of the table's; missing cells lose nothing."""
    if column.spec.publish == "mean":
        return np.full(len(texts), np.nan)
    bare, ends = texts.str.strip_suffix(OR_MISSING), column.ends()
    low = _places(ends.low_texts, ends.low, bare.str.extract(TWO_ENDS, 1).fill_null(bare))
    high = _places(ends.high_texts, ends.high, bare.str.extract(TWO_ENDS, 2).fill_null(bare))
    return np.where((texts == MISSING).to_numpy(), 0.0, high - low)


def _places(texts: Sequence[str], places: Floats, shown: pl.Series) -> Floats:
    known = dict(zip(texts, places.tolist(), strict=True))
    old, new = pl.Series(list(known), dtype=pl.String), pl.Series(list(known.values()), dtype=pl.Float64)
    return shown.replace_strict(old, new, default=np.nan, return_dtype=pl.Float64).to_numpy()


def _covered(column: LabelColumn | SetColumn, texts: Sequence[str]) -> Floats:
    """Return how many leaves each label covers, or how many members a set has, with "missing" among them.

    It is not a number where a text can be read in several ways.
    """
    domain = len(column.hierarchy.leaves) if isinstance(column, LabelColumn) else column.domain
    sets = not isinstance(column, LabelColumn)
    ways = meanings(reader_of(column), texts, name=column.name)
    counts = [
        len(np.arange(domain)[each[0].codes]) + (sets and each[0].missing) if len(each) == 1 else np.nan
        for each in ways
    ]
    return np.array(counts, dtype=np.float64)
