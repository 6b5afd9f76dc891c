"""What a class may take from buckets: in the table's shares, or off them as far as the slack goes.

Let a class take e_f of its s rows from bucket f, w_f = e_f/s, p_f the bucket's share of the table. Whatever its rows,
it is at most Σ w_f·Δ(f)/p_f from the table with its buckets reweighted to w, which itself is some computable way from
the table. With w = p this is Σ Δ(f), which the buckets keep within t; what they leave of t is the slack.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tclose.partition.sabre.bucketization import Ground
from tclose.partition.shared.redistribution import within
from tclose.types import Bools, Ints


@dataclass(frozen=True, eq=False)
class Slack:
    """The bound on how far a class can be from the rows at hand, and the `room` that it has."""

    ground: Ground
    buckets: list[Ints]
    sizes: Ints  # rows of each bucket
    room: Fraction

    def admits(self, nodes: Ints) -> Bools:
        """Tell which classes (classes × buckets: how many rows they take) are within t, whichever rows they take."""
        if not len(nodes):
            return np.zeros(0, dtype=bool)
        sizes, total = nodes.sum(axis=1), int(self.sizes.sum())
        moved = nodes @ np.array([float(worst) for worst in self._worst_per_row])
        for surplus, costs in self.ground.reshaping(self._extras(nodes), self.buckets):
            moved += surplus @ np.array([float(cost) for cost in costs]) / total
        return within(moved / sizes - float(self.room), nodes, self.excess)

    def excess(self, node: list[int]) -> Fraction:
        """Return by how much one class may exceed the room, exactly; it is within it when that is at most 0."""
        size, total = sum(node), int(self.sizes.sum())
        moved = sum((e * worst for e, worst in zip(node, self._worst_per_row, strict=True)), Fraction(0))
        for surplus, costs in self.ground.reshaping(self._extras(np.array([node])), self.buckets):
            carried = (int(s) * cost for s, cost in zip(surplus[0], costs, strict=True))
            moved += sum(carried, Fraction(0)) / total
        return moved / size - self.room

    def _extras(self, nodes: Ints) -> Ints:
        """Return N·e_f − s·N_f, which is N·s times the surplus of each bucket's share."""
        return np.asarray(nodes * int(self.sizes.sum()) - nodes.sum(axis=1, keepdims=True) * self.sizes)

    @cached_property
    def _worst_per_row(self) -> list[Fraction]:
        """Return Δ(f)/p_f: how far a row of each bucket has to be moved at worst, on average."""
        return [
            Fraction(self.ground.worst(values), self.ground.unit * int(size))
            for values, size in zip(self.buckets, self.sizes, strict=True)
        ]
