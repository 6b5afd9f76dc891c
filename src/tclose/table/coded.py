"""A table as integers: the codes of every column that matters, each read once, and the classes when somebody asks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from tclose.errors import InputError, LeakWarning, Mistakes, PolicyError, nearest
from tclose.policy import MODELS, Policy, Sensitive
from tclose.policy.settings import join
from tclose.table import quasi, sensitive
from tclose.table.classes import Classes, classes_of
from tclose.table.hierarchy import Hierarchy
from tclose.table.joint import JointColumn, joint_columns
from tclose.table.matching import places_in
from tclose.table.quasi import QuasiColumn
from tclose.table.sensitive import MISSING, SensitiveColumn
from tclose.table.spellings import with_one_number
from tclose.table.tally import marked_missing
from tclose.table.values import ValueDomain, Values, pairs_of_like_texts, values_of
from tclose.types import Ints
from tclose.words import counted

DomainOf = Callable[[str], ValueDomain]  # the different values of a column, by its name
MakeColumn = Callable[[str, Sensitive], SensitiveColumn]  # from the name and the settings of a column

MOST_SUPERSETS = 1024
MOST_COMPARED = 20_000  # names that are compared, about, to suggest similar ones for missing columns
NOTHING_LEFT = "every row lacks a sensitive value, so nothing is left to judge"
MOST_NAMED = 20  # columns without a role in a sentence


@dataclass(frozen=True, eq=False)
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
            cells = self.apart[name] if name in self.apart else self.frame[name]
            below = self.policy.below.get(name)
            self.read[name] = values_of(cells, self.policy.missing, self.rows, below=below)
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
        shown = kept[groups.rows[groups.starts]].iter_columns()
        ranks = [column.alias("").cast(pl.String).rank("dense").fill_null(0).to_numpy() for column in shown]
        place = np.argsort(np.lexsort(ranks[::-1]))
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
        """Return some rows as a table of their own: what is learned from it depends on these rows alone."""
        return self if len(rows) == len(self) else _encoded(self.frame[rows], self.policy, self.rows[rows], self)


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
                f"sensitive '{name}' has {counted(pairs, 'pair')} of values that differ only in case, spaces, "
                "punctuation or Unicode form: l and all other models count them as different values, so give those "
                "that mean the same one spelling",
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
    frame: pl.DataFrame,
    policy: Policy,
    rows: Ints,
    whole: CodedTable | None = None,
    apart: Mapping[str, pl.Series] | None = None,
) -> CodedTable:
    """Code rows, all of which have their sensitive values; of the `whole` table, files need not be read again."""
    table, mistakes = CodedTable(frame, policy, {}, None, rows, 0, {}, apart or {}), Mistakes()
    hierarchies = checked_hierarchies(policy, table.domain, mistakes) if whole is None else whole.hierarchies
    columns = sensitive_columns(policy, lambda name, spec: sensitive.coded(table.values(name), spec), mistakes)
    mistakes.report()
    persons = None if policy.person is None else persons_of(frame[policy.person], policy)
    withheld = 0 if whole is None else whole.withheld
    joint = joint_columns(policy.joint, columns)
    return replace(table, sensitive=columns, persons=persons, withheld=withheld, hierarchies=hierarchies, joint=joint)


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
            hint = "" if similar[column] is None else f" (did you mean '{similar[column]}'?)"
            mistakes.add(PolicyError(f"the table has no column '{column}'{hint}", place=place))
    if policy.person in absent and policy.person not in similar:
        sentence = f"the table has no column '{policy.person}', so persons cannot be counted"
        mistakes.add(PolicyError(sentence, place="person"))
    explained = {*named, *similar.values()}  # a column that a misspelt name stands for is no second mistake
    others = [column for column in frame.columns if column not in explained]
    if others and known and policy.others == "error" and not ignore_others:
        more = f" and {len(others) - MOST_NAMED:,} more" if len(others) > MOST_NAMED else ""
        listed = ", ".join(f"'{column}'" for column in others[:MOST_NAMED]) + more
        mistakes.add(PolicyError(f'the policy gives no role to {listed}: name them, or say others = "drop"'))
    mistakes.report()


def warn_of_leaks(frame: pl.DataFrame, policy: Policy) -> None:
    """Warn about what the policy allows and a steward may have overlooked."""
    for column in policy.unlinkable:
        warnings.warn(f"'{column}' is published as it is and not judged (unlinkable)", LeakWarning, stacklevel=2)
    for column, spec in policy.sensitive.items():
        if spec.average_t is not None and all(getattr(spec, model) is None for model in MODELS if model != "average_t"):
            warnings.warn(
                f"average_t of '{column}' bounds no single class, which may be at any distance from the table: "
                "say t as well if that matters",
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
        cure = f'if they are rows of one person, say person = "{identifier}", or k and l count rows, not persons'
        if alone is not None:
            cure = (
                f"no two rows share a value of '{alone}', so they may be namesakes; if a person can have several rows, "
                "say in which column one person always has one value (person), or k and l count rows, not persons"
            )
        warnings.warn(
            f"identifier '{identifier}' repeats in {rows[identifier]:,} rows: {cure}", LeakWarning, stacklevel=3
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
                places_in(labels, domain_of(name), misses=f"the hierarchy {spec.hierarchy.name} misses")
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
