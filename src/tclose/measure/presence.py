"""δ-presence (Nergiz, Atzori & Clifton 2007): how likely anyone of a population is in the published table.

A box is what a class publishes. If every person of the population fits exactly one box, and each box is the hull of the
persons who fit it, then nothing but the number of members distinguishes the persons of a box: each of them is a member
with the chance members / persons. Where boxes overlap, or leave persons out, no such figure exists; `docs/method.md`
has the theorem. What a certificate claims about presence is in `presence_claim.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.errors import InputError
from tclose.measure.linkage import Links
from tclose.measure.pair import NOT_HELD, Population, TablePair, coverings, links_to_classes
from tclose.messages import say
from tclose.recode.cell import AT_LEAST, AT_MOST, MeanCell, RangeCell, SetCell, class_texts
from tclose.recode.coverage import Coverage, covering
from tclose.recode.meaning import KnownValues, Meaning
from tclose.table import CodedTable
from tclose.table.classes import Classes
from tclose.table.quasi import NumberColumn, QuasiColumn, SetColumn
from tclose.types import Beat, Bools, Floats, Ints, still
from tclose.words import counted

# Members and persons of boxes


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
    def of(cls, links: Links, counts: PresenceCounts, shown: list[ValueSpan]) -> Membership:
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
class ValueSpan:
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


# The boxes of a release: who fits which, and whether each is the hull of its persons


BELONGS = "the release does not belong to the table: "
MOST_MEMBERS = 32  # values of a set of which each is held against the population


def counts_of(population: Population, release: CodedTable, withheld: int = 0, beat: Beat = still) -> PresenceCounts:
    """Count who fits each class of a published table; a population that cannot hold the table is refused."""
    return _counted(population, release, withheld, beat)[2]


def membership_of(
    population: Population, release: CodedTable, withheld: int, *, tight: bool, beat: Beat = still
) -> Membership:
    """Return what a release tells about who is a member; `tight` says that ranges end at values of members."""
    columns, links, counts = _counted(population, release, withheld, beat)
    if not tight and not counts.faults:
        return Membership.of_boxes(counts)
    return Membership.of(links, counts, _shown(columns, population.table) if tight else [])


def is_tight(beside: TablePair) -> bool:
    """Tell whether the ends of all ranges and the members of all sets are values of rows, as far as can be seen."""
    links = links_to_classes(beside.columns, beside.published.classes.sizes)
    for shown in _shown(beside.columns, beside.original):
        persons, _ = shown.candidates(links)
        if (persons[shown.first < shown.after] == 0).any():
            return False
    return True


def _counted(
    population: Population, release: CodedTable, withheld: int, beat: Beat
) -> tuple[list[Coverage], Links, PresenceCounts]:
    try:
        columns = coverings(population.table, release, beat=beat)
        links = links_to_classes(columns, release.classes.sizes, beat)
    except InputError as error:
        why = error.sentence.removeprefix(BELONGS)
        raise InputError("{not_held}: {why} of it", not_held=say(NOT_HELD), why=why, detail=error.detail) from None
    found = PresenceCounts.of(links, withheld)
    if found.lacking:
        boxes = counted(len(found.sizes), "class")
        raise InputError(
            "{not_held}: {lacking:,} of {boxes} with more rows than the population has people who fit",
            not_held=say(NOT_HELD),
            lacking=found.lacking,
            boxes=boxes,
        )
    if found.members > found.population:
        raise InputError(
            "{not_held}: the table has {rows}, the withheld ones among them, and the population {population:,}",
            not_held=say(NOT_HELD),
            rows=counted(found.members, "row"),
            population=found.population,
        )
    if not found.faults:
        loose = int(np.count_nonzero(_loose(columns, links, population.table)))
        found = PresenceCounts.of(links, withheld, loose)
    return columns, links, found


def _loose(columns: Sequence[Coverage], links: Links, population: CodedTable) -> Bools:
    """Mark the boxes that are not the hull of the persons who fit them, widened by public settings only."""
    box_of = np.empty(len(links.rows), dtype=np.int64)
    for block, fits in links.blocks():
        box_of[block] = fits.argmax(axis=1)
    boxes, loose = Classes.from_labels(box_of[links.row_of]), np.zeros(len(links.sizes), dtype=bool)
    for column in columns:
        if column.name in population.quasi:
            quasi = population.quasi[column.name]
            hull = covering(quasi, class_texts(quasi, boxes), missing=population.policy.missing)
            pairs, number = np.unique(np.stack([column.text_of_class, hull.text_of_class]), axis=1, return_inverse=True)
            same = [_is_hull(column.meanings[text], hull.meanings[own]) for text, own in pairs.T.tolist()]
            loose |= ~np.array(same, dtype=bool)[number.reshape(-1)]
    return loose


def _is_hull(texts: Sequence[Meaning], hulls: Sequence[Meaning]) -> bool:
    return any(_same(text, hull) for text in texts for hull in hulls)


def _same(text: Meaning, hull: Meaning) -> bool:
    """Tell whether a text says what the hull says; a label may be a higher one of the public hierarchy."""
    alike = type(text.spelled) is type(hull.spelled) and text.missing == hull.missing
    if not alike or isinstance(text.spelled, MeanCell):
        return False
    if isinstance(text.spelled, SetCell):
        return np.array_equal(np.sort(np.asarray(text.codes)), np.sort(np.asarray(hull.codes)))
    return not isinstance(text.spelled, RangeCell) or (text.cell.low, text.cell.high) == (hull.cell.low, hull.cell.high)


def _shown(columns: Sequence[Coverage], table: CodedTable) -> list[ValueSpan]:
    """Return the values that some member of a class has: ends of ranges, members of sets, missing values."""
    shown = []
    for place, column in enumerate(columns):
        quasi = table.quasi.get(column.name)
        if quasi is not None and column.means is None:
            shown += [ValueSpan(place, first, after) for first, after in _values_shown(column, quasi)]
    return shown


def _values_shown(column: Coverage, quasi: QuasiColumn) -> list[tuple[Ints, Ints]]:
    """Return stretches of codes, of each class the one that some member is in; an empty one where none is known."""
    missing, reader = len(column.values), _reader_of_ends(quasi)
    stretches = []
    for ways in column.meanings:
        single = ways[0] if len(ways) == 1 else None
        own = [] if single is None else reader(single)
        stretches.append([*own, *([(missing, missing + 1)] if single is not None and single.missing else [])])
    most = max(map(len, stretches), default=0)
    padded = np.array([each + [(0, 0)] * (most - len(each)) for each in stretches], dtype=np.int64)
    of_class = padded.reshape(len(stretches), most, 2)[column.text_of_class]
    return [(of_class[:, at, 0], of_class[:, at, 1]) for at in range(most)]


Stretches = list[tuple[int, int]]


def _reader_of_ends(quasi: QuasiColumn) -> Callable[[Meaning], Stretches]:
    """Return what finds the codes that a cell shows: those at its ends, or each member of a set."""
    if isinstance(quasi, NumberColumn):
        return _BoxEnds.of(quasi).stretches
    return _members if isinstance(quasi, SetColumn) else lambda way: []


def _members(way: Meaning) -> Stretches:
    codes = (
        way.codes if isinstance(way.spelled, SetCell) and not isinstance(way.codes, slice) else np.empty(0, dtype=int)
    )
    return [(code, code + 1) for code in codes[:MOST_MEMBERS].tolist()]


@dataclass(frozen=True, eq=False)
class _BoxEnds:
    """From which code to which the values of a column publish an end."""

    known: KnownValues
    low: dict[tuple[bool, object], tuple[int, int]]
    high: dict[tuple[bool, object], tuple[int, int]]

    @classmethod
    def of(cls, column: NumberColumn) -> _BoxEnds:
        known, ends = KnownValues.of(column.values), column.ends()
        return cls(known, *(_places(texts, known) for texts in (ends.low_texts, ends.high_texts)))

    def stretches(self, way: Meaning) -> Stretches:
        """Return the codes of the values that may stand at either end of a range."""
        if not isinstance(way.spelled, RangeCell):
            return []
        found = (self.low.get(_end(way.spelled.low, self.known)), self.high.get(_end(way.spelled.high, self.known)))
        return [stretch for stretch in found if stretch is not None]


def _places(texts: Sequence[str], known: KnownValues) -> dict[tuple[bool, object], tuple[int, int]]:
    places: dict[tuple[bool, object], tuple[int, int]] = {}
    for code, text in enumerate(texts):
        end = _end(text, known)
        places[end] = (places.get(end, (code, 0))[0], code + 1)
    return places


def _end(text: str, known: KnownValues) -> tuple[bool, object]:
    """Return whether an end is that of a coded tail, and its number."""
    bare = text.lstrip(AT_MOST + AT_LEAST)
    return bare != text, known.number(bare)
