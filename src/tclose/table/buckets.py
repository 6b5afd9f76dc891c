"""Groups of rows in buckets of whole classes, wherever the buckets lie: in memory, in a temporary file, on a cluster.

Work on a table of groups is a function of one bucket. It runs where the bucket lies, and its small answers come back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
import polars as pl

from tclose.table.sources.base import ROWS
from tclose.table.spellings import Respelling, spellings_of
from tclose.table.tally import Tally, marked_missing
from tclose.types import Bools

Extra = tuple[str, ...]  # the columns that rows are counted by, beside those that form classes
Groups = Mapping[Extra, pl.DataFrame]
Notes = dict[str, tuple[bool, bool]]  # by key of a column of text: may numbers have two spellings; is all numbers
RespellingOf = Mapping[str, Respelling]  # by key of a column of text whose numbers have several
EVERY = "every"  # the key of all rows, where no columns form classes
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Grouping:
    """What is counted: which columns form classes, and which further columns are counted in each class."""

    visible: tuple[str, ...]
    extras: tuple[Extra, ...]  # the empty one counts the rows of each class
    compared: frozenset[str]  # columns whose cells must be text, numbers or dates
    suppressed: tuple[str, ...]  # columns without whose value a row is withheld
    person: str | None
    missing: tuple[str, ...]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read, each once."""
        return tuple(dict.fromkeys([*self.visible, *(name for extra in self.extras for name in extra)]))

    @property
    def keys_of_all(self) -> list[str]:
        """What all columns are called in a frame of groups: by their places."""
        return [str(place) for place in range(len(self.columns))]

    def keys_of(self, extra: Extra = ()) -> list[str]:
        """Return what columns are called in a frame of groups: polars takes names such as ^x$ for patterns."""
        keys = [self.key(name) for name in self.names_of(extra)]
        return keys if self.visible else [EVERY, *keys]

    def names_of(self, extra: Extra) -> list[str]:
        """Return the columns by which rows are counted, each once."""
        return list(dict.fromkeys((*self.visible, *extra)))

    def key(self, name: str) -> str:
        """Return what a column is called in a frame of groups."""
        return str(self.columns.index(name))


class BucketedRows(ABC):
    """The rows of a table, counted, in one bucket or in several; the rows of a class are never in two buckets."""

    grouping: Grouping
    rows: int
    withheld: int
    notes: Notes
    _spellings: RespellingOf | None = None  # not known before all rows are counted

    @property
    def spellings(self) -> RespellingOf:
        """The one spelling of each number, by key of a column of text that spells some in several ways."""
        if self._spellings is None:
            self._spellings = {}  # so that groups come as they were counted
            names = [name for name in self.grouping.columns if self.notes.get(self.grouping.key(name)) == (True, True)]
            cells = self.tallies(names) if names else {}
            found = {self.grouping.key(name): spellings_of(tally.cells) for name, tally in cells.items()}
            self._spellings = {key: spellings for key, spellings in found.items() if not spellings.is_empty()}
        return self._spellings

    @property
    def folded(self) -> dict[str, Respelling]:
        """The same by the names of the columns."""
        names = {self.grouping.key(name): name for name in self.grouping.columns}
        return {names[key]: spellings for key, spellings in self.spellings.items()}

    @property
    def left_out(self) -> pl.DataFrame | None:
        """The visible cells of classes that are no longer counted; None where there are none."""
        return None

    @property
    @abstractmethod
    def in_buckets(self) -> bool:
        """Whether there are several buckets."""

    @abstractmethod
    def each(self, work: Callable[[Groups], Answer]) -> Iterator[Answer]:
        """Do some work on every bucket, where it lies, and yield the answers."""

    def only_bucket(self) -> Groups:
        """Return the groups of all rows, where they are in one bucket."""
        return next(self.each(itself))

    def tallies(self, names: Sequence[str]) -> dict[str, Tally]:
        """Count the cells of some columns, over all rows that are kept."""
        tallies: dict[str, Tally] = {}
        for found in self.each(partial(_tallies, self.grouping, names)):
            for name, part in found.items():
                tallies[name] = tallies[name] + part if name in tallies else part
        return tallies

    def repeated(self) -> int:
        """Return how many rows share their visible cells with another row; where a cell is missing, none does."""
        return sum(self.each(partial(_repeated, self.grouping)))


def itself(groups: Groups) -> Groups:
    """Bring a bucket here."""
    return groups


def _tallies(grouping: Grouping, names: Sequence[str], groups: Groups) -> dict[str, Tally]:
    extras = {name: next(e for e in grouping.extras if name in (*grouping.visible, *e)) for name in names}
    return {
        name: Tally.of_counts(name, groups[extra][grouping.key(name)], groups[extra][ROWS].to_numpy())
        for name, extra in extras.items()
    }


def _repeated(grouping: Grouping, groups: Groups) -> int:
    several = groups[()].filter(pl.col(ROWS) > 1)
    known = np.ones(several.height, dtype=bool)
    for key in grouping.keys_of():
        known &= ~lacking(several[key], grouping.missing)
    return int(several[ROWS].to_numpy()[known].sum())


def lacking(cells: pl.Series, missing: Sequence[str]) -> Bools:
    """Tell which cells are missing, or mean that they are."""
    return marked_missing(cells.cast(pl.String).fill_null(""), missing)
