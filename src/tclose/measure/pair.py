"""A release beside its original, brought together once for attacks, measures of detail kept and the page.

The published table is read as any reader reads it and matched with the people of the original. A release that cannot
be a release of the table is refused. Counts of exact values narrow down which people fit a class: those whose value the
class does not list do not. A population is coded once, and the table is coded by the population's values.

Measures of detail kept look at the pair as numbers, column by column. A reader of a release who knows nothing else
shares each published text out evenly among the cells that it covers. What that leaves of the table's distributions is
what an analyst can still see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tclose.errors import InputError, PolicyError, did_you_mean
from tclose.measure.information_loss import Declaration
from tclose.measure.linkage import Links, packed
from tclose.messages import say
from tclose.policy import Policy, Sensitive
from tclose.privacy.reader import reader_policy
from tclose.recode.coverage import Coverage, covering, worth_of
from tclose.recode.frame import cells_apart
from tclose.recode.meaning import KnownValues
from tclose.recode.typed_table import is_typed, text_table
from tclose.table import CodedTable, SensitiveColumn, encode_quietly, to_polars
from tclose.table.disk_files import NoSpace
from tclose.table.sources import read
from tclose.table.values import Values, values_of
from tclose.types import Beat, Bools, Floats, Ints, still
from tclose.words import counted

# Counts of exact values narrow down who fits a class


def narrowed(columns: Sequence[Coverage], original: CodedTable, published: CodedTable) -> list[Coverage]:
    """Return coverings in which the columns that are counted apart cover listed values only, class by class.

    Bins stay as they are: which bin a value of a register belongs to is not published.
    """
    specs = original.policy.sensitive
    return [
        _narrowed(column, published)
        if column.name in published.apart and specs[column.name].publish != "bin"
        else column
        for column in columns
    ]


def _narrowed(column: Coverage, published: CodedTable) -> Coverage:
    """Give every class a text of its own, which covers what the class's range covers and its counts list."""
    classes, values = published.classes, published.values(column.name)
    listed: Bools = np.zeros((len(classes), column.covers.shape[1]), dtype=bool)
    cells = _possible_cells(column, values.texts)[values.codes[classes.rows]]
    known = cells >= 0
    listed[classes.labels[known], cells[known]] = True
    covers = column.covers[column.text_of_class] & listed
    return replace(column, covers=covers, text_of_class=np.arange(len(classes)))


def _possible_cells(column: Coverage, texts: Sequence[str]) -> Ints:
    """Return the cell of each listed value, -1 where there is none; last comes a missing value, which has the last."""
    both = values_of(pl.Series([*column.values, *texts], dtype=pl.String), ()).codes  # equal by size: 1.0 is 1
    of_value = np.full(int(both.max(initial=-1)) + 1, -1, dtype=np.int64)
    of_value[both[: len(column.values)]] = np.arange(len(column.values))
    return np.append(of_value[both[len(column.values) :]], column.covers.shape[1] - 1)


# The population of a table


NOT_HELD = "the population does not hold the table"


@dataclass(frozen=True, eq=False, repr=False)
class Population:
    """The rows of a population, one per person, coded by the quasi-identifiers and kept columns of a policy."""

    table: CodedTable

    @classmethod
    def of(cls, given: Any, policy: Policy, like: CodedTable | None = None) -> Population:
        """Take a frame, or read a file, with numbers where the table has them; further columns are ignored."""
        asked = Policy(quasi=policy.quasi, keep=policy.keep, k=2, missing=policy.missing, others="drop")
        try:
            frame = to_polars(read(given, missing=policy.missing) if isinstance(given, str | Path) else given)
            population = cls(encode_quietly(frame, asked, ignore_others=True))
            if like is not None:
                population._check_like(like)
            _ = population.table.quasi  # codes them, so that mistakes are found now
        except (InputError, PolicyError) as error:
            sentence = error.sentence.replace("the table has no column", "it has no column")
            raise InputError(
                "the population cannot be used: {sentence}", sentence=sentence, detail=error.detail
            ) from None
        return population

    def _check_like(self, table: CodedTable) -> None:
        """Refuse a population with text where the table has numbers or dates."""
        for name in table.policy.visible:
            kind = table.values(name).kind
            if kind in ("number", "date") and self.table.values(name).kind != kind:
                raise InputError("its column '{name}' is not all {kind}s, as the table's is", name=name, kind=kind)

    def coded(self, table: CodedTable) -> CodedTable:
        """Return a part of the population with its values coded as the population's, so that both publish alike."""
        return replace(table, read={**table.read, **{name: self._among(table, name) for name in table.policy.visible}})

    def check_holds(self, table: CodedTable) -> None:
        """Refuse a table of which some rows are nobody's in the population, whatever is published."""
        part = self.coded(table)
        both = [
            np.concatenate([each.values(name).codes for each in (self.table, part)])
            for name in self.table.policy.visible
        ]
        _, kind = np.unique(np.stack(both, axis=1), axis=0, return_inverse=True)
        persons, rows = np.split(kind.reshape(-1), [len(self.table)])
        excess = np.bincount(rows, minlength=int(kind.max()) + 1) - np.bincount(persons, minlength=int(kind.max()) + 1)
        if strangers := int(excess[excess > 0].sum()):
            raise InputError(
                "{not_held}: {rows} of the table have quasi-identifiers and kept values that it does not show, "
                "or not as often",
                not_held=say(NOT_HELD),
                rows=counted(strangers, "row"),
            )

    def _among(self, table: CodedTable, name: str) -> Values:
        """Return the values of a table's column as values of the population."""
        own, whole = table.values(name), self.table.values(name)
        known = KnownValues.of(whole.domain)
        codes = np.array([*(_code(known, text) for text in own.texts), -1], dtype=np.int64)[own.codes]
        if strange := int(np.count_nonzero((codes < 0) & (own.codes >= 0))):
            raise InputError(
                "{not_held}: {rows} show a value of '{name}' that it lacks",
                not_held=say(NOT_HELD),
                rows=counted(strange, "row"),
                name=name,
            )
        return Values(whole.domain, codes)


