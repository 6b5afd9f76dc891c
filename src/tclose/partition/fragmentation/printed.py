"""FIND-FRAGMENTATION and sizing as printed (001, sections 3.1 and 3.2), and the lattice of all fragmentations.

FIND-FRAGMENTATION cuts boxes of the value space in two until all bounds fit; the next cut is the one that makes a
figure of the bounds least (the strategy). The bound `published` divides a fragment's Δ by the fragment's own width k −
1, `tight` by the attribute's m − 1, with the box shrunk to the values that occur in it. A box is kept as its rows and
its extent in each attribute, so the space of all values is never laid out. The number of classes is then a common
divisor of the fragments' sizes.

The lattice (001, section 2.5), searched exhaustively, shows what FIND-FRAGMENTATION misses. The paper calls this
impractical, and it is for more than some 16 combinations of values: 3 × 3 values have 320 fragmentations, 4 × 4 have
68,480. On a small space it shows how far Ψ is from the best (`strategy="exhaustive"`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import gcd, prod

import numpy as np

from tclose.errors import Unsuited
from tclose.partition.fragmentation.classes import ClassPlan
from tclose.partition.fragmentation.spread import PrintedLineSpread, SpreadAttribute, spread_attributes
from tclose.partition.problem import Problem
from tclose.partition.shared.pulse import QUIET, Pulse
from tclose.types import Floats, Ints

# Strategies: which cut to take next


Strategy = Callable[[Floats, Floats], Floats]  # (bounds after each choice, budgets) → what to make least


def psi(bounds: Floats, budgets: Floats) -> Floats:
    """Ψ: by how much the bounds exceed their budgets (001, section 3.1)."""
    return np.asarray(np.maximum(bounds - budgets, 0).sum(axis=-1))


def plain_sum(bounds: Floats, budgets: Floats) -> Floats:
    """Return the sum of the bounds, whatever the budgets (000, section 3.4.1)."""
    return np.asarray(bounds.sum(axis=-1))


def squares(bounds: Floats, budgets: Floats) -> Floats:
    """Return the squared excesses relative to the budgets: ours, as it spends cuts where most is missing."""
    excess = np.maximum(bounds / np.maximum(budgets, 1e-12) - 1, 0)
    return np.asarray((excess**2).sum(axis=-1))


STRATEGIES: dict[str, Strategy] = {"psi": psi, "sum": plain_sum, "squares": squares}


# FIND-FRAGMENTATION


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


# Sizing by a common divisor


def common_divisor(sizes: list[int], k: int = 1) -> int:
    """Return the largest number of equal classes of at least k rows that these fragments allow.

    >>> common_divisor([250, 100, 350, 300]), common_divisor([250, 100, 350, 301])
    (50, 1)
    """
    rows, most = sum(sizes), gcd(*sizes)
    return max((d for d in range(1, most + 1) if most % d == 0 and rows // d >= k), default=1)


def as_printed(problem: Problem, bound: str, strategy: Strategy, pulse: Pulse) -> ClassPlan | None:
    """Return the plan of the first acceptable fragmentation, or None for one class of all rows.

    Cutting further never raises the common divisor, so the search ends as soon as that is 1.
    """
    attributes = spread_attributes(problem, bound)
    if not attributes:
        return plan_of([np.arange(problem.rows)], problem)
    search = BoxSearch(attributes)
    boxes = find_fragmentation(
        search, [attribute.t - attribute.apart for attribute in attributes], strategy, _hopeless, pulse
    )
    return plan_of([box.rows for box in boxes if len(box.rows)], problem) if boxes else None


def finest(problem: Problem, attributes: tuple[SpreadAttribute, ...]) -> ClassPlan | None:
    """Return the plan of ⊥, one fragment per combination of values: exact, whatever t is."""
    if gcd(*(int(count) for attribute in attributes for count in attribute.row_counts)) == 1:
        return None
    codes = np.stack([attribute.codes for attribute in attributes], axis=1)
    _, fragments = np.unique(codes, axis=0, return_inverse=True)
    order = np.argsort(fragments, kind="stable")
    return plan_of(np.split(order, np.flatnonzero(np.diff(fragments[order])) + 1), problem)


def plan_of(fragments: list[Ints], problem: Problem) -> ClassPlan | None:
    """Return the plan in which every class takes the same share of each fragment."""
    sizes = [len(rows) for rows in fragments]
    classes = common_divisor(sizes, problem.k)
    labels = np.empty(problem.rows, dtype=np.int64)
    for index, rows in enumerate(fragments):
        labels[rows] = index
    return ClassPlan(labels, np.array(sizes) // classes, classes) if classes > 1 else None


def _hopeless(boxes: list[Box]) -> bool:
    return gcd(*(len(box.rows) for box in boxes)) == 1


# The lattice of all fragmentations


Extents = tuple[tuple[int, int], ...]  # of a fragment: first and last place in each attribute's order
Fragmentation = frozenset[Extents]

MOST_CELLS = 18  # combinations of values; on one line, these have 131,072 fragmentations
MOST_FRAGMENTATIONS = 200_000


def fragmentations(shape: tuple[int, ...], pulse: Pulse = QUIET) -> set[Fragmentation]:
    """Return every fragmentation of a space of so many values per attribute: what splits reach from ⊤.

    >>> len(fragmentations((3,))), len(fragmentations((2, 2))), len(fragmentations((3, 3)))
    (4, 8, 320)
    """
    if prod(shape) > MOST_CELLS:
        raise _too_many(shape)
    known: dict[Extents, set[Fragmentation]] = {}
    sides = [[(low, high) for low in range(size) for high in range(low, size)] for size in shape]
    for extents in sorted(product(*sides), key=_cells):  # parts come before what is split into them
        pulse.beat()
        known[extents] = found = {frozenset([extents])}
        for lower, upper in _splits(extents):
            for left in known[lower]:
                found.update(left | right for right in known[upper])
                if len(found) > MOST_FRAGMENTATIONS:
                    raise _too_many(shape)
    return known[tuple((0, size - 1) for size in shape)]


def acceptable(search: BoxSearch, budgets: list[Fraction], pulse: Pulse = QUIET) -> list[list[Box]]:
    """Return every fragmentation whose aggregate bounds are within their budgets, the highest layers first."""
    shape = tuple(high + 1 for _, high in search.top().extents)
    boxes: dict[Extents, tuple[Box, list[Fraction]]] = {}
    accepted = []
    for fragmentation in sorted(fragmentations(shape, pulse), key=lambda each: (len(each), sorted(each))):
        pulse.beat()
        bounds = [Fraction(0)] * len(budgets)
        for extents in fragmentation:
            if extents not in boxes:
                box = _box(search, extents)
                boxes[extents] = box, search.delta(box)
            bounds = [bound + delta for bound, delta in zip(bounds, boxes[extents][1], strict=True)]
        if all(bound <= budget for bound, budget in zip(bounds, budgets, strict=True)):
            accepted.append([boxes[extents][0] for extents in sorted(fragmentation)])
    return accepted


def most_conforming(problem: Problem, bound: str, pulse: Pulse = QUIET) -> ClassPlan | None:
    """Return the plan of that acceptable fragmentation which allows the most classes, or None for one class."""
    attributes = spread_attributes(problem, bound)
    if not attributes:
        return plan_of([np.arange(problem.rows)], problem)
    budgets = [attribute.t - attribute.apart for attribute in attributes]
    found = acceptable(BoxSearch(attributes), budgets, pulse)
    best = max(found, key=lambda boxes: common_divisor([len(box.rows) for box in boxes], problem.k))
    return plan_of([box.rows for box in best if len(box.rows)], problem)


def _too_many(shape: tuple[int, ...]) -> Unsuited:
    return Unsuited(
        "{shape} sensitive values have too many fragmentations to try each: choose another strategy, or put the "
        "values into bins",
        shape=" × ".join(map(str, shape)),
    )


def _cells(extents: Extents) -> int:
    return prod(high - low + 1 for low, high in extents)


def _splits(extents: Extents) -> list[tuple[Extents, Extents]]:
    """Return the two parts of a fragment at every cut."""
    return [
        ((*extents[:a], (low, cut), *extents[a + 1 :]), (*extents[:a], (cut + 1, high), *extents[a + 1 :]))
        for a, (low, high) in enumerate(extents)
        for cut in range(low, high)
    ]


def _box(search: BoxSearch, extents: Extents) -> Box:
    inside = np.ones(search.rows, dtype=np.bool_)
    for attribute, (low, high) in zip(search.attributes, extents, strict=True):
        inside &= (attribute.ranks >= low) & (attribute.ranks <= high)
    return Box(np.flatnonzero(inside), extents)
