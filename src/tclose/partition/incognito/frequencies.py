"""Frequency sets: the classes of a generalisation, without their rows, from which coarser ones are rolled up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tclose.distance import Counts
from tclose.partition.incognito.ladder import Ladder
from tclose.partition.problem import Problem
from tclose.types import Ints

Generalised = Sequence[tuple[int, int]]  # quasi-identifiers, each with its height; those not named are left out

LARGEST_KEY = 2**62
DENSE = 4  # times as many cells as entries are laid out in an array; more are sorted


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Of each class: a value per quasi-identifier that stands for it, its rows, and its counts per attribute."""

    values: Ints  # classes × quasi-identifiers
    sizes: Ints
    counts: tuple[Counts, ...]

    @classmethod
    def of(cls, problem: Problem, ladders: Sequence[Ladder]) -> Frequencies:
        """Scan the rows, once."""
        labels, first = numbered([ladder.codes for ladder in ladders], problem.rows)
        counts = [
            Counts.from_codes(labels, attribute.codes, len(attribute.reference)) for attribute in problem.sensitive
        ]
        values = np.array([ladder.codes[first] for ladder in ladders], dtype=np.int64).reshape(-1, len(first)).T
        return cls(values, np.bincount(labels), tuple(counts))

    def __len__(self) -> int:
        return len(self.sizes)

    def rolled_up(self, ladders: Sequence[Ladder], node: Generalised) -> Frequencies:
        """Return the classes of a coarser generalisation."""
        columns = [ladders[axis].levels[height][self.values[:, axis]] for axis, height in node]
        labels, first = numbered(columns, len(self))
        sizes = np.bincount(labels, weights=self.sizes).astype(np.int64)
        return Frequencies(self.values[first], sizes, tuple(_joined(counts, labels) for counts in self.counts))

    def admitted(self, problem: Problem) -> bool:
        """Tell whether every class is admitted."""
        if self.sizes.min() < problem.k:
            return False
        return all(
            attribute.admits(counts).all() for attribute, counts in zip(problem.sensitive, self.counts, strict=True)
        )


def numbered(columns: Sequence[Ints], rows: int) -> tuple[Ints, Ints]:
    """Give rows that agree on all columns the same number, from 0 up; return also where each number occurs first."""
    key, largest = np.zeros(rows, dtype=np.int64), 1
    for column in columns:
        groups = int(column.max()) + 1
        if largest * groups > LARGEST_KEY:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            largest = int(key.max()) + 1
        key, largest = key * groups + column, largest * groups
    if largest > DENSE * rows or key.min() < 0:  # intervals of numbers below 0 count down from -1
        _, first, labels = np.unique(key, return_index=True, return_inverse=True)
        return labels.astype(np.int64), first
    present = np.bincount(key, minlength=largest) > 0
    labels = (np.cumsum(present) - 1)[key]
    first = np.empty(int(np.count_nonzero(present)), dtype=np.int64)
    first[labels[::-1]] = np.arange(rows)[::-1]
    return labels, first


def _joined(counts: Counts, labels: Ints) -> Counts:
    """Add up the counts of the classes that get the same label."""
    key = counts.per_entry(labels) * counts.domain_size + counts.codes
    cells = (int(labels.max()) + 1) * counts.domain_size
    if cells <= DENSE * len(key):
        sums = np.bincount(key, weights=counts.counts, minlength=cells).astype(np.int64)
        present = np.flatnonzero(sums)
        return _of_keys(present, sums[present], counts.domain_size)
    order = np.argsort(key.astype(np.min_scalar_type(cells)), kind="stable")  # fast in 16 bits
    key = key[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    return _of_keys(key[first], np.add.reduceat(counts.counts[order], first), counts.domain_size)


def _of_keys(keys: Ints, counts: Ints, domain_size: int) -> Counts:
    """Return the counts of rising keys, class · domain + value."""
    classes, codes = np.divmod(keys, domain_size)
    return Counts(np.flatnonzero(np.diff(classes, prepend=-1)), codes, counts, domain_size)
