"""The Kullback-Leibler divergence of a class from the table, by exact comparisons of sums of logarithms."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import count
from math import inf, nextafter
from typing import ClassVar

import numpy as np

from tclose.distance import Counts
from tclose.distance.counts import largest_of, widened
from tclose.privacy.base import Judgement, OneLevel, Rule, Sign
from tclose.types import Bools, Floats, Ints

NOTHING = Fraction(0)


def sign_of_log_sum(exponents: Mapping[int, int]) -> int:
    """Return the sign of Σ exponent·ln(base) over integer bases ≥ 1.

    >>> sign_of_log_sum({4: 1, 2: -2}), sign_of_log_sum({3: 2, 2: -3}), sign_of_log_sum({7: 1, 50: -1})
    (0, 1, -1)
    """
    clear = _clear_digits(exponents)
    return _rounded_sign(exponents, clear) or _sign_of_primes(_in_primes(exponents), clear)


def sign_of_log_sum_minus(exponents: Mapping[int, int], level: Fraction) -> int:
    """Return the sign of Σ exponent·ln(base) − level over integer bases ≥ 1.

    The sum is the logarithm of a fraction, which is never a fraction other than ln 1 = 0: more digits always decide.

    >>> sign_of_log_sum_minus({2: 3}, Fraction(2)), sign_of_log_sum_minus({2: 3, 8: -1}, Fraction(0))
    (1, 0)
    """
    if level == 0:
        return sign_of_log_sum(exponents)
    digits = count(_clear_digits(exponents), 30)
    return next(sign for many in digits if (sign := _rounded_sign(exponents, many, level)))


def _clear_digits(exponents: Mapping[int, int]) -> int:
    """Return how many digits are enough unless it is a tie, or nearly one."""
    return 40 + 2 * max(len(str(base)) for base in exponents)


def _sign_of_primes(exponents: Mapping[int, int], clear: int) -> int:
    """Return the sign of Σ exponent·ln(prime): by unique factorisation 0 only when every exponent vanishes."""
    if not exponents:
        return 0
    return next(sign for digits in count(clear, 30) if (sign := _rounded_sign(exponents, digits)))


def _rounded_sign(exponents: Mapping[int, int], digits: int, level: Fraction = NOTHING) -> int:
    """Return the sign of Σ exponent·ln(base) − level where this many digits show it, else 0."""
    with localcontext() as context:
        context.prec = digits
        terms = [exponent * Decimal(base).ln() for base, exponent in exponents.items()]
        terms.append(-Decimal(level.numerator) / level.denominator)
        total, slack = sum(terms, Decimal(0)), sum(map(abs, terms), Decimal(0)).scaleb(5 - digits)
        return 0 if abs(total) <= slack else 1 if total > 0 else -1


def _in_primes(exponents: Mapping[int, int]) -> dict[int, int]:
    primes: Counter[int] = Counter()
    for base, exponent in exponents.items():
        for prime, power in _factors(base).items():
            primes[prime] += power * exponent
    return {prime: exponent for prime, exponent in primes.items() if exponent}


@lru_cache(maxsize=1024)
def sign_of_log_minus(ratio: Fraction, level: Fraction) -> int:
    """Return the sign of ln(ratio) − level.

    Apart from ln 1 = 0 the logarithm of a fraction is never a fraction, so more digits always decide.

    >>> sign_of_log_minus(Fraction(1), Fraction(0)), sign_of_log_minus(Fraction(3), Fraction(1))
    (0, 1)
    """
    if ratio == 1:
        return (level < 0) - (level > 0)
    for digits in count(30, 30):
        with localcontext() as context:
            context.prec = digits
            log = Decimal(ratio.numerator).ln() - Decimal(ratio.denominator).ln()
            gap = log - Decimal(level.numerator) / level.denominator
            if abs(gap) > (abs(log) + abs(gap) + 1).scaleb(5 - digits) * len(str(ratio.numerator)):
                return 1 if gap > 0 else -1
    raise AssertionError  # pragma: no cover


def beside(line: Fraction, figure: float, *, reaches: bool) -> float:
    """Return a rounded figure, kept on the same side of the line as the exact figure.

    >>> beside(Fraction(4), 3.9999999999999996, reaches=True)
    4.0
    """
    return max(figure, float(line)) if reaches else min(figure, nextafter(float(line), 0.0))


def not_above(line: Fraction, figure: float, *, within: bool) -> float:
    """Return a rounded figure: at most the line where the exact figure is within it, else above the line.

    >>> not_above(Fraction(4), 4.000000000000001, within=True)
    4.0
    """
    return min(figure, float(line)) if within else max(figure, nextafter(float(line), inf))


def _factors(number: int) -> Counter[int]:
    primes: Counter[int] = Counter()
    divisor = 2
    while divisor * divisor <= number:
        while number % divisor == 0:
            primes[divisor] += 1
            number //= divisor
        divisor += 1 + divisor % 2
    if number > 1:
        primes[number] += 1
    return primes


NEAR = 1e-9  # in nats: floats decide only beyond this


@dataclass(frozen=True)
class KLDivergence(OneLevel):
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
        size = sum(in_class for in_class, _ in pairs)
        if self.required == 0:  # only equal distributions have no divergence
            return all(in_class * total == size * in_table for in_class, in_table in pairs)
        exponents: Counter[int] = Counter({total: size})
        exponents[size] -= size
        for in_class, in_table in pairs:
            exponents[in_class] += in_class
            exponents[in_table] -= in_class
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
