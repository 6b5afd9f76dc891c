"""FIND-FRAGMENTATION for a wanted number of classes: every fragment is whole layers of one row per class.

The published search cuts anywhere and then needs a common divisor of the fragments' sizes. Here the divisor comes
first: for c classes a fragment may be cut at multiples of c rows only (a cut may part rows that share a value: no
proof needs boxes), so every class can take the same number of rows from each fragment. As in the paper, the cut
that leaves the least Ψ (or the least sum of the bounds) is taken until every bound is within its budget.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tclose.partition.fragmentation import kernels
from tclose.partition.fragmentation.attribute import SpreadAttribute
from tclose.partition.fragmentation.spread import LineSpread
from tclose.partition.fragmentation.strategy import Strategy
from tclose.partition.shared.pulse import QUIET, Pulse
from tclose.types import Floats, Ints

BATCH = 64  # with more fragments than this, the best 1/64 of them are cut at a time


@dataclass(frozen=True, eq=False)
class Layers:
    """A fragment of `len(rows)/c` layers: its rows in the order of each attribute."""

    orders: Ints  # attributes × rows
    worst: Floats  # of each attribute


@dataclass(frozen=True, eq=False)
class Cut:
    """A fragment in two: what each attribute's worst case is on either side."""

    attribute: int
    at: int  # rows to the left
    left: Floats
    right: Floats


class LayeredSearch:
    """The fragments of one search, and for each of them its best cut along each attribute."""

    def __init__(
        self, attributes: tuple[SpreadAttribute, ...], classes: int, budgets: Floats, strategy: Strategy
    ) -> None:
        self.attributes = attributes
        self.classes = classes
        self.scale = np.array([1 / (attribute.unit * len(attribute.codes)) for attribute in attributes])
        self.budgets = budgets
        self.strategy = strategy
        self.places = _places(attributes)
        self.side = np.zeros(len(attributes[0].codes), dtype=np.bool_)

    def top(self, orders: tuple[Ints, ...]) -> Layers:
        """Return the one fragment of all these rows."""
        label = np.zeros(len(orders[0]), dtype=np.int64)
        worst = [float(attribute.spread.worst(label, attribute.codes[orders[0]])[0]) for attribute in self.attributes]
        return Layers(np.array(orders), np.array(worst))

    def best_cuts(self, fragment: Layers, bounds: Floats) -> list[Cut]:
        """Return the best cut along each attribute that varies in the fragment, as the bounds stand now."""
        if len(fragment.orders[0]) <= self.classes:
            return []
        varying = [a for a, attribute in enumerate(self.attributes) if fragment.worst[a] > 0]
        if not varying:
            return []
        left, right = self._sides(fragment.orders[varying])
        after = bounds + (left + right - fragment.worst) * self.scale
        best = self.strategy(after, self.budgets).argmin(axis=1)
        chosen = np.arange(len(varying)), best
        cuts = zip(varying, ((best + 1) * self.classes).tolist(), left[chosen], right[chosen], strict=True)
        return [Cut(*cut) for cut in cuts]

    def split(self, fragment: Layers, cut: Cut) -> tuple[Layers, Layers]:
        """Carry out a cut, keeping every order."""
        chosen = fragment.orders[cut.attribute]
        self.side[chosen[: cut.at]] = False
        self.side[chosen[cut.at :]] = True
        goes_right, attributes = self.side[fragment.orders], len(fragment.orders)
        left, right = fragment.orders[~goes_right], fragment.orders[goes_right]
        return Layers(left.reshape(attributes, -1), cut.left), Layers(right.reshape(attributes, -1), cut.right)

    def _sides(self, orders: Ints) -> tuple[Floats, Floats]:
        """Return the worst case left and right of every cut through these orders: orders × cuts × attributes."""
        if self.places is not None:
            left, right = kernels.all_line_cuts(self.places, orders, self.classes)
            return left, right
        sides = [[one.spread.cuts(one.codes[order], self.classes) for one in self.attributes] for order in orders]
        left, right = np.ascontiguousarray(np.array(sides).transpose(2, 0, 3, 1))
        return left, right


def _places(attributes: tuple[SpreadAttribute, ...]) -> Floats | None:
    """Return where each attribute's rows lie on its line; None where one of them has no line, or a printed bound."""
    lines = [attribute.spread for attribute in attributes if type(attribute.spread) is LineSpread]
    if len(lines) < len(attributes):
        return None
    return np.array([line.places(one.codes) for line, one in zip(lines, attributes, strict=True)])


def find_fragmentation(
    search: LayeredSearch, orders: tuple[Ints, ...], accepts: Callable[[Ints], bool], pulse: Pulse = QUIET
) -> Ints | None:
    """Cut until the fragmentation is accepted; return a fragment label per row of `orders`, or None."""
    fragments = [search.top(orders)]
    bounds = fragments[0].worst * search.scale
    cuts = _Cuts(search)
    cuts.add(fragments[0], 0, bounds)
    while True:
        pulse.beat()
        if np.all(bounds <= search.budgets * (1 + 1e-9) + 1e-12) and accepts(labels := _labels(fragments, search)):
            return labels
        chosen = cuts.take(bounds, max(1, len(fragments) // BATCH))
        if not chosen:
            return None
        for index, cut in chosen:
            left, right = search.split(fragments[index], cut)
            bounds = bounds + (left.worst + right.worst - fragments[index].worst) * search.scale
            fragments[index] = left
            fragments.append(right)
            cuts.add(left, index, bounds)
            cuts.add(right, len(fragments) - 1, bounds)


class _Cuts:
    """The cuts to choose from: what each changes, as rows of an array that grows by doubling."""

    def __init__(self, search: LayeredSearch) -> None:
        self.search = search
        self.change = np.zeros((64, len(search.attributes)))
        self.open: dict[int, tuple[int, Cut]] = {}  # by row of `change`: the fragment and its cut
        self.rows_of: dict[int, list[int]] = {}
        self.used = 0

    def add(self, fragment: Layers, index: int, bounds: Floats) -> None:
        """Offer the best cuts of a fragment."""
        self.rows_of[index] = []
        for cut in self.search.best_cuts(fragment, bounds):
            if self.used == len(self.change):
                self.change = np.concatenate((self.change, np.zeros_like(self.change)))
            self.change[self.used] = (cut.left + cut.right - fragment.worst) * self.search.scale
            self.open[self.used] = index, cut
            self.rows_of[index].append(self.used)
            self.used += 1

    def take(self, bounds: Floats, most: int) -> list[tuple[int, Cut]]:
        """Remove and return the best cuts of the `most` best fragments."""
        rows = np.fromiter(self.open, dtype=np.int64, count=len(self.open))
        score = self.search.strategy(bounds + self.change[rows], self.search.budgets)
        chosen: dict[int, Cut] = {}
        for row in rows[np.argsort(score, kind="stable")]:
            index, cut = self.open[int(row)]
            chosen.setdefault(index, cut)
            if len(chosen) == most:
                break
        for index in chosen:
            for row in self.rows_of[index]:
                del self.open[row]
        return list(chosen.items())


def _labels(fragments: list[Layers], search: LayeredSearch) -> Ints:
    labels = np.full(len(search.side), -1, dtype=np.int64)
    for index, fragment in enumerate(fragments):
        labels[fragment.orders[0]] = index
    return labels
