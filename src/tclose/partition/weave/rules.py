"""Further models as rules on the counts of a class: how many rows too many or too few it has is its work, none allowed.

α, β and δ bound each value's share of a class from above or below; distinct l, entropy l and recursive (c,l) look at
all values together. Merging classes that keep a rule keeps it, as with t.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from tclose.errors import InternalError
from tclose.partition.problem import Sensitive
from tclose.partition.shared.kernels import kernel
from tclose.privacy import (
    Alpha,
    BetaLikeness,
    DeltaDisclosure,
    DistinctL,
    EnhancedBetaLikeness,
    EntropyL,
    Model,
    RecursiveCL,
)
from tclose.types import Floats, Ints, SmallInts

SAFE = 2**61
FINE = 2**40  # to which an irrational share is rounded, to the strict side
NEAR = 1e-12  # in nats: entropy on the line passes; classes are judged exactly in the end


class Rules(NamedTuple):
    """Per value the largest and smallest share of a class; per attribute l, ln l of the entropy, and c and l."""

    most: Ints
    most_per: Ints
    least: Ints
    least_per: Ints
    distinct: Ints
    entropy: Floats
    recursive: Ints  # attributes × (numerator of c, its denominator, l); l = 0 where not asked for


@dataclass
class Shares:
    """What the models of one attribute ask for."""

    most: list[Fraction]
    least: list[Fraction]
    distinct: int = 0
    entropy: float = 0.0
    recursive: tuple[int, int, int] = field(default=(1, 1, 0))


def asked(one: Sensitive) -> Shares:
    """Turn an attribute's models into bounds."""
    values, total = len(one.reference), int(one.reference.sum())
    found = Shares([Fraction(1)] * values, [Fraction(0)] * values)
    shares = [Fraction(int(count), total) for count in one.reference]
    for model in one.models:
        if isinstance(model, DistinctL):
            found.distinct = model.required
        elif isinstance(model, EntropyL):
            found.entropy = math.log(model.required)
        elif isinstance(model, RecursiveCL):
            found.recursive = (model.c.numerator, model.c.denominator, model.l)
        else:
            for v, share in enumerate(shares):
                most, least = _bounds(model, share)
                found.most[v] = min(found.most[v], most)
                found.least[v] = max(found.least[v], least)
    return found


def _bounds(model: Model, share: Fraction) -> tuple[Fraction, Fraction]:
    """Return the largest and the smallest share of a class that a value of this share of the table may have."""
    if isinstance(model, Alpha):
        return model.required, Fraction(0)
    if share == 0:
        return Fraction(0), Fraction(0)
    if isinstance(model, BetaLikeness):
        return (1 + model.required) * share, Fraction(0)
    if isinstance(model, EnhancedBetaLikeness):
        information = Fraction(math.floor(-math.log(share) * (1 - NEAR) * FINE), FINE)
        return (1 + min(model.required, max(information, Fraction(0)))) * share, Fraction(0)
    if isinstance(model, DeltaDisclosure):
        factor = Fraction(math.exp(min(float(model.required), 700.0)))
        return share * factor * (1 - Fraction(NEAR)), share / factor * (1 + Fraction(NEAR))
    raise InternalError(f"weave has no rule for the model {model.name}")


def rules_of(asked: Sequence[Shares | None], edges: Sequence[int], rows: int) -> Rules:
    """Lay the bounds out as the attributes' edges are; an attribute without rules has none asked."""
    most: list[Fraction] = []
    least: list[Fraction] = []
    for shares, count in zip(asked, edges, strict=True):
        most += shares.most if shares else [Fraction(1)] * count
        least += shares.least if shares else [Fraction(0)] * count
    upper = [_held(min(share, Fraction(1)), rows, math.floor) for share in most]
    lower = [_held(share, rows, math.ceil) for share in least]
    return Rules(
        np.array([share.numerator for share in upper], dtype=np.int64),
        np.array([share.denominator for share in upper], dtype=np.int64),
        np.array([share.numerator for share in lower], dtype=np.int64),
        np.array([share.denominator for share in lower], dtype=np.int64),
        np.array([shares.distinct if shares else 0 for shares in asked], dtype=np.int64),
        np.array([shares.entropy if shares else 0.0 for shares in asked], dtype=np.float64),
        np.array([shares.recursive if shares else (1, 1, 0) for shares in asked], dtype=np.int64).reshape(-1, 3),
    )


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
