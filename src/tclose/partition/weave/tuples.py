"""The tree in which weave measures tuples of values: halves of halves of the tuples, as far apart as they are wide.

In this tree two tuples are as far apart as the widest two of the smallest part that holds both, so no distance is
smaller than between the tuples themselves. It is often several times larger. So weave lets classes go beyond t in the
tree by a factor that random classes show (`leeway`); the distance itself decides in the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tclose.distance import Counts, TupleMetric
from tclose.partition.problem import Attribute
from tclose.types import Ints, SmallInts

SAMPLES, SIZE = 8, 16  # random classes, and their rows
SEED = 75
FINE = 20  # leeway is a multiple of 1 / FINE, so that it does not depend on the last digit of a float


@dataclass(frozen=True, eq=False)
class TupleTree:
    """The edges above each tuple, padded with an edge without length, and the length of every edge."""

    above: SmallInts  # tuples × depth
    lengths: Ints  # the last is 0
    unit: int

    @classmethod
    def of(cls, metric: TupleMetric, reference: Ints) -> TupleTree:
        """Halve the tuples, by the rows that show them, until each is alone."""
        above: list[list[int]] = [[] for _ in reference]
        lengths: list[int] = []
        everything = np.arange(len(reference))
        parts = [(everything, _width(metric.costs, everything))]
        while parts:
            part, width = parts.pop()
            for half in _halves(metric.costs, part, reference):
                narrower = _width(metric.costs, half)
                if width > narrower:
                    for value in half.tolist():
                        above[value].append(len(lengths))
                    lengths.append(width - narrower)
                parts.append((half, narrower))
        depth = max(map(len, above), default=0) or 1
        padded = [[*edges, *[len(lengths)] * (depth - len(edges))] for edges in above]
        return cls(np.array(padded, dtype=np.int32), np.array([*lengths, 0], dtype=np.int64), 2 * metric.farthest)

    def beyond(self, counts: Ints) -> Ints:
        """Return how many rows lie beyond each edge, given how many show each tuple."""
        weights = np.repeat(counts, self.above.shape[1])
        return np.bincount(self.above.ravel(), weights, minlength=len(self.lengths)).astype(np.int64)

    def distance(self, counts: Ints, reference: Ints) -> float:
        """Return the earth mover's distance in the tree, as a float."""
        extra = self.beyond(counts) / counts.sum() - self.beyond(reference) / reference.sum()
        return float(np.abs(extra) @ self.lengths / self.unit)


def _width(costs: Ints, part: Ints) -> int:
    return int(costs[np.ix_(part, part)].max())


def _halves(costs: Ints, part: Ints, reference: Ints) -> Iterator[Ints]:
    """Yield two parts of about equally many rows, one nearer to each of two far tuples; nothing of a single tuple."""
    if len(part) < 2:
        return
    first = part[costs[part[0], part].argmax()]
    last = part[costs[first, part].argmax()]
    order = part[np.argsort(costs[first, part] - costs[last, part], kind="stable")]
    below = np.cumsum(reference[order])
    cut = int(np.clip(np.searchsorted(2 * below, below[-1]) + 1, 1, len(part) - 1))
    yield order[:cut]
    yield order[cut:]


def are_tuples(attribute: Attribute) -> bool:
    """Tell whether an attribute's values are tuples that must be close."""
    return attribute.t is not None and isinstance(attribute.geometry, TupleMetric)


def with_leeway(attribute: Attribute) -> Attribute:
    """Return the attribute with its leeway, if its values are tuples."""
    return replace(attribute, leeway=leeway(attribute)) if are_tuples(attribute) else attribute


def leeway(attribute: Attribute) -> Fraction:
    """Return how many times its distance a class has in the tree, at most, by some random classes.

    The ratio hardly depends on the size of a class. The seed is fixed, so a table has one leeway.
    """
    assert isinstance(attribute.geometry, TupleMetric)
    tree, random = TupleTree.of(attribute.geometry, attribute.reference), np.random.default_rng(SEED)
    size = min(SIZE, len(attribute.codes))
    drawn = [random.choice(attribute.codes, size, replace=False) for _ in range(SAMPLES)]
    counts = [np.bincount(codes, minlength=len(attribute.reference)).astype(np.int64) for codes in drawn]
    near = attribute.distance.emd(Counts.from_dense(counts), attribute.reference)
    far = [tree.distance(each, attribute.reference) for each in counts]
    ratios = [distance / float(near[j]) for j, distance in enumerate(far) if near[j] > 0]
    return max(Fraction(1), Fraction(round(max(ratios, default=1.0) * FINE), FINE))
