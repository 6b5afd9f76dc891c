"""k-anonymity (Samarati & Sweeney 1998): every class has at least k rows, or persons; and (α,k)-anonymity.

(α,k)-anonymity (Wong et al. 2006): no value makes up more than α of a class; k is judged beside it. With α = 1/l this
is the l-diversity of Liang & Yuan 2013.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tclose.distance import Counts, Ratios
from tclose.privacy.base import Judgement, OneLevel, Rule, Sign
from tclose.types import Ints


@dataclass(frozen=True)
class KAnonymity(OneLevel):
    """Every class has at least `required` members."""

    required: int

    name: ClassVar[str] = "k"
    title: ClassVar[str] = "k-anonymity"
    sign: ClassVar[Sign] = "≥"
    counts_persons: ClassVar[bool] = True
    alone: ClassVar[bool] = True
    persons_imply_rows: ClassVar[bool] = True
    merging_keeps: ClassVar[bool] = True

    def rule(self, shares: Sequence[Fraction]) -> None:
        """Return nothing: every method knows k."""

    def judge(self, counts: Counts, reference: Ints) -> Judgement:
        """Judge every class by its size."""
        sizes = counts.sizes
        worst = int(sizes.argmin())
        return Judgement(sizes >= self.required, int(sizes[worst]), worst)


# (α,k)-anonymity


@dataclass(frozen=True)
class Alpha(OneLevel):
    """The commonest value of a class makes up at most `required` of it."""

    required: Fraction

    name: ClassVar[str] = "alpha"
    title: ClassVar[str] = "largest share of a value (α)"
    sign: ClassVar[Sign] = "≤"
    counts_persons: ClassVar[bool] = False
    alone: ClassVar[bool] = True
    persons_imply_rows: ClassVar[bool] = True
    merging_keeps: ClassVar[bool] = True

    def rule(self, shares: Sequence[Fraction]) -> Rule:
        """Return the largest share, the same for every value."""
        return Rule(most=(self.required,) * len(shares))

    def judge(self, counts: Counts, reference: Ints) -> Judgement:
        """Judge every class by the share of its commonest value."""
        shares = Ratios(np.maximum.reduceat(counts.counts, counts.starts), counts.sizes, 1)
        reached, worst = shares.largest()
        return Judgement(shares.at_most(self.required), reached, worst)
