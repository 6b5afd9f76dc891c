"""How often each class shows each value, and exact fractions of such counts, one per class.

A table has many small classes and a sensitive attribute may have many values, so a dense classes × values
array is out of the question; what is stored is one entry per (class, value) pair that occurs.

Every earth mover's distance here is numerator / (class size · unit) with integers throughout. Numerators are
int64 while that is safe and Python integers beyond; floats decide only comparisons that are clearly not ties.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tclose.types import Ints

# One exact fraction per class, in integers that cannot overflow


SAFE = 2**62  # below this, a sum of two int64 products cannot overflow
FAR = 1e-12  # relative; a float quotient of two integers is good to about 1e-15

Integers = NDArray[Any]  # int64, or object holding Python integers


def combine(total: int, per_total: Integers, sizes: NDArray[np.int64], per_size: Integers) -> Integers:
    """Return total·per_total + sizes·per_size, exactly."""
    bound = total * largest_of(per_total) + largest_of(sizes) * largest_of(per_size)
    return np.asarray(widened(per_total, bound) * total + widened(sizes, bound) * per_size)


def widened(array: Integers, bound: int) -> Integers:
    """Return the array as Python integers where what is computed from it may reach a bound beyond 64 bits."""
    return array.astype(object) if bound >= SAFE else array


def largest_of(array: Integers) -> int:
    """Return the largest magnitude in an array."""
    return max(abs(int(array.max())), abs(int(array.min()))) if len(array) else 0


@dataclass(frozen=True, eq=False)
class Ratios:
    """The fraction numerators[j] / (sizes[j] · unit) of each class j."""

    numerators: Integers
    sizes: Integers
    unit: int

    def __len__(self) -> int:
        return len(self.numerators)

    def __getitem__(self, index: int) -> Fraction:
        return Fraction(int(self.numerators[index]), int(self.sizes[index]) * self.unit)

    def floats(self) -> NDArray[np.float64]:
        """Return the nearest floats, for people and charts."""
        if self.numerators.dtype != object:
            return np.asarray(self.numerators / (self.sizes * float(self.unit)))
        fractions = zip(self.numerators.tolist(), self.sizes.tolist(), strict=True)
        return np.array([numerator / (size * self.unit) for numerator, size in fractions])

    def at_most(self, level: Fraction) -> NDArray[np.bool_]:
        """Tell for each class, exactly, whether its fraction is ≤ level."""
        a, b = level.numerator * self.unit, level.denominator
        bound = max(max(largest_of(self.numerators), 1) * b, a * largest_of(self.sizes))
        if bound < SAFE or self.numerators.dtype == object:
            return np.asarray(self.numerators * b <= widened(self.sizes, bound) * a)
        floats, line = self.floats(), float(level)
        below = floats <= line
        near = np.flatnonzero(np.abs(floats - line) <= FAR * line)
        below[near] = self.numerators[near].astype(object) * b <= self.sizes[near].astype(object) * a
        return below

    def largest(self) -> tuple[Fraction, int]:
        """Return the largest fraction and the first class that has it."""
        floats = self.floats()
        near = np.flatnonzero(floats >= floats.max() * (1 - FAR))
        bound = largest_of(self.numerators) * largest_of(self.sizes)
        numerators, sizes = widened(self.numerators[near], bound), widened(self.sizes[near], bound)
        best = 0
        while len(larger := np.flatnonzero(numerators * sizes[best] > numerators[best] * sizes)):
            best = int(larger[0])
        first = int(near[np.flatnonzero(numerators * sizes[best] == numerators[best] * sizes)[0]])
        return self[first], first


@dataclass(frozen=True, eq=False)
class BracketedRatios(Ratios):
    """Fractions that are costly to compute: `numerators` are at most, `highs` at least the true numerators.

    Every verdict is exact; `solve(j)` computes the numerator of class j, where its bracket cannot decide.
    """

    highs: Integers
    solve: Callable[[int], int]

    def __getitem__(self, index: int) -> Fraction:
        return Fraction(self._exact(index), int(self.sizes[index]) * self.unit)

    def floats(self) -> NDArray[np.float64]:
        """Return floats within the brackets, some percent from the fractions themselves; nothing is solved for that."""
        middles = (self.numerators + self.highs) / 2 / (self.sizes.astype(object) * self.unit)
        return np.asarray(middles, dtype=np.float64)

    def at_most(self, level: Fraction) -> NDArray[np.bool_]:
        """Tell for each class, exactly, whether its fraction is ≤ level."""
        allowed = [math.floor(level * int(size) * self.unit) for size in self.sizes]
        return np.array([self._is_at_most(j, most) for j, most in enumerate(allowed)], dtype=bool)

    def _is_at_most(self, index: int, most: int) -> bool:
        if self.highs[index] <= most or self.numerators[index] > most:
            return bool(self.highs[index] <= most)
        return self._exact(index) <= most

    def largest(self) -> tuple[Fraction, int]:
        """Return the largest fraction and the first class that has it; few classes have to be solved for that."""
        highs = [Fraction(int(high), int(size)) for high, size in zip(self.highs, self.sizes, strict=True)]
        best, first = Fraction(-1), -1
        for index in sorted(range(len(highs)), key=lambda j: (-highs[j], j)):
            if highs[index] / self.unit < best:
                break
            fraction = self[index]
            if fraction > best or (fraction == best and index < first):
                best, first = fraction, index
        return best, first

    def _exact(self, index: int) -> int:
        """Return the numerator of a class; from now on it is known."""
        if self.numerators[index] < self.highs[index]:
            self.numerators[index] = self.highs[index] = self.solve(index)
        return int(self.numerators[index])


# Counts of values in classes


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