def _code(known: KnownValues, text: str) -> int:
    code = known.code(text)
    return -1 if code is None else code


def population_of(table: CodedTable, policy: Policy) -> Population | None:
    """Read the population of which the policy asks for δ-presence; None where it does not ask."""
    return None if policy.presence is None else Population.of(policy.presence.population, policy, table)


def in_population(table: CodedTable) -> CodedTable:
    """Return a table as its release codes it: by the values of its population, where its policy names one."""
    population = population_of(table, table.policy)
    return table if population is None else population.coded(table)


# A table and its release


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


@dataclass(frozen=True, eq=False, repr=False)
class TablePair:
    """A published table beside its original: their codes and sensitive cells, and which people fit which class."""

    original: CodedTable  # less the rows that are withheld for a missing value
    published: CodedTable
    cells: Mapping[str, CellPair]
    columns: Sequence[Coverage]  # quasi-identifiers and kept columns, against the rows of the original
    people: Links  # the original's rows against the classes

    @classmethod
    def of(
        cls, original: CodedTable, published: CodedTable, what: str = "the release", *, beat: Beat = still
    ) -> TablePair:
        """Bring a coded table and its coded release together; refuse a release that is not the table's.

        `beat` is called between columns and blocks of rows, now and whenever people and classes are compared later.
        """
        cells = {}
        for name in original.policy.sensitive:
            beat()
            cells[name] = _cells(original, published, name, what)
        columns = coverings(original, published, beat=beat)
        people = links_to_classes(narrowed(columns, original, published), published.classes.sizes, beat)
        check_people(people, what)
        return cls(original, published, cells, columns, people)

    def with_beat(self, beat: Beat) -> TablePair:
        """Return the same, for work that is told of in another way."""
        return replace(self, people=self.people.with_beat(beat))

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
            "{what} does not belong to the table: {strangers:,} of its {classes} have more rows than the table "
            "has people who fit",
            what=what,
            strangers=strangers,
            classes=counted(len(people.sizes), "class"),
        )


def read_published(
    frame: Any, original: CodedTable, what: str = "the release", *, counts: Any | None = None
) -> CodedTable:
    """Code a published table, with the counts of exact values if it has any, as the policy of its original says."""
    if (counts is None) == bool(original.policy.both):
        raise InputError(
            "by this policy, {what} has a second table, with counts of exact values: give both tables"
            if counts is None
            else "by this policy, {what} has one table only",
            what=what,
        )
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
        raise InputError(
            "{what} has groups, as a permutation or an anatomy has: attacks compare classes with people", what=what
        )


@contextmanager
def reading_by_policy(what: str) -> Iterator[None]:
    """Let a refusal say that it is the release which the policy does not fit."""
    try:
        yield
    except NoSpace:
        raise
    except (InputError, PolicyError) as error:
        raise InputError(
            "{what} cannot be read by this policy: {sentence}", what=what, sentence=error.sentence, detail=error.detail
        ) from None


def _columns_of(policy: Policy) -> tuple[str, ...]:
    """Return the columns that a release of one table may have."""
    return (*policy.visible, *policy.sensitive, *policy.unlinkable, *(policy.pseudonym or ()))


def _cells(original: CodedTable, published: CodedTable, name: str, what: str) -> CellPair:
    """Give numbers to the cells of a column; refuse a release that shows a value more often than the table does."""
    before, after, column = original.values(name), published.values(name), original.sensitive[name]
    texts, codes = published_spelling(before.texts, before.codes, column, column.codes, original.policy.sensitive[name])
    pair = cell_pair(texts, codes, after.texts, after.codes)
    check_values(pair, name, what)
    return pair


def published_spelling(
    texts: Sequence[str], values: Ints, column: SensitiveColumn, codes: Ints, spec: Sensitive
) -> tuple[Sequence[str], Ints]:
    """Return the texts that a release shows in the place of an original's values, and the text of each value."""
    return (column.labels, np.where(values < 0, -1, codes)) if spec.publish == "bin" else (texts, values)


