"""Synthetic values: exact ones, drawn at random within what is published.

A published range is tight unless the policy has a step: two rows of each class, chosen at random, get its ends, and the
others any value between. Every value of a set is given to a row; the others get any of them. Nothing links a value to a
person: rows of a class are interchangeable, and columns are drawn independently.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tclose.analysis.columns import ListColumn, RangeColumn
from tclose.types import Bools, Floats, Ints

ROUNDS = 30  # of the distribution of a column


@dataclass(frozen=True, eq=False)
class ColumnDistribution:
    """How the values of a column are spread over the table, as the ranges of all classes show it."""

    values: Floats  # the ends of ranges, in rising order
    below: Floats  # the share of rows below each value, and 1 at the end
    first: Ints  # of each row's range, as places in `values`
    last: Ints

    @classmethod
    def of(cls, column: RangeColumn, labels: Ints) -> ColumnDistribution:
        """Return the most likely distribution if a range has its two ends and otherwise any values (Turnbull, 1976).

        A value of the table is the end of some range more often than not, so ends are the only values drawn.
        """
        rows = np.flatnonzero(~np.isnan(column.closed_low))
        values, places = np.unique(
            np.concatenate([column.closed_low[rows], column.closed_high[rows]]), return_inverse=True
        )
        first, last = np.zeros(len(labels), dtype=np.int64), np.zeros(len(labels), dtype=np.int64)
        first[rows], last[rows] = places[: len(rows)], places[len(rows) :]
        kept, size = np.unique(labels[rows], return_index=True, return_counts=True)[1:]
        low, high, inner = first[rows][kept], last[rows][kept], np.maximum(size - 2.0, 0)
        ends = np.bincount(low, minlength=len(values)) + np.bincount(high, np.minimum(size - 1, 1), len(values))
        shares = ends / max(ends.sum(), 1)
        for _ in range(ROUNDS):
            below = np.concatenate([[0], np.cumsum(shares)])
            weight = inner / (below[last[rows][kept] + 1] - below[low])
            started, ended = (np.bincount(place, weight, len(values) + 1) for place in (low, high + 1))
            shares = ends + shares * np.cumsum(started - ended)[:-1]
            shares /= shares.sum()
        return cls(values, np.concatenate([[0], np.cumsum(shares)]), first, last)

    def numbers(self, rng: np.random.Generator) -> Floats:
        """Return a value for each row."""
        low, high = self.below[self.first], self.below[self.last + 1]
        places = np.searchsorted(self.below, low + rng.random(len(low)) * (high - low), side="right") - 1
        return self.values[np.clip(places, self.first, self.last)]


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

    def numbers(self, column: RangeColumn, spread: ColumnDistribution | None = None) -> Floats:
        """Return a number for each row of ranges, NaN where it is missing: spread evenly, or as the table's are."""
        low, high, ranks = column.closed_low, column.closed_high, self.ranks()
        drawn = self._evenly(column) if spread is None else spread.numbers(self.rng)
        drawn = np.where(ranks == 0, low, np.where(ranks == 1, high, drawn))
        return np.where(self._missing(column), np.nan, drawn)

    def _evenly(self, column: RangeColumn) -> Floats:
        low, high = column.closed_low, column.closed_high
        drawn = low + self.rng.random(len(low)) * (high - low + column.whole)
        return np.minimum(np.floor(drawn), high) if column.whole else drawn

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

    def _missing(self, column: RangeColumn | ListColumn) -> Bools:
        """Let half of a class lack a value where some of it does."""
        half = self.ranks() < self.sizes[self.labels] / 2
        return column.all_missing | (column.some_missing & half)
