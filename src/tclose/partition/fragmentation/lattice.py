"""The lattice of all fragmentations (001, section 2.5), searched exhaustively: what FIND-FRAGMENTATION misses.

The paper calls this impractical, and it is for more than some 16 combinations of values: 3 × 3 values have 320
fragmentations, 4 × 4 have 68,480. On a small space it shows how far Ψ is from the best (`strategy="exhaustive"`).
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np

from tclose.errors import Unsuited
from tclose.partition.fragmentation.attribute import judged
from tclose.partition.fragmentation.boxes import Box, BoxSearch
from tclose.partition.fragmentation.plan import Plan
from tclose.partition.fragmentation.printed import common_divisor, plan_of
from tclose.partition.problem import Problem
from tclose.partition.shared.pulse import QUIET, Pulse

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


def most_conforming(problem: Problem, bound: str, pulse: Pulse = QUIET) -> Plan | None:
    """Return the plan of that acceptable fragmentation which allows the most classes, or None for one class."""
    attributes = judged(problem, bound)
    if not attributes:
        return plan_of([np.arange(problem.rows)], problem)
    budgets = [attribute.t - attribute.apart for attribute in attributes]
    found = acceptable(BoxSearch(attributes), budgets, pulse)
    best = max(found, key=lambda boxes: common_divisor([len(box.rows) for box in boxes], problem.k))
    return plan_of([box.rows for box in best if len(box.rows)], problem)


def _too_many(shape: tuple[int, ...]) -> Unsuited:
    return Unsuited(
        f"{' × '.join(map(str, shape))} sensitive values have too many fragmentations to try each: "
        "choose another strategy, or put the values into bins"
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