def cell_pair(before_texts: Sequence[str], before: Ints, after_texts: Sequence[str], after: Ints) -> CellPair:
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
            "{what} does not belong to the table: {rows} show a value of '{name}' that the table does not have, "
            "or not as often",
            what=what,
            rows=counted(int(excess[excess > 0].sum()), "row"),
            name=name,
        )


def coverings(
    original: CodedTable, published: CodedTable, register: pl.DataFrame | None = None, *, beat: Beat = still
) -> list[Coverage]:
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


def links_to_classes(
    columns: Sequence[Coverage], sizes: Ints, beat: Beat = still, *, group_rows: Ints | None = None
) -> Links:
    """Find the people of a register that fit each class; out of core, its rows are groups of so many people."""
    fits = [packed(column.covers, column.text_of_class, beat) for column in columns]
    beat()
    return Links.of([column.cell_of_row for column in columns], fits, sizes, beat, group_rows)


def register_of(given: Any, policy: Policy) -> pl.DataFrame:
    """Read a register; it must have the quasi-identifiers and the kept columns."""
    frame = to_polars(given)
    for name in policy.visible:
        if name not in frame.columns:
            raise InputError(
                "the register has no column '{name}'{hint}", name=name, hint=did_you_mean(name, frame.columns)
            )
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


# The pair as measures of detail kept see it


@dataclass(frozen=True, eq=False)
class VisibleColumn:
    """A quasi-identifier or a kept column: the cell of every row of the table, the text of every row of the release."""

    name: str
    cells: Ints  # per row of the table
    texts: Ints  # per row of the release
    spread: Floats  # texts × cells: how a reader shares each text out
    covered: Ints  # how many cells each text covers
    before: Floats | None  # what each cell is worth, where cells are numbers or dates; not a number where missing
    after: Floats | None  # what each text is worth to a reader

    def shares_before(self) -> Floats:
        """Return the share of the table's rows that each cell has."""
        return np.bincount(self.cells, minlength=self.spread.shape[1]) / len(self.cells)

    def shares_after(self) -> Floats:
        """Return the share that a reader of the release gives each cell."""
        return np.asarray(np.bincount(self.texts, minlength=len(self.spread)) @ self.spread / len(self.texts))


@dataclass(frozen=True, eq=False)
class SensitiveCells:
    """A sensitive column: published as it is."""

    name: str
    before: Ints  # the cell in every row of the table
    after: Ints  # and of the release
    domain: int
    worth: Floats | None  # of each cell, where cells are numbers or dates


@dataclass(frozen=True, eq=False)
class Detail:
    """A table and its release, as measures of detail kept see them."""

    visible: Sequence[VisibleColumn]
    sensitive: Sequence[SensitiveCells]
    labels: Ints  # class of every row of the release
    people: Links  # the table's rows against the classes


@dataclass(frozen=True, kw_only=True)
class DetailMeasure(Declaration):
    """One measure of detail kept; None where it is not known, such as where a table has nothing to measure it on."""

    compute: Callable[[Detail], float | None]
    why_none: str = "this table has nothing to measure it on"
    seconds: Callable[[Detail], float] = lambda detail: 0.0  # about how long it takes, where that may be long


def joint(column: VisibleColumn, attribute: SensitiveCells, *, after: bool, values: slice = slice(None)) -> Floats:
    """Return the shares of cells × some values: as they are in the table, or as a reader of the release sees them."""
    first, last, _ = values.indices(attribute.domain)
    width, cells = last - first, column.spread.shape[1]
    if not after:
        return _counts(column.cells, attribute.before - first, cells, width) / len(column.cells)
    counts = _counts(column.texts, attribute.after - first, len(column.spread), width)
    return np.asarray(column.spread.T @ counts) / len(column.texts)


def _counts(rows: Ints, values: Ints, height: int, width: int) -> Ints:
    """Count pairs of a row and a value, of the values from 0 to below the width."""
    inside = (values >= 0) & (values < width)
    counts = np.bincount(rows[inside] * width + values[inside], minlength=height * width)
    return counts.reshape(height, width)


def detail_of(beside: TablePair) -> Detail:
    """Return a table and its release as measures of detail see them."""
    visible = []
    for column in beside.columns:
        beside.people.beat()
        visible.append(_visible(column, beside))
    return Detail(
        visible=visible,
        sensitive=[
            SensitiveCells(name, pair.before, pair.after, pair.domain, pair.worth)
            for name, pair in beside.cells.items()
            if name not in beside.published.apart  # whose values no row shows
        ],
        labels=beside.labels,
        people=beside.people,
    )


def _visible(column: Coverage, beside: TablePair) -> VisibleColumn:
    worth = None if column.numbers is None else np.append(column.numbers, np.nan)
    return VisibleColumn(
        name=column.name,
        cells=column.cell_of_row,
        texts=column.text_of_class[beside.labels],
        spread=column.spread(),
        covered=column.covers.sum(axis=1),
        before=worth,
        after=column.worth(),
    )
