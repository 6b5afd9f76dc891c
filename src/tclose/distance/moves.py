"""Which earth moves where: the transport plan of one class, as in the tutorial of Dosselmann et al.

Masses are integers: a class of s rows against a table of N rows moves multiples of 1/(s·N).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tclose.types import Ints


@dataclass(frozen=True)
class Move:
    """Move `mass` from value `source` to value `target`, which lie `distance` apart."""

    source: int
    target: int
    mass: Fraction
    distance: Fraction

    @property
    def cost(self) -> Fraction:
        """Return mass × distance: what the move adds to the earth mover's distance."""
        return self.mass * self.distance


def extras(row: Ints, reference: Ints) -> tuple[list[int], int]:
    """Return N·c − s·n for every value and the common denominator s·N."""
    s, total = int(row.sum()), int(reference.sum())
    return [total * int(c) - s * int(n) for c, n in zip(row, reference, strict=True)], s * total


def in_order(extra: Sequence[int]) -> list[tuple[int, int, int]]:
    """Move the first surplus into the first deficit until none is left: (source, target, amount).

    On a line this is optimal and uses the moves that the tutorial prints.
    """
    surplus = [[i, e] for i, e in enumerate(extra) if e > 0]
    deficit = [[i, -e] for i, e in enumerate(extra) if e < 0]
    moves, a, b = [], 0, 0
    while a < len(surplus) and b < len(deficit):
        amount = min(surplus[a][1], deficit[b][1])
        moves.append((surplus[a][0], deficit[b][0], amount))
        surplus[a][1] -= amount
        deficit[b][1] -= amount
        a += surplus[a][1] == 0
        b += deficit[b][1] == 0
    return moves
