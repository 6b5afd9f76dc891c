"""The tree in which weave measures tuples of values: halves of halves of the tuples, as far apart as they are wide.

In this tree two tuples are as far apart as the widest two of the smallest part that holds both, so no distance is
smaller than between the tuples themselves. It is often several times larger. So weave lets classes go beyond t in the
tree by a factor that random classes show (`leeway`); the distance itself decides in the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.distance import Counts, TupleMetric
from tclose.partition.problem import Attribute
from tclose.types import Floats, Ints, SmallInts

SAMPLES = 6  # random classes of each size
LARGEST = 128  # rows of a random class; of larger ones, distances take long to compute
SEED = 75


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


def leeway(attribute: Attribute, k: int) -> Fraction:
    """Return how many times the distance of a class its distance in the tree is, at least, by random classes.

    The classes are as small as random classes within t can be; the seed is fixed, so a table has one leeway.
    """
    assert isinstance(attribute.geometry, TupleMetric)
    assert attribute.t is not None
    tree, random = TupleTree.of(attribute.geometry, attribute.reference), np.random.default_rng(SEED)
    most, size = min(LARGEST, len(attribute.codes)), max(k, 2)
    while True:
        size = min(size, most)
        drawn = [random.choice(attribute.codes, size, replace=False) for _ in range(SAMPLES)]
        exact = _distances(attribute, drawn)
        if size == most or exact.mean() <= float(attribute.t):
            return max(Fraction(1), _least_ratio(tree, attribute.reference, drawn, exact))
        size *= 2


def _distances(attribute: Attribute, drawn: list[Ints]) -> Floats:
    """Return the distances of some classes, up to a few percent."""
    labels = np.repeat(np.arange(len(drawn)), [len(codes) for codes in drawn])
    counts = Counts.from_codes(labels, np.concatenate(drawn), len(attribute.reference))
    return attribute.distance.emd(counts, attribute.reference).floats()


def _least_ratio(tree: TupleTree, reference: Ints, drawn: list[Ints], exact: Floats) -> Fraction:
    counts = [np.bincount(codes, minlength=len(reference)).astype(np.int64) for codes in drawn]
    far = [tree.distance(each, reference) for each in counts]
    ratios = [distance / near for distance, near in zip(far, exact.tolist(), strict=True) if near > 0]
    return Fraction(min(ratios, default=1.0)).limit_denominator(1000)
