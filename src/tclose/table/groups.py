"""Groups of rows that show the same cells, in buckets of whole classes: in memory, in a temporary file, on a cluster.

Rows are added up batch by batch: how many show the same cells, and which of them was the first. What is kept grows with
the number of different cells, not with the number of rows. Where even that is too much, it is written to a temporary
file, in buckets: equal visible cells lie in the same bucket, so classes are never cut.

Work on a table of groups is a function of one bucket. It runs where the bucket lies, and its small answers come back.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from typing import TypeVar

import numpy as np
import polars as pl

from tclose.errors import InputError
from tclose.table.classes import check_cells
from tclose.table.disk_files import SpillFile
from tclose.table.sources.base import FIRST, ROWS
from tclose.table.values import (
    Respelling,
    Tally,
    all_numbers,
    comparable,
    marked_missing,
    may_be_spelled_twice,
    respelled,
    spellings_of,
    with_alike_numbers,
    with_one_float_zero,
)
from tclose.types import Beat, Bools, Ints, still

# What is counted, and the buckets that hold it, wherever they lie


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


# Groups of batches, added up in memory or in a temporary file


BUDGET = 128 << 20  # bytes of groups in memory; if adding up leaves more than half, they go to the temporary file
PENDING = 1 << 20  # groups of batches that wait to be added up, at least
BUCKETS = 64


class GroupedRows(BucketedRows):
    """The groups of all batches so far."""

    def __init__(self, grouping: Grouping, *, budget: int | None, beat: Beat = still) -> None:
        self.grouping, self.budget = grouping, budget  # without a budget, everything stays in memory
        self._beat = beat
        self.rows = self.withheld = 0
        self._pending: dict[Extra, list[pl.DataFrame]] = {extra: [] for extra in grouping.extras}
        self._added = 0  # groups that were added up last time
        self._waiting = 0  # groups of batches since then
        self._size = 0  # bytes of all groups in memory
        self._spilled = SpillFile()
        self.notes = {}
        self._left_out: list[pl.DataFrame] = []  # the visible cells of classes that are no longer counted

    @classmethod
    def of_buckets(
        cls, grouping: Grouping, buckets: Iterable[Groups], *, rows: int, withheld: int, notes: Notes
    ) -> GroupedRows:
        """Put buckets together that were counted elsewhere, of so many rows."""
        made = cls(grouping, budget=None)
        made.rows, made.withheld, made.notes = rows, withheld, notes
        for groups in buckets:
            for extra, frame in groups.items():
                made._pending[extra].append(frame)
        return made

    def check(self, columns: pl.DataFrame) -> None:
        """Refuse columns, given without rows, whose cells cannot be counted."""
        for name in self.grouping.columns:
            (comparable if name in self.grouping.compared else check_cells)(columns[name])

    def add(self, batch: pl.DataFrame, rows: int, *, start: int | None = None) -> None:
        """Count one more batch of so many rows, whose different cells were counted (`cell_groups`).

        `start` is the number of its first row, where it is not the one after the rows that were read.
        """
        texts = [key for key in self.grouping.keys_of_all if batch[key].dtype == pl.String]
        cells = {self.grouping.key(name): self._cells(batch, name) for name in self.grouping.columns}
        first = batch[FIRST].cast(pl.Int64) + (self.read if start is None else start)
        every = {} if self.grouping.visible else {EVERY: np.zeros(batch.height, dtype=np.int8)}
        groups = pl.DataFrame({**cells, **every, ROWS: batch[ROWS].cast(pl.Int64), FIRST: first})
        self._note_spellings(groups, texts)
        self._spellings = None
        self._check(groups, self.grouping.suppressed)
        kept = self._with_one_unknown(groups.filter(pl.Series(self._kept(groups))))
        self._check(kept, self.grouping.compared)
        number = int(kept[ROWS].sum())
        self.rows, self.withheld = self.rows + number, self.withheld + rows - number
        for extra in self.grouping.extras:
            keys = self.grouping.keys_of(extra)
            some = kept.select(*keys, ROWS, *([] if extra else [FIRST]))
            if not self._counts_rows(extra):
                some = summed(some, keys)
            self._pending[extra].append(some)
            self._waiting += some.height
            self._size += int(some.estimated_size())
        # batches repeat each other, so adding up frees memory: only what is too large after it is spilled
        full = self.budget is not None and self._size > self.budget
        if full or (self._waiting > max(PENDING, self._added) and not self._spilled):
            self._add_up()

    def _counts_rows(self, extra: Extra) -> bool:
        """Tell whether groups of a batch are counted already: rows may come in two equal groups, classes may not."""
        every = len(self.grouping.names_of(extra)) == len(self.grouping.columns)
        return every and bool(extra) and self.grouping.person is None

    @property
    def read(self) -> int:
        """How many rows were read."""
        return self.rows + self.withheld

    @property
    def left_out(self) -> pl.DataFrame | None:
        """The visible cells of classes that are no longer counted; None where there are none."""
        return pl.concat(self._left_out) if self._left_out else None

    def leave_out(self, classes: pl.DataFrame, rows: int) -> None:
        """Withhold the rows of classes, given by their visible keys, from now on."""
        self._left_out.append(classes)
        self.rows, self.withheld = self.rows - rows, self.withheld + rows

    @property
    def in_buckets(self) -> bool:
        """Whether groups had to be written to a temporary file; certain once `buckets` were looked at."""
        return bool(self._spilled)

    def buckets(self) -> Iterator[Groups]:
        """Yield the groups of all rows; the rows of a class are never in two buckets."""
        self._add_up()
        if not self._spilled:
            yield {extra: self._one_spelling(frames, extra) for extra, frames in self._pending.items()}
            return
        for bucket in range(BUCKETS):
            self._beat()
            found = {extra: self._spilled.frames((extra, bucket)) for extra in self.grouping.extras}
            if found[()]:
                yield {extra: self._one_spelling(frames, extra) for extra, frames in found.items()}

    def each(self, work: Callable[[Groups], Answer]) -> Iterator[Answer]:
        """Do some work on every bucket, one after the other."""
        return map(work, self.buckets())

    def parcels(self) -> Iterator[tuple[Extra, pl.DataFrame]]:
        """Yield all groups as they were counted, to be put together with those of other parts of a table.

        Whether 9.0 is 9 is known only then, so both are groups.
        """
        self._add_up()
        for extra, frames in self._pending.items():
            for frame in frames:
                yield extra, frame
        if self._spilled:
            for extra, bucket in product(self.grouping.extras, range(BUCKETS)):
                if frames := self._spilled.frames((extra, bucket)):
                    self._beat()
                    yield extra, summed(pl.concat(frames), self.grouping.keys_of(extra))

    def close(self) -> None:
        """Give back the space on disk."""
        self._spilled.close()

    def _cells(self, batch: pl.DataFrame, name: str) -> pl.Series:
        """Return a column of a batch as it is compared."""
        column = check_cells(batch[self.grouping.key(name)])
        if isinstance(column.dtype, pl.Categorical | pl.Enum | pl.Null):
            column = column.cast(pl.String)
        return with_one_float_zero(column) if column.dtype.is_float() else column

    def _check(self, groups: pl.DataFrame, names: Iterable[str]) -> None:
        """Refuse cells that are neither text nor numbers nor dates, and say in which rows."""
        for key, name in ((self.grouping.key(name), name) for name in names):
            try:
                comparable(groups[key])
            except InputError:
                ordered = groups.sort(FIRST)
                comparable(ordered[key].alias(name), ordered[FIRST].to_numpy(), ordered[ROWS].to_numpy())

    def _kept(self, groups: pl.DataFrame) -> Bools:
        """Tell which groups have all values that they must have."""
        kept = np.ones(groups.height, dtype=bool)
        for name in self.grouping.suppressed:
            kept &= ~lacking(groups[self.grouping.key(name)], self.grouping.missing)
        return kept

    def _with_one_unknown(self, groups: pl.DataFrame) -> pl.DataFrame:
        """Return groups in which everyone who is not known is one person, however the cells say so."""
        if self.grouping.person is None:
            return groups
        key = self.grouping.key(self.grouping.person)
        unknown = pl.Series(lacking(groups[key], self.grouping.missing))
        return groups.with_columns(pl.when(unknown).then(None).otherwise(pl.col(key)).alias(key))

    def _note_spellings(self, groups: pl.DataFrame, texts: Sequence[str]) -> None:
        """Find out whether 9.0 may be 9, which holds where all cells of a column of text are numbers."""
        for key in texts:
            needless, numeric = self.notes.get(key, (False, True))
            if numeric:
                numeric = all_numbers(groups[key], self.grouping.missing)
                self.notes[key] = (needless or may_be_spelled_twice(groups[key]), numeric)

    def _one_spelling(self, frames: Sequence[pl.DataFrame], extra: Extra) -> pl.DataFrame:
        return added_up(frames, self.grouping.keys_of(extra), self.spellings, self._left_out)

    def _add_up(self) -> None:
        """Add up what the batches have counted; write it to the temporary file where it is too much."""
        if self._spilled:  # groups of a bucket are added up when they are read
            self._spill()
            return
        for extra, frames in self._pending.items():
            if len(frames) > 1:
                self._pending[extra] = [summed(pl.concat(frames), self.grouping.keys_of(extra))]
        self._waiting, self._added = 0, sum(frame.height for frames in self._pending.values() for frame in frames)
        self._size = sum(int(frame.estimated_size()) for frames in self._pending.values() for frame in frames)
        # above half of it, the next batches would fill it again at once
        if self.budget is not None and self._size > self.budget // 2:
            self._spill()

    def _spill(self) -> None:
        """Write all groups to the temporary file, by bucket."""
        # the visible cells choose the bucket for every extra, so a bucket has all rows of its classes
        for extra, frames in self._pending.items():
            for frame in frames:
                by_bucket = frame.with_columns(self._bucket_of(frame)).partition_by(
                    "bucket", as_dict=True, include_key=False
                )
                for (bucket,), part in by_bucket.items():
                    self._beat()
                    self._spilled.append((extra, bucket), part)
            self._pending[extra] = []
        self._waiting = self._added = self._size = 0

    def _bucket_of(self, groups: pl.DataFrame) -> pl.Series:
        """Return the bucket of each group; cells that may turn out to be equal must have the same one."""
        cells = [alike(groups[key]).alias(str(place)) for place, key in enumerate(self.grouping.keys_of())]
        return (pl.DataFrame(cells).hash_rows() % BUCKETS).cast(pl.Int64).alias("bucket")


def summed(groups: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Add up groups of equal cells."""
    first = [pl.col(FIRST).min()] if FIRST in groups.columns else []
    return groups.group_by(keys).agg(pl.col(ROWS).sum(), *first)


