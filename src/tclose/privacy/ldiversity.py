"""l-diversity (Machanavajjhala et al. 2007): distinct, entropy and recursive (c,l)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Counts, Ratios
from tclose.messages import say
from tclose.privacy.base import NO_LEVEL, Judgement, Level, OneLevel, Rule, Sign, rounded_up
from tclose.privacy.divergence import beside, sign_of_log_sum
from tclose.types import Ints

NEAR = 1e-9  # in nats per row: floats decide only beyond this


@dataclass(frozen=True)
class DistinctL(OneLevel):
    """Every class shows at least `required` different values, from as many persons where rows name persons."""

    required: int
    persons: Ints | None = None  # how many persons each class has, where the policy names persons

    name: ClassVar[str] = "l"
    title: ClassVar[str] = "l-diversity"
    sign: ClassVar[Sign] = "≥"
    counts_persons: ClassVar[bool] = True
    alone: ClassVar[bool] = True
    persons_imply_rows: ClassVar[bool] = True
    merging_keeps: ClassVar[bool] = True

    def rule(self, shares: Sequence[Fraction]) -> Rule:
        """Return the least number of different values."""
        return Rule(distinct=self.required)

    def judge(self, counts: Counts, reference: Ints) -> Judgement:
        """Judge every class by how many values it shows."""
        distinct = counts.distinct
        if self.persons is not None:
            distinct = np.minimum(distinct, self.persons)
        worst = int(distinct.argmin())
        return Judgement(distinct >= self.required, int(distinct[worst]), worst)


@dataclass(frozen=True)
class EntropyL(OneLevel):
    """Every class's entropy is at least ln `required`: s^s ≥ l^s·Πc^c, decided exactly."""

    required: Fraction
    by_person: bool = False  # whether the counts are persons per value, who may have rows in several classes

    name: ClassVar[str] = "entropy_l"
    title: ClassVar[str] = "entropy l-diversity"
    sign: ClassVar[Sign] = "≥"
    counts_persons: ClassVar[bool] = True
    alone: ClassVar[bool] = True
    persons_imply_rows: ClassVar[bool] = False

    @property
    def merging_keeps(self) -> bool:
        """Whether merging adds up the counts: a person who shows a value in both classes is counted once."""
        return not self.by_person

    def rule(self, shares: Sequence[Fraction]) -> Rule:
        """Return the least entropy."""
        return Rule(entropy=math.log(self.required), exact=False)

    def judge(self, counts: Counts, reference: Ints) -> Judgement:
        """Judge every class by its entropy."""
        sizes = counts.sizes
        entropy = np.log(sizes) - counts.per_class(counts.counts * np.log(counts.counts)) / sizes
        admitted = self._admitted(counts, entropy)
        worst = int(np.where(admitted & ~admitted.all(), np.inf, entropy).argmin())
        reached = math.exp(max(float(entropy[worst]), 0.0))
        return Judgement(admitted, beside(self.required, reached, reaches=bool(admitted.all())), worst)

    def _admitted(self, counts: Counts, entropy: NDArray[np.float64]) -> NDArray[np.bool_]:
        line = math.log(self.required)
        admitted = entropy >= line
        decided: dict[tuple[int, ...], bool] = {}
        for index in np.flatnonzero(np.abs(entropy - line) <= NEAR):
            entries = slice(counts.starts[index], counts.ends[index])
            alike = tuple(sorted(counts.counts[entries].tolist()))
            if alike not in decided:
                decided[alike] = self._exactly(alike)
            admitted[index] = decided[alike]
        return admitted

    def _exactly(self, counts: tuple[int, ...]) -> bool:
        size = sum(counts)
        exponents: Counter[int] = Counter({size: size})
        exponents[self.required.denominator] += size
        exponents[self.required.numerator] -= size
        for c in counts:
            exponents[c] -= c
        return sign_of_log_sum(exponents) >= 0


@dataclass(frozen=True)
class RecursiveCL:
    """The commonest value is rarer than c times all but the l−1 commonest together: r₁ < c·(r_l + … + r_m)."""

    c: Fraction
    l: int  # noqa: E741 - the paper's letter
    by_person: bool = False  # whether the counts are persons per value, who may have rows in several classes

    name: ClassVar[str] = "recursive"
    title: ClassVar[str] = "recursive (c,l)-diversity"
    sign: ClassVar[Sign] = "<"
    counts_persons: ClassVar[bool] = True
    alone: ClassVar[bool] = True
    persons_imply_rows: ClassVar[bool] = False

    @property
    def merging_keeps(self) -> bool:
        """Whether merging adds up the counts: a person who shows a value in both classes is counted once."""
        return not self.by_person

    def rule(self, shares: Sequence[Fraction]) -> Rule:
        """Return c and l."""
        return Rule(recursive=(self.c, self.l))

    @property
    def required(self) -> dict[str, Level]:
        """Return c and l."""
        return {"c": self.c, "l": self.l}

    def judge(self, counts: Counts, reference: Ints) -> Judgement:
        """Judge every class; the level reached is the largest r₁ / (r_l + … + r_m), which c must exceed."""
        order = np.lexsort((-counts.counts, counts.per_entry(np.arange(len(counts)))))
        falling = counts.counts[order]
        rank = np.arange(len(falling)) - counts.per_entry(counts.starts)
        commonest = falling[counts.starts]
        tail = counts.per_class(np.where(rank >= self.l - 1, falling, 0))
        admitted = ~Ratios(tail, commonest, 1).at_most(1 / self.c)
        if not tail.all():
            return Judgement(admitted, math.inf, int(np.flatnonzero(tail == 0)[0]))
        reached, worst = Ratios(commonest, tail, 1).largest()
        return Judgement(admitted, reached, worst)

    def attainable(self, reached: Level, counts: Counts, reference: Ints) -> str:
        """Say which c this l would need; where a class has fewer than l values, which l and c it could have."""
        l = min(self.l, int(counts.distinct.min()))  # noqa: E741 - the paper's letter
        if l < 2:
            return NO_LEVEL
        c = RecursiveCL(self.c, l).judge(counts, reference).reached
        template = "c above {c} can be" if l == self.l else "c above {c} with l {l} can be"
        return say(template, c=rounded_up(c), l=l)
