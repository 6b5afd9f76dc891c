"""β-likeness and δ-disclosure privacy: how much likelier a value is in a class than in the table.

β-likeness (Cao & Karras 2012): no value becomes relatively much likelier in a class than in the table.
δ-disclosure privacy (Brickell & Shmatikov 2008): |ln(p/q)| < δ for every value of the table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Counts, Ratios
from tclose.distance.counts import largest_of, widened
from tclose.privacy.base import FINE, Judgement, OneLevel, Rule, Sign
from tclose.privacy.base import NEAR as TINY
from tclose.privacy.divergence import beside, sign_of_log_minus
from tclose.types import Ints

# β-likeness


NEAR = 1e-9  # floats decide only beyond this


def relative_gains(counts: Counts, reference: Ints) -> Ratios:
    """Return max(p − q, 0)/q of every entry (not class): the values that a class shows."""
    sizes, total = counts.sizes, int(reference.sum())
    whole = total * largest_of(sizes)
    expected = counts.per_entry(widened(sizes, whole)) * reference[counts.codes]
    return Ratios(np.maximum(total * widened(counts.counts, whole) - expected, 0), expected, 1)


@dataclass(frozen=True)
class BetaLikeness(OneLevel):
    """(p − q)/q ≤ `required` for every value that gains."""

    required: Fraction

    name: ClassVar[str] = "beta"
    title: ClassVar[str] = "β-likeness"
    sign: ClassVar[Sign] = "≤"
    counts_persons: ClassVar[bool] = False
    alone: ClassVar[bool] = False
    persons_imply_rows: ClassVar[bool] = True
    merging_keeps: ClassVar[bool] = True

    def rule(self, shares: Sequence[Fraction]) -> Rule:
        """Return the largest share (1 + β)·q of every value."""
        return Rule(most=tuple((1 + self.required) * share for share in shares))

    def judge(self, counts: Counts, reference: Ints) -> Judgement:
        """Judge every class by its largest relative gain."""
        gains = relative_gains(counts, reference)
        reached, entry = gains.largest()
        admitted = np.logical_and.reduceat(gains.at_most(self.required), counts.starts)
        return Judgement(admitted, reached, class_of(entry, counts))


@dataclass(frozen=True)
class EnhancedBetaLikeness(OneLevel):
    """(p − q)/q ≤ min(`required`, −ln q) for every value that gains."""

    required: Fraction

    name: ClassVar[str] = "enhanced_beta"
    title: ClassVar[str] = "enhanced β-likeness"
    sign: ClassVar[Sign] = "≤"
    counts_persons: ClassVar[bool] = False
    alone: ClassVar[bool] = False
    persons_imply_rows: ClassVar[bool] = True
    merging_keeps: ClassVar[bool] = True

    def rule(self, shares: Sequence[Fraction]) -> Rule:
        """Return the largest share (1 + min(β, −ln q))·q of every value, rounded down."""
        return Rule(most=tuple((1 + self._gain(share)) * share for share in shares), exact=False)

    def _gain(self, share: Fraction) -> Fraction:
        if share == 0:
            return Fraction(0)
        information = Fraction(math.floor(-math.log(share) * (1 - TINY) * FINE), FINE)
        return min(self.required, max(information, Fraction(0)))

    def judge(self, counts: Counts, reference: Ints) -> Judgement:
        """Judge every class; where a gain exceeds −ln q, no β would do and the level is infinite."""
        gains = relative_gains(counts, reference)
        capped = _within_information(gains, counts, reference)
        admitted = np.logical_and.reduceat(capped & gains.at_most(self.required), counts.starts)
        if not capped.all():
            return Judgement(admitted, math.inf, class_of(int(np.flatnonzero(~capped)[0]), counts))
        reached, entry = gains.largest()
        return Judgement(admitted, reached, class_of(entry, counts))


def class_of(entry: int, counts: Counts) -> int:
    """Return the class that an entry belongs to."""
    return int(np.searchsorted(counts.starts, entry, side="right")) - 1


def _within_information(gains: Ratios, counts: Counts, reference: Ints) -> NDArray[np.bool_]:
    """Tell for every entry whether its gain is at most −ln q."""
    q, total = reference[counts.codes], int(reference.sum())
    gain, information = gains.floats(), np.log(total / q)
    within = gain <= information
    for entry in np.flatnonzero((np.abs(gain - information) <= NEAR) & (gain > 0)).tolist():
        within[entry] = sign_of_log_minus(Fraction(total, int(q[entry])), gains[entry]) >= 0
    return within


# δ-disclosure privacy


@dataclass(frozen=True)
class DeltaDisclosure(OneLevel):
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