def added_up(
    frames: Sequence[pl.DataFrame],
    keys: Sequence[str],
    spellings: RespellingOf,
    left_out: Sequence[pl.DataFrame] = (),
) -> pl.DataFrame:
    """Put groups together, with one spelling of every number where all cells of a column of text are numbers.

    Classes that are `left_out`, given by their visible keys, are not counted.
    """
    folded = [key for key in keys if key in spellings]
    groups = pl.concat(frames) if len(frames) > 1 else frames[0]
    for key in folded:
        groups = groups.with_columns(respelled(groups[key], spellings[key]))
    for classes in left_out:
        groups = groups.join(classes, on=classes.columns, how="anti", nulls_equal=True)
    return summed(groups, keys) if folded or len(frames) > 1 else groups


def with_notes(one: Notes, other: Notes) -> Notes:
    """Return what holds of columns of text of which two parts are known."""
    none = (False, True)
    pairs = {key: (one.get(key, none), other.get(key, none)) for key in {**one, **other}}
    return {key: (first[0] or second[0], first[1] and second[1]) for key, (first, second) in pairs.items()}


def alike(cells: pl.Series) -> pl.Series:
    """Return cells in which those that may turn out to be equal are equal."""
    if cells.dtype.is_float():
        return cells.fill_nan(None)
    return with_alike_numbers(cells) if cells.dtype == pl.String else cells


def bucket_numbers(groups: pl.DataFrame, keys: Sequence[str], buckets: int) -> Ints:
    """Return the bucket of each group: a checksum of its visible cells as text, so that all machines agree.

    The hashes of polars may differ between processors. Cells that may turn out to be equal must have the same bucket.
    """
    cells = [alike(groups[key]).cast(pl.String).fill_null("\0").alias(key) for key in keys]
    texts = pl.DataFrame(cells).select(pl.concat_str(keys, separator="\0")).to_series()
    return np.array([zlib.crc32(text.encode()) % buckets for text in texts], dtype=np.int64)
