"""(n,t)-closeness (Li et al. 2010): every class is within t of some natural superset of at least n rows.

The natural supersets tried are those that a reader of the table can form: the rows that agree with the class on
some of the quasi-identifiers, whatever the others say, up to the whole table; a class of n rows is its own. More
supersets could only admit more classes, so a yes is always right.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Counts, Distance
from tclose.distance.ratios import FAR
from tclose.privacy.base import Judgement, Sign
from tclose.privacy.levels import Level, rounded_up
from tclose.types import Ints


@dataclass(frozen=True)
class NTCloseness:
    """Every class is within t of the whole table or of a superset of at least n rows.

    Each of `supersets` puts every class into a group (0, 1, 2, …); a class's superset is its group.
    """

    n: int
    t: Fraction
    distance: Distance
    supersets: Sequence[Ints] = ()

    name: ClassVar[str] = "(n,t)"
    title: ClassVar[str] = "(n,t)-closeness"
    sign: ClassVar[Sign] = "≤"
    counts_persons: ClassVar[bool] = False
    alone: ClassVar[bool] = False
    persons_imply_rows: ClassVar[bool] = True
    merging_keeps: ClassVar[bool] = False

    @property
    def required(self) -> dict[str, Level]:
        """Return n and t."""
        return {"n": self.n, "t": self.t}

    def rule(self, shares: Sequence[Fraction]) -> None:
        """Return nothing: methods measure the distance itself."""

    def judge(self, counts: Counts, reference: Ints) -> Judgement:
        """Judge every class by its nearest superset; the level reached is the t that this n would need."""
        admitted = counts.sizes >= self.n
        if int(reference.sum()) < self.n:
            return Judgement(admitted, math.inf, 0)
        if admitted.all():
            return Judgement(admitted, Fraction(0), 0)
        nearest = np.where(admitted, 0.0, np.inf)
        for members, target in self._targets(counts, reference, ~admitted):
            ratios = self.distance.emd(counts.only(members), target)
            admitted[members] |= ratios.at_most(self.t)
            nearest[members] = np.minimum(nearest[members], ratios.floats())
        return Judgement(admitted, *self._farthest(counts, reference, nearest))

    def attainable(self, reached: Level, counts: Counts, reference: Ints) -> str:
        """Say which t this n would need; where the table has fewer than n rows, which n it could have."""
        return f"n {int(counts.sizes.sum())} can be" if reached == math.inf else f"t {rounded_up(reached)} can be"

    def _farthest(self, counts: Counts, reference: Ints, nearest: NDArray[np.float64]) -> tuple[Fraction, int]:
        """Return the exact distance of the class that is farthest from its nearest superset, and the class."""
        close = nearest * (1 + FAR)
        exact: dict[int, Fraction] = {}
        for members, target in self._targets(counts, reference, close >= nearest.max()):
            ratios = self.distance.emd(counts.only(members), target)
            for at in np.flatnonzero(ratios.floats() <= close[members]).tolist():
                member = int(members[at])
                exact[member] = min(ratios[at], exact.get(member, ratios[at]))
        worst = min(exact, key=lambda member: (-exact[member], member))
        return exact[worst], worst

    def _targets(
        self, counts: Counts, reference: Ints, wanted: NDArray[np.bool_]
    ) -> Iterator[tuple[NDArray[np.intp], Ints]]:
        """Yield, for each superset of at least n rows, the wanted classes in it and its counts of values."""
        yield np.flatnonzero(wanted), reference
        sizes = counts.sizes
        for grouping in self.supersets:
            order = np.argsort(grouping, kind="stable")
            borders = np.flatnonzero(np.diff(grouping[order], prepend=-1, append=-1))
            rows = np.add.reduceat(sizes[order], borders[:-1])
            sought = np.logical_or.reduceat(wanted[order], borders[:-1])
            for group in np.flatnonzero((rows >= self.n) & sought):
                members = order[borders[group] : borders[group + 1]]
                inside = counts.only(members)
                target = np.zeros(counts.domain_size, dtype=np.int64)
                np.add.at(target, inside.codes, inside.counts)
                yield members[wanted[members]], target
