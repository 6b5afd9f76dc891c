"""Any metric at all, given as a matrix of integer costs: one transportation problem per class."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.distance.counts import Counts
from tclose.distance.geometry import Metric
from tclose.distance.moves import Move, extras
from tclose.distance.ratios import Ratios
from tclose.distance.transport import cheapest_flow
from tclose.types import Ints


@dataclass(frozen=True, eq=False)
class Matrix:
    """`costs[i, j]` are integers and a metric; distances are fractions of the largest."""

    costs: Ints

    name = "matrix"

    def geometry(self, values: int) -> Metric:
        """Return the metric of the matrix."""
        return Metric(self.costs, self.farthest)

    @property
    def farthest(self) -> int:
        """The largest cost, which counts as distance 1."""
        return max(int(self.costs.max()), 1)

    def between(self, i: int, j: int) -> Fraction:
        """Return the cost of this pair as a fraction of the largest."""
        return Fraction(int(self.costs[i, j]), self.farthest)

    def emd(self, counts: Counts, reference: Ints) -> Ratios:
        """Return each class's earth mover's distance from the reference counts, exactly."""
        solved: dict[bytes, int] = {}
        work = np.zeros(len(counts), dtype=object)
        for index, (low, high) in enumerate(zip(counts.starts, counts.ends, strict=True)):
            alike = counts.codes[low:high].tobytes() + counts.counts[low:high].tobytes()
            if alike not in solved:
                solved[alike] = self._work(counts.dense(index), reference)
            work[index] = solved[alike]
        return Ratios(work, counts.sizes, int(reference.sum()) * self.farthest)

    def plan(self, row: Ints, reference: Ints) -> list[Move]:
        """Return the cheapest moves of earth."""
        extra, whole = extras(row, reference)
        flow = self._flow(extra)
        return [Move(i, j, Fraction(amount, whole), self.between(i, j)) for i, j, amount in flow]

    def _work(self, row: Ints, reference: Ints) -> int:
        extra, _ = extras(row, reference)
        return sum(int(self.costs[i, j]) * amount for i, j, amount in self._flow(extra))

    def _flow(self, extra: list[int]) -> list[tuple[int, int, int]]:
        return cheapest_flow(self.costs, extra)
