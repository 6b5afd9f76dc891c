"""δ-presence (Nergiz, Atzori & Clifton 2007): how likely anyone of a population is in the published table.

A person of the population fits some classes. Of the people who fit a class, as many are in the table as the class has
rows, so anyone who fits it is in the table with this chance, as far as the class tells. Someone who fits no class is
surely not in the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.measure.linkage import Links
from tclose.types import Bools, Ints


@dataclass(frozen=True, eq=False)
class PresenceCounts:
    """For each class its rows and how many of the population fit it; and how many of the population fit none."""

    sizes: Ints
    people: Ints
    outside: int
    population: int

    @classmethod
    def of(cls, links: Links) -> PresenceCounts:
        """Count a population, whose rows were linked with the classes."""
        people, outside = np.zeros(len(links.sizes), dtype=np.int64), 0
        for block, fits in links.blocks():
            weights = links.weights[block]
            people += (weights.astype(np.float64) @ fits).astype(np.int64)
            outside += int(weights[~fits.any(axis=1)].sum())
        return cls(links.sizes, people, outside, int(links.weights.sum()))

    @property
    def lacking(self) -> int:
        """How many classes have more rows than the population has people who fit: it does not hold the table."""
        return int(np.count_nonzero(self.people < self.sizes))

    @property
    def least(self) -> Fraction:
        """The smallest chance of anyone in the population."""
        return Fraction(0) if self.outside else min(self._chances())

    @property
    def largest(self) -> Fraction:
        """The largest chance of anyone in the population."""
        return max(self._chances())

    def failing(self, least: Fraction, largest: Fraction) -> Bools:
        """Mark the classes beyond the limits; all of them where somebody who fits none breaks `least`."""
        if self.outside and least > 0:
            return np.ones(len(self.sizes), dtype=bool)
        fails = [not least <= chance <= largest for chance in self._chances()]
        return np.array(fails, dtype=bool)

    def certain(self) -> tuple[int, int]:
        """Return how many of the population are surely in the table by a class that they fit, and surely not in it."""
        inside = int(self.people[self.people == self.sizes].sum())
        return inside, self.outside

    def _chances(self) -> list[Fraction]:
        pairs = zip(self.sizes.tolist(), self.people.tolist(), strict=True)
        return [Fraction(size, people) for size, people in pairs]
