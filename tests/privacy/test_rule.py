from __future__ import annotations

from fractions import Fraction

from tclose.privacy.base import Rule, combined

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def test_the_strictest_limits_win() -> None:
    one = Rule(most=(HALF, Fraction(1)), distinct=2, entropy=0.5)
    other = Rule(most=(Fraction(1), THIRD), least=(Fraction(0), THIRD), distinct=3, recursive=(Fraction(3), 2))
    found = combined([one, other])
    assert found.most == (HALF, THIRD)
    assert found.least == (Fraction(0), THIRD)
    assert (found.distinct, found.entropy, found.recursive) == (3, 0.5, (Fraction(3), 2))


def test_one_rounded_rule_makes_the_whole_inexact() -> None:
    assert combined([Rule(distinct=2), Rule(distinct=3)]).exact
    assert not combined([Rule(distinct=2), Rule(entropy=0.5, exact=False)]).exact


def test_nothing_demands_nothing() -> None:
    assert combined([]) == Rule()


def test_only_limits_on_shares_are_linear() -> None:
    assert Rule(most=(HALF,), least=(THIRD,)).linear
    assert not any(rule.linear for rule in (Rule(distinct=2), Rule(entropy=0.5), Rule(recursive=(HALF, 2))))
