"""k-anonymity (Samarati & Sweeney 1998): every class has at least k rows, or persons."""

from __future__ import annotations

from dataclasses import dataclass

from tclose.distance import Counts
from tclose.privacy.base import Judgement
from tclose.types import Ints


@dataclass(frozen=True)
class KAnonymity:
    """Every class has at least `required` members."""

    required: int

    name = "k"

    def judge(self, counts: Counts, reference: Ints) -> Judgement:
        """Judge every class by its size."""
        sizes = counts.sizes
        worst = int(sizes.argmin())
        return Judgement(sizes >= self.required, int(sizes[worst]), worst)
