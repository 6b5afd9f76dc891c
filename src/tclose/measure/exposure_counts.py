"""Counts of the rows that remain exposed, line by line, in a published table or in a part of it with whole classes.

Three of the four lines of decision 135 are counts over rows: what the class alone gives away, which rows stand out
without any class, and which rows are alone with one more fact. Counts of parts add up. All comparisons are exact, in
integers: of n rows n_v show a value, and of the n_c rows of a class n_cv do, so that the value's share rises from
p = n_v / n to q = n_cv / n_c. Where pseudonyms link the rows of a person, persons take the place of rows.

A neighbour may know codes of places, groups and persons; such columns are recognised by their signs. The signs are
those of the draft (`policy/draft/profile.py`), as far as they show in a published table: one of them, that the file
lists equal numbers together, is gone, since a release has an order of its own. Decision 135 has the figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

import numpy as np

from tclose.policy.draft.profile import OWN_ROWS, OtherColumn, Signs, signs_of
from tclose.types import Bools, Floats, Ints

Cells = Literal["number", "bin", "other"]  # decides which setting makes the values coarser
Recognition = Literal["surely", "possibly", "no"]
Marked = Mapping[str, int]  # rows that are marked through each column
Tally = Mapping[int, int]
K = TypeVar("K", str, int)

FEW_LABELS = 20  # different cells: a column of more has no labels whose suspicion is named
LEAST_SUSPECTS = 5  # rows that show a label whose suspicion is named


@dataclass(frozen=True, eq=False)
class ShownColumn:
    """A column that is published value by value, as a reader sees it: equal numbers, equal cells."""

    name: str
    values: Ints  # of every row; a missing cell has a number, too
    holders: Ints  # rows of the whole table that show each cell; persons, where pseudonyms link their rows
    sharing: Ints  # the same, but persons wherever they are counted
    cells: Cells = "other"
    linked: bool = True  # whether rows show the cells; else the cells of a class stand in its rows in any order
    sensitive: bool = True  # else it is published as it is, and only makes rows stand out
    recognised: Recognition = "no"  # whether a neighbour may know it: a code of a place, a group or a person
    quantiles: int | None = None  # bins that its cure makes; none where it has no own cells, or no bins
    own_when_cured: Bools | None = None  # of each cell: whether it would still be a row's own in these bins

    @property
    def own(self) -> Bools:
        """Whether at most two rows, or persons, show each cell."""
        return self.sharing <= OWN_ROWS

    def suspects(self, units: int) -> list[int]:
        """Return the uncommon labels whose suspicion is named; numbers of many values and bins have none."""
        if not self.sensitive or self.cells == "bin" or np.count_nonzero(self.holders) > FEW_LABELS:
            return []
        return np.flatnonzero((2 * self.holders < units) & (self.holders >= LEAST_SUSPECTS)).tolist()


@dataclass(frozen=True, eq=False)
class ShownTable:
    """A published table, or a part of it that has whole classes."""

    labels: Ints  # the class of every row, from 0
    columns: Sequence[ShownColumn]
    units: int  # rows of the whole table; persons, where pseudonyms link their rows
    persons: Ints | None = None  # whom each row belongs to, where persons are counted
    linked: bool = False  # whether pseudonyms show every reader whom rows belong to
    ends: Mapping[str, Bools] = field(default_factory=dict)  # rows whose own number ends a range of a column
    few: Bools | None = None  # rows in classes of fewer than k persons, where the policy counts rows


@dataclass(frozen=True)
class MarkedRows:
    """Rows that are marked in one way: through any column, and through each."""

    rows: int = 0
    columns: Marked = field(default_factory=dict)

    def __add__(self, other: MarkedRows) -> MarkedRows:
        """Count two parts of a table together."""
        return MarkedRows(self.rows + other.rows, _added(self.columns, other.columns))

    @classmethod
    def of(cls, marks: Mapping[str, Bools], rows: int) -> MarkedRows:
        """Count marks."""
        return cls(
            int(np.count_nonzero(union(marks, rows))),
            {name: int(np.count_nonzero(mark)) for name, mark in marks.items() if mark.any()},
        )


@dataclass(frozen=True, repr=False)
class LineCounts:
    """What is counted of a table for the lines; counts of parts add up."""

    sizes: Tally = field(default_factory=dict)  # how many classes have so many rows, or persons
    given_away: MarkedRows = MarkedRows()
    alone: MarkedRows = MarkedRows()  # in its class with a value that a neighbour surely knows
    alone_in_doubt: MarkedRows = MarkedRows()  # the same, with a value that a neighbour possibly knows
    cells: MarkedRows = MarkedRows()  # rows that show a cell of their own
    ends: MarkedRows = MarkedRows()  # rows whose own number ends a range
    own: int = 0  # rows that stand out in one of these two ways
    few: int = 0  # rows in classes of fewer than k persons
    stands: int = 0  # rows that stand out in any of the three ways
    stands_when_cured: int = 0  # rows that would, after the cure
    squares: Mapping[str, Mapping[int, Tally]] = field(default_factory=dict)  # Σ n_cv² by column, cell, size of class

    def __add__(self, other: LineCounts) -> LineCounts:
        """Count two parts of a table together."""
        return LineCounts(
            sizes=_added(self.sizes, other.sizes),
            given_away=self.given_away + other.given_away,
            alone=self.alone + other.alone,
            alone_in_doubt=self.alone_in_doubt + other.alone_in_doubt,
            cells=self.cells + other.cells,
            ends=self.ends + other.ends,
            own=self.own + other.own,
            few=self.few + other.few,
            stands=self.stands + other.stands,
            stands_when_cured=self.stands_when_cured + other.stands_when_cured,
            squares={
                name: _merged(self.squares.get(name, {}), other.squares.get(name, {}))
                for name in {**self.squares, **other.squares}
            },
        )

    def beside(self, ends: MarkedRows) -> LineCounts:
        """Take rows of another file of the release that show own numbers: which of these rows they are is not known."""
        return replace(self, ends=ends, own=max(self.own, ends.rows), stands=max(self.stands, ends.rows))


def _added(one: Mapping[K, int], other: Mapping[K, int]) -> dict[K, int]:
    return {key: one.get(key, 0) + other.get(key, 0) for key in {**one, **other}}


def _merged(one: Mapping[int, Tally], other: Mapping[int, Tally]) -> dict[int, Tally]:
    return {value: _added(one.get(value, {}), other.get(value, {})) for value in {**one, **other}}


def union(marks: Mapping[str, Bools], rows: int) -> Bools:
    """Mark the rows that are marked through any column."""
    return np.asarray(np.logical_or.reduce([np.zeros(rows, dtype=bool), *marks.values()]))


def line_counts(table: ShownTable) -> LineCounts:
    """Count what remains exposed in a table, or in a part of it that has whole classes."""
    rows = len(table.labels)
    classes = ClassUnits.of(table)
    given, alone, squares = {}, {}, {}
    for column in table.columns:
        if column.sensitive:
            shown = classes.shown(column)
            given[column.name] = shown.given_away(table.units)
            squares[column.name] = shown.squares(column.suspects(table.units))
            alone[column.name] = classes.everyone(shown.alone())
    cells = {column.name: classes.everyone(column.own[column.values]) for column in table.columns}
    ends = {name: classes.everyone(mark) for name, mark in table.ends.items()}
    own = union(cells, rows) | union(ends, rows)
    few = np.zeros(rows, dtype=bool) if table.few is None else table.few
    return LineCounts(
        sizes=_tally(classes.sizes),
        given_away=MarkedRows.of(given, rows),
        alone=MarkedRows.of(_recognised(alone, table, "surely"), rows),
        alone_in_doubt=MarkedRows.of(_recognised(alone, table, "possibly"), rows),
        cells=MarkedRows.of(cells, rows),
        ends=MarkedRows.of(ends, rows),
        own=int(np.count_nonzero(own)),
        few=int(np.count_nonzero(few)),
        stands=int(np.count_nonzero(own | few)),
        stands_when_cured=_when_cured(table, classes),
        squares=squares,
    )


def _recognised(alone: Mapping[str, Bools], table: ShownTable, how: Recognition) -> dict[str, Bools]:
    """Take the columns that are recognised so; a value that no row shows finds no row."""
    return {each.name: alone[each.name] for each in table.columns if each.recognised == how and each.linked}


def _when_cured(table: ShownTable, classes: ClassUnits) -> int:
    marks = {c.name: c.own_when_cured[c.values] for c in table.columns if c.own_when_cured is not None}
    return int(np.count_nonzero(classes.everyone(union(marks, len(table.labels)))))


def _tally(sizes: Ints) -> dict[int, int]:
    return dict(zip(*(each.tolist() for each in np.unique(sizes, return_counts=True)), strict=True))


@dataclass(frozen=True, eq=False)
class ClassUnits:
    """The classes of a table, and what is counted in them: rows, or persons where pseudonyms link their rows."""

    labels: Ints  # of rows
    sizes: Ints  # units of each class
    linked: Ints | None  # whom rows belong to, where every reader knows it
    persons: Ints | None  # whom rows belong to, where we know it

    @classmethod
    def of(cls, table: ShownTable) -> ClassUnits:
        """Count the units of each class."""
        linked = table.persons if table.linked else None
        labels = table.labels if linked is None else table.labels[np.unique(linked, return_index=True)[1]]
        return cls(table.labels, np.bincount(labels), linked, table.persons)

    def everyone(self, marks: Bools) -> Bools:
        """Mark all rows of every person who has a marked row, where pseudonyms link them."""
        return marks if self.linked is None else np.asarray(np.bincount(self.linked, marks)[self.linked] > 0)

    def shown(self, column: ShownColumn) -> ShownPairs:
        """Count, for every class and cell, the units that show it there."""
        domain = len(column.holders)
        pairs = self.labels * domain + column.values
        found, place = np.unique(pairs, return_inverse=True)
        counts = np.bincount(place) if self.linked is None else _different(place, self.linked)
        single = counts if self.persons is None else _different(place, self.persons)
        return ShownPairs(found // domain, found % domain, counts, single, place, self.sizes, column.holders)


def _different(place: Ints, persons: Ints) -> Ints:
    """Count the different persons of each place."""
    people = int(persons.max()) + 1
    return np.bincount(np.unique(place * people + persons) // people)


@dataclass(frozen=True, eq=False)
class ShownPairs:
    """The cells that classes show: a class, a cell, and how many units show it there."""

    classes: Ints
    cells: Ints
    counts: Ints
    persons: Ints  # rows, or persons where we know them
    place: Ints  # the pair of every row
    sizes: Ints  # of classes
    holders: Ints  # of cells, in the whole table

    def given_away(self, units: int) -> Bools:
        """Mark rows with an uncommon value that the class makes at least half-way certain: (q - p) / (1 - p) >= 1/2."""
        held = self.holders[self.cells]
        halfway = 2 * self.counts * units >= self.sizes[self.classes] * (units + held)
        return np.asarray(((2 * held < units) & halfway)[self.place])

    def alone(self) -> Bools:
        """Mark rows that no other row, or nobody else's, of the class shares the cell with."""
        return np.asarray((self.persons == 1)[self.place])

    def squares(self, cells: Sequence[int]) -> dict[int, Tally]:
        """Return Σ n_cv² of some cells, by the size of the class."""
        found: dict[int, Tally] = {}
        for cell in cells:
            chosen = self.cells == cell
            sizes, where = np.unique(self.sizes[self.classes[chosen]], return_inverse=True)
            sums = np.zeros(len(sizes), dtype=np.int64)
            np.add.at(sums, where, self.counts[chosen] ** 2)
            found[cell] = dict(zip(sizes.tolist(), sums.tolist(), strict=True))
        return found


