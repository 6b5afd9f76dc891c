"""What a privacy model demands of one class's counts alone, for methods that judge classes while they form them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

FINE = 2**40  # an irrational share is rounded to a multiple of 1 / FINE, to the strict side
NEAR = 1e-12  # relative; the error of a logarithm or a power in floats is smaller


@dataclass(frozen=True)
class Rule:
    """Limits on a class: a class that keeps them is admitted by the model. Merging two such classes keeps them.

    `most` and `least` hold the largest and the smallest share of a class per value; empty means no limit.
    """

    most: tuple[Fraction, ...] = ()
    least: tuple[Fraction, ...] = ()
    distinct: int = 0  # the least number of different values
    entropy: float = 0.0  # the least entropy, in nats
    divergence: float = math.inf  # the largest Σ p·ln(p/q) from the whole table, in nats
    surprisal: tuple[float, ...] = ()  # with a divergence: −ln q of every value
    recursive: tuple[Fraction, int] | None = None  # c and l of recursive (c,l)-diversity
    exact: bool = True  # whether the model admits only these classes; rounding makes a rule a little stricter

    @property
    def linear(self) -> bool:
        """Whether the rule only limits shares of values, so that a linear programme can hold it."""
        all_values = self.distinct or self.entropy or self.divergence < math.inf
        return not all_values and self.recursive is None


def combined(rules: Iterable[Rule]) -> Rule:
    """Return the rule that demands what all of the rules demand; at most one of them may be recursive."""
    given = list(rules)
    recursive = [rule.recursive for rule in given if rule.recursive is not None]
    return Rule(
        most=tuple(map(min, zip(*(rule.most for rule in given if rule.most), strict=True))),
        least=tuple(map(max, zip(*(rule.least for rule in given if rule.least), strict=True))),
        distinct=max((rule.distinct for rule in given), default=0),
        entropy=max((rule.entropy for rule in given), default=0.0),
        divergence=min((rule.divergence for rule in given), default=math.inf),
        surprisal=max((rule.surprisal for rule in given), default=(), key=len),
        recursive=recursive[0] if recursive else None,
        exact=all(rule.exact for rule in given),
    )
