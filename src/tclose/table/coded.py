"""A table as integers: the codes of every column that matters, each read once, and the classes when somebody asks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from tclose.errors import InputError, LeakWarning, PolicyError, did_you_mean
from tclose.policy import Policy
from tclose.policy.settings import join
from tclose.table import quasi, sensitive
from tclose.table.classes import Classes, classes_of
from tclose.table.hierarchy import Hierarchy
from tclose.table.matching import places_in
from tclose.table.quasi import QuasiColumn
from tclose.table.sensitive import SensitiveColumn
from tclose.table.values import Values, values_of
from tclose.types import Ints

MOST_SUPERSETS = 1024


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
    read: dict[str, Values] = field(default_factory=dict)  # the columns read so far

    def __len__(self) -> int:
        return self.frame.height

    def values(self, name: str) -> Values:
        """Return the values of a column, read once."""
        if name not in self.read:
            self.read[name] = values_of(self.frame[name], self.policy.missing, self.rows)
        return self.read[name]

    @cached_property
    def quasi(self) -> Mapping[str, QuasiColumn]:
        """The quasi-identifiers, coded as the policy publishes them."""
        return {
            name: quasi.coded(self.values(name), spec, self.hierarchies.get(name))
            for name, spec in self.policy.quasi.items()
        }

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
        """The rows of equal kept values, compared as they are published: -0.0 is not 0.0."""
        if not self.policy.keep:
            return Classes(np.arange(len(self)), np.array([len(self)]))
        kept = {name: self.frame[name] for name in self.policy.keep}
        return classes_of(
            pl.DataFrame({name: c.cast(pl.String) if c.dtype.is_float() else c for name, c in kept.items()})
        )

    def supersets(self) -> Iterator[Ints]:
        """Yield groupings of the classes: those that agree on some of the visible columns, on few of them first."""
        first_rows = self.visible[self.classes.rows[self.classes.starts]]
        tried = 0
        for kept in range(1, len(first_rows.columns)):
            for chosen in combinations(first_rows.columns, kept):
                if (tried := tried + 1) > MOST_SUPERSETS:
                    return
                yield classes_of(first_rows[list(chosen)]).labels_by_row()

    def under(self, policy: Policy) -> CodedTable:
        """Return the same rows under a policy that asks for other levels, or about fewer sensitive attributes."""
        return replace(self, policy=policy, sensitive={name: self.sensitive[name] for name in policy.sensitive})

    def only(self, rows: Ints) -> CodedTable:
        """Return some rows as a table of their own: what is learned from it depends on these rows alone."""
        return self if len(rows) == len(self) else _encoded(self.frame[rows], self.policy, self.rows[rows], self)


def encode(frame: pl.DataFrame, policy: Policy, *, ignore_others: bool = False) -> CodedTable:
    """Turn a frame into codes, as the policy says."""
    check_columns(frame, policy, ignore_others=ignore_others)
    warn_of_leaks(frame, policy)
    rows = rows_with_values(frame, policy)
    if rows is None:
        return _encoded(frame, policy, np.arange(frame.height))
    return replace(_encoded(frame[rows], policy, rows), withheld=frame.height - len(rows))


def encode_quietly(frame: pl.DataFrame, policy: Policy, *, ignore_others: bool = False) -> CodedTable:
    """Turn a frame into codes without warnings: they were given when the table was first read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        return encode(frame, policy, ignore_others=ignore_others)


def _encoded(frame: pl.DataFrame, policy: Policy, rows: Ints, whole: CodedTable | None = None) -> CodedTable:
    """Code rows, all of which have their sensitive values; of the `whole` table, files need not be read again."""
    table = CodedTable(frame, policy, {}, None, rows, 0, {})
    hierarchies = _checked_hierarchies(table) if whole is None else whole.hierarchies
    columns = {name: _sensitive(table, name) for name in policy.sensitive}
    persons = None if policy.person is None else classes_of(frame[[policy.person]]).labels_by_row()
    withheld = 0 if whole is None else whole.withheld
    return replace(table, sensitive=columns, persons=persons, withheld=withheld, hierarchies=hierarchies)


def check_columns(
    frame: pl.DataFrame, policy: Policy, *, ignore_others: bool = False, identifiers_too: bool = False
) -> None:
    """Refuse a policy that names a column which the table lacks, or a table with a column named nowhere.

    When a table is only judged, an identifier may be absent: a table that holds no names is all the better.
    """
    named = dict(policy.columns())
    for column, place in named.items():
        if column not in frame.columns and (identifiers_too or place != "identifiers"):
            known = any(name in frame.columns for name in named)  # or else the header may be a row of cells
            hint = did_you_mean(column, frame.columns) if known else ""
            raise PolicyError(f"the table has no column '{column}'{hint}", place=place)
    if policy.person is not None and policy.person not in frame.columns:
        raise PolicyError(f"the table has no column '{policy.person}', so persons cannot be counted", place="person")
    others = [column for column in frame.columns if column not in named]
    if others and policy.others == "error" and not ignore_others:
        listed = ", ".join(f"'{column}'" for column in others)
        raise PolicyError(f'the policy gives no role to {listed}: name them, or say others = "drop"')


def warn_of_leaks(frame: pl.DataFrame, policy: Policy) -> None:
    """Warn about what the policy allows and a steward may have overlooked."""
    for column in policy.unlinkable:
        warnings.warn(f"'{column}' is published as it is and not judged (unlinkable)", LeakWarning, stacklevel=2)
    if policy.person is None:
        for column in policy.identifiers:
            if column in frame.columns and (repeated := _repeated(frame[column], policy)):
                warnings.warn(
                    f"identifier '{column}' repeats in {repeated:,} rows: if they are rows of one person, "
                    f'say person = "{column}", or k and l count rows, not persons',
                    LeakWarning,
                    stacklevel=2,
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
        raise InputError("every row lacks a sensitive value, so nothing is left to judge")
    return None if kept.all() else np.flatnonzero(kept)


def _checked_hierarchies(table: CodedTable) -> dict[str, Hierarchy]:
    """Load the hierarchies of quasi-identifiers; refuse one that misses a value.

    A released table may show inner labels, too.
    """
    hierarchies = {}
    for name, spec in table.policy.quasi.items():
        if isinstance(spec.hierarchy, Path):
            hierarchies[name] = Hierarchy.load(spec.hierarchy)
            labels = list(dict.fromkeys(label for level in hierarchies[name].labels for label in level))
            places_in(labels, table.values(name).domain, misses=f"the hierarchy {spec.hierarchy.name} misses")
    return hierarchies


def _sensitive(table: CodedTable, name: str) -> SensitiveColumn:
    """Read one sensitive column; an error in its settings says where in the policy they stand."""
    try:
        return sensitive.coded(table.values(name), table.policy.sensitive[name])
    except PolicyError as error:
        raise error.within(join("sensitive", name)) from None
