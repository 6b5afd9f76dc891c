"""What remains exposed in a published table, whatever it guarantees: counted from its classes and cells alone.

Three ways in which a row gives a person away need no second table to compare with: its class shows one sensitive value
only, its exact sensitive value is rare, or one known sensitive value reveals another. The counts are those of the
homogeneity attack, the rare value attack and the background join attack. Where pseudonyms link the rows of a person,
all of these combine (`linkage.py`), and the number of rows is a fourth way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tclose.measure.exposure_claims import Figure
from tclose.measure.exposure_counts import Cells
from tclose.measure.linkage import RowsOfPersons, linked_cure, linked_sentence
from tclose.policy.draft.profile import OWN_ROWS
from tclose.policy.draft.roles import MANY_NUMBERS, MANY_ROWS
from tclose.types import Answer, Bools, Ints, together
from tclose.words import exposure_cure, exposure_sentence, html_table, nothing_exposed, number

Kind = Literal["same_value", "rare_value", "known_value", "row_count"]

NOTHING_LINKED = (
    "Nothing was found: neither one class, nor a class with one known value or with the number of a person's rows, "
    "reveals values of a person's rows."
)
MANY_SHARE = 0.25  # of the rows that have a value: own numbers at the ends of ranges are counted from here on
WARNED_SHARE = MANY_NUMBERS  # of the rows that have a value: published columns are warned about, drafted or not


@dataclass(frozen=True, eq=False)
class PublishedAttribute:
    """A sensitive column as it is published."""

    name: str
    values: Ints  # per row; equal numbers, equal cells; a missing cell has a number, too
    cells: Cells
    linked: bool = True  # whether rows show the values; else the values of a class stand in its rows in any order
    shared: Ints | None = (
        None  # rows, or persons, of the whole table that show each value, where these are a part of it
    )


@dataclass(frozen=True, eq=False)
class PublishedClasses:
    """A published table as a reader sees it: its classes and its sensitive columns."""

    rows: Ints  # one class after the other
    starts: Ints  # where each class begins in `rows`
    attributes: Sequence[PublishedAttribute]
    crowd: int  # how many rows, or persons, everyone should be able to hide among: k, but at least two
    persons: Ints | None = None  # who each row belongs to, where k counts persons
    linked_by: str | None = None  # the column of pseudonyms, which show every reader whom rows belong to

    @property
    def linked(self) -> RowsOfPersons | None:
        """The rows as readers link them, where there are pseudonyms."""
        if self.linked_by is None or self.persons is None:
            return None
        labels = np.empty(len(self.rows), dtype=np.int64)
        labels[self.rows] = np.repeat(np.arange(len(self.starts)), self.sizes)
        return RowsOfPersons(labels, self.persons)

    @property
    def sizes(self) -> Ints:
        """Rows of each class."""
        return np.diff(self.starts, append=len(self.rows))


@dataclass(frozen=True)
class ExposedRows:
    """One way in which rows of a release remain exposed: how many rows, and the attributes through which."""

    kind: Kind
    rows: int  # exposed through some attribute
    of: int  # rows of the table
    attributes: Mapping[str, int]  # the exposed rows of each attribute that exposes some, most rows first
    cells: Mapping[str, Cells]  # of the same attributes
    crowd: int
    counted: Literal["rows", "persons"] = "rows"  # what the crowd is made of
    table: int | None = None  # which of several tables, counted from 1
    linked: bool = False  # whether pseudonyms link the rows of a person

    @property
    def share(self) -> float:
        """The share of the table's rows."""
        return self.rows / self.of

    @property
    def sentence(self) -> str:
        """What is exposed, and who learns it."""
        names = list(self.attributes)
        if self.linked:
            return linked_sentence(self.kind, self.rows, self.of, names, self.crowd)
        return exposure_sentence(
            self.kind, self.rows, self.of, names, crowd=self.crowd, counted_as=self.counted, table=self.table
        )

    @property
    def cure(self) -> str:
        """The setting that would cure it."""
        if self.linked:
            return linked_cure(self.kind, list(self.attributes))
        return exposure_cure(self.kind, self.cells, several_tables=self.table is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        table = {} if self.table is None else {"table": self.table}
        return {
            "kind": self.kind,
            **table,
            "rows": self.rows,
            "share": self.share,
            "attributes": dict(self.attributes),
            "sentence": self.sentence,
            "cure": self.cure,
        }


@dataclass(frozen=True)
class ReleaseExposure:
    """Everything that remains exposed in a release, most rows first, and what was looked at."""

    findings: tuple[ExposedRows, ...]
    attributes: tuple[int, ...]  # sensitive attributes of each table
    crowd: int
    counted: Literal["rows", "persons"]
    apart: bool = False  # whether no row shows the values of some attribute
    linked: bool = False  # whether pseudonyms link the rows of a person
    figures: tuple[Figure, ...] = ()  # the four lines

    @property
    def answer(self) -> Answer:
        """Whether all that remains exposed stays within the cut-offs."""
        return together(figure.answer for figure in self.figures)

    @property
    def rows(self) -> int:
        """Rows of the line that counts most of them, among the lines that count published rows."""
        return max((each.rows or 0 for each in self.figures if each.name != "unprotected"), default=0)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the four lines."""
        heading = ("line", "answer", "rows", "share", "without the release")
        rows = [
            (
                each.title,
                each.verdict,
                *("" if figure is None else number(figure) for figure in (each.rows, each.share, each.baseline)),
            )
            for each in self.figures
        ]
        return html_table("What remains exposed", heading, rows)

    @property
    def nothing(self) -> str:
        """What was looked at, for a release in which nothing of it was found."""
        if self.linked:
            return NOTHING_LINKED
        return nothing_exposed(self.attributes, crowd=self.crowd, counted_as=self.counted, apart=self.apart)


def exposed_in(tables: Sequence[PublishedClasses]) -> ReleaseExposure:
    """Look for everything that remains exposed in the tables of one release."""
    several = len(tables) > 1
    findings = [
        exposed
        for number, table in enumerate(tables, start=1)
        for exposed in _exposed_rows(table, exposed_counts(table), len(table.rows), number if several else None)
    ]
    return _sorted(findings, tables)


def exposed_in_parts(counts: Iterable[ExposedCounts], part: PublishedClasses, rows: int) -> ReleaseExposure:
    """Add up what remains exposed in the parts of one table of so many rows; `part` is any of them."""
    total = sum(counts, ExposedCounts({}))
    return _sorted(list(_exposed_rows(part, total, rows, None)), [part])


def _sorted(findings: Sequence[ExposedRows], tables: Sequence[PublishedClasses]) -> ReleaseExposure:
    return ReleaseExposure(
        findings=tuple(sorted(findings, key=lambda exposed: -exposed.rows)),
        attributes=tuple(len(table.attributes) for table in tables),
        crowd=tables[0].crowd,
        counted=_counted(tables[0]),
        apart=any(not attribute.linked for table in tables for attribute in table.attributes),
        linked=any(table.linked_by is not None for table in tables),
    )


@dataclass(frozen=True)
class ExposedCounts:
    """How many rows are exposed in each way, and how many through each attribute; counts of parts add up."""

    ways: Mapping[Kind, tuple[int, Mapping[str, int]]]

    def __add__(self, other: ExposedCounts) -> ExposedCounts:
        """Count two parts of a table together."""
        nothing: tuple[int, Mapping[str, int]] = (0, {})
        added: dict[Kind, tuple[int, Mapping[str, int]]] = {}
        for kind in dict.fromkeys((*self.ways, *other.ways)):
            (mine, of_mine), (others, of_others) = (each.ways.get(kind, nothing) for each in (self, other))
            names = dict.fromkeys((*of_mine, *of_others))
            added[kind] = mine + others, {name: of_mine.get(name, 0) + of_others.get(name, 0) for name in names}
        return ExposedCounts(added)


def exposed_counts(table: PublishedClasses) -> ExposedCounts:
    """Count the rows that remain exposed in a table, or in a part of it that has whole classes."""
    marked: dict[Kind, Mapping[str, Bools]] = {
        "same_value": same_value(table),
        "rare_value": rare_value(table),
        "known_value": known_value(table),
    }
    if (linked := table.linked) is not None:
        marked = _with_linked_rows(marked, table, linked)
    ways: dict[Kind, tuple[int, Mapping[str, int]]] = {}
    for kind, marks in marked.items():
        union = np.logical_or.reduce([*marks.values(), np.zeros(len(table.rows), dtype=bool)])
        ways[kind] = int(np.count_nonzero(union)), {name: int(np.count_nonzero(mark)) for name, mark in marks.items()}
    return ExposedCounts(ways)


def _exposed_rows(table: PublishedClasses, counts: ExposedCounts, of: int, number: int | None) -> Iterator[ExposedRows]:
    """Yield each way in which some rows of a table remain exposed."""
    cells: dict[str, Cells] = {attribute.name: attribute.cells for attribute in table.attributes}
    cells |= {} if table.linked_by is None else {table.linked_by: "other"}
    for kind, (rows, by_name) in counts.ways.items():
        exposing = sorted((name for name in by_name if by_name[name]), key=lambda name: -by_name[name])
        if exposing:
            yield ExposedRows(
                kind=kind,
                rows=rows,
                of=of,
                attributes={name: by_name[name] for name in exposing},
                cells={name: cells[name] for name in exposing},
                crowd=table.crowd,
                counted=_counted(table),
                table=number,
                linked=table.linked_by is not None,
            )


def _with_linked_rows(
    marked: Mapping[Kind, Mapping[str, Bools]], table: PublishedClasses, linked: RowsOfPersons
) -> dict[Kind, Mapping[str, Bools]]:
    """Return the marks of rows, and of what more is exposed where the rows of a person are linked."""
    values = {attribute.name: attribute.values for attribute in table.attributes}
    shown = {name: linked.shown_by_all(values[name])[linked.labels] for name in values}
    same = {name: mark | shown[name] for name, mark in marked["same_value"].items()}
    known = {name: linked.revealed_by(name, values) for name in values}
    for name, mark in marked["known_value"].items():
        known[name] |= linked.all_rows(mark)
    return {
        "same_value": same,
        "rare_value": {name: linked.all_rows(mark) for name, mark in marked["rare_value"].items()},
        "known_value": known,
        "row_count": {str(table.linked_by): linked.own_number_of_rows()},
    }


def _counted(table: PublishedClasses) -> Literal["rows", "persons"]:
    return "rows" if table.persons is None else "persons"


def same_value(table: PublishedClasses) -> dict[str, Bools]:
    """Mark, for each attribute, the rows of classes that show one value of it, where the whole table shows several."""
    marks = {}
    for attribute in table.attributes:
        mark = np.zeros(len(table.rows), dtype=bool)
        if _varies(attribute):
            grouped = attribute.values[table.rows]
            mark[table.rows] = np.repeat(_alike(grouped, table.starts), table.sizes)
        marks[attribute.name] = mark
    return marks


def rare_value(table: PublishedClasses) -> dict[str, Bools]:
    """Mark, for each attribute, the rows whose value is shared by fewer rows (or persons) than the crowd.

    A value that no row shows finds no row.
    """
    marks = {}
    for attribute in table.attributes:
        if attribute.linked:
            shared = shared_by(attribute.values, table.persons) if attribute.shared is None else attribute.shared
            marks[attribute.name] = shared[attribute.values] < table.crowd
    return marks


def known_value(table: PublishedClasses) -> dict[str, Bools]:
    """Mark, for each attribute, the rows of which it reveals another attribute to anyone who also knows the class.

    That is so where all rows of the class that show the same value of it agree on another attribute, of which the
    whole table shows several values. A value that no row shows tells nothing about the others.
    """
    linked = [attribute for attribute in table.attributes if attribute.linked]
    if len(linked) < 2:
        return {}
    labels = np.repeat(np.arange(len(table.starts)), table.sizes)
    marks = {}
    for known in linked:
        key = labels * (int(known.values.max()) + 1) + known.values[table.rows]
        order = np.argsort(key, kind="stable")
        key, order = key[order], table.rows[order]
        starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
        revealed = np.zeros(len(starts), dtype=bool)
        for other in linked:
            if other is not known and _varies(other):
                revealed |= _alike(other.values[order], starts)
        mark = np.zeros(len(order), dtype=bool)
        mark[order] = np.repeat(revealed, np.diff(starts, append=len(order)))
        marks[known.name] = mark
    return marks


def _varies(attribute: PublishedAttribute) -> bool:
    """Say whether the whole table shows several values; a value that everyone has is no news about anyone."""
    if attribute.shared is not None:
        return bool(np.count_nonzero(attribute.shared) > 1)
    return bool(np.ptp(attribute.values))


def _alike(grouped: Ints, starts: Ints) -> Bools:
    """Tell for each group of neighbouring rows whether all of them show one value."""
    return np.asarray(np.maximum.reduceat(grouped, starts) == np.minimum.reduceat(grouped, starts))


def shared_by(values: Ints, persons: Ints | None) -> Ints:
    """Return how many rows show each value, or how many persons where these are known.

    >>> shared_by(np.array([0, 0, 1]), None), shared_by(np.array([0, 0, 1]), np.array([5, 5, 6]))
    (array([2, 1]), array([1, 1]))
    """
    if persons is not None:
        people = int(persons.max()) + 1
        values = np.unique(values * people + persons) // people
    return np.bincount(values)


def rows_with_own_values(values: Ints, persons: Ints | None, share: float = MANY_SHARE) -> int:
    """Return how many rows show a value of their own, if these are many, else 0; `values` are -1 where missing.

    A value is a row's own if at most two rows (or persons) show it. Such rows are many if there are at least ten, and
    at least this share of the rows that have a value.
    """
    present = values >= 0
    if not present.any():
        return 0
    shown = values[present]
    shared = shared_by(shown, None if persons is None else persons[present])
    return rows_of_own_values(np.bincount(shown), shared, share)


def rows_of_own_values(counts: Ints, shared: Ints, share: float = MANY_SHARE) -> int:
    """Return the same, given how many rows show each value, and how many rows or persons share it."""
    rows = int(counts[shared <= OWN_ROWS].sum())
    return rows if rows >= max(MANY_ROWS, share * int(counts.sum())) else 0
