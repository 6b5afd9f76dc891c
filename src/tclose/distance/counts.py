"""How often each class shows each value, kept only for the values that a class shows.

A table has many small classes and a sensitive attribute may have many values, so a dense classes × values
array is out of the question; what is stored is one entry per (class, value) pair that occurs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tclose.types import Ints

BLOCK = 100_000  # entries
FEW_KEYS = 2  # possible pairs of class and value per row, which are counted rather than sorted


@dataclass(frozen=True, eq=False)
class Counts:
    """Sparse class × value counts: entries are sorted by class, then by value; no class is empty."""

    starts: Ints  # where each class's entries begin
    codes: Ints  # the value of each entry
    counts: Ints  # how many rows of the class show it
    domain_size: int

    @classmethod
    def from_codes(cls, labels: ArrayLike, codes: ArrayLike, domain_size: int) -> Counts:
        """Count the values (`codes`) in each class; `labels` holds 0, 1, 2, … with none left out.

        Where many values are possible, it is several times faster when the labels come sorted.
        """
        key = np.asarray(labels, dtype=np.int64) * domain_size
        key += np.asarray(codes, dtype=np.int64)
        shown, counts = _counted(key)
        classes, values = np.divmod(shown, domain_size)
        starts = np.flatnonzero(np.concatenate(([True], classes[1:] != classes[:-1])))
        return cls(starts, values, counts, domain_size)

    @classmethod
    def from_entries(cls, labels: Ints, codes: Ints, rows: Ints, domain_size: int) -> Counts:
        """Add up entries in any order, each of so many rows of a class that show a value."""
        key = labels * domain_size + codes
        order = np.argsort(key, kind="stable")
        shown, first = np.unique(key[order], return_index=True)
        counts = np.add.reduceat(rows[order], first)
        classes, values = np.divmod(shown, domain_size)
        return cls(np.searchsorted(classes, np.arange(int(classes[-1]) + 1)), values, counts, domain_size)

    @classmethod
    def concatenated(cls, parts: Sequence[Counts]) -> Counts:
        """Put the classes of several counts over one domain behind each other."""
        begins = np.cumsum([0, *(len(part.codes) for part in parts[:-1])])
        return cls(
            np.concatenate([part.starts + begin for part, begin in zip(parts, begins, strict=True)]),
            np.concatenate([part.codes for part in parts]),
            np.concatenate([part.counts for part in parts]),
            parts[0].domain_size,
        )

    @classmethod
    def from_dense(cls, rows: ArrayLike) -> Counts:
        """Take a small classes × values array, as a paper prints it.

        >>> Counts.from_dense([[2, 0, 1], [0, 3, 0]]).sizes.tolist()
        [3, 3]
        """
        dense = np.atleast_2d(np.asarray(rows, dtype=np.int64))
        classes, codes = np.nonzero(dense)
        starts = np.searchsorted(classes, np.arange(len(dense)))
        return cls(starts, codes.astype(np.int64), dense[classes, codes], dense.shape[1])

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def sizes(self) -> Ints:
        """How many rows each class has."""
        return self.per_class(self.counts)

    @property
    def distinct(self) -> Ints:
        """How many different values each class shows."""
        return np.diff(self.starts, append=len(self.codes))

    @property
    def ends(self) -> Ints:
        """Where each class's entries end."""
        return np.append(self.starts[1:], len(self.codes))

    def per_class(self, entries: NDArray[np.generic]) -> Ints:
        """Add up a figure per entry into a figure per class."""
        return np.add.reduceat(entries, self.starts)

    def per_entry(self, classes: NDArray[np.generic]) -> Ints:
        """Repeat a figure per class for each of its entries."""
        return np.repeat(classes, self.distinct)

    def dense(self, index: int) -> Ints:
        """Return the counts of one class over the whole domain."""
        row = np.zeros(self.domain_size, dtype=np.int64)
        entries = slice(self.starts[index], self.ends[index])
        row[self.codes[entries]] = self.counts[entries]
        return row

    def only(self, chosen: NDArray[np.intp] | Ints) -> Counts:
        """Keep only the classes with these indices, in this order."""
        distinct = self.distinct[chosen]
        starts = np.concatenate(([0], np.cumsum(distinct)[:-1])).astype(np.int64)
        entries = np.repeat(self.starts[chosen] - starts, distinct) + np.arange(int(distinct.sum()))
        return Counts(starts, self.codes[entries], self.counts[entries], self.domain_size)

    def blocks(self) -> Iterator[Counts]:
        """Yield the classes in blocks of some 100,000 entries, so that working arrays stay small."""
        for low, high in pairwise(np.append(self.starts[:: self._classes_per_block()], len(self.codes))):
            inside = slice(*np.searchsorted(self.starts, [low, high]))
            yield Counts(self.starts[inside] - low, self.codes[low:high], self.counts[low:high], self.domain_size)

    def _classes_per_block(self) -> int:
        return max(1, len(self) * BLOCK // len(self.codes))

    def coarsened(self, group_of: Ints, groups: int) -> Counts:
        """Count groups of neighbouring values instead; `group_of` must not decrease along the domain."""
        group = group_of[self.codes]
        begins = np.concatenate(([True], group[1:] != group[:-1]))
        begins[self.starts] = True
        first = np.flatnonzero(begins)
        return Counts(np.searchsorted(first, self.starts), group[first], np.add.reduceat(self.counts, first), groups)

    def reordered(self, place: Ints) -> Counts:
        """Give every value another place in the domain: `place` holds each of 0, 1, 2, … once."""
        places, classes = place[self.codes], self.per_entry(np.arange(len(self)))
        order = np.lexsort((places, classes))
        return Counts(self.starts, places[order], self.counts[order], self.domain_size)

    def count_of(self, code: int) -> Ints:
        """Return how often each class shows one value."""
        return self.per_class(np.where(self.codes == code, self.counts, 0))


def _counted(key: Ints) -> tuple[Ints, Ints]:
    """Return the different keys, in order, and how often each occurs."""
    if int(key.max(initial=0)) < FEW_KEYS * len(key):
        counts = np.bincount(key)
        shown = np.flatnonzero(counts)
        return shown, counts[shown]
    key.sort(kind="stable")  # a stable sort is fast where the labels are sorted already
    first = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    return key[first], np.diff(first, append=len(key))
