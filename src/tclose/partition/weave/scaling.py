"""Distances as sums that 64 bits can hold: on very large tables, the table's counts are scaled down to fewer rows.

The work of a class is Σ weight·|N·C − s·R|. Where it could pass 2^61, N' rows stand for the N of the table, with
R' = R·N'/N rounded, and the weights are divided by a number and rounded up. In distance, the counts move by
δ = Σ weight·|R'/N' − R/N| / unit, which is taken off t. So a class that is within the scaled limit is within t.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from tclose.partition.weave.trees import LimitTree

SAFE = 2**61  # sums and products of two such numbers fit into 64 bits
LARGEST = 2**63 - 1  # that 64 bits can hold
NEGLIGIBLE = Fraction(1, 2**17)  # of t, lost by rounding
MOST_BITS, LEAST_BITS = 30, 12  # of the rows that may stand for the table's


@dataclass(frozen=True)
class ScaledTree:
    """The numbers of a tree as kernels read them; they never allow more than t does."""

    total: int  # rows that stand for the table's
    reference: list[int]  # per edge
    weights: list[int]  # per edge
    level: Fraction  # work allowed per row of a class
    scale: float  # the work per row of a distance of 1


@dataclass(frozen=True)
class _Scaling:
    """One way to scale a tree: how many rows stand for the table's, and by what the weights are divided."""

    total: int
    divisor: int
    moved: Fraction  # the distance by which the counts move
    widened: Fraction  # the share by which the weights grow

    def loss(self, t: Fraction) -> Fraction:
        """Return how much of t is lost, about."""
        return t * self.widened + self.moved


def scaled_tree(tree: LimitTree, rows: int) -> ScaledTree:
    """Scale a tree for classes of at most so many rows; counts stay as they are where that costs next to nothing."""
    scaling = _scaling(tree, rows)
    whole = tree.unit * scaling.total
    level = max(tree.t - scaling.moved, Fraction(0)) * Fraction(whole, scaling.divisor)
    if level.numerator * rows >= SAFE or level.denominator > LARGEST:
        finest = max(1, SAFE // (rows * (math.floor(level) + 1)))
        level = Fraction(math.floor(level * finest), finest)
    return ScaledTree(
        total=scaling.total,
        reference=_scaled_counts(tree, scaling.total),
        weights=_divided(tree.weight, scaling.divisor),
        level=level,
        scale=max(whole / scaling.divisor, 1.0),
    )


def _scaling(tree: LimitTree, rows: int) -> _Scaling:
    """Return the first scaling that loses next to nothing, or else the one that loses least."""
    tried = []
    for total in _totals(tree, rows):
        scaling = _scaling_to(tree, rows, total)
        if scaling.loss(tree.t) <= tree.t * NEGLIGIBLE:
            return scaling
        tried.append(scaling)
    fitting = [each for each in tried if each.widened < 1 and each.moved < 1]  # or else sums could pass 64 bits
    return min(fitting or tried, key=lambda each: each.loss(tree.t))


def _totals(tree: LimitTree, rows: int) -> Iterator[int]:
    """Yield numbers of rows that may stand for the table's: its own, the most with undivided weights, powers of 2."""
    yield tree.total
    undivided = (math.isqrt(rows**2 + 4 * SAFE // tree.unit) - rows) // 2
    smaller = [undivided, *(2**bits for bits in range(MOST_BITS, LEAST_BITS - 1, -1))]
    yield from (total for total in smaller if 0 < total < tree.total)


def _scaling_to(tree: LimitTree, rows: int, total: int) -> _Scaling:
    divisor = -(-tree.unit * total * (rows + total) // SAFE)
    widened = Fraction(0)
    if divisor > 1:
        grown = sum(_divided(tree.weight, divisor)) * divisor
        widened = Fraction(grown, max(sum(tree.weight), 1)) - 1
    return _Scaling(total, divisor, _moved(tree, total), widened)


def _moved(tree: LimitTree, total: int) -> Fraction:
    """Return the largest difference that scaled counts make to a distance."""
    if total == tree.total:
        return Fraction(0)
    scaled = zip(tree.weight, tree.reference, _scaled_counts(tree, total), strict=True)
    moved = sum(weight * abs(new * tree.total - old * total) for weight, old, new in scaled)
    return Fraction(moved, tree.unit * total * tree.total)


def _scaled_counts(tree: LimitTree, total: int) -> list[int]:
    if total == tree.total:
        return tree.reference
    return [(2 * count * total + tree.total) // (2 * tree.total) for count in tree.reference]


def _divided(weights: list[int], divisor: int) -> list[int]:
    return [-(-weight // divisor) for weight in weights]
