"""What measures of detail kept look at: a table before and after, column by column, as numbers.

A reader of a release who knows nothing else shares each published text out evenly among the cells that it covers. What
that leaves of the table's distributions is what an analyst can still see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tclose.measure.base import Declaration
from tclose.measure.linkage import Links
from tclose.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class VisibleColumn:
    """A quasi-identifier or a kept column: the cell of every row of the table, the text of every row of the release."""

    name: str
    cells: Ints  # per row of the table
    texts: Ints  # per row of the release
    spread: Floats  # texts × cells: how a reader shares each text out
    covered: Ints  # how many cells each text covers
    before: Floats | None  # what each cell is worth, where cells are numbers or dates; not a number where missing
    after: Floats | None  # what each text is worth to a reader

    def shares_before(self) -> Floats:
        """Return the share of the table's rows that each cell has."""
        return np.bincount(self.cells, minlength=self.spread.shape[1]) / len(self.cells)

    def shares_after(self) -> Floats:
        """Return the share that a reader of the release gives each cell."""
        return np.asarray(np.bincount(self.texts, minlength=len(self.spread)) @ self.spread / len(self.texts))


@dataclass(frozen=True, eq=False)
class ExactColumn:
    """A sensitive column: published as it is."""

    name: str
    before: Ints  # the cell in every row of the table
    after: Ints  # and of the release
    domain: int
    worth: Floats | None  # of each cell, where cells are numbers or dates


@dataclass(frozen=True, eq=False)
class Detail:
    """A table and its release, as measures of detail kept see them."""

    visible: Sequence[VisibleColumn]
    sensitive: Sequence[ExactColumn]
    labels: Ints  # class of every row of the release
    people: Links  # the table's rows against the classes


@dataclass(frozen=True, kw_only=True)
class DetailMeasure(Declaration):
    """One measure of detail kept; None where it is not known, such as where a table has nothing to measure it on."""

    compute: Callable[[Detail], float | None]
    why_none: str = "this table has nothing to measure it on"
    seconds: Callable[[Detail], float] = lambda detail: 0.0  # about how long it takes, where that may be long


def joint(column: VisibleColumn, attribute: ExactColumn, *, after: bool, values: slice = slice(None)) -> Floats:
    """Return the shares of cells × some values: as they are in the table, or as a reader of the release sees them."""
    first, last, _ = values.indices(attribute.domain)
    width, cells = last - first, column.spread.shape[1]
    if not after:
        return _counts(column.cells, attribute.before - first, cells, width) / len(column.cells)
    counts = _counts(column.texts, attribute.after - first, len(column.spread), width)
    return np.asarray(column.spread.T @ counts) / len(column.texts)


def _counts(rows: Ints, values: Ints, height: int, width: int) -> Ints:
    """Count pairs of a row and a value, of the values from 0 to below the width."""
    inside = (values >= 0) & (values < width)
    counts = np.bincount(rows[inside] * width + values[inside], minlength=height * width)
    return counts.reshape(height, width)
