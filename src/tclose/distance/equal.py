"""All values equally far apart (Li et al. 2007, section 5.2): the variational distance."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tclose.distance.counts import Counts
from tclose.distance.geometry import Tree
from tclose.distance.moves import Move, extras, in_order
from tclose.distance.ratios import Integers, Ratios, largest_of, widened
from tclose.types import Ints


def surplus(counts: Counts, reference: Ints) -> Integers:
    """Return Σ max(N·c − s·n, 0) of each class: only values that the class shows can have a surplus."""
    sizes, total = counts.sizes, int(reference.sum())
    whole = total * largest_of(sizes)
    extra = total * widened(counts.counts, whole) - counts.per_entry(widened(sizes, whole)) * reference[counts.codes]
    return counts.per_class(np.maximum(extra, 0))


class Equal:
    """Any two values are 1 apart."""

    name = "equal"

    def geometry(self, values: int) -> Tree:
        """Return the tree whose leaves all hang from the root."""
        return Tree.star(values)

    def between(self, i: int, j: int) -> Fraction:
        """Return 1, or 0 for a value and itself."""
        return Fraction(int(i != j))

    def emd(self, counts: Counts, reference: Ints) -> Ratios:
        """Return each class's earth mover's distance from the reference counts, exactly."""
        return Ratios(surplus(counts, reference), counts.sizes, int(reference.sum()))

    def plan(self, row: Ints, reference: Ints) -> list[Move]:
        """Return the moves of earth, surplus to deficit in the order of the domain."""
        extra, whole = extras(row, reference)
        return [Move(i, j, Fraction(amount, whole), Fraction(1)) for i, j, amount in in_order(extra)]
