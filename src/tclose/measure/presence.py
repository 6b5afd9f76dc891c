"""δ-presence (Nergiz, Atzori & Clifton 2007): how likely anyone of a population is in the published table.

A box is what a class publishes. If every person of the population fits exactly one box, and each box is the hull of the
persons who fit it, then nothing but the number of members distinguishes the persons of a box: each of them is a member
with the chance members / persons. Where boxes overlap, or leave persons out, no such figure exists; `docs/method.md`
has the theorem.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.measure.linkage import Links
from tclose.types import Bools, Floats, Ints

MOST_COMPARED = 2_000_000_000  # multiplications, by which classes are compared in pairs


@dataclass(frozen=True, eq=False)
class PresenceCounts:
    """The members and the persons of every box, and what keeps them from giving everybody's chance."""

    sizes: Ints  # members who are published in each box
    people: Ints  # persons of the population who fit it
    outside: int  # persons who fit no box
    population: int
    several: int = 0  # persons who fit more than one box
    loose: int = 0  # boxes that are not the hull of the persons who fit them
    withheld: int = 0  # members who are not published

    @classmethod
    def of(cls, links: Links, withheld: int = 0, loose: int = 0) -> PresenceCounts:
        """Count a population, whose rows were linked with the classes."""
        people, outside, several = np.zeros(len(links.sizes), dtype=np.int64), 0, 0
        for block, fits in links.blocks():
            weights, boxes = links.weights[block], fits.sum(axis=1)
            people += (weights.astype(np.float64) @ fits).astype(np.int64)
            outside += int(weights[boxes == 0].sum())
            several += int(weights[boxes > 1].sum())
        return cls(links.sizes, people, outside, int(links.weights.sum()), several, loose, withheld)

    @property
    def members(self) -> int:
        """How many members there are, the withheld ones among them."""
        return int(self.sizes.sum()) + self.withheld

    @property
    def everybody(self) -> bool:
        """Whether everybody of the population is a member, published or withheld."""
        return self.members == self.population

    @property
    def lacking(self) -> int:
        """How many boxes have more members than persons: the table is not part of the population."""
        return int(np.count_nonzero(self.people < self.sizes))

    @property
    def faults(self) -> int:
        """How many persons do not fit exactly one box, and boxes are not the hull of their persons."""
        return self.outside + self.several + self.loose

    @property
    def least(self) -> Fraction:
        """The smallest chance of anyone, where there are no faults: every withheld member is in another box."""
        return min(Fraction(size, people) for size, people in self._boxes())

    @property
    def largest(self) -> Fraction:
        """The largest chance of anyone, where there are no faults: every withheld member is in the same box."""
        chances = (Fraction(min(size + self.withheld, people), people) for size, people in self._boxes())
        return max(chances)

    def _boxes(self) -> set[tuple[int, int]]:
        return set(zip(self.sizes.tolist(), self.people.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Membership:
    """What a release tells a holder of the population about who is a member."""

    counts: PresenceCounts
    exact: bool  # whether the chances of `counts` are everybody's; or else only bounds are known
    at_least: Fraction  # the largest chance of anyone is at least this
    certain: int  # persons who are certainly members, as far as was found

    @classmethod
    def of_boxes(cls, counts: PresenceCounts) -> Membership:
        """Take boxes that give everybody's chance."""
        certain = int(counts.people[counts.people == counts.sizes].sum())
        return cls(counts, True, counts.largest, counts.population if counts.everybody else certain)

    @classmethod
    def of(cls, links: Links, counts: PresenceCounts, shown: list[Shown]) -> Membership:
        """Bound what overlapping boxes tell, with the values that some member of a class is known to have."""
        certain, at_least = _full(links, counts) | counts.everybody, _by_unions(links, counts)
        for each in shown:
            persons, alone = each.candidates(links)
            certain[alone[persons == 1]] = True
            if persons.any():  # one of so few is a member
                at_least = max(at_least, Fraction(1, int(persons[persons > 0].min())))
        known = int(links.weights[certain].sum())
        return cls(counts, False, Fraction(1) if known else at_least, known)


@dataclass(frozen=True, eq=False)
class Shown:
    """A column of which some member of class c has a value from `first[c]` to before `after[c]`; equal: not known."""

    column: int
    first: Ints
    after: Ints

    def candidates(self, links: Links) -> tuple[Ints, Ints]:
        """Return per class how many persons of its box have such a value, and who: right where it is only one."""
        chosen = np.flatnonzero(self.first < self.after)
        persons, numbers = (np.zeros(len(links.sizes), dtype=np.int64) for _ in range(2))
        for block, classes, fits in links.narrowed(chosen):
            codes = links.rows[block, self.column][:, None]
            found = fits & (codes >= self.first[classes]) & (codes < self.after[classes])
            persons[classes] += links.weights[block] @ found
            numbers[classes] += np.arange(block.start, block.stop) @ found
        return persons, numbers


def _full(links: Links, counts: PresenceCounts) -> Bools:
    """Mark the different rows that fit a box of which everybody is a member."""
    marks = np.zeros(len(links.rows), dtype=bool)
    for block, _, fits in links.narrowed(np.flatnonzero(counts.people == counts.sizes)):
        marks[block] |= fits.any(axis=1)
    return marks


def _by_unions(links: Links, counts: PresenceCounts) -> Fraction:
    """Return the largest share of members among persons that the boxes guarantee somewhere.

    All members of some classes are among the persons who fit these classes. The mean chance of these persons is at
    least members / persons, and so is the largest. Tried are all classes, for each class those whose persons all fit
    it, and the whole population, which has the withheld members, too.
    """
    fitting = counts.population - counts.outside
    whole = max(Fraction(int(counts.sizes.sum()), fitting), Fraction(counts.members, counts.population))
    members, people = _nested(links, counts), counts.people
    best = int(np.argmax(members / people))
    return max(whole, Fraction(int(members[best]), int(people[best])))


def _nested(links: Links, counts: PresenceCounts) -> Ints:
    """Return for each class the members of all classes whose persons fit it; where that takes long, its own."""
    classes = len(counts.sizes)
    if classes**2 * len(links.rows) > MOST_COMPARED:
        return counts.sizes
    common: Floats = np.zeros((classes, classes))
    for block, fits in links.blocks():
        common += fits.T.astype(np.float64) @ (fits * links.weights[block][:, None])
    return np.asarray((common == counts.people) @ counts.sizes, dtype=np.int64)
