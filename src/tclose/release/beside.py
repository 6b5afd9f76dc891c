"""A release beside its original, made once: attacks, measures of detail kept and the page read it.

The published table is read as any reader reads it and matched with the people of the original. A release that cannot
be a release of the table is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InputError, PolicyError, did_you_mean
from tclose.measure.linkage import Links, packed
from tclose.policy import Policy, Sensitive
from tclose.recode.counts import cells_apart
from tclose.recode.covering import Covering, covering, worth_of
from tclose.recode.untyped import is_typed, text_table
from tclose.release.narrowing import narrowed
from tclose.release.reader import reader_policy
from tclose.table import CodedTable, SensitiveColumn, encode_quietly, to_polars
from tclose.table.spill import NoSpace
from tclose.table.values import values_of
from tclose.types import Beat, Floats, Ints, still
from tclose.words import counted

GROUP = "group"  # a column of a permutation and of an anatomy


@dataclass(frozen=True, eq=False)
class CellPair:
    """One sensitive column of a table and of its release: equal cells have equal numbers, missing cells as well."""

    before: Ints  # per row of the table
    after: Ints  # per row of the release
    worth: Floats | None  # of each number, where they are numbers or dates

    @property
    def domain(self) -> int:
        """How many different cells there are."""
        return int(max(self.before.max(), self.after.max())) + 1


@dataclass(frozen=True, eq=False)
class Beside:
    """A published table beside its original: their codes and sensitive cells, and which people fit which class."""

    original: CodedTable  # less the rows that are withheld for a missing value
    published: CodedTable
    cells: Mapping[str, CellPair]
    columns: Sequence[Covering]  # quasi-identifiers and kept columns, against the rows of the original
    people: Links  # the original's rows against the classes

    @classmethod
    def of(
        cls, original: CodedTable, published: CodedTable, what: str = "the release", *, beat: Beat = still
    ) -> Beside:
        """Bring a coded table and its coded release together; refuse a release that is not the table's.

        `beat` is called between columns and blocks of rows, now and whenever people and classes are compared later.
        """
        cells = {}
        for name in original.policy.sensitive:
            beat()
            cells[name] = _cells(original, published, name, what)
        columns = coverings(original, published, beat=beat)
        people = linked(narrowed(columns, original, published), published.classes.sizes, beat)
        check_people(people, what)
        return cls(original, published, cells, columns, people)

    @property
    def labels(self) -> Ints:
        """The class of every published row."""
        return self.published.classes.labels_by_row()

    @property
    def policy(self) -> Policy:
        """The policy of the original."""
        return self.original.policy


def check_people(people: Links, what: str) -> None:
    """Refuse a release with a class that fits fewer people of the table than it has rows."""
    strangers = int(np.count_nonzero(people.people < people.sizes))
    if strangers:
        raise InputError(
            f"{what} does not belong to the table: {strangers:,} of its {counted(len(people.sizes), 'class')} have "
            "more rows than the table has people who fit"
        )


def read_published(
    frame: Any, original: CodedTable, what: str = "the release", *, counts: Any | None = None
) -> CodedTable:
    """Code a published table, with the counts of exact values if it has any, as the policy of its original says."""
    if (counts is None) == bool(original.policy.both):
        second = "a second table, with counts of exact values: give both tables"
        raise InputError(f"by this policy, {what} has {second if counts is None else 'one table only'}")
    published = to_polars(frame)
    check_no_groups(published, original.policy, what)
    with reading_by_policy(what):
        policy = reader_policy(original.policy, original.sensitive)
        published = text_table(published, policy) if is_typed(published.columns, policy) else published
        apart = {} if counts is None else cells_apart(published, to_polars(counts), policy)
        return encode_quietly(published, policy, apart=apart)


def check_no_groups(published: pl.DataFrame, policy: Policy, what: str) -> None:
    """Refuse the tables of methods that publish groups instead of classes."""
    if GROUP in published.columns and GROUP not in _columns_of(policy):
        raise InputError(f"{what} has groups, as a permutation or an anatomy has: attacks compare classes with people")


@contextmanager
def reading_by_policy(what: str) -> Iterator[None]:
    """Let a refusal say that it is the release which the policy does not fit."""
    try:
        yield
    except NoSpace:
        raise
    except (InputError, PolicyError) as error:
        raise InputError(f"{what} cannot be read by this policy: {error.sentence}", detail=error.detail) from None


def _columns_of(policy: Policy) -> tuple[str, ...]:
    """Return the columns that a release of one table may have."""
    return (*policy.visible, *policy.sensitive, *policy.unlinkable, *(policy.pseudonym or ()))


def _cells(original: CodedTable, published: CodedTable, name: str, what: str) -> CellPair:
    """Give numbers to the cells of a column; refuse a release that shows a value more often than the table does."""
    before, after, column = original.values(name), published.values(name), original.sensitive[name]
    texts, codes = spelled(before.texts, before.codes, column, column.codes, original.policy.sensitive[name])
    pair = paired(texts, codes, after.texts, after.codes)
    check_values(pair, name, what)
    return pair


def spelled(
    texts: Sequence[str], values: Ints, column: SensitiveColumn, codes: Ints, spec: Sensitive
) -> tuple[Sequence[str], Ints]:
    """Return the texts that a release shows in the place of an original's values, and the text of each value."""
    return (column.labels, np.where(values < 0, -1, codes)) if spec.publish == "bin" else (texts, values)


