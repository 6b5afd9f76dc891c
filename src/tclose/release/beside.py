"""A table and what was published of it, side by side as integers: what attacks and measures of detail kept start from.

A published table is read as its readers do, matched with the people of the original, and refused when it cannot be
theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InputError, PolicyError, did_you_mean
from tclose.measure.linkage import Links, packed
from tclose.policy import Policy
from tclose.recode.covering import Covering, covering_of_series, worth_of
from tclose.release.reader import reader_policy
from tclose.release.release import Release
from tclose.table import CodedTable, encode, to_polars
from tclose.table.coded import without_suppressed
from tclose.table.values import values_of
from tclose.types import Floats, Ints
from tclose.words import counted


@dataclass(frozen=True, eq=False)
class Cells:
    """One column of a table and of what was published of it, numbered alike; a missing cell is a value like others."""

    before: Ints
    after: Ints
    worth: Floats | None  # of each number, where they are numbers or dates

    @property
    def domain(self) -> int:
        """How many different cells there are."""
        return int(max(self.before.max(), self.after.max())) + 1


@dataclass(frozen=True, eq=False)
class Published:
    """A table that was published: its classes and codes, its sensitive cells, and who of the original fits what."""

    table: CodedTable
    cells: Mapping[str, Cells]
    columns: Sequence[Covering]  # quasi-identifiers and kept columns, against the rows of the original
    own: Links

    @property
    def labels(self) -> Ints:
        """The class of every published row."""
        return self.table.classes.labels_by_row()


@dataclass(frozen=True, eq=False)
class Stage:
    """The original, coded, less the rows that are withheld for a missing value."""

    frame: pl.DataFrame
    table: CodedTable
    policy: Policy

    @classmethod
    def of(cls, original: Any, policy: Policy) -> Stage:
        """Read the original."""
        rows = without_suppressed(to_polars(original), policy)
        return cls(rows, encode(rows, policy), policy)

    def cells(self, name: str) -> Ints:
        """Give numbers to the different cells of a column."""
        return numbered([self.frame[name]], self.policy)[0][0]

    def published(self, frame: pl.DataFrame, what: str) -> Published:
        """Read a published table, once it is clear that it belongs to the original."""
        try:
            table = encode(frame, reader_policy(self.policy, self.table.sensitive))
        except (InputError, PolicyError) as error:
            raise InputError(f"{what} cannot be read by this policy: {error}", detail=error.detail) from None
        cells = {name: self._sensitive(frame, name, what) for name in self.policy.sensitive}
        columns = self.coverings(table, self.frame)
        own = linked(columns, table.classes.sizes)
        strangers = int(np.count_nonzero(own.people < own.sizes))
        if strangers:
            raise InputError(
                f"{what} does not belong to the table: {strangers:,} of its {counted(len(own.sizes), 'class')} have "
                "more rows than the table has people who fit"
            )
        return Published(table, cells, columns, own)

    def _sensitive(self, frame: pl.DataFrame, name: str, what: str) -> Cells:
        """Read the published cells of a sensitive column: none can be there more often than in the original."""
        (ours, theirs), worth = numbered([self._publishable(name), frame[name]], self.policy)
        cells = Cells(ours, theirs, worth)
        excess = np.bincount(theirs, minlength=cells.domain) - np.bincount(ours, minlength=cells.domain)
        if (excess > 0).any():
            raise InputError(
                f"{what} does not belong to the table: {counted(int(excess[excess > 0].sum()), 'row')} show a value of "
                f"'{name}' that the table does not have, or not as often"
            )
        return cells

    def _publishable(self, name: str) -> pl.Series:
        """Return a sensitive column as a release would show it."""
        if self.policy.sensitive[name].publish != "bin":
            return self.frame[name]
        column = self.table.sensitive[name]
        return pl.Series(name, [column.labels[code] for code in column.codes.tolist()], dtype=pl.String)

    def coverings(self, table: CodedTable, register: pl.DataFrame) -> list[Covering]:
        """Read what the classes of a published table show, against the rows of a register."""
        shown = table.visible[table.classes.rows[table.classes.starts]]
        return [
            covering_of_series(
                name,
                self.policy.quasi.get(name),
                self.policy.missing,
                original=self.frame[name],
                shown=shown[name],
                register=None if register is self.frame else register[name],
            )
            for name in self.policy.visible
        ]

    def equal_people(self, register: pl.DataFrame) -> Ints:
        """Count the register's rows that equal each class of the original."""
        codes = [numbered([self.frame[name], register[name]], self.policy)[0] for name in self.policy.visible]
        both = np.stack([np.concatenate(pair) for pair in codes], axis=1)
        _, group = np.unique(both, axis=0, return_inverse=True)
        classes, known = self.table.classes, np.bincount(group[self.frame.height :], minlength=int(group.max()) + 1)
        return np.asarray(known[group[classes.rows[classes.starts]]], dtype=np.int64)


def frame_of(given: Any) -> pl.DataFrame:
    """Return a published table, given as a frame or as a release of one table."""
    if not isinstance(given, Release):
        return to_polars(given)
    if len(given.layout.frames) > 1:
        raise InputError(f"this release has {len(given.layout.frames)} tables: take one of its .tables at a time")
    return given.layout.frames[0]


def linked(columns: Sequence[Covering], sizes: Ints) -> Links:
    """Match a register with classes, column by column."""
    fits = [packed(column.covers, column.text_of_class) for column in columns]
    return Links.of([column.cell_of_row for column in columns], fits, sizes)


def register_of(given: Any, policy: Policy) -> pl.DataFrame:
    """Read a register; it must have the columns by which people are known."""
    frame = to_polars(given)
    for name in policy.visible:
        if name not in frame.columns:
            raise InputError(f"the register has no column '{name}'{did_you_mean(name, frame.columns)}")
    return frame


def numbered(columns: Sequence[pl.Series], policy: Policy) -> tuple[list[Ints], Floats | None]:
    """Give numbers to the cells of columns that belong together, and say what each is worth, if it is a number."""
    whole = pl.concat([column.alias("").cast(pl.String) for column in columns])
    values = values_of(whole, policy.missing)
    codes = np.where(values.codes < 0, len(values.texts), values.codes)
    worth = worth_of(values)
    padded = None if worth is None else np.append(worth, np.nan)
    return np.split(codes, np.cumsum([column.len() for column in columns])[:-1]), padded
