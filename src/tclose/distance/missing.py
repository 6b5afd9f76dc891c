"""Values on a line, and a missing value beside it: a leaf that hangs from the middle of the line.

Earth that comes from the leaf, or goes there, passes the middle of the line. So the work is that of the line, with the
rows without a value at its middle, and the work on the leaf's own edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.distance.counts import Counts
from tclose.distance.geometry import LineWithLeaf
from tclose.distance.line import emd_on_line
from tclose.distance.moves import Move, extras, in_order
from tclose.distance.ratios import Ratios, combine, largest_of, widened
from tclose.types import Ints


@dataclass(frozen=True, eq=False)
class WithMissing:
    """A distance on a line whose domain ends with the missing value: ½ from the middle of the line, 1 from its ends."""

    name: str  # of the distance between the other values
    shape: LineWithLeaf

    def geometry(self, values: int) -> LineWithLeaf:
        """Return the line with its leaf."""
        return self.shape

    def between(self, i: int, j: int) -> Fraction:
        """Return the distance between two values, or between a value and the missing value."""
        if i == j:
            return Fraction(0)
        places = np.append(self.shape.positions, self.shape.middle)
        edge = self.shape.middle if self.shape.leaf in (i, j) else 0
        return Fraction(abs(int(places[i]) - int(places[j])) + edge, self.shape.unit)

    def emd(self, counts: Counts, reference: Ints) -> Ratios:
        """Return each class's earth mover's distance from the reference counts, exactly."""
        order, sizes, total = self.shape.order, counts.sizes, int(reference.sum())
        line = emd_on_line(counts.reordered(np.argsort(order)), reference[order], self.shape.places)
        missing, all_missing = counts.count_of(self.shape.leaf), int(reference[self.shape.leaf])
        surplus = combine(total, missing, sizes, np.full(len(sizes), -all_missing))
        bound = self.shape.unit * total * largest_of(sizes)
        work = widened(line.numerators, bound) + self.shape.middle * abs(widened(surplus, bound))
        return Ratios(work, sizes, self.shape.unit * total)

    def plan(self, row: Ints, reference: Ints) -> list[Move]:
        """Return the moves of earth, surplus to deficit along the line, the missing value at its middle.

        The leaf only gives or only takes, so no plan carries less along its edge.
        """
        extra, whole = extras(row, reference)
        order = self.shape.order.tolist()
        moves = ((order[i], order[j], amount) for i, j, amount in in_order([extra[code] for code in order]))
        return [Move(i, j, Fraction(amount, whole), self.between(i, j)) for i, j, amount in moves]
