"""(α,k)-anonymity (Wong et al. 2006): no value makes up more than α of a class; k is judged beside it.

With α = 1/l this is the l-diversity of Liang & Yuan 2013.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.distance import Counts, Ratios
from tclose.privacy.base import Judgement
from tclose.types import Ints


@dataclass(frozen=True)
class Alpha:
    """The commonest value of a class makes up at most `required` of it."""

    required: Fraction

    name = "alpha"

    def judge(self, counts: Counts, reference: Ints) -> Judgement:
        """Judge every class by the share of its commonest value."""
        shares = Ratios(np.maximum.reduceat(counts.counts, counts.starts), counts.sizes, 1)
        reached, worst = shares.largest()
        return Judgement(shares.at_most(self.required), reached, worst)
