"""t-closeness (Li et al. 2007): every class's distribution is within t of the whole table's."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tclose.distance import Counts, Distance
from tclose.privacy.base import Judgement
from tclose.types import Ints


@dataclass(frozen=True)
class TCloseness:
    """Every class is within `required` of the reference, by the earth mover's distance."""

    required: Fraction
    distance: Distance

    name = "t"

    def judge(self, counts: Counts, reference: Ints) -> Judgement:
        """Judge every class by its earth mover's distance, exactly."""
        ratios = self.distance.emd(counts, reference)
        reached, worst = ratios.largest()
        return Judgement(ratios.at_most(self.required), reached, worst)
