"""t-closeness (Li et al. 2007): every class's distribution is within t of the whole table's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from tclose.distance import Counts, Distance
from tclose.privacy.base import Judgement, Sign
from tclose.privacy.levels import Level, at_most
from tclose.types import Ints


@dataclass(frozen=True)
class TCloseness:
    """Every class is within `required` of the reference, by the earth mover's distance."""

    required: Fraction
    distance: Distance

    name: ClassVar[str] = "t"
    title: ClassVar[str] = "t-closeness"
    sign: ClassVar[Sign] = "≤"
    counts_persons: ClassVar[bool] = False
    alone: ClassVar[bool] = False
    persons_imply_rows: ClassVar[bool] = True
    merging_keeps: ClassVar[bool] = True

    def rule(self, shares: Sequence[Fraction]) -> None:
        """Return nothing: methods measure the distance itself."""

    def judge(self, counts: Counts, reference: Ints) -> Judgement:
        """Judge every class by its earth mover's distance, exactly."""
        ratios = self.distance.emd(counts, reference)
        reached, worst = ratios.largest()
        return Judgement(ratios.at_most(self.required), reached, worst)

    def attainable(self, reached: Level, counts: Counts, reference: Ints) -> str:
        """Say which level these classes can be asked for."""
        return at_most(reached)
