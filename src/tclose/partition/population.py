"""Boxes of a population, as δ-presence asks for: Mondrian's cuts, made through the population instead of the table.

Every person of the population is in exactly one part, and every cut leaves values between the sides that no box of one
side covers on the other. So the hulls of the parts are disjoint on the population and leave nobody out. Where to cut
is chosen by the persons of the population alone. Only whether a cut is made depends on the members, who are the rows
of the table; decision 130 has what that tells somebody who knows the algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import chain

import numpy as np

from tclose.errors import Infeasible, PolicyError
from tclose.table import CodedTable
from tclose.table.classes import Classes
from tclose.table.quasi import LabelColumn, NumberColumn, QuasiColumn
from tclose.types import Beat, Bools, Ints, still
from tclose.words import counted

TRIES = 1  # borders of one column, those nearest to the median first; the models are asked about no others


@dataclass(frozen=True)
class BoxLimits:
    """How many members a box needs, and the smallest and the largest chance of its persons."""

    k: int
    least: Fraction
    largest: Fraction
    withheld: int  # members who are not published, all of whom could be in the same box

    def allow(self, members: Ints, persons: Ints) -> Bools:
        """Tell which boxes of so many members and persons are allowed."""
        most = np.minimum(members + self.withheld, persons)
        within = _at_most(most, self.largest, persons) & ~_at_most(members, self.least, persons, below=True)
        return np.asarray((members >= self.k) & (members <= persons) & within)


def _at_most(members: Ints, share: Fraction, persons: Ints, *, below: bool = False) -> Bools:
    """Tell whether members / persons is at most a share, or below it, exactly."""
    exact = members.astype(object) * share.denominator, persons.astype(object) * share.numerator
    return np.asarray(exact[0] < exact[1] if below else exact[0] <= exact[1], dtype=bool)


@dataclass(frozen=True, eq=False)
class PopulationPart:
    """Some persons of a population, and the rows of the table that are theirs."""

    people: Ints
    rows: Ints

    def split(self, people: Ints | Bools, rows: Ints | Bools) -> list[PopulationPart]:
        """Return the parts of equal numbers, given for each person and for each row."""
        return [
            PopulationPart(self.people[people == side], self.rows[rows == side]) for side in np.unique(people).tolist()
        ]


@dataclass(frozen=True, eq=False, repr=False)
class PopulationColumn:
    """A quasi-identifier of the population, the codes of the table's rows, and how far the end of a range reaches.

    A range that ends at code i covers the codes from `first[i]` to `last[i]`: a step rounds outward.
    """

    people: QuasiColumn
    rows: Ints
    first: Ints
    last: Ints

    @classmethod
    def of(cls, people: QuasiColumn, rows: QuasiColumn) -> PopulationColumn:
        """Take the same column of the population and of the table."""
        if isinstance(people, NumberColumn):
            first, last = people.covered()
        else:
            size = int(people.codes.max(initial=-1)) + 1
            first = last = np.arange(size)
        return cls(people, rows.codes, first, last)

    def apart(self, below: Ints, above: Ints) -> Bools:
        """Tell for neighbouring codes whether a range up to one and a range from the other share no value."""
        numbers = (np.append(self.last, -1)[below] < above) & (self.first[above] > below)
        return np.asarray((below < 0) | numbers)

    def check_step(self) -> None:
        """Refuse a step by which no two ranges are apart."""
        codes = np.unique(self.people.codes[self.people.codes >= 0])
        stepped = isinstance(self.people, NumberColumn) and self.people.spec.step is not None
        if stepped and len(codes) > 1 and not self.apart(codes[:-1], codes[1:]).any():
            raise PolicyError(
                "with this step, any two ranges share an end that persons of the population have, and presence needs "
                "ranges that share nobody: use hierarchy = { width = [...] } or leave step out",
                place=f"quasi.{self.people.name}.step",
            )

    def cuts(self, part: PopulationPart, limits: BoxLimits) -> Iterator[list[PopulationPart]]:
        """Yield the cut of a part, if its sides have enough members and chances within the limits.

        There is one cut per column, at the border nearest to the median of the persons. If other borders were tried
        where this one is refused, the border would tell on which side the members beside it are.
        """
        people, rows = self.people.codes[part.people], self.rows[part.rows]
        if isinstance(self.people, LabelColumn):
            yield from self._by_node(part, people, rows, limits)
            return
        codes, persons = np.unique(people, return_counts=True)
        left, borders = np.cumsum(persons)[:-1], np.flatnonzero(self.apart(codes[:-1], codes[1:]))
        if not len(borders):
            return
        border = borders[np.argmin(np.abs(2 * left[borders] - len(people)))]
        yield from _allowed(part.split(people > codes[border], rows > codes[border]), limits)

    def _by_node(
        self, part: PopulationPart, people: Ints, rows: Ints, limits: BoxLimits
    ) -> Iterator[list[PopulationPart]]:
        """Cut into all nodes just below the one that covers the part; missing values go with the first of them."""
        assert isinstance(self.people, LabelColumn)
        low, high = int(np.where(people < 0, np.iinfo(np.int64).max, people).min()), int(people.max())
        if high < 0 or (low == high and people.min() >= 0):
            return
        levels = self.people.hierarchy.levels
        below = next((level for level in reversed(levels) if level[low] != level[high]), None)
        nodes = np.zeros(len(levels[0]), dtype=np.int64) if below is None else below
        of_missing = -1 if below is None else nodes[low]  # of a single leaf, missing values are cut off
        yield from _allowed(part.split(*(np.append(nodes, of_missing)[codes] for codes in (people, rows))), limits)


Admits = Callable[[list[PopulationPart]], Bools]


def _allowed(parts: list[PopulationPart], limits: BoxLimits) -> Iterator[list[PopulationPart]]:
    """Yield parts if each of them has enough members and a chance within the limits."""
    members, persons = ([len(rows) for rows in side] for side in zip(*((p.rows, p.people) for p in parts), strict=True))
    if limits.allow(np.array(members), np.array(persons)).all():
        yield parts


def boxes(
    population: CodedTable, table: CodedTable, limits: BoxLimits, admits: Admits, beat: Beat = still
) -> tuple[Ints, Ints]:
    """Return the box of every person and of every row, counted from 0; `Infeasible` where there are none."""
    columns = [PopulationColumn.of(population.quasi[name], table.quasi[name]) for name in population.quasi]
    for column in columns:
        column.check_step()
    parts = _groups(population, table)
    _check_groups(parts, limits, admits)
    done: list[PopulationPart] = []
    while parts:
        parts, whole = _cut_once(parts, columns, limits, admits, beat)
        done += whole
    people, rows = (np.empty(len(each), dtype=np.int64) for each in (population, table))
    for number, part in enumerate(done):
        people[part.people], rows[part.rows] = number, number
    return people, rows


def _cut_once(
    parts: list[PopulationPart], columns: Sequence[PopulationColumn], limits: BoxLimits, admits: Admits, beat: Beat
) -> tuple[list[PopulationPart], list[PopulationPart]]:
    """Cut each part once where that is allowed; return the sides, and the parts that stay whole."""
    everybody = Classes(np.concatenate([part.people for part in parts]), np.array([len(part.people) for part in parts]))
    widths = np.stack([column.people.loss(everybody) for column in columns], axis=1)
    widest = np.argsort(-widths, axis=1, kind="stable").tolist()
    waiting = [
        (part, chain.from_iterable(map(partial(_cuts_on, part, columns, limits), order)))
        for part, order in zip(parts, widest, strict=True)
    ]
    sides: list[PopulationPart] = []
    whole: list[PopulationPart] = []
    while waiting:  # each round offers the next cut of every part that still waits for one
        beat()
        offered = [(each, next(each[1], None)) for each in waiting]
        whole += [each[0] for each, cut in offered if cut is None]
        open_cuts = [(each, cut) for each, cut in offered if cut is not None]
        admitted = iter(admits([side for _, cut in open_cuts for side in cut]).tolist() if open_cuts else [])
        waiting = []
        for each, cut in open_cuts:
            verdicts = [next(admitted) for _ in cut]
            if all(verdicts):
                sides += cut
            else:
                waiting.append(each)
    return sides, whole


def _cuts_on(
    part: PopulationPart, columns: Sequence[PopulationColumn], limits: BoxLimits, number: int
) -> Iterator[list[PopulationPart]]:
    return columns[number].cuts(part, limits)


def _groups(population: CodedTable, table: CodedTable) -> list[PopulationPart]:
    """Return the persons and the rows of equal kept values, which are published as they are."""
    kept = [(population.values(name).codes, table.values(name).codes) for name in population.policy.keep]
    if not kept:
        return [PopulationPart(np.arange(len(population)), np.arange(len(table)))]
    codes = np.concatenate([np.stack(side, axis=1) for side in zip(*kept, strict=True)])
    _, group = np.unique(codes, axis=0, return_inverse=True)
    group = group.reshape(-1).astype(np.int64)
    whole = PopulationPart(np.arange(len(population)), np.arange(len(table)))
    return whole.split(group[: len(population)], group[len(population) :])


def _check_groups(parts: list[PopulationPart], limits: BoxLimits, admits: Admits) -> None:
    """Refuse where not even one box for all persons, or for those of equal kept values, is allowed."""
    strangers = sum(len(part.people) for part in parts if not len(part.rows))
    if strangers:
        raise Infeasible(
            "presence cannot be reached: {persons} of the population have kept values that no published row "
            "has, so they fit no box: do not keep these columns",
            persons=counted(strangers, "person"),
        )
    if not (any(_allowed(parts, limits)) and admits(parts).all()):
        what = "with one box for each kept value" if len(parts) > 1 else "with one box for the whole population"
        advice = "keep fewer columns or ask for less" if len(parts) > 1 else "ask for less"
        raise Infeasible("presence cannot be reached even {what}: {advice}", what=what, advice=advice)
