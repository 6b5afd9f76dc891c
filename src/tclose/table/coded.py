"""A table as integers: the codes of every column that matters, each read once, and the classes when they are needed.

Before any class is made, it can also tell how rows fall into combinations of quasi-identifiers, level by level.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InputError, LeakWarning, Mistakes, PolicyError, nearest
from tclose.messages import say
from tclose.policy import MODELS, Policy, Sensitive
from tclose.policy.settings import join
from tclose.table import quasi, sensitive
from tclose.table.classes import Classes, classes_of, order_of_cells
from tclose.table.hierarchies import Hierarchy
from tclose.table.quasi import LabelColumn, NumberColumn, QuasiColumn, read_quasi
from tclose.table.sensitive import MISSING, JointColumn, SensitiveColumn, joint_columns
from tclose.table.values import (
    Tally,
    ValueDomain,
    Values,
    marked_missing,
    pairs_of_like_texts,
    places_in,
    values_of,
    with_one_number,
)
from tclose.types import Ints
from tclose.words import counted

DomainOf = Callable[[str], ValueDomain]  # the different values of a column, by its name
MakeColumn = Callable[[str, Sensitive], SensitiveColumn]  # from the name and the settings of a column

MOST_SUPERSETS = 1024
MOST_COMPARED = 20_000  # names that are compared, about, to suggest similar ones for missing columns
NOTHING_LEFT = "every row lacks a sensitive value, so nothing is left to judge"
MOST_NAMED = 20  # columns without a role in a sentence


@dataclass(frozen=True, eq=False, repr=False)
class CodedTable:
    """The rows of a table that can be judged, its sensitive columns coded; everything else is coded on demand."""

    frame: pl.DataFrame
    policy: Policy  # as it was when the table was coded
    sensitive: Mapping[str, SensitiveColumn]
    persons: Ints | None  # who each row belongs to
    rows: Ints  # where each row stood in the table as it was read
    withheld: int  # rows left out because a sensitive value is missing
    hierarchies: Mapping[str, Hierarchy]  # of quasi-identifiers, from their files
    apart: Mapping[str, pl.Series] = field(default_factory=dict)  # cells of which no row is known to be the owner
    read: dict[str, Values] = field(default_factory=dict)  # the columns read so far
    joint: Mapping[str, JointColumn] = field(default_factory=dict)  # attributes together, which are judged as well

    def __len__(self) -> int:
        return self.frame.height

    def values(self, name: str) -> Values:
        """Return the values of a column, read once."""
        if name not in self.read:
            below = self.policy.below.get(name)
            self.read[name] = values_of(self._cells(name), self.policy.missing, self.rows, below=below)
        return self.read[name]

    def domain(self, name: str) -> ValueDomain:
        """Return the different values of a column, learned once."""
        return self.values(name).domain

    @property
    def judged(self) -> Mapping[str, SensitiveColumn | JointColumn]:
        """Everything that closeness can be asked of: each sensitive attribute, then attributes together."""
        return {**self.sensitive, **self.joint}

    @cached_property
    def quasi(self) -> Mapping[str, QuasiColumn]:
        """The quasi-identifiers, coded as the policy publishes them."""
        columns, mistakes = {}, Mistakes()
        for name, spec in self.policy.quasi.items():
            with mistakes.collected():
                columns[name] = quasi.coded(self.values(name), spec, self.hierarchies.get(name))
        mistakes.report()
        return columns

    @property
    def visible(self) -> pl.DataFrame:
        """The columns whose equal cells form a class."""
        return self.frame[list(self.policy.visible)]

    @cached_property
    def classes(self) -> Classes:
        """The classes that a reader of the table can form."""
        return classes_of(self.visible)

    @cached_property
    def groups(self) -> Classes:
        """The rows of equal kept values, in the order of these values: which group comes first depends on no row."""
        if not self.policy.keep:
            return Classes(np.arange(len(self)), np.array([len(self)]))
        kept = self.frame[list(self.policy.keep)]
        groups = classes_of(kept)
        place = np.argsort(order_of_cells(kept[groups.rows[groups.starts]]))
        return Classes.from_labels(place[groups.labels_by_row()])

    def supersets(self) -> Iterator[Ints]:
        """Yield groupings of the classes: those that agree on some of the visible columns, on few of them first."""
        yield from groupings_of(self.visible[self.classes.rows[self.classes.starts]])

    def shown_by(self, row: int) -> dict[str, str]:
        """Return the visible cells of a row, as people read them."""
        cells = self.visible[row].cast(pl.String).row(0, named=True)
        return {name: MISSING if cell is None or cell in self.policy.missing else cell for name, cell in cells.items()}

    def under(self, policy: Policy) -> CodedTable:
        """Return the same rows under a policy that asks for other levels, or about fewer sensitive attributes."""
        sensitive = {name: self.sensitive[name] for name in policy.sensitive}
        return replace(
            self, policy=policy, sensitive=sensitive, joint={each.name: self.joint[each.name] for each in policy.joint}
        )

    def only(self, rows: Ints) -> CodedTable:
        """Return some rows, in their order, as a table of their own: what is learned from it depends on them alone."""
        if np.array_equal(rows, np.arange(len(self))):
            return self
        apart = {name: cells[rows] for name, cells in self.apart.items()}
        part = replace(self, frame=self.frame[rows], rows=self.rows[rows], apart=apart, read={})
        for name, column in self.sensitive.items():
            part._read_as(name, column.domain.values.tally, self._places[name][rows])
        return _with_sensitive(part, Mistakes())

    def published_as(
        self, frame: pl.DataFrame, policy: Policy, rows: Ints, apart: Mapping[str, pl.Series] | None = None
    ) -> CodedTable:
        """Return rows of this table as `frame` publishes them and a reader codes them by `policy`.

        `rows` says which row of this table each published row is. A reader's codes follow from which cells these rows
        show here, so no text is read again but that of cells which are published `apart`: they have no row.
        """
        shown = _with_one_number(frame, policy)
        table = CodedTable(shown, policy, {}, None, np.arange(frame.height), 0, {}, apart or {})
        for name in (name for name in policy.sensitive if name not in table.apart):
            tally, places = self._published_cells(name)
            table._read_as(name, tally, places[rows])
        return _with_sensitive(table, Mistakes())

    def _published_cells(self, name: str) -> tuple[Tally, Ints]:
        """Return the different cells that a sensitive column publishes, and which of them each row shows."""
        domain, places = self.sensitive[name].domain, self._places[name]
        tally = domain.values.tally
        if self.policy.sensitive[name].publish is None:
            return tally, places
        bins, bin_of_cell = domain.shown_in_bins()
        return bins, np.append(bin_of_cell, -1)[places]

    def _read_as(self, name: str, tally: Tally, places: Ints) -> None:
        """Read a column from which cells of a tally its rows show."""
        below, cells = self.policy.below.get(name), self._cells(name)
        self.read[name] = Values.among(tally, places, self.policy.missing, below, cells, self.rows)

    def _cells(self, name: str) -> pl.Series:
        """Return the cells of a column."""
        return self.apart[name] if name in self.apart else self.frame[name]

    @cached_property
    def _places(self) -> Mapping[str, Ints]:
        """Which of its column's different cells every row shows, in each sensitive column."""
        return {name: column.domain.values.tally.places(self._cells(name)) for name, column in self.sensitive.items()}


