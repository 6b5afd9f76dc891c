"""Logarithms compared exactly: floats decide what is clear, more digits what is near, factors what is equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import count
from math import nextafter


def sign_of_log_sum(exponents: Mapping[int, int]) -> int:
    """Return the sign of Σ exponent·ln(base) over integer bases ≥ 1.

    >>> sign_of_log_sum({4: 1, 2: -2}), sign_of_log_sum({3: 2, 2: -3}), sign_of_log_sum({7: 1, 50: -1})
    (0, 1, -1)
    """
    clear = 40 + 2 * max(len(str(base)) for base in exponents)  # digits; only a tie is likely to need more
    return _rounded_sign(exponents, clear) or _sign_of_primes(_in_primes(exponents), clear)


def _sign_of_primes(exponents: Mapping[int, int], clear: int) -> int:
    """Return the sign of Σ exponent·ln(prime): by unique factorisation 0 only when every exponent vanishes."""
    if not exponents:
        return 0
    return next(sign for digits in count(clear, 30) if (sign := _rounded_sign(exponents, digits)))


def _rounded_sign(exponents: Mapping[int, int], digits: int) -> int:
    """Return the sign of Σ exponent·ln(base) where this many digits show it, else 0."""
    with localcontext() as context:
        context.prec = digits
        terms = [exponent * Decimal(base).ln() for base, exponent in exponents.items()]
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
