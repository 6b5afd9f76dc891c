"""β-likeness (Cao & Karras 2012): no value becomes relatively much likelier in a class than in the table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Counts, Ratios
from tclose.distance.ratios import largest_of, widened
from tclose.privacy.base import Judgement, Sign
from tclose.privacy.levels import Level, at_most
from tclose.privacy.logarithms import sign_of_log_minus
from tclose.privacy.rule import FINE, Rule
from tclose.privacy.rule import NEAR as TINY
from tclose.types import Ints

NEAR = 1e-9  # floats decide only beyond this


def relative_gains(counts: Counts, reference: Ints) -> Ratios:
    """Return max(p − q, 0)/q of every entry (not class): the values that a class shows."""
    sizes, total = counts.sizes, int(reference.sum())
    whole = total * largest_of(sizes)
    expected = counts.per_entry(widened(sizes, whole)) * reference[counts.codes]
    return Ratios(np.maximum(total * widened(counts.counts, whole) - expected, 0), expected, 1)


@dataclass(frozen=True)
class BetaLikeness:
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

    def attainable(self, reached: Level, counts: Counts, reference: Ints) -> str:
        """Say which level these classes can be asked for."""
        return at_most(reached)


@dataclass(frozen=True)
class EnhancedBetaLikeness:
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

    def attainable(self, reached: Level, counts: Counts, reference: Ints) -> str:
        """Say which level these classes can be asked for."""
        return at_most(reached)


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