def groupings_of(first_rows: pl.DataFrame) -> Iterator[Ints]:
    """Yield groupings of classes, of each of which one row is given: those that agree on some of the columns."""
    tried = 0
    for kept in range(1, len(first_rows.columns)):
        for chosen in combinations(first_rows.columns, kept):
            if (tried := tried + 1) > MOST_SUPERSETS:
                return
            yield classes_of(first_rows[list(chosen)]).labels_by_row()


def encode(
    frame: pl.DataFrame, policy: Policy, *, ignore_others: bool = False, apart: Mapping[str, pl.Series] | None = None
) -> CodedTable:
    """Turn a frame into codes, as the policy says; sensitive cells that stand `apart` are not read from the frame."""
    check_columns(frame, policy, ignore_others=ignore_others)
    frame = _with_one_number(frame, policy)
    warn_of_leaks(frame, policy)
    rows = None if apart else rows_with_values(frame, policy)
    if rows is None:
        table = _encoded(frame, policy, np.arange(frame.height), apart=apart or {})
    else:
        table = replace(_encoded(frame[rows], policy, rows), withheld=frame.height - len(rows))
    warn_of_like_values(table.sensitive)
    return table


def warn_of_like_values(columns: Mapping[str, SensitiveColumn]) -> None:
    """Warn about spellings such as HIV and hiv: a class that shows both looks more diverse than it is."""
    for name, column in columns.items():
        values = column.domain.values
        if values.kind in ("text", "mixed") and (pairs := pairs_of_like_texts(values.texts)):
            warnings.warn(
                say(
                    "sensitive '{name}' has {pairs} of values that differ only in case, spaces, punctuation or "
                    "Unicode form: l and all other models count them as different values, so give those that "
                    "mean the same one spelling",
                    name=name,
                    pairs=counted(pairs, "pair"),
                ),
                LeakWarning,
                stacklevel=3,
            )


