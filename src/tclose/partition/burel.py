"""BUREL (Cao & Karras, PVLDB 5, 2012): no value becomes relatively much likelier in a class than in the table.

β-likeness lets a value have at most f(q) of a class, q its share of the table. Values go into the fewest buckets that
a dynamic programme finds whose whole share is at most f of their rarest value: then a class that takes its share of
every bucket is fine, whatever rows it takes. The ECTree and the redistribution are SABRE's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.errors import Unsuited
from tclose.partition.problem import Problem, Sensitive
from tclose.partition.shared.kernels import kernel
from tclose.partition.shared.merging import merged
from tclose.partition.shared.redistribution import Near, check_near, filled, leaves, within
from tclose.privacy.likeness import BetaLikeness, EnhancedBetaLikeness
from tclose.types import Bools, Floats, Ints

__all__ = ["partition"]

Progress = Callable[[float], None]

LIKENESS = (BetaLikeness, EnhancedBetaLikeness)
BELOW = Fraction(10**12 - 1, 10**12)  # of a logarithm in floats: less than the true one


def partition(problem: Problem, *, near: Near = "hilbert", seed: int = 0, progress: Progress | None = None) -> Ints:
    """Return a class label per row: 0, 1, 2, …; every class is within β (and t, if given) and has at least k rows."""
    check_near(near)
    if len(problem.sensitive) != 1:
        raise Unsuited(f"burel serves one sensitive attribute, not {len(problem.sensitive)}")
    one = problem.sensitive[0]
    if not any(isinstance(model, LIKENESS) for model in one.models):
        raise Unsuited("burel needs beta or enhanced_beta of the sensitive attribute")
    problem.check_feasible()
    buckets = bucketize(one)
    takes = leaves(buckets.sizes, buckets.admits, problem.k)
    labels = filled(problem.points, buckets.of_value[one.codes], takes, near, seed, progress or (lambda done: None))
    # Its buckets know nothing of t and other models: what these do not admit is merged with what is near.
    return merged(labels, np.zeros_like(labels), problem.points, lambda labels: ~problem.admitted(labels))


@dataclass(frozen=True, eq=False)
class Buckets:
    """Values in buckets, and the largest share of a class that each bucket may have."""

    of_value: Ints
    sizes: Ints  # rows of each bucket
    limits: tuple[Fraction, ...]

    def admits(self, nodes: Ints) -> Bools:
        """Tell, for classes × buckets of rows taken, which are within β whatever rows they take."""
        if not len(nodes):
            return np.zeros(0, dtype=bool)
        shares = nodes / nodes.sum(axis=1, keepdims=True)
        return within((shares - np.array([float(limit) for limit in self.limits])).max(axis=1), nodes, self.excess)

    def excess(self, node: list[int]) -> Fraction:
        """Return by how much the share of a bucket exceeds its limit at most, exactly."""
        size = sum(node)
        return max(Fraction(taken, size) - limit for taken, limit in zip(node, self.limits, strict=True))


def bucketize(one: Sensitive) -> Buckets:
    """Return the fewest buckets of values with near frequencies, and of those the ones with most to spare."""
    here, limits = one.here, limits_of(one)
    values = np.array(sorted(limits, key=lambda value: (limits[value], here[value], value)))
    before = np.concatenate(([0], np.cumsum(here[values])))
    rows = int(before[-1])
    most = np.array([math.floor(limits[value] * rows) for value in values.tolist()])
    begins = _fewest(before, np.searchsorted(before, before[:-1] + most, side="right") - 1, most.astype(np.float64))
    of_value = np.full(len(here), -1, dtype=np.int64)
    of_value[values] = np.searchsorted(begins, np.arange(len(values)), side="right") - 1
    sizes = np.diff(before[np.append(begins, len(values))])
    return Buckets(of_value, sizes, tuple(limits[value] for value in values[begins].tolist()))


def limits_of(one: Sensitive) -> dict[int, Fraction]:
    """Return f of every value that occurs: the largest share that it may have of a class, rounded down.

    All rows are within β, so each value may at least have the share that it has of them.
    """
    here, rows, total = one.here, len(one.codes), int(one.reference.sum())
    found = {}
    for value in np.flatnonzero(here).tolist():
        share = Fraction(int(one.reference[value]), total)
        gain = min(_gain(model, share) for model in one.models if isinstance(model, LIKENESS))
        found[value] = max(min(share * (1 + gain), Fraction(1)), Fraction(int(here[value]), rows))
    return found


def _gain(model: BetaLikeness | EnhancedBetaLikeness, share: Fraction) -> Fraction:
    """Return the largest relative gain of a value with this share of the table."""
    if isinstance(model, EnhancedBetaLikeness):
        return min(model.required, Fraction(-math.log(share)) * BELOW)
    return model.required


@kernel
def _fewest(before: Ints, reach: Ints, most: Floats) -> Ints:
    """Return where each bucket begins, by a dynamic programme over the values in rising order of their limits.

    A bucket that begins at value j may hold the values up to `reach[j]`, that one not included, and `most[j]` rows.
    Of the partitions into the fewest buckets, one whose tightest bucket has most to spare is best.
    """
    values = len(reach)
    count = np.full(values + 1, values + 1)
    spare = np.zeros(values + 1)
    origin = np.zeros(values + 1, dtype=np.int64)
    count[0], spare[0] = 0, np.inf
    low = 0
    for i in range(1, values + 1):
        while reach[low] < i:
            low += 1
        for j in range(low, i):
            room = min(spare[j], most[j] / (before[i] - before[j]))
            if count[j] + 1 < count[i] or (count[j] + 1 == count[i] and room > spare[i]):
                count[i], spare[i], origin[i] = count[j] + 1, room, j
    begins = np.empty(count[values], dtype=np.int64)
    at = values
    for bucket in range(count[values] - 1, -1, -1):
        at = origin[at]
        begins[bucket] = at
    return begins