# Columns of codes, recognised by their signs


MOST_ROWS = 20_000  # that are looked at


@dataclass(frozen=True, eq=False)
class PublishedCodes:
    """A column whose cells are published as they are: a number for each cell, -1 where it is missing."""

    name: str
    codes: Ints
    numbers: Floats | None  # of every row, where the cells are numbers; NaN where missing

    @property
    def is_whole(self) -> bool:
        """Whether the cells are whole numbers, or words."""
        return self.numbers is None or bool((np.isnan(self.numbers) | (self.numbers == np.round(self.numbers))).all())

    @property
    def ranks(self) -> Ints:
        """The rank of each row's number, or a number for each word; -1 where there is none."""
        cells = self.codes.astype(np.float64) if self.numbers is None else self.numbers
        ranks = np.full(len(cells), -1, dtype=np.int64)
        known = self.codes >= 0
        ranks[known] = np.unique(cells[known], return_inverse=True)[1]
        return ranks


@dataclass(frozen=True)
class Recognised:
    """How surely a column is a code of a place, a group or a person, and by which signs."""

    how: Recognition
    why: str = ""


def recognised(columns: Sequence[PublishedCodes], wanted: Sequence[str]) -> dict[str, Recognised]:
    """Return for each wanted column whether it is a code; all columns are looked at for jumps."""
    ranks = {column.name: column.ranks for column in columns}
    beside = {column.name: OtherColumn(ranks[column.name], column.numbers is not None) for column in columns}
    return {
        column.name: _judged(_signs(column, ranks[column.name], beside)) for column in columns if column.name in wanted
    }


def _signs(column: PublishedCodes, ranks: Ints, beside: dict[str, OtherColumn]) -> Signs | None:
    if not column.is_whole:
        return None
    others = {name: other for name, other in beside.items() if name != column.name}
    return signs_of(column.name, ranks, others, ordered=column.numbers is not None, as_filed=False)


def _judged(signs: Signs | None) -> Recognised:
    if signs is None or not signs.possibly:
        return Recognised("no")
    return Recognised("surely" if signs.surely else "possibly", signs.sentence)
