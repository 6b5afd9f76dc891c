"""Further models as rules on the counts of a class: how many rows too many or too few it has is its work, none allowed.

α, β and δ bound each value's share of a class from above or below; distinct l, entropy l and recursive (c,l) look at
all values together. Merging classes that keep a rule keeps it, as with t.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from tclose.partition.shared.kernels import kernel
from tclose.privacy.rule import NEAR, Rule
from tclose.types import Floats, Ints, SmallInts

SAFE = 2**61


class Rules(NamedTuple):
    """Per value the largest and smallest share of a class; per attribute l, ln l of the entropy, and c and l."""

    most: Ints
    most_per: Ints
    least: Ints
    least_per: Ints
    distinct: Ints
    entropy: Floats
    recursive: Ints  # attributes × (numerator of c, its denominator, l); l = 0 where not asked for


def rules_of(rules: Sequence[Rule | None], edges: Sequence[int], rows: int) -> Rules:
    """Lay the limits out as the attributes' edges are; an attribute without a rule has no limits."""
    limits = [rule or Rule() for rule in rules]
    most: list[Fraction] = []
    least: list[Fraction] = []
    for rule, count in zip(limits, edges, strict=True):
        most += rule.most or [Fraction(1)] * count
        least += rule.least or [Fraction(0)] * count
    upper = [_held(min(share, Fraction(1)), rows, math.floor) for share in most]
    lower = [_held(share, rows, math.ceil) for share in least]
    return Rules(
        np.array([share.numerator for share in upper], dtype=np.int64),
        np.array([share.denominator for share in upper], dtype=np.int64),
        np.array([share.numerator for share in lower], dtype=np.int64),
        np.array([share.denominator for share in lower], dtype=np.int64),
        np.array([rule.distinct for rule in limits], dtype=np.int64),
        np.array([rule.entropy for rule in limits], dtype=np.float64),
        np.array([_recursive(rule) for rule in limits], dtype=np.int64).reshape(-1, 3),
    )


def _recursive(rule: Rule) -> tuple[int, int, int]:
    if rule.recursive is None:
        return 1, 1, 0
    c, l = rule.recursive  # noqa: E741 - the paper's letter
    return c.numerator, c.denominator, l


def _held(share: Fraction, rows: int, rounded: Callable[[Fraction], int]) -> Fraction:
    """Return a share that 64 bits can hold when it is multiplied by rows, rounded to the strict side."""
    if share.numerator * rows < SAFE and share.denominator < SAFE:
        return share
    finest = max(1, SAFE // (2 * rows))
    return Fraction(rounded(share * finest), finest)


@kernel
def outside(rules: Rules, e: int, count: int, size: int) -> int:
    """Return how many rows of one value a class has too many or too few."""
    over = count - rules.most[e] * size // rules.most_per[e]
    under = -(-rules.least[e] * size // rules.least_per[e]) - count
    return int(max(over, 0) + max(under, 0))


@kernel
def broken(rules: Rules, counts: SmallInts, size: int, a: int, first: int, last: int) -> int:
    """Return by how many rows, more or less, a class breaks the rules of attribute a, counted from first to last."""
    work, different, spread = 0, 0, 0.0
    for e in range(first, last):
        work += outside(rules, e, counts[e], size)
        different += counts[e] > 0
        if rules.entropy[a] > 0 and counts[e] > 1:
            spread += counts[e] * np.log(counts[e])
    work += max(rules.distinct[a] - different, 0)
    short = size * (rules.entropy[a] - NEAR - np.log(max(size, 1))) + spread
    if rules.entropy[a] > 0 and short > 0:
        work += 1 + int(short)
    if rules.recursive[a, 2] > 0:
        work += _too_common(rules.recursive[a], counts[first:last], size)
    return int(work)


@kernel
def _too_common(recursive: Ints, counts: SmallInts, size: int) -> int:
    """Return by how many rows the commonest value reaches c times all but the l−1 commonest."""
    bound, commonest, tail = size + 1, 0, size
    taken = 0
    while taken < recursive[2] - 1:
        here, many = 0, 0
        for count in counts:
            if count < bound and count > here:
                here, many = count, 0
            if count == here:
                many += 1
        if here == 0:
            return int(1 + size)
        commonest = max(commonest, here)
        tail -= here * min(many, recursive[2] - 1 - taken)
        taken += many
        bound = here
    if recursive[2] == 1:
        commonest = counts.max()
    return int(max((recursive[1] * commonest - recursive[0] * tail) // recursive[1] + 1, 0))
