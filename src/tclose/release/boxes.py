"""The boxes of a release against the persons of a population: who fits which, and whether each is their hull."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tclose.errors import InputError
from tclose.measure.linkage import Links
from tclose.measure.presence import Membership, PresenceCounts, Shown
from tclose.recode.covering import Covering, covering
from tclose.recode.meaning import KnownValues, Meaning
from tclose.recode.spelling import AT_LEAST, AT_MOST, MeanCell, RangeCell, SetCell, published
from tclose.release.beside import Beside, coverings, linked
from tclose.release.population import NOT_HELD, Population
from tclose.table import CodedTable
from tclose.table.classes import Classes
from tclose.table.quasi import NumberColumn, QuasiColumn, SetColumn
from tclose.types import Beat, Bools, Ints, still
from tclose.words import counted

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


def is_tight(beside: Beside) -> bool:
    """Tell whether the ends of all ranges and the members of all sets are values of rows, as far as can be seen."""
    links = linked(beside.columns, beside.published.classes.sizes)
    for shown in _shown(beside.columns, beside.original):
        persons, _ = shown.candidates(links)
        if (persons[shown.first < shown.after] == 0).any():
            return False
    return True


def _counted(
    population: Population, release: CodedTable, withheld: int, beat: Beat
) -> tuple[list[Covering], Links, PresenceCounts]:
    try:
        columns = coverings(population.table, release, beat=beat)
        links = linked(columns, release.classes.sizes, beat)
    except InputError as error:
        why = error.sentence.removeprefix(BELONGS)
        raise InputError(f"{NOT_HELD}: {why} of it", detail=error.detail) from None
    found = PresenceCounts.of(links, withheld)
    if found.lacking:
        boxes = counted(len(found.sizes), "class")
        raise InputError(
            f"{NOT_HELD}: {found.lacking:,} of {boxes} with more rows than the population has people who fit"
        )
    if found.members > found.population:
        raise InputError(
            f"{NOT_HELD}: the table has {counted(found.members, 'row')}, the withheld ones among them, "
            f"and the population {found.population:,}"
        )
    if not found.faults:
        loose = int(np.count_nonzero(_loose(columns, links, population.table)))
        found = PresenceCounts.of(links, withheld, loose)
    return columns, links, found


def _loose(columns: Sequence[Covering], links: Links, population: CodedTable) -> Bools:
    """Mark the boxes that are not the hull of the persons who fit them, widened by public settings only."""
    box_of = np.empty(len(links.rows), dtype=np.int64)
    for block, fits in links.blocks():
        box_of[block] = fits.argmax(axis=1)
    boxes, loose = Classes.from_labels(box_of[links.row_of]), np.zeros(len(links.sizes), dtype=bool)
    for column in columns:
        if column.name in population.quasi:
            quasi = population.quasi[column.name]
            hull = covering(quasi, published(quasi, boxes), missing=population.policy.missing)
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


def _shown(columns: Sequence[Covering], table: CodedTable) -> list[Shown]:
    """Return the values that some member of a class has: ends of ranges, members of sets, missing values."""
    shown = []
    for place, column in enumerate(columns):
        quasi = table.quasi.get(column.name)
        if quasi is not None and column.means is None:
            shown += [Shown(place, first, after) for first, after in _values_shown(column, quasi)]
    return shown


def _values_shown(column: Covering, quasi: QuasiColumn) -> list[tuple[Ints, Ints]]:
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
        return _Ends.of(quasi).stretches
    return _members if isinstance(quasi, SetColumn) else lambda way: []


def _members(way: Meaning) -> Stretches:
    codes = (
        way.codes if isinstance(way.spelled, SetCell) and not isinstance(way.codes, slice) else np.empty(0, dtype=int)
    )
    return [(code, code + 1) for code in codes[:MOST_MEMBERS].tolist()]


@dataclass(frozen=True, eq=False)
class _Ends:
    """From which code to which the values of a column publish an end."""

    known: KnownValues
    low: dict[tuple[bool, object], tuple[int, int]]
    high: dict[tuple[bool, object], tuple[int, int]]

    @classmethod
    def of(cls, column: NumberColumn) -> _Ends:
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
