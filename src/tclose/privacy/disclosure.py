"""δ-disclosure privacy (Brickell & Shmatikov 2008): |ln(p/q)| < δ for every value of the table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Counts
from tclose.privacy.base import Judgement, Sign
from tclose.privacy.levels import Level, below
from tclose.privacy.likeness import class_of
from tclose.privacy.logarithms import beside, sign_of_log_minus
from tclose.privacy.rule import NEAR as TINY
from tclose.privacy.rule import Rule
from tclose.types import Ints

NEAR = 1e-9  # floats decide only beyond this


@dataclass(frozen=True)
class DeltaDisclosure:
    """|ln(p/q)| < `required` (strictly); a value that a class lacks is infinitely far."""

    required: Fraction

    name: ClassVar[str] = "delta"
    title: ClassVar[str] = "δ-disclosure"
    sign: ClassVar[Sign] = "<"
    counts_persons: ClassVar[bool] = False
    alone: ClassVar[bool] = False
    persons_imply_rows: ClassVar[bool] = True
    merging_keeps: ClassVar[bool] = True

    def rule(self, shares: Sequence[Fraction]) -> Rule:
        """Return the largest share q·e^δ and the smallest share q/e^δ of every value, rounded to the strict side."""
        factor, slack = Fraction(math.exp(min(float(self.required), 700.0))), Fraction(TINY)
        return Rule(
            most=tuple(share * factor * (1 - slack) for share in shares),
            least=tuple(share / factor * (1 + slack) for share in shares),
            exact=False,
        )

    def judge(self, counts: Counts, reference: Ints) -> Judgement:
        """Judge every class by the largest |ln(p/q)|."""
        complete = counts.distinct == np.count_nonzero(reference)
        figures = self._figures(counts, reference)
        below = self._below(figures, counts, reference)
        admitted = complete & np.logical_and.reduceat(below, counts.starts)
        if not complete.all():
            return Judgement(admitted, math.inf, int(np.flatnonzero(~complete)[0]))
        worst = int(np.where(below & ~below.all(), 0, figures).argmax())
        reached = beside(self.required, float(figures[worst]), reaches=not below.all())
        return Judgement(admitted, reached, class_of(worst, counts))

    def attainable(self, reached: Level, counts: Counts, reference: Ints) -> str:
        """Say which level these classes can be asked for."""
        return below(reached)

    def _figures(self, counts: Counts, reference: Ints) -> NDArray[np.float64]:
        sizes = counts.per_entry(counts.sizes)
        ratio = (counts.counts / sizes) / (reference[counts.codes] / int(reference.sum()))
        return np.abs(np.log(ratio))

    def _below(self, figures: NDArray[np.float64], counts: Counts, reference: Ints) -> NDArray[np.bool_]:
        line = float(self.required)
        below = figures < line
        total, sizes = int(reference.sum()), counts.sizes
        for entry in np.flatnonzero(np.abs(figures - line) <= NEAR):
            share = Fraction(int(counts.counts[entry]), int(sizes[class_of(int(entry), counts)]))
            ratio = share * Fraction(total, int(reference[counts.codes[entry]]))
            below[entry] = sign_of_log_minus(max(ratio, 1 / ratio), self.required) < 0
        return below
