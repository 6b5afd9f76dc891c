"""FIND-FRAGMENTATION as printed (001, section 3.1): boxes of the value space, cut in two until all bounds fit.

The bound `published` divides a fragment's Δ by the fragment's own width k − 1, `tight` by the attribute's m − 1, with
the box shrunk to the values that occur in it. A box is kept as its rows and its extent in each attribute, so the
space of all values is never laid out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.partition.fragmentation.attribute import SpreadAttribute
from tclose.partition.fragmentation.spread import PrintedLineSpread
from tclose.partition.fragmentation.strategy import Strategy
from tclose.partition.shared.pulse import QUIET, Pulse
from tclose.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class Box:
    """The rows whose values lie within `extents`: first and last place in each attribute's order."""

    rows: Ints
    extents: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class BoxCut:
    """Cut a box along an attribute, just after a place."""

    attribute: int
    after: int


class BoxSearch:
    """The bounds of boxes, and of the two parts of a box at every cut."""

    def __init__(self, attributes: tuple[SpreadAttribute, ...]) -> None:
        self.attributes = attributes
        self.rows = len(attributes[0].codes)
        self.printed = [isinstance(attribute.spread, PrintedLineSpread) for attribute in attributes]

    def top(self) -> Box:
        """Return ⊤: the box of all values."""
        return Box(np.arange(self.rows), tuple((0, len(attribute.row_counts) - 1) for attribute in self.attributes))

    def split(self, box: Box, cut: BoxCut) -> tuple[Box, Box]:
        """Return the two parts of a box."""
        a, (low, high) = cut.attribute, box.extents[cut.attribute]
        left = self.attributes[a].ranks[box.rows] <= cut.after
        lower = (*box.extents[:a], (low, cut.after), *box.extents[a + 1 :])
        upper = (*box.extents[:a], (cut.after + 1, high), *box.extents[a + 1 :])
        return Box(box.rows[left], lower), Box(box.rows[~left], upper)

    def delta(self, box: Box) -> list[Fraction]:
        """Return Δ of the box for each attribute, exactly."""
        if not len(box.rows):
            return [Fraction(0)] * len(self.attributes)
        return [self._delta(box, a) for a in range(len(self.attributes))]

    def cuts(self, box: Box) -> tuple[list[BoxCut], Floats]:
        """Return every cut of the box, and the Δ of its two parts together for each cut × attribute."""
        cuts: list[BoxCut] = []
        deltas = [np.zeros((0, len(self.attributes)))]
        for a, attribute in enumerate(self.attributes):
            places = self._places(box, a)
            if len(places):
                order = box.rows[np.argsort(attribute.ranks[box.rows], kind="stable")]
                left_rows = np.searchsorted(attribute.ranks[order], places, side="right")
                sides = [
                    self._sides(box, b, order, left_rows, places if b == a else None)
                    for b in range(len(self.attributes))
                ]
                deltas.append(np.stack(sides, axis=1))
                cuts += [BoxCut(a, int(place)) for place in places]
        return cuts, np.concatenate(deltas)

    def _places(self, box: Box, a: int) -> Ints:
        low, high = box.extents[a]
        if not len(box.rows):
            return np.zeros(0, dtype=np.int64)
        return np.arange(low, high) if self.printed[a] else np.unique(self.attributes[a].ranks[box.rows])[:-1]

    def _delta(self, box: Box, a: int) -> Fraction:
        attribute = self.attributes[a]
        if not self.printed[a]:
            return Fraction(
                attribute.worst(np.zeros(len(box.rows), dtype=np.int64), box.rows), attribute.unit * self.rows
            )
        assert isinstance(attribute.spread, PrintedLineSpread)
        low, high = (int(attribute.spread.positions[place]) for place in box.extents[a])
        moment = sum(int(x) for x in attribute.spread.positions[attribute.codes[box.rows]]) - low * len(box.rows)
        width = high - low
        return Fraction(max(moment, len(box.rows) * width - moment), width * self.rows) if width else Fraction(0)

    def _sides(self, box: Box, b: int, order: Ints, left_rows: Ints, places: Ints | None) -> Floats:
        """Return Δ of attribute b for both parts together; `places` where it is the attribute that is cut."""
        attribute = self.attributes[b]
        if not self.printed[b]:
            left, right = attribute.spread.cuts(attribute.codes[order], 1)
            whole = float(attribute.worst(np.zeros(len(order), dtype=np.int64), order))
            both = np.concatenate(([whole], left + right, [whole]))
            return both[left_rows] / (attribute.unit * self.rows)
        assert isinstance(attribute.spread, PrintedLineSpread)
        x = attribute.spread.positions.astype(np.float64)
        moment = np.concatenate(([0.0], np.cumsum(x[attribute.codes[order]])))
        low, high = box.extents[b]
        left_high = high if places is None else places
        right_low = low if places is None else places + 1
        left = _printed(moment[left_rows], left_rows, x[low], x[left_high])
        right = _printed(moment[-1] - moment[left_rows], len(order) - left_rows, x[right_low], x[high])
        return (left + right) / self.rows


def _printed(moment: Floats, mass: Ints, low: Floats, high: Floats) -> Floats:
    """Return max(S, mass·width − S)/width, and 0 for a box of one value."""
    width = np.asarray(high - low)
    farther = np.maximum(moment - mass * low, mass * high - moment)
    return np.where(width > 0, farther / np.where(width > 0, width, 1), 0.0)


def aggregate(search: BoxSearch, boxes: list[Box]) -> list[Fraction]:
    """Return the aggregate bound of each attribute (definition 19)."""
    return [sum(column, Fraction(0)) for column in zip(*map(search.delta, boxes), strict=True)]


def find_fragmentation(
    search: BoxSearch,
    budgets: list[Fraction],
    strategy: Strategy,
    give_up: Callable[[list[Box]], bool],
    pulse: Pulse = QUIET,
) -> list[Box] | None:
    """Cut, each time where the strategy says, until every aggregate bound is within its budget."""
    boxes = [search.top()]
    bounds = aggregate(search, boxes)
    choices = [search.cuts(boxes[0])]
    limits = np.array([float(budget) for budget in budgets])
    while any(bound > budget for bound, budget in zip(bounds, budgets, strict=True)):
        pulse.beat()
        if give_up(boxes):
            return None
        index, cut = _pick(search, boxes, choices, bounds, limits, strategy)
        parts = search.split(boxes[index], cut)
        before, after = aggregate(search, [boxes[index]]), aggregate(search, list(parts))
        bounds = [b + new - old for b, new, old in zip(bounds, after, before, strict=True)]
        boxes[index : index + 1] = parts
        choices[index : index + 1] = [search.cuts(part) for part in parts]
    return boxes


def _pick(
    search: BoxSearch,
    boxes: list[Box],
    choices: list[tuple[list[BoxCut], Floats]],
    bounds: list[Fraction],
    limits: Floats,
    strategy: Strategy,
) -> tuple[int, BoxCut]:
    """Return the box and the cut that the strategy likes best; of equals, the first."""
    now = np.array([float(bound) for bound in bounds])
    best, least = (0, BoxCut(0, 0)), np.inf
    for index, (cuts, deltas) in enumerate(choices):
        if cuts:
            own = np.array([float(delta) for delta in search.delta(boxes[index])])
            score = strategy(now - own + deltas, limits)
            first = int(score.argmin())
            if score[first] < least:
                best, least = (index, cuts[first]), score[first]
    return best
