"""KL divergence (Kullback & Leibler 1951) in place of the earth mover's distance: Σ p·ln(p/q) of class against table.

Rebollo-Monedero, Forné & Domingo-Ferrer (2010) measure by it what a class discloses, and look at the mean over all
classes, which is the mutual information of class and value; this model bounds every class. A value that a class lacks
adds 0, so unlike δ-disclosure it does not have to occur in every class.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tclose.distance import Counts
from tclose.distance.ratios import largest_of, widened
from tclose.privacy.base import Judgement, Sign
from tclose.privacy.levels import Level, at_most
from tclose.privacy.logarithms import not_above, sign_of_log_sum_minus
from tclose.privacy.rule import Rule
from tclose.types import Bools, Floats, Ints

NEAR = 1e-9  # in nats: floats decide only beyond this


@dataclass(frozen=True)
class KLDivergence:
    """Σ p·ln(p/q) ≤ `required` in nats, p of a class and q of the whole table, decided exactly."""

    required: Fraction

    name: ClassVar[str] = "kl"
    title: ClassVar[str] = "KL divergence"
    sign: ClassVar[Sign] = "≤"
    counts_persons: ClassVar[bool] = False
    alone: ClassVar[bool] = False
    persons_imply_rows: ClassVar[bool] = True
    merging_keeps: ClassVar[bool] = True  # it is convex

    def rule(self, shares: Sequence[Fraction]) -> Rule:
        """Return the largest divergence, and what each value counts in it."""
        surprisal = tuple(-math.log(share) if share else 0.0 for share in shares)
        return Rule(divergence=float(self.required), surprisal=surprisal, exact=False)

    def judge(self, counts: Counts, reference: Ints) -> Judgement:
        """Judge every class by its divergence."""
        figures = divergences(counts, reference)
        admitted = self._admitted(figures, counts, reference)
        within = bool(admitted.all())
        worst = int(np.where(admitted & (not within), -1.0, figures).argmax())
        return Judgement(admitted, not_above(self.required, float(figures[worst]), within=within), worst)

    def attainable(self, reached: Level, counts: Counts, reference: Ints) -> str:
        """Say which level these classes can be asked for."""
        return at_most(reached)

    def _admitted(self, figures: Floats, counts: Counts, reference: Ints) -> Bools:
        line, total = float(self.required), int(reference.sum())
        admitted = figures <= line
        decided: dict[tuple[tuple[int, int], ...], bool] = {}
        for index in np.flatnonzero(np.abs(figures - line) <= NEAR).tolist():
            entries = slice(counts.starts[index], counts.ends[index])
            pairs = zip(counts.counts[entries].tolist(), reference[counts.codes[entries]].tolist(), strict=True)
            alike = tuple(sorted(pairs))
            if alike not in decided:
                decided[alike] = self._exactly(alike, total)
            admitted[index] = decided[alike]
        return admitted

    def _exactly(self, pairs: tuple[tuple[int, int], ...], total: int) -> bool:
        """Decide a class of which each value has so many rows in the class and so many in the table."""
        size = sum(count for count, _ in pairs)
        if self.required == 0:  # only equal distributions have no divergence
            return all(count * total == size * in_table for count, in_table in pairs)
        exponents: Counter[int] = Counter({total: size})
        exponents[size] -= size
        for count, in_table in pairs:
            exponents[count] += count
            exponents[in_table] -= count
        return sign_of_log_sum_minus(exponents, size * self.required) <= 0


def divergences(counts: Counts, reference: Ints) -> Floats:
    """Return Σ p·ln(p/q) of every class, in nats.

    It is computed as Σ q·(x·ln x − x + 1) with x = p/q, whose terms are never negative, so that small sums are precise.
    A value that a class lacks adds its q.
    """
    sizes, total = counts.sizes, int(reference.sum())
    whole = total * largest_of(sizes)
    expected = counts.per_entry(widened(sizes, whole)) * reference[counts.codes]
    gains = np.asarray((total * widened(counts.counts, whole) - expected) / expected, dtype=np.float64)
    terms = reference[counts.codes] * ((1 + gains) * np.log1p(gains) - gains)
    absent = total - counts.per_class(reference[counts.codes])
    return np.asarray((counts.per_class(terms) + absent) / total, dtype=np.float64)
