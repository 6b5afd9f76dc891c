from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.privacy.divergence import beside, sign_of_log_minus, sign_of_log_sum


def sign(number: Decimal | int) -> int:
    return (number > 0) - (number < 0)


@settings(max_examples=examples(200), deadline=None)
@given(st.dictionaries(st.integers(1, 60), st.integers(-9, 9), min_size=1, max_size=6))
def test_sums_of_logarithms_are_compared_as_products_of_powers(exponents: dict[int, int]) -> None:
    above = math.prod(base**exponent for base, exponent in exponents.items() if exponent > 0)
    below = math.prod(base**-exponent for base, exponent in exponents.items() if exponent < 0)
    assert sign_of_log_sum(exponents) == sign(above - below)


def test_a_tie_of_large_powers_and_its_neighbours() -> None:
    """12^n = 4^n·3^n, and one more than a large number is more."""
    n = 10**9
    assert sign_of_log_sum({12: n, 4: -n, 3: -n}) == 0
    assert sign_of_log_sum({12: n, 4: -n, 3: -n, 2: 1}) == 1
    assert sign_of_log_sum({10**40 + 1: 1, 10: -40}) == 1
    assert sign_of_log_sum({10**40 - 1: 10**9, 10: -40 * 10**9}) == -1


@settings(max_examples=examples(100), deadline=None)
@given(st.fractions(1, 10**6), st.integers(1, 40))
@example(Fraction(10**18, 10**18 - 1), 17)
def test_a_logarithm_is_compared_with_its_own_digits(ratio: Fraction, digits: int) -> None:
    with localcontext() as context:
        context.prec = 120
        log = Decimal(ratio.numerator).ln() - Decimal(ratio.denominator).ln()
    step = Fraction(1, 10**digits)
    below = Fraction(log) // step * step
    assert sign_of_log_minus(ratio, below) == int(ratio > 1)
    assert sign_of_log_minus(ratio, below + step) == -1


def test_the_logarithm_of_1() -> None:
    assert sign_of_log_minus(Fraction(1), Fraction(1, 10**50)) == -1
    assert sign_of_log_minus(Fraction(1), Fraction(-1, 10**50)) == 1


def test_a_rounded_figure_stays_on_its_side_of_the_line() -> None:
    assert beside(Fraction(4), 4.000000000000001, reaches=False) < 4
    assert beside(Fraction(4), 3.5, reaches=False) == 3.5
    assert beside(Fraction(4), 3.9999999999999996, reaches=True) == 4
    assert beside(Fraction(4), 5.0, reaches=True) == 5