def paired(before_texts: Sequence[str], before: Ints, after_texts: Sequence[str], after: Ints) -> CellPair:
    """Give numbers to cells of a table and of its release, given as the place of a text; -1 where a cell is missing."""
    both = values_of(pl.Series([*before_texts, *after_texts], dtype=pl.String), ())  # equal by size: 1.0 is 1
    missing = len(both.texts)
    numbers = np.append(both.codes[: len(before_texts)], missing), np.append(both.codes[len(before_texts) :], missing)
    worth = worth_of(both.domain)
    return CellPair(numbers[0][before], numbers[1][after], None if worth is None else np.append(worth, np.nan))


def check_values(
    pair: CellPair, name: str, what: str, rows_before: Ints | None = None, rows_after: Ints | None = None
) -> None:
    """Refuse a release that shows a value more often than the table does; cells may stand for several rows each."""
    before, after = (
        np.bincount(cells, rows, minlength=pair.domain).astype(np.int64)
        for cells, rows in ((pair.before, rows_before), (pair.after, rows_after))
    )
    excess = after - before
    if (excess > 0).any():
        raise InputError(
            f"{what} does not belong to the table: {counted(int(excess[excess > 0].sum()), 'row')} show a value of "
            f"'{name}' that the table does not have, or not as often"
        )


def coverings(
    original: CodedTable, published: CodedTable, register: pl.DataFrame | None = None, *, beat: Beat = still
) -> list[Covering]:
    """Read which cells of the original, or of a register, the published texts of each column cover."""
    policy, first_rows = original.policy, published.visible[published.classes.rows[published.classes.starts]]
    columns = []
    for name in policy.visible:
        beat()
        column = covering(
            original.quasi[name] if name in original.quasi else original.values(name),
            first_rows[name].alias("").cast(pl.String).fill_null("").to_list(),
            None if register is None else values_of(register[name], policy.missing),
            missing=policy.missing,
        )
        columns.append(column)
    return columns


def linked(columns: Sequence[Covering], sizes: Ints, beat: Beat = still, *, group_rows: Ints | None = None) -> Links:
    """Find the people of a register that fit each class; out of core, its rows are groups of so many people."""
    fits = [packed(column.covers, column.text_of_class, beat) for column in columns]
    beat()
    return Links.of([column.cell_of_row for column in columns], fits, sizes, beat, group_rows)


def register_of(given: Any, policy: Policy) -> pl.DataFrame:
    """Read a register; it must have the quasi-identifiers and the kept columns."""
    frame = to_polars(given)
    for name in policy.visible:
        if name not in frame.columns:
            raise InputError(f"the register has no column '{name}'{did_you_mean(name, frame.columns)}")
    return frame


def equal_people(original: CodedTable, register: pl.DataFrame) -> Ints:
    """Count the register's rows that equal each class of the original."""
    codes = []
    for name in original.policy.visible:
        both = pl.concat([column[name].alias("").cast(pl.String) for column in (original.frame, register)])
        codes.append(values_of(both, original.policy.missing).codes)
    _, group = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
    classes, known = original.classes, np.bincount(group[len(original) :], minlength=int(group.max()) + 1)
    return np.asarray(known[group[classes.rows[classes.starts]]], dtype=np.int64)
