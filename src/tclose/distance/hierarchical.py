"""Values as far apart as the level at which a hierarchy joins them (Li et al. 2007, section 5.2).

The paper charges each inner node height/H · min(pos, neg) of its direct children's extras. With every leaf at
depth H that sum equals the mean over the levels 0 … H−1 of the variational distance between the two
distributions seen at that level: min(pos, neg) = (Σ|extra(child)| − |extra(node)|)/2, and the sum telescopes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.distance.counts import Counts
from tclose.distance.equal import surplus
from tclose.distance.geometry import Tree
from tclose.distance.moves import Move, extras, in_order
from tclose.distance.ratios import Ratios, largest_of, widened
from tclose.types import Ints


@dataclass(frozen=True, eq=False)
class Hierarchical:
    """`levels[h][i]` is the node above leaf i at height h; level 0 is the leaves, the last level the root.

    Leaves stand in the order of the tree, so no level's node numbers ever decrease.
    """

    levels: tuple[Ints, ...]

    name = "hierarchical"

    def geometry(self, values: int) -> Tree:
        """Return the tree of the hierarchy."""
        return Tree(self.levels)

    @property
    def height(self) -> int:
        """How many steps lead from a leaf to the root."""
        return len(self.levels) - 1

    def between(self, i: int, j: int) -> Fraction:
        """Return the height at which two leaves meet, over the height of the tree."""
        meets = next(h for h, level in enumerate(self.levels) if level[i] == level[j])
        return Fraction(meets, max(self.height, 1))

    def emd(self, counts: Counts, reference: Ints) -> Ratios:
        """Return each class's earth mover's distance from the reference counts, exactly."""
        sizes, total = counts.sizes, int(reference.sum())
        work = widened(np.zeros(len(counts), dtype=np.int64), self.height * total * largest_of(sizes))
        for level in self.levels[:-1]:
            nodes = int(level[-1]) + 1
            first = np.searchsorted(level, np.arange(nodes))
            work = work + surplus(counts.coarsened(level, nodes), np.add.reduceat(reference, first))
        return Ratios(work, sizes, total * max(self.height, 1))

    def plan(self, row: Ints, reference: Ints) -> list[Move]:
        """Return the moves of earth, within the lowest subtrees first."""
        extra, whole = extras(row, reference)
        moves: list[tuple[int, int, int]] = []
        for level in self.levels:
            for node in range(int(level[-1]) + 1):
                low, high = np.searchsorted(level, [node, node + 1])
                for i, j, amount in in_order(extra[low:high]):
                    moves.append((int(low) + i, int(low) + j, amount))
                    extra[low + i] -= amount
                    extra[low + j] += amount
        return [Move(i, j, Fraction(amount, whole), self.between(i, j)) for i, j, amount in moves]
