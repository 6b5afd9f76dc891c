"""k-anonymity (Samarati & Sweeney 1998): every class has at least k rows, or persons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from tclose.distance import Counts
from tclose.privacy.base import Judgement, Sign
from tclose.privacy.levels import Level, at_least
from tclose.types import Ints


@dataclass(frozen=True)
class KAnonymity:
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

    def attainable(self, reached: Level, counts: Counts, reference: Ints) -> str:
        """Say which level these classes can be asked for."""
        return at_least(reached)
