"""BUREL (Cao & Karras, PVLDB 5, 2012): no value becomes relatively much likelier in a class than in the table.

β-likeness lets a value have at most f(q) of a class, q its share of the table. Values go into the fewest buckets that
a dynamic programme finds whose whole share is at most f of their rarest value: then a class that takes its share of
every bucket is fine, whatever rows it takes. The ECTree and the redistribution are SABRE's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.errors import Unsuited
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared.kernels import kernel
from tclose.partition.shared.merge import merged
from tclose.partition.shared.pulse import QUIET, Pulse
from tclose.partition.shared.redistribution import Near, check_near, filled, leaves, within
from tclose.privacy.likeness import BetaLikeness, EnhancedBetaLikeness
from tclose.types import Bools, Floats, Ints, Progress, silent

__all__ = ["partition"]

LIKENESS = (BetaLikeness, EnhancedBetaLikeness)
SLICE = 1000  # values between two calls of progress
BELOW = Fraction(10**12 - 1, 10**12)  # of a logarithm in floats: less than the true one


def partition(problem: Problem, *, near: Near = "hilbert", seed: int = 0, progress: Progress = silent) -> Ints:
    """Return a class label per row: 0, 1, 2, …; every class is within β (and t, if given) and has at least k rows."""
    check_near(near)
    if len(problem.sensitive) != 1:
        raise Unsuited("burel serves one sensitive attribute, not {count}", count=len(problem.sensitive))
    attribute = problem.sensitive[0]
    if not any(isinstance(model, LIKENESS) for model in attribute.models):
        raise Unsuited("burel needs beta or enhanced_beta of the sensitive attribute")
    problem.check_feasible()
    pulse = Pulse(progress)
    buckets = bucketize(attribute, pulse)
    takes = leaves(buckets.sizes, buckets.admits, problem.k, pulse)
    labels = filled(problem.points, buckets.of_value[attribute.codes], takes, near, seed, pulse)
    # Its buckets know nothing of t and other models: what these do not admit is merged with what is near.
    return merged(labels, np.zeros_like(labels), problem.points, lambda labels: ~problem.admitted(labels))


@dataclass(frozen=True, eq=False)
class LikenessBuckets:
    """Values in buckets, and the largest share of a class that each bucket may have."""

    of_value: Ints
    sizes: Ints  # rows of each bucket
    limits: tuple[Fraction, ...]

    def admits(self, nodes: Ints) -> Bools:
        """Tell which classes (classes × buckets: how many rows they take) are within β, whichever rows they take."""
        if not len(nodes):
            return np.zeros(0, dtype=bool)
        shares = nodes / nodes.sum(axis=1, keepdims=True)
        return within((shares - np.array([float(limit) for limit in self.limits])).max(axis=1), nodes, self.excess)

    def excess(self, node: list[int]) -> Fraction:
        """Return by how much the share of a bucket exceeds its limit at most, exactly."""
        size = sum(node)
        return max(Fraction(taken, size) - limit for taken, limit in zip(node, self.limits, strict=True))


def bucketize(attribute: Attribute, pulse: Pulse = QUIET) -> LikenessBuckets:
    """Return the fewest buckets of values with near frequencies; of several such, the one with most to spare."""
    counts, limits = attribute.row_counts, limits_of(attribute)
    values = np.array(sorted(limits, key=lambda value: (limits[value], counts[value], value)))
    before = np.concatenate(([0], np.cumsum(counts[values])))
    rows = int(before[-1])
    most = np.array([math.floor(limits[value] * rows) for value in values.tolist()])
    begins = _fewest(
        before, np.searchsorted(before, before[:-1] + most, side="right") - 1, most.astype(np.float64), pulse
    )
    of_value = np.full(len(counts), -1, dtype=np.int64)
    of_value[values] = np.searchsorted(begins, np.arange(len(values)), side="right") - 1
    sizes = np.diff(before[np.append(begins, len(values))])
    return LikenessBuckets(of_value, sizes, tuple(limits[value] for value in values[begins].tolist()))


def limits_of(attribute: Attribute) -> dict[int, Fraction]:
    """Return f of every value that occurs: the largest share that it may have of a class, rounded down.

    All rows are within β, so each value may at least have the share that it has of them.
    """
    counts, rows, total = attribute.row_counts, len(attribute.codes), int(attribute.reference.sum())
    limits = {}
    for value in np.flatnonzero(counts).tolist():
        share = Fraction(int(attribute.reference[value]), total)
        gain = min(_gain(model, share) for model in attribute.models if isinstance(model, LIKENESS))
        limits[value] = max(min(share * (1 + gain), Fraction(1)), Fraction(int(counts[value]), rows))
    return limits


def _gain(model: BetaLikeness | EnhancedBetaLikeness, share: Fraction) -> Fraction:
    """Return the largest relative gain of a value with this share of the table."""
    if isinstance(model, EnhancedBetaLikeness):
        return min(model.required, Fraction(-math.log(share)) * BELOW)
    return model.required


def _fewest(before: Ints, reach: Ints, most: Floats, pulse: Pulse) -> Ints:
    """Return where each bucket begins, by a dynamic programme over the values in rising order of their limits.

    A bucket that begins at value j may hold the values up to `reach[j]`, that one not included, and `most[j]` rows.
    Of the partitions into the fewest buckets, one whose tightest bucket has most to spare is best.
    """
    values = len(reach)
    count, spare = np.full(values + 1, values + 1), np.zeros(values + 1)
    origin = np.zeros(values + 1, dtype=np.int64)
    count[0], spare[0] = 0, np.inf
    for first in range(1, values + 1, SLICE):
        pulse.beat()
        _extend(before, reach, most, count, spare, origin, first, min(first + SLICE, values + 1))
    begins = []
    at = values
    while at:
        at = int(origin[at])
        begins.append(at)
    return np.array(begins[::-1], dtype=np.int64)


@kernel
def _extend(
    before: Ints, reach: Ints, most: Floats, count: Ints, spare: Floats, origin: Ints, first: int, last: int
) -> None:
    """Find the best partition of the first i values for every i from `first` to `last`, that one not included."""
    low = 0
    for i in range(first, last):
        while reach[low] < i:
            low += 1
        for j in range(low, i):
            room = min(spare[j], most[j] / (before[i] - before[j]))
            if count[j] + 1 < count[i] or (count[j] + 1 == count[i] and room > spare[i]):
                count[i], spare[i], origin[i] = count[j] + 1, room, j
