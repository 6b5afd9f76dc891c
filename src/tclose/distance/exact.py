"""One exact fraction per class, in integers that cannot overflow.

Every earth mover's distance here is numerator / (class size · unit) with integers throughout. Numerators are
int64 while that is safe and Python integers beyond; a float only decides what is far from the line.
"""

from __future__ import annotations

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
    bound = total * _largest(per_total) + _largest(sizes) * _largest(per_size)
    if bound < SAFE:
        return np.asarray(per_total * total + sizes * per_size)
    return np.asarray(per_total.astype(object) * total + sizes.astype(object) * per_size.astype(object))


def _largest(array: Integers) -> int:
    return max(abs(int(array.max())), abs(int(array.min()))) if len(array) else 0


@dataclass(frozen=True, eq=False)
class Ratios:
    """The fraction numerators[j] / (sizes[j] · unit) of each class j."""

    numerators: Integers
    sizes: NDArray[np.int64]
    unit: int

    def __len__(self) -> int:
        return len(self.numerators)

    def __getitem__(self, index: int) -> Fraction:
        return Fraction(int(self.numerators[index]), int(self.sizes[index]) * self.unit)

    def floats(self) -> NDArray[np.float64]:
        """Return the nearest floats, for people and charts."""
        if self.numerators.dtype != object:
            return np.asarray(self.numerators / (self.sizes * float(self.unit)))
        return np.array([float(self[j]) for j in range(len(self))])

    def at_most(self, level: Fraction) -> NDArray[np.bool_]:
        """Tell for each class, exactly, whether its fraction is ≤ level."""
        a, b = level.numerator * self.unit, level.denominator
        if max(_largest(self.numerators) * b, a * _largest(self.sizes)) < SAFE:
            return self.numerators * b <= self.sizes * a
        below = self._per_row() <= a / b
        near = np.flatnonzero(np.abs(self._per_row() - a / b) <= FAR * (a / b))
        below[near] = self.numerators[near].astype(object) * b <= self.sizes[near].astype(object) * a
        return below

    def largest(self) -> tuple[Fraction, int]:
        """Return the largest fraction and the first class that has it."""
        per_row = self._per_row()
        near = np.flatnonzero(per_row >= per_row.max() * (1 - FAR))
        numerators, sizes = self.numerators[near], self.sizes[near]
        if _largest(numerators) * _largest(sizes) >= SAFE:
            numerators, sizes = numerators.astype(object), sizes.astype(object)
        best = 0
        while len(larger := np.flatnonzero(numerators * sizes[best] > numerators[best] * sizes)):
            best = int(larger[0])
        first = int(near[np.flatnonzero(numerators * sizes[best] == numerators[best] * sizes)[0]])
        return self[first], first

    def _per_row(self) -> NDArray[np.float64]:
        return self.numerators.astype(np.float64) / self.sizes
