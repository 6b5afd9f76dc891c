"""Synthetic values: exact ones, drawn at random within what is published.

A published range is tight unless the policy has a step: two rows of each class, chosen at random, get its ends, and the
others any value between. Every value of a set is given to a row; the others get any of them. Nothing links a value to a
person: rows of a class are interchangeable, and columns are drawn independently.
"""

from __future__ import annotations

import numpy as np

from tclose.analysis.columns import ListColumn, RangeColumn
from tclose.types import Floats, Ints


class Draw:
    """Random places of the rows in their classes, anew for every column."""

    def __init__(self, labels: Ints, rng: np.random.Generator) -> None:
        self.labels, self.rng = labels, rng
        self.sizes = np.bincount(labels)
        self._starts = np.cumsum(self.sizes) - self.sizes

    def ranks(self) -> Ints:
        """Return the place of each row in its class, in random order."""
        order = np.lexsort((self.rng.random(len(self.labels)), self.labels))
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = np.arange(len(order)) - self._starts[self.labels[order]]
        return ranks

    def numbers(self, column: RangeColumn) -> Floats:
        """Return a number for each row of ranges; NaN where it is missing."""
        low, high, ranks = column.closed_low, column.closed_high, self.ranks()
        drawn = low + self.rng.random(len(low)) * (high - low + column.whole)
        drawn = np.minimum(np.floor(drawn), high) if column.whole else drawn
        drawn = np.where(ranks == 0, low, np.where(ranks == 1, high, drawn))
        return np.where(self._missing(column), np.nan, drawn)

    def values(self, column: ListColumn) -> Ints:
        """Return a value for each row of lists, as its place in `column.values`; -1 where it is missing."""
        place = {value: number for number, value in enumerate(column.values)}
        sizes = np.array([max(len(each), 1) for each in column.lists])
        table = np.full((len(column.lists), int(sizes.max())), -1, dtype=np.int64)
        for row, each in zip(table, column.lists, strict=True):
            row[: len(each)] = [place[value] for value in each]
        ranks, own = self.ranks(), sizes[column.codes]
        chosen = np.where(ranks < own, ranks, (self.rng.random(len(own)) * own).astype(np.int64))
        return np.where(self._missing(column), -1, table[column.codes, chosen])

    def _missing(self, column: RangeColumn | ListColumn) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Let half of a class lack a value where some of it does."""
        half = self.ranks() < self.sizes[self.labels] / 2
        return column.all_missing | (column.some_missing & half)
