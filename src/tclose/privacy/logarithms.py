"""Logarithms compared exactly: floats decide what is clear, more digits what is near, factors what is equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import count
from math import inf, nextafter

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
