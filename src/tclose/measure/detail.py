"""What measures of detail kept look at: a table before and after, column by column, as numbers.

A reader of a release who knows nothing else shares each published text out evenly among the cells that it covers. What
that leaves of the table's distributions is what an analyst can still see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tclose.measure.linkage import Links
from tclose.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class Visible:
    """A quasi-identifier or a kept column: its cell in every row before, its published text in every row after."""

    name: str
    cells: Ints  # per row of the table
    texts: Ints  # per row of the release
    spread: Floats  # texts × cells: how a reader shares each text out
    covered: Ints  # how many cells each text covers
    before: Floats | None  # what each cell is worth, where cells are numbers or dates; not a number where missing
    after: Floats | None  # what each text is worth to a reader


@dataclass(frozen=True, eq=False)
class Exact:
    """A sensitive column: published as it is."""

    name: str
    before: Ints  # the cell in every row of the table
    after: Ints  # and of the release
    domain: int
    worth: Floats | None  # of each cell, where cells are numbers or dates


@dataclass(frozen=True, eq=False)
class Detail:
    """A table and its release."""

    visible: Sequence[Visible]
    sensitive: Sequence[Exact]
    labels: Ints  # class of every row of the release
    own: Links  # the table's people against the classes


@dataclass(frozen=True)
class Kept:
    """One measure: which way is better, between which bounds; none where a table has nothing to measure it on."""

    name: str
    title: str
    better: Literal["lower", "higher"]
    low: float
    high: float | None
    compute: Callable[[Detail], float | None]


def joint(column: Visible, other: Exact, *, after: bool) -> Floats:
    """Return the shares of cells × values: as they are in the table, or as a reader of the release sees them."""
    if not after:
        cells = column.spread.shape[1]
        counts = np.bincount(column.cells * other.domain + other.before, minlength=cells * other.domain)
        return counts.reshape(cells, other.domain) / len(column.cells)
    texts = len(column.spread)
    counts = np.bincount(column.texts * other.domain + other.after, minlength=texts * other.domain)
    return np.asarray(column.spread.T @ counts.reshape(texts, other.domain)) / len(column.texts)
