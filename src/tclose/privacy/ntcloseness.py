"""(n,t)-closeness (Li et al. 2010): every class is within t of some natural superset of at least n rows.

The natural supersets tried are those that a reader of the table can form: the rows that agree with the class on
some of the quasi-identifiers, whatever the others say, up to the whole table. More supersets could only admit
more classes, so a yes is always right.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.distance import Counts, Distance
from tclose.distance.counts import Ints
from tclose.privacy.base import Judgement, Level


@dataclass(frozen=True)
class NTCloseness:
    """Every class is within t of the whole table or of a superset of at least n rows.

    Each of `supersets` puts every class into a group (0, 1, 2, …); a class's superset is its group.
    """

    n: int
    t: Fraction
    distance: Distance
    supersets: Sequence[Ints] = ()

    name = "(n,t)"

    @property
    def required(self) -> dict[str, Level]:
        """Return n and t."""
        return {"n": self.n, "t": self.t}

    def judge(self, counts: Counts, reference: Ints) -> Judgement:
        """Judge every class by its nearest superset; the level reached is the t that this n would need."""
        admitted = np.zeros(len(counts), dtype=bool)
        if int(reference.sum()) < self.n:
            return Judgement(admitted, math.inf, 0)
        nearest, chosen = np.full(len(counts), np.inf), np.zeros(len(counts), dtype=np.int64)
        targets: list[Ints] = []
        for members, target in self._targets(counts, reference):
            ratios = self.distance.emd(counts.only(members), target)
            admitted[members] |= ratios.at_most(self.t)
            nearer = ratios.floats() < nearest[members]
            nearest[members[nearer]], chosen[members[nearer]] = ratios.floats()[nearer], len(targets)
            targets.append(target)
        worst = int(nearest.argmax())
        exact = self.distance.emd(counts.only(np.array([worst])), targets[chosen[worst]])
        return Judgement(admitted, exact[0], worst)

    def _targets(self, counts: Counts, reference: Ints) -> Iterator[tuple[Ints, Ints]]:
        """Yield each superset of at least n rows: the classes in it and its counts of values."""
        yield np.arange(len(counts)), reference
        sizes = counts.sizes
        for grouping in self.supersets:
            order = np.argsort(grouping, kind="stable")
            borders = np.flatnonzero(np.diff(grouping[order], prepend=-1, append=-1))
            rows = np.add.reduceat(sizes[order], borders[:-1])
            for group in np.flatnonzero(rows >= self.n):
                members = order[borders[group] : borders[group + 1]]
                inside = counts.only(members)
                target = np.zeros(counts.domain_size, dtype=np.int64)
                np.add.at(target, inside.codes, inside.counts)
                yield members, target
