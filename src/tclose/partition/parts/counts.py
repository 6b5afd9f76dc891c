"""Exact counts of all parts, which add up over batches of rows, and the repair of parts that are not admitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tclose.distance import Counts
from tclose.partition.parts.cut import Codes, Cut
from tclose.partition.problem import Attribute
from tclose.types import Bools, Ints

FINEST = 1000  # a share of t is a multiple of 1 / FINEST at most


@dataclass(frozen=True, eq=False)
class PartCounts:
    """How many rows each part has, and how many with each value of each sensitive attribute."""

    rows: Ints
    values: tuple[Ints, ...]  # per attribute: parts × values

    @classmethod
    def of(cls, parts: Ints, count: int, sensitive_codes: Codes, domains: Sequence[int]) -> PartCounts:
        """Count the rows of one batch, given the part of each row, its codes and the number of each column's values."""
        counted = [
            np.bincount(parts * domain + column, minlength=count * domain).reshape(count, domain)
            for column, domain in zip(sensitive_codes.T, domains, strict=True)
        ]
        return cls(np.bincount(parts, minlength=count).astype(np.int64), tuple(counted))

    def __add__(self, other: PartCounts) -> PartCounts:
        """Return the counts of both batches."""
        pairs = zip(self.values, other.values, strict=True)
        return PartCounts(self.rows + other.rows, tuple(mine + others for mine, others in pairs))

    def within(self, spans: Ints) -> PartCounts:
        """Return the counts of unions of neighbouring parts, each from a first part to the part after its last."""
        return PartCounts(_sums(self.rows, spans), tuple(_sums(values, spans) for values in self.values))

    def admitted(self, sensitive: Sequence[Attribute], k: int) -> Bools:
        """Tell, per part, whether it has k rows and every attribute admits it, exactly; the codes are not looked at."""
        admitted = self.rows >= k
        for attribute, values in zip(sensitive, self.values, strict=True):
            judged = np.flatnonzero(admitted)
            if len(judged):
                admitted[judged] = attribute.admits(Counts.from_dense(values[judged]))
        return admitted


def repaired(
    cut: Cut, counts: PartCounts, sensitive: Sequence[Attribute], k: int, share: float = 1.0, also: Bools | None = None
) -> Cut:
    """Return the cut in which every part that is not admitted has climbed to its parent until it is.

    A part is admitted if it has k rows and is within `share` of every t and every further model, judged exactly. weave
    cannot divide a part into cells that use up less of t than the part does, so it is the share of its cells. `also`
    tells, per node, what else is asked for.
    """
    shared = Fraction(share).limit_denominator(FINEST)
    limited = [replace(each, t=None if each.t is None else each.t * shared) for each in sensitive]
    admitted = counts.within(cut.spans).admitted(limited, k)
    return cut.joined(admitted if also is None else admitted & also)


def _sums(counts: Ints, spans: Ints) -> Ints:
    total = np.concatenate([np.zeros_like(counts[:1]), np.cumsum(counts, axis=0)])
    return np.asarray(total[spans[:, 1]] - total[spans[:, 0]])