def _with_one_number(frame: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return the table with one spelling of every number: 0.0 and -0.0, 9 and 9.0 are in no column two values."""
    named = {name for name, _ in policy.columns()}
    return frame.with_columns(with_one_number(frame[name], policy.missing) for name in frame.columns if name in named)


def encode_quietly(
    frame: pl.DataFrame, policy: Policy, *, ignore_others: bool = False, apart: Mapping[str, pl.Series] | None = None
) -> CodedTable:
    """Turn a frame into codes without warnings: they were given when the table was first read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        return encode(frame, policy, ignore_others=ignore_others, apart=apart)


def _encoded(
    frame: pl.DataFrame, policy: Policy, rows: Ints, apart: Mapping[str, pl.Series] | None = None
) -> CodedTable:
    """Code rows, all of which have their sensitive values."""
    table, mistakes = CodedTable(frame, policy, {}, None, rows, 0, {}, apart or {}), Mistakes()
    hierarchies = checked_hierarchies(policy, table.domain, mistakes)
    return _with_sensitive(replace(table, hierarchies=hierarchies), mistakes)


def _with_sensitive(table: CodedTable, mistakes: Mistakes) -> CodedTable:
    """Return a table with its sensitive columns coded, and its persons told apart; mistakes are reported together."""
    policy = table.policy
    columns = sensitive_columns(policy, lambda name, spec: sensitive.coded(table.values(name), spec), mistakes)
    mistakes.report()
    persons = None if policy.person is None else persons_of(table.frame[policy.person], policy)
    return replace(table, sensitive=columns, persons=persons, joint=joint_columns(policy.joint, columns))


def persons_of(column: pl.Series, policy: Policy) -> Ints:
    """Return the number of each row's person; all rows without one count as one person, however their cells say so."""
    persons = classes_of(column.to_frame()).labels_by_row()
    if not (policy.missing or column.null_count()):
        return persons
    cells = column.alias("").cast(pl.String).fill_null("")  # polars takes a name such as ^x$ for a pattern
    unknown = np.flatnonzero(marked_missing(cells, policy.missing))
    if len(unknown):
        persons[unknown] = persons[unknown[0]]
    return np.unique(persons, return_inverse=True)[1].astype(np.int64)


def check_columns(
    frame: pl.DataFrame, policy: Policy, *, ignore_others: bool = False, identifiers_too: bool = False
) -> None:
    """Refuse a policy that names columns which the table lacks, or a table with columns named nowhere.

    When a table is only judged, an identifier may be absent: a table that holds no names is all the better.
    """
    named, columns, mistakes = dict(policy.columns()), set(frame.columns), Mistakes()
    absent = {column: place for column, place in named.items() if column not in columns}
    known = len(absent) < len(named)  # or else the header may be a row of cells, which no message may quote
    similar: dict[str, str | None] = {}
    for column, place in absent.items():
        if identifiers_too or place != "identifiers":
            searched = known and len(similar) * len(columns) < MOST_COMPARED
            similar[column] = nearest(column, frame.columns) if searched else None
            hint = "" if similar[column] is None else say(" (did you mean '{similar}'?)", similar=similar[column])
            mistakes.add(PolicyError("the table has no column '{column}'{hint}", column=column, hint=hint, place=place))
    if policy.person in absent and policy.person not in similar:
        sentence = say("the table has no column '{person}', so persons cannot be counted", person=policy.person)
        mistakes.add(PolicyError(sentence, place="person"))
    explained = {*named, *similar.values()}  # a column that a misspelt name stands for is no second mistake
    others = [column for column in frame.columns if column not in explained]
    if others and known and policy.others == "error" and not ignore_others:
        more = say(" and {count:,} more", count=len(others) - MOST_NAMED) if len(others) > MOST_NAMED else ""
        listed = ", ".join(f"'{column}'" for column in others[:MOST_NAMED]) + more
        mistakes.add(
            PolicyError('the policy gives no role to {listed}: name them, or say others = "drop"', listed=listed)
        )
    mistakes.report()


def warn_of_leaks(frame: pl.DataFrame, policy: Policy) -> None:
    """Warn about what the policy allows and a steward may have overlooked."""
    for column in policy.unlinkable:
        warnings.warn(
            say("'{column}' is published as it is and not judged (unlinkable)", column=column),
            LeakWarning,
            stacklevel=2,
        )
    for column, spec in policy.sensitive.items():
        if spec.average_t is not None and all(getattr(spec, model) is None for model in MODELS if model != "average_t"):
            warnings.warn(
                say(
                    "average_t of '{column}' bounds no single class, which may be at any distance from the "
                    "table: say t as well if that matters",
                    column=column,
                ),
                LeakWarning,
                stacklevel=2,
            )
    if policy.person is None:
        present = set(frame.columns)
        warn_of_repeats({name: _repeated(frame[name], policy) for name in policy.identifiers if name in present})


def warn_of_repeats(rows: Mapping[str, int]) -> None:
    """Warn about identifiers whose values several rows show; `rows` is how many rows do so, for every identifier.

    Beside an identifier that no two rows share, equal names may be those of namesakes, who are not one person.
    """
    alone = next((name for name, repeats in rows.items() if not repeats), None)
    for identifier in (name for name, repeats in rows.items() if repeats):
        cure = say(
            'if they are rows of one person, say person = "{identifier}", or k and l count rows, not persons',
            identifier=identifier,
        )
        if alone is not None:
            cure = say(
                "no two rows share a value of '{alone}', so they may be namesakes; if a person can have "
                "several rows, say in which column one person always has one value (person), or k and l "
                "count rows, not persons",
                alone=alone,
            )
        warnings.warn(
            say(
                "identifier '{identifier}' repeats in {row:,} rows: {cure}",
                identifier=identifier,
                row=rows[identifier],
                cure=cure,
            ),
            LeakWarning,
            stacklevel=3,
        )


def _repeated(column: pl.Series, policy: Policy) -> int:
    """Count the rows that share a value; that several rows lack one says nothing."""
    cells = column.alias("").drop_nulls()
    if cells.dtype == pl.String:
        cells = cells.filter(~cells.is_in(policy.missing))
    return int(cells.is_duplicated().sum())


def rows_with_values(frame: pl.DataFrame, policy: Policy) -> Ints | None:
    """Return the rows that a policy does not withhold for a missing sensitive value; None where it keeps them all."""
    kept = np.ones(frame.height, dtype=bool)
    for name, spec in policy.sensitive.items():
        if spec.missing == "suppress":
            kept &= values_of(frame[name], policy.missing).codes >= 0
    if not kept.any():
        raise InputError(NOTHING_LEFT)
    return None if kept.all() else np.flatnonzero(kept)


def checked_hierarchies(policy: Policy, domain_of: DomainOf, mistakes: Mistakes) -> dict[str, Hierarchy]:
    """Load the hierarchies of quasi-identifiers; a mistake is one that cannot be read, or misses a value.

    A released table may show inner labels, too.
    """
    hierarchies = {}
    for name, spec in policy.quasi.items():
        if isinstance(spec.hierarchy, Path):
            with mistakes.collected():
                hierarchies[name] = Hierarchy.load(spec.hierarchy)
                labels = list(dict.fromkeys(label for level in hierarchies[name].labels for label in level))
                places_in(labels, domain_of(name), misses=say("the hierarchy {name} misses", name=spec.hierarchy.name))
    return hierarchies


def sensitive_columns(policy: Policy, make: MakeColumn, mistakes: Mistakes) -> dict[str, SensitiveColumn]:
    """Make every sensitive column; an error in its settings says where in the policy they stand."""
    columns = {}
    for name, spec in policy.sensitive.items():
        with mistakes.collected():
            try:
                columns[name] = make(name, spec)
            except PolicyError as error:
                raise error.within(join("sensitive", name)) from None
    return columns


# Combinations of quasi-identifiers at each level of their hierarchies


@dataclass(frozen=True)
class Combinations:
    """The different combinations of quasi-identifiers at one level of their hierarchies."""

    level: int  # 0: as step, top and bottom leave the values
    combinations: int
    alone: int  # rows with a combination that no other row has; no other person, where the policy tells persons apart
    few: int  # rows in combinations of fewer than k rows, or persons
    rows: int

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return asdict(self)


def combinations_by_level(
    frame: pl.DataFrame, policy: Policy, beat: Callable[[float], None] = lambda share: None
) -> list[Combinations]:
    """Count combinations at every level, from the values themselves to the roots of all hierarchies.

    A column without a hierarchy, or with a lower one, stays at its last level.
    """
    columns = []
    for place, (name, spec) in enumerate(policy.quasi.items()):
        beat(place / len(policy.quasi))
        columns.append(read_quasi(frame[name], spec, policy.missing))
    height = max((column.hierarchy.height for column in columns if isinstance(column, LabelColumn)), default=0)
    persons = None if policy.person is None else persons_of(frame[policy.person], policy)
    return [_counted(columns, level, policy.k, persons) for level in range(height + 1)]


def _counted(columns: list[QuasiColumn], level: int, k: int, persons: Ints | None) -> Combinations:
    codes = pl.DataFrame({str(place): _codes(column, level) for place, column in enumerate(columns)})
    found = classes_of(codes)
    sizes = np.diff(found.starts, append=codes.height)
    members = sizes if persons is None else _persons(found.labels_by_row(), persons, len(sizes))
    alone, few = (int(sizes[small].sum()) for small in (members == 1, members < k))
    return Combinations(level, len(sizes), alone, few, codes.height)


def _persons(classes: Ints, persons: Ints, count: int) -> Ints:
    """Return how many persons each class has."""
    width = int(persons.max(initial=0)) + 1
    pairs = np.unique(classes * width + persons)
    return np.bincount(pairs // width, minlength=count)


def _codes(column: QuasiColumn, level: int) -> Ints:
    """Return what each row would publish at a level, as a number; -1 where nothing is known."""
    if isinstance(column, LabelColumn):
        nodes = column.hierarchy.levels[min(level, column.hierarchy.height)]
        return np.append(nodes, -1)[column.codes]
    if isinstance(column, NumberColumn) and column.values.texts:
        ends = column.ends()
        shown = np.unique(np.array([ends.low, ends.high]), axis=1, return_inverse=True)[1]
        return np.append(shown.reshape(-1), -1)[column.codes]
    return column.codes
