"""t-closeness with a threshold per group of persons: a class obeys the smallest threshold of its members.

Xiao & Tao (Personalized privacy preservation, SIGMOD 2006) let every person choose how much is protected. Here, a group
of persons, as a published column tells it, has a t of its own.

Every value is counted apart for each threshold. Of G groups of persons, value v of a person of group g has the code
v·G + g. Groups are in the order of their thresholds, the strictest first; the last one is everybody else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tclose.distance import Counts, Distance
from tclose.policy import ByGroup
from tclose.privacy.base import Judgement, Sign
from tclose.privacy.levels import Level, at_most
from tclose.types import Ints


@dataclass(frozen=True)
class TClosenessByGroup:
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

    def attainable(self, reached: Level, counts: Counts, reference: Ints) -> str:
        """Say which level these classes can be asked for."""
        return at_most(reached)

    def values_of(self, reference: Ints) -> Ints:
        """Return how often each value occurs, from counts by group."""
        return np.asarray(reference.reshape(-1, self.groups).sum(axis=1))
