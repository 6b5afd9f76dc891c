"""t-closeness (Li et al. 2007): every class's distribution is within t of the whole table's; and its three relatives.

- (n,t)-closeness (Li et al. 2010): every class is within t of some natural superset of at least n rows. The natural
  supersets tried are those that a reader of the table can form: the rows that agree with the class on some of the
  quasi-identifiers, whatever the others say, up to the whole table; a class of n rows is its own. More supersets could
  only admit more classes, so a yes is always right.
- Average t-closeness: the mean distance over all rows is within a limit, whatever that of a single class is.
  Rebollo-Monedero, Forné & Domingo-Ferrer (From t-closeness-like privacy to postrandomization via information theory,
  TKDE 2010) average what classes disclose in place of the worst case; here, what is averaged is the earth mover's
  distance. It is a promise about a random row: a single class may be anywhere, unless t bounds it as well.
- A threshold per group of persons: a class obeys the smallest threshold of its members. Xiao & Tao (Personalized
  privacy preservation, SIGMOD 2006) let every person choose how much is protected. Here, a group of persons, as a
  published column tells it, has a t of its own. Every value is counted apart for each threshold. Of G groups of
  persons, value v of a person of group g has the code v·G + g. Groups are in the order of their thresholds, the
  strictest first; the last one is everybody else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Counts, Distance
from tclose.distance.counts import FAR, Ratios
from tclose.messages import say
from tclose.policy import ByGroup
from tclose.privacy.base import Judgement, Level, OneLevel, Sign, rounded_up
from tclose.types import Ints

# t-closeness


@dataclass(frozen=True)
class TCloseness(OneLevel):
    """Every class is within `required` of the reference, by the earth mover's distance."""

    required: Fraction
    distance: Distance

    name: ClassVar[str] = "t"
    title: ClassVar[str] = "t-closeness"
    sign: ClassVar[Sign] = "≤"
    counts_persons: ClassVar[bool] = False
    alone: ClassVar[bool] = False
    persons_imply_rows: ClassVar[bool] = True
    merging_keeps: ClassVar[bool] = True

    def rule(self, shares: Sequence[Fraction]) -> None:
        """Return nothing: methods measure the distance itself."""

    def judge(self, counts: Counts, reference: Ints) -> Judgement:
        """Judge every class by its earth mover's distance, exactly."""
        ratios = self.distance.emd(counts, reference)
        reached, worst = ratios.largest()
        return Judgement(ratios.at_most(self.required), reached, worst)


# (n,t)-closeness


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
        return (
            say("n {count} can be", count=int(counts.sizes.sum()))
            if reached == math.inf
            else say("t {level} can be", level=rounded_up(reached))
        )

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


# Average t-closeness


@dataclass(frozen=True)
class AverageTCloseness(OneLevel):
    """Σ size·distance / rows is within `required`; the classes must be those of the whole table."""

    required: Fraction
    distance: Distance

    name: ClassVar[str] = "average_t"
    title: ClassVar[str] = "average t-closeness"
    sign: ClassVar[Sign] = "≤"
    counts_persons: ClassVar[bool] = False
    alone: ClassVar[bool] = False
    persons_imply_rows: ClassVar[bool] = True
    merging_keeps: ClassVar[bool] = True  # the distance is convex, so merging never raises the average

    def rule(self, shares: Sequence[Fraction]) -> None:
        """Return nothing: no single class breaks it."""

    def judge(self, counts: Counts, reference: Ints) -> Judgement:
        """Judge the average, exactly; where it fails, the classes beyond it are not admitted.

        The worst class is the farthest one.
        """
        ratios = self.distance.emd(counts, reference)
        reached, farthest = average(ratios), ratios.largest()[1]
        within = reached <= self.required
        admitted = np.ones(len(counts), dtype=bool) if within else ratios.at_most(self.required)
        return Judgement(admitted, reached, farthest)


def average(ratios: Ratios) -> Fraction:
    """Return the mean of the classes' fractions, each as often as the class has rows."""
    work = sum(map(int, ratios.numerators.tolist()))
    return Fraction(work, int(ratios.sizes.sum()) * ratios.unit)


# t-closeness by group of persons


@dataclass(frozen=True)
class TClosenessByGroup(OneLevel):
    """Every class with a member of a group is within the threshold of the group, by the earth mover's distance."""

    asked: ByGroup
    distance: Distance  # between the values, without groups

    name: ClassVar[str] = "t_by"
    title: ClassVar[str] = "t-closeness by group"
    sign: ClassVar[Sign] = "≤"
    counts_persons: ClassVar[bool] = False
    alone: ClassVar[bool] = False
    persons_imply_rows: ClassVar[bool] = True
    merging_keeps: ClassVar[bool] = False  # a class within t may join one that has a smaller t to obey

    @property
    def required(self) -> Mapping[str, Level]:
        """Return the threshold of each group that is named."""
        return self.asked.t

    @property
    def groups(self) -> int:
        """How many groups of persons have different thresholds, with everybody else as one of them."""
        return len(self.asked.levels) + 1

    def rule(self, shares: Sequence[Fraction]) -> None:
        """Return nothing: methods measure the distance itself."""

    def judge(self, counts: Counts, reference: Ints) -> Judgement:
        """Judge every class that has members of a named group; values are counted by group.

        The worst class is the one that is farthest beyond its threshold, or nearest to it; its distance is reached.
        """
        of_values = counts.coarsened(np.arange(counts.domain_size) // self.groups, counts.domain_size // self.groups)
        strictest = np.minimum.reduceat(counts.codes % self.groups, counts.starts)
        admitted, worst = np.ones(len(counts), dtype=bool), (Fraction(-2), Fraction(0), 0)
        for group, level in enumerate(self.asked.levels):
            if len(members := np.flatnonzero(strictest == group)):
                ratios = self.distance.emd(of_values.only(members), self.values_of(reference))
                admitted[members] = ratios.at_most(level)
                reached, place = ratios.largest()
                worst = max(worst, (reached - level, reached, -int(members[place])))
        return Judgement(admitted, worst[1], -worst[2])

    def values_of(self, reference: Ints) -> Ints:
        """Return how often each value occurs, from counts by group."""
        return np.asarray(reference.reshape(-1, self.groups).sum(axis=1))
