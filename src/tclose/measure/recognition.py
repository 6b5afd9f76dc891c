"""Which published columns a neighbour may know: codes of places, groups and persons, recognised by their signs.

The signs are those of the draft (`policy/draft/codes.py`), as far as they show in a published table: one of them, that
the file lists equal numbers together, is gone, since a release has an order of its own. Decision 135 has the figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tclose.measure.line_counts import Recognition
from tclose.policy.draft.codes import Beside, Signs, signs_of
from tclose.types import Floats, Ints

MOST_ROWS = 20_000  # that are looked at


@dataclass(frozen=True, eq=False)
class PublishedCells:
    """A column whose cells are published as they are: a number for each cell, -1 where it is missing."""

    name: str
    codes: Ints
    numbers: Floats | None  # of every row, where the cells are numbers; NaN where missing

    @property
    def is_whole(self) -> bool:
        """Whether the cells are whole numbers, or words."""
        return self.numbers is None or bool((np.isnan(self.numbers) | (self.numbers == np.round(self.numbers))).all())

    @property
    def ranks(self) -> Ints:
        """The rank of each row's number, or a number for each word; -1 where there is none."""
        cells = self.codes.astype(np.float64) if self.numbers is None else self.numbers
        ranks = np.full(len(cells), -1, dtype=np.int64)
        known = self.codes >= 0
        ranks[known] = np.unique(cells[known], return_inverse=True)[1]
        return ranks


@dataclass(frozen=True)
class Recognised:
    """How surely a column is a code of a place, a group or a person, and by which signs."""

    how: Recognition
    why: str = ""


def recognised(columns: Sequence[PublishedCells], wanted: Sequence[str]) -> dict[str, Recognised]:
    """Return for each wanted column whether it is a code; all columns are looked at for jumps."""
    ranks = {column.name: column.ranks for column in columns}
    beside = {column.name: Beside(ranks[column.name], column.numbers is not None) for column in columns}
    return {
        column.name: _judged(_signs(column, ranks[column.name], beside)) for column in columns if column.name in wanted
    }


def _signs(column: PublishedCells, ranks: Ints, beside: dict[str, Beside]) -> Signs | None:
    if not column.is_whole:
        return None
    others = {name: other for name, other in beside.items() if name != column.name}
    return signs_of(column.name, ranks, others, ordered=column.numbers is not None, as_filed=False)


def _judged(signs: Signs | None) -> Recognised:
    if signs is None or not signs.possibly:
        return Recognised("no")
    return Recognised("surely" if signs.surely else "possibly", signs.sentence)
