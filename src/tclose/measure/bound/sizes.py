"""The smallest class: with few rows, the shares of a class are coarse, and so it cannot be near the table's shares.

A class of s rows has shares c/s with whole c. For each geometry the least distance of such shares from the reference is
computed, or a figure below it. The first size s ≥ k that no attribute rules out bounds the size of every class.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tclose.distance import Geometry, Line, LineWithLeaf, Metric, Tree
from tclose.measure.bound.problem import BoundProblem
from tclose.partition.problem import Attribute
from tclose.types import Ints

TRIED = 5_000  # sizes; the bound only gets weaker if the search ends earlier


def least_rows(problem: BoundProblem) -> int:
    """Return a number of rows that no class can have fewer of."""
    for size in range(problem.k, problem.k + TRIED):
        if all(possible(attribute, size) for attribute in problem.attributes):
            return size
    return problem.k + TRIED


def possible(attribute: Attribute, size: int) -> bool:
    """Tell whether some class of so many rows may be within t; never false for a size that a class within t has."""
    assert attribute.t is not None
    return least_distance(attribute.geometry, attribute.reference, size) <= attribute.t


def least_distance(geometry: Geometry, reference: Ints, size: int) -> Fraction:
    """Return a figure that no class of this size comes nearer to the reference than; exact on a line and a star."""
    total = int(reference.sum())
    match geometry:
        case Line():
            return _on_line(np.diff(geometry.positions), reference, size) / (geometry.length * size * total)
        case LineWithLeaf():
            line = _on_line(np.diff(geometry.places), reference[geometry.order], size)
            leaf = geometry.middle * _to_whole(size * int(reference[-1]), total)
            return Fraction(line + leaf, geometry.unit * size * total)
        case Tree():
            levels = [
                _star(np.bincount(level, weights=reference).astype(np.int64), size) for level in geometry.below_root
            ]
            return Fraction(sum(levels), max(geometry.height, 1) * size * total)
        case Metric():
            apart = geometry.costs[~np.eye(len(reference), dtype=bool)]
            nearest = int(apart.min()) if apart.size else 0
            return Fraction(nearest * _star(reference, size), geometry.farthest * size * total)


def _to_whole(part: int, total: int) -> int:
    """Return how far part/total is from the nearest whole number, times total."""
    return min(part % total, -part % total)


def _on_line(gaps: Ints, reference: Ints, size: int) -> Fraction:
    """Round the running sums to whole rows: rounded sums still rise, so a class has them."""
    total, below = int(reference.sum()), np.cumsum(reference).tolist()
    return Fraction(sum(int(gap) * _to_whole(size * part, total) for gap, part in zip(gaps, below, strict=False)))


def _star(reference: Ints, size: int) -> int:
    """Return the least Σ max(N·c − s·n, 0): round all counts down, then up those with the largest remainders."""
    total = int(reference.sum())
    rest = np.sort(size * reference % total)[::-1]
    lacking = int(rest.sum()) // total
    return int((total - rest[:lacking]).sum())
