"""One exact fraction per class, in integers that cannot overflow.

Every earth mover's distance here is numerator / (class size · unit) with integers throughout. Numerators are
int64 while that is safe and Python integers beyond; floats decide only comparisons that are clearly not ties.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
