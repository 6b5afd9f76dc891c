"""Numbers as written, exactly: each becomes a whole number of units of 10^-scale.

A cell is a number when it reads back as it was written, which is JSON's grammar of numbers: 5, -0.50 and 1e-05
are numbers; 01234, +5 and " 5" are text, and so is what has over a hundred characters or an exponent over 999.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

NUMBER = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?0*[0-9]{1,3})?$"
LONGEST = 100
DIGITS = 18  # that many always fit into 64 bits
WIDE = Context(prec=2 * (1000 + LONGEST))


@dataclass(frozen=True, eq=False)
class Numbers:
    """Exact numbers: units[i] · 10^-scale, as int64 or, beyond its reach, as Python integers."""

    units: NDArray[Any]
    scale: int


def are_numbers(cells: pl.Series) -> pl.Series:
    """Tell for each text cell whether it is a number as written."""
    return cells.str.contains(NUMBER) & (cells.str.len_bytes() <= LONGEST)


def read(cells: pl.Series) -> Numbers:
    """Read text cells that all are numbers."""
    if cells.len() and cells.str.contains("[eE]").any():
        return _read_slowly(cells)
    fraction = cells.str.extract(r"\.([0-9]+)$").fill_null("").str.len_bytes().cast(pl.Int64)
    scale = int(fraction.max() or 0)  # type: ignore[arg-type]
    digits = cells.str.replace(".", "", literal=True)
    if int(digits.str.len_bytes().max() or 0) + scale > DIGITS:  # type: ignore[arg-type]
        return _read_slowly(cells)
    powers = 10 ** (scale - fraction.to_numpy()).astype(np.int64)
    return Numbers(digits.cast(pl.Int64).to_numpy() * powers, scale)


def _read_slowly(cells: pl.Series) -> Numbers:
    decimals = [Decimal(cell) for cell in cells]
    scale = max((max(-int(decimal.as_tuple().exponent), 0) for decimal in decimals if decimal), default=0)
    units = np.empty(len(decimals), dtype=object)
    units[:] = [int(decimal.scaleb(scale, WIDE)) for decimal in decimals]
    largest = max((abs(unit) for unit in units), default=0)
    return Numbers(units.astype(np.int64) if largest < 10**DIGITS else units, scale)
