"""Average t-closeness: the mean distance over all rows is within a limit, whatever that of a single class is.

Rebollo-Monedero, Forné & Domingo-Ferrer (From t-closeness-like privacy to postrandomization via information theory,
TKDE 2010) average what classes disclose in place of the worst case; here, what is averaged is the earth mover's
distance. It is a promise about a random row: a single class may be anywhere, unless t bounds it as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tclose.distance import Counts, Distance
from tclose.distance.ratios import Ratios
from tclose.privacy.base import Judgement, Sign
from tclose.privacy.levels import Level, at_most
from tclose.types import Ints


@dataclass(frozen=True)
class AverageTCloseness:
    """Σ size·distance / rows is within `required`; the classes must be those of the whole table."""

    required: Fraction
    distance: Distance

    name: ClassVar[str] = "average_t"
    title: ClassVar[str] = "average t-closeness"
    sign: ClassVar[Sign] = "≤"
    counts_persons: ClassVar[bool] = False
    alone: ClassVar[bool] = False
    persons_imply_rows: ClassVar[bool] = True
    merging_keeps: ClassVar[bool] = True  # the distance is convex, so merging never raises the average

    def rule(self, shares: Sequence[Fraction]) -> None:
        """Return nothing: no single class breaks it."""

    def judge(self, counts: Counts, reference: Ints) -> Judgement:
        """Judge the average, exactly; where it fails, the classes beyond it are not admitted.

        The worst class is the farthest one.
        """
        ratios = self.distance.emd(counts, reference)
        reached, farthest = average(ratios), ratios.largest()[1]
        within = reached <= self.required
        admitted = np.ones(len(counts), dtype=bool) if within else ratios.at_most(self.required)
        return Judgement(admitted, reached, farthest)

    def attainable(self, reached: Level, counts: Counts, reference: Ints) -> str:
        """Say which level these classes can be asked for."""
        return at_most(reached)


def average(ratios: Ratios) -> Fraction:
    """Return the mean of the classes' fractions, each as often as the class has rows."""
    work = sum(map(int, ratios.numerators.tolist()))
    return Fraction(work, int(ratios.sizes.sum()) * ratios.unit)
