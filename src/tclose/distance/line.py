"""Distances between values on a line: `ordered` by rank (Li et al. 2007, section 5.1), `value` by magnitude.

With running sums C_i of the class (s rows) and N_i of the table (N rows), the work is Σ gap_i·|N·C_i − s·N_i|.
C is constant between two values that the class shows, and N_i only grows, so each such stretch has one point
where the sign turns: a search finds it, and prefix sums of N_i give the rest. No stretch costs more than that.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.distance.counts import Counts
from tclose.distance.geometry import Line
from tclose.distance.moves import Move, extras, in_order
from tclose.distance.ratios import Integers, Ratios, combine, largest_of, widened
from tclose.types import Ints


def emd_on_line(counts: Counts, reference: Ints, positions: Integers) -> Ratios:
    """Return each class's work on the line whose values lie at these integer positions (rising, from 0)."""
    sizes, total, length = counts.sizes, int(reference.sum()), int(positions[-1])
    if length == 0:
        return Ratios(np.zeros(len(counts), dtype=np.int64), sizes, 1)
    positions = widened(positions, length * max(total, largest_of(sizes)))
    below = np.cumsum(reference)
    gaps = np.diff(positions)
    area = np.concatenate(([0], np.cumsum(gaps * below[:-1])))  # area under N_i left of each value
    work = [_work(block, total, positions, below, area) for block in counts.blocks()]
    return Ratios(np.concatenate(work), sizes, length * total)


def _work(counts: Counts, total: int, positions: Integers, below: Ints, area: Integers) -> Integers:
    """Return the numerators of some classes."""
    sizes, start = counts.sizes, counts.codes
    end = np.append(start[1:], len(positions) - 1)
    end[counts.ends - 1] = len(positions) - 1
    seen = np.cumsum(counts.counts)
    seen -= counts.per_entry(np.concatenate(([0], seen[counts.ends[:-1] - 1])))

    # The first value at which the table's share has caught up with the class's: s·N_i ≥ N·C_i.
    shares = total * widened(seen, total * largest_of(sizes))
    turn = np.searchsorted(below, np.asarray(-(-shares // counts.per_entry(sizes)), dtype=np.int64))
    turn = np.clip(turn, start, end)
    per_total = counts.per_class(seen * (2 * positions[turn] - positions[start] - positions[end]))
    per_size = counts.per_class(area[start] + area[end] - 2 * area[turn]) + area[start[counts.starts]]
    return combine(total, per_total, sizes, per_size)


@dataclass(frozen=True, eq=False)
class Value:
    """Values as far apart as their magnitudes: |v_i − v_j| / (largest − smallest)."""

    positions: Integers  # integers, rising, from 0

    name = "value"

    def geometry(self, values: int) -> Line:
        """Return the line on which the values lie."""
        return Line(self.positions)

    def between(self, i: int, j: int) -> Fraction:
        """Return |v_i − v_j| / (largest − smallest)."""
        if i == j:
            return Fraction(0)
        return Fraction(abs(int(self.positions[i]) - int(self.positions[j])), int(self.positions[-1]))

    def emd(self, counts: Counts, reference: Ints) -> Ratios:
        """Return each class's earth mover's distance from the reference counts, exactly."""
        return emd_on_line(counts, reference, self.positions)

    def plan(self, row: Ints, reference: Ints) -> list[Move]:
        """Return the moves of earth, surplus to deficit from left to right."""
        extra, whole = extras(row, reference)
        return [Move(i, j, Fraction(amount, whole), self.between(i, j)) for i, j, amount in in_order(extra)]


class Ordered(Value):
    """Values as far apart as their ranks: |i − j| / (m − 1)."""

    name = "ordered"

    def __init__(self, domain_size: int) -> None:
        super().__init__(np.arange(domain_size, dtype=np.int64))
