"""Counting queries: the median relative error of random range queries that are asked of a release.

A query counts the rows within a range on one to three quasi-identifiers and, where there is a sensitive attribute,
within a range on one of them: the question of Xiao and Tao (VLDB 2006) and of Cao, Karras, Kalnis and Tan (VLDB Journal
20, 2011). Ranges are laid around a row drawn by chance: where columns depend on each other, most others would find
nobody, and rightly say so. Anyone who has only the release takes every class for spread evenly over what it publishes.

The relative error is |estimate − truth| / max(truth, 0.1 % of the rows): without that floor, chance would
decide the error of a query that hardly any row answers. Truth is counted on all input rows, withheld ones too.
It is a figure for the steward: solved for enough queries, it would tell of cells that are not published.

Each published text is spread evenly over the values that it may stand for. The texts are read by `recode/meaning.py`. A
number's range spreads over its values at the column's own grain (years of age, days, cents: the greatest common step
between its values), a coded tail up to the table's end, a mean is a point; a label spreads over its leaves, a set over
its members; "missing" is one value more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.recode.cell import MISSING
from tclose.recode.meaning import Meaning, meanings, reader_of
from tclose.table import CodedTable, SensitiveColumn
from tclose.table.classes import classes_of
from tclose.table.quasi import LabelColumn, NumberColumn, QuasiColumn, read_quasi
from tclose.table.random_ranges import MOST_PREDICATES, SELECTIVITIES
from tclose.table.values import ValueList, values_of
from tclose.types import Floats, Ints

# Queries, and the error of their counts


EACH = 50  # queries of one number of predicates and one selectivity
FLOOR = 0.001  # of the rows


@dataclass(frozen=True)
class Range:
    """Codes of one column, from `first` to `last`, both included."""

    column: int
    first: int
    last: int


@dataclass(frozen=True)
class Query:
    """Count the rows within every range: of quasi-identifiers, and of one sensitive attribute where there is any."""

    quasi: tuple[Range, ...]
    sensitive: Range | None
    selectivity: float


class ValueShares(Protocol):
    """Published values of one column, each spread evenly over the values that it may stand for."""

    def shares(self, first: int, last: int) -> Floats:
        """Return, per published value, the share of it that lies within a range of codes."""


@dataclass(frozen=True, eq=False)
class PublishedRanges:
    """Published ranges on a line, from `low` up to below `high`; code c fills `starts[c]` up to below `stops[c]`.

    A range without width is a point. One that says `or missing` has one value more, which lies in no range;
    where only missing values stand, `present` is false.
    """

    low: Floats
    high: Floats
    or_missing: NDArray[np.bool_]
    present: NDArray[np.bool_]
    starts: Floats
    stops: Floats

    def shares(self, first: int, last: int) -> Floats:
        """Return the share of each published range that lies between two codes."""
        begin, end = self.starts[first], self.stops[last]
        width = self.high - self.low
        shared = np.clip(np.minimum(self.high, end) - np.maximum(self.low, begin), 0, None)
        point = (self.low >= begin) & (self.low < end)
        values = width + self.or_missing
        shares = np.where(width > 0, shared / np.where(values > 0, values, 1), point / (1 + self.or_missing))
        return np.where(self.present, shares, 0.0)


@dataclass(frozen=True, eq=False)
class CodeSets:
    """Published sets, or the values of a group of rows: which codes belong to each owner, as often as they do."""

    keys: Ints  # owner · domain + code, sorted
    sizes: Ints  # members of each owner, a missing one among them
    domain: int

    @classmethod
    def of(cls, owners: Ints, codes: Ints, *, domain: int, count: int) -> CodeSets:
        """Take one owner and one code per member; a missing value (-1) counts, and lies in no range."""
        present = codes >= 0
        keys = np.sort(owners[present] * domain + codes[present])
        return cls(keys, np.bincount(owners, minlength=count).astype(np.int64), domain)

    def shares(self, first: int, last: int) -> Floats:
        """Return the share of each owner's members that lie between two codes."""
        base = np.arange(len(self.sizes)) * self.domain
        inside = np.searchsorted(self.keys, base + last, "right") - np.searchsorted(self.keys, base + first, "left")
        return inside / np.maximum(self.sizes, 1)


@dataclass(frozen=True, eq=False)
class QueriedRows:
    """The input: per column, one code per row; -1 where missing."""

    quasi: tuple[Ints, ...]
    sensitive: tuple[Ints, ...]
    height: int

    def count(self, query: Query) -> int:
        """Return how many rows answer the query."""
        inside = np.ones(self.height, dtype=bool)
        for condition in query.quasi:
            inside &= _within(self.quasi[condition.column], condition)
        if query.sensitive is not None:
            inside &= _within(self.sensitive[query.sensitive.column], query.sensitive)
        return int(np.count_nonzero(inside))


@dataclass(frozen=True, eq=False)
class QueriedTable:
    """One published table: cells of rows that look alike, and groups of rows that share their sensitive values.

    Mostly a cell is a group; where quasi-identifiers stay exact and only a group number leads to the sensitive
    values, a group has many cells.
    """

    shares: tuple[ValueShares, ...]  # per quasi-identifier, its different published values
    shown: tuple[Ints, ...]  # per quasi-identifier, which of them each cell shows
    sizes: Ints  # rows of each cell
    groups: Ints  # the group of each cell
    sensitive: Mapping[int, CodeSets]  # per sensitive column that this table holds, its values in each group

    def estimate(self, query: Query) -> float:
        """Return how many rows would answer the query, were every class spread evenly over what it publishes."""
        expected = self.sizes.astype(np.float64)
        for condition in query.quasi:
            shares = self.shares[condition.column].shares(condition.first, condition.last)
            expected *= shares[self.shown[condition.column]]
        if query.sensitive is not None:
            members = self.sensitive[query.sensitive.column]
            expected *= members.shares(query.sensitive.first, query.sensitive.last)[self.groups]
        return float(expected.sum())


@dataclass(frozen=True)
class QueryError:
    """The median relative error over all queries, and by number of predicates and selectivity."""

    median: float
    parts: tuple[Mapping[str, float], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {"query_error": self.median, "query_errors": [dict(part) for part in self.parts]}


def draw(rows: QueriedRows, seed: int) -> list[Query]:
    """Draw queries about columns that vary; every range covers its share of the rows, and one row answers them all."""
    chance = np.random.default_rng([seed, len(rows.quasi)])
    quasi, sensitive = _columns(rows.quasi), _columns(rows.sensitive)
    drawn = (
        _drawn(quasi, sensitive, predicates, selectivity, chance)
        for predicates in range(1, min(MOST_PREDICATES, len(quasi)) + 1)
        for selectivity in SELECTIVITIES
        for _ in range(EACH)
    )
    return [query for query in drawn if query is not None]


def query_error(rows: QueriedRows, tables: Sequence[QueriedTable], queries: Sequence[Query]) -> QueryError | None:
    """Ask every query of the table that holds its sensitive attribute; none where there is nothing to ask."""
    if not queries:
        return None
    floor = FLOOR * rows.height
    errors = np.empty(len(queries))
    kinds: dict[tuple[int, float], list[int]] = {}
    for number, query in enumerate(queries):
        truth = rows.count(query)
        errors[number] = abs(_table_for(tables, query).estimate(query) - truth) / max(truth, floor)
        kinds.setdefault((len(query.quasi), query.selectivity), []).append(number)
    parts = tuple(
        {"predicates": predicates, "selectivity": selectivity, "error": float(np.median(errors[numbers]))}
        for (predicates, selectivity), numbers in kinds.items()
    )
    return QueryError(float(np.median(errors)), parts)


def _table_for(tables: Sequence[QueriedTable], query: Query) -> QueriedTable:
    if query.sensitive is None:
        return tables[0]
    return next(table for table in tables if query.sensitive.column in table.sensitive)


def _within(codes: Ints, condition: Range) -> NDArray[np.bool_]:
    return (codes >= condition.first) & (codes <= condition.last)


@dataclass(frozen=True, eq=False)
class _Column:
    """A column to ask about: its number, its codes, and how many rows have at most each code."""

    number: int
    codes: Ints
    running: Ints

    def around(self, row: int, share: float, chance: np.random.Generator) -> Range:
        """Draw neighbouring codes that cover a share of the rows and this row; where that is all, its own code."""
        code, total = int(self.codes[row]), int(self.running[-1])
        before = int(self.running[code - 1]) if code else 0
        place, span = chance.uniform(before, self.running[code]), share * total
        start = chance.uniform(max(place - span, 0), min(place, total - span))
        first = min(int(np.searchsorted(self.running, start, "right")), code)
        last = max(int(np.searchsorted(self.running, start + span, "left")), code)
        if self.running[last] == total and (first == 0 or self.running[first - 1] == 0):
            first = last = code
        return Range(self.number, first, last)


def _columns(all_codes: Sequence[Ints]) -> list[_Column]:
    """Return the columns that vary."""
    columns = []
    for number, codes in enumerate(all_codes):
        running = np.cumsum(np.bincount(codes[codes >= 0], minlength=1))
        if np.count_nonzero(np.diff(running, prepend=0)) > 1:
            columns.append(_Column(number, codes, running))
    return columns


def _drawn(
    quasi: Sequence[_Column],
    sensitive: Sequence[_Column],
    predicates: int,
    selectivity: float,
    chance: np.random.Generator,
) -> Query | None:
    """Draw a query that at least one row answers; none where no row has a value in every column drawn."""
    share = selectivity ** (1 / (predicates + bool(sensitive)))
    chosen = [quasi[number] for number in sorted(chance.choice(len(quasi), predicates, replace=False).tolist())]
    about = [sensitive[int(chance.integers(len(sensitive)))]] if sensitive else []
    rows = np.flatnonzero(np.all([column.codes >= 0 for column in chosen + about], axis=0))
    if not len(rows):
        return None
    row = int(rows[chance.integers(len(rows))])
    ranges = [column.around(row, share, chance) for column in chosen + about]
    return Query(tuple(ranges[:predicates]), ranges[-1] if about else None, selectivity)


# Published quasi-identifiers as shares of values


FINEST = 2**52  # steps between a column's ends; more of them, and a float could not tell them apart


def value_shares(column: QuasiColumn, texts: Sequence[str]) -> ValueShares:
    """Return what different published texts of a column may stand for, in the codes of the column."""
    ways = meanings(reader_of(column), texts, name=column.name)
    if isinstance(column, LabelColumn):
        return _code_sets_of_readings(ways, len(column.hierarchy.leaves))
    if isinstance(column, NumberColumn):
        return _ranges(GrainLine(column.values), ways)
    return _code_sets_of_readings(ways, len(column.values.texts))


def _code_sets_of_readings(texts: Sequence[Sequence[Meaning]], domain: int) -> CodeSets:
    """ValueShares every text over the codes that it covers in any of the ways to read it."""
    members = [np.unique(np.concatenate([_codes(meaning, domain) for meaning in ways])) for ways in texts]
    owners = np.repeat(np.arange(len(texts)), [len(codes) for codes in members])
    return CodeSets.of(owners, np.concatenate(members), domain=max(domain, 1), count=len(texts))


def _codes(meaning: Meaning, domain: int) -> Ints:
    """Return the codes that a text covers; -1 for a missing value among them."""
    codes = np.arange(domain)[meaning.codes]
    return np.append(codes, -1) if meaning.missing else codes


class GrainLine:
    """The values of a column, numbers or dates, counted in grains from the smallest."""

    def __init__(self, values: ValueList) -> None:
        units = values.units
        assert units is not None
        self.scale, self.first = values.scale, int(units[0])
        span = int(units[-1]) - self.first
        wide = (units if span < FINEST else units.astype(object)) - self.first
        self.grain = max(int(np.gcd.reduce(wide)), -(-span // FINEST), 1)
        self.starts: Floats = np.asarray(wide / self.grain, dtype=np.float64)
        self.stops = self.starts + 1

    def place(self, number: Fraction) -> float:
        """Return where a number lies."""
        return float((number * 10**self.scale - self.first) / Fraction(self.grain))

    def clipped(self, low: float, high: float, covered: slice) -> tuple[float, float]:
        """Keep a range off the values that it does not cover: a snapped end can lie within a grain of one."""
        first, after = covered.start, covered.stop
        if first > 0:
            low = max(low, float(min(self.stops[first - 1], self.starts[first])))
        if after < len(self.starts):
            high = min(high, float(max(self.stops[after - 1], self.starts[after])))
        return low, high


def _ranges(line: GrainLine, texts: Sequence[Sequence[Meaning]]) -> PublishedRanges:
    """Lay every text on the line; numbers and dates can be read in one way only."""
    readings = [ways[0] for ways in texts]
    low, high = np.array([_ends(line, meaning) for meaning in readings]).T
    present = np.array([meaning.cell.present for meaning in readings])
    or_missing = np.array([meaning.missing for meaning in readings]) & present
    return PublishedRanges(low, high, or_missing, present, line.starts, line.stops)


def _ends(line: GrainLine, meaning: Meaning) -> tuple[float, float]:
    """Return where a text begins and where it stops: a range stops one grain after its last number, a mean at once."""
    cell = meaning.cell
    if not cell.present:
        return 0.0, 0.0
    if cell.mean is not None:
        return line.place(cell.mean), line.place(cell.mean)
    low = 0.0 if cell.low is None else line.place(cell.low)
    high = float(line.stops[-1]) if cell.high is None else line.place(cell.high) + 1
    assert isinstance(meaning.codes, slice)
    return line.clipped(low, high, meaning.codes)


# Queries that are asked of a table and of its release


@dataclass(frozen=True, eq=False, repr=False)
class LinkedRows:
    """A published table of exact quasi-identifiers, and the column that links it to a table of sensitive values."""

    frame: pl.DataFrame
    group: str


def error_of_counts(
    whole: pl.DataFrame,
    original: CodedTable,
    published: Sequence[CodedTable],
    seed: int,
    *,
    linked: LinkedRows | None = None,
) -> QueryError | None:
    """Ask the same random queries of a table, given whole and coded, and of its published tables; None without queries.

    The same seed asks the same queries. Each of several published tables answers for its own sensitive attributes.
    With `linked` rows, the published table holds the sensitive values of groups.
    """
    columns = _OriginalColumns.of(whole, original)
    rows = columns.rows(original, whole.height)
    if linked is not None:
        tables = [columns.linked(linked, published[0])]
    else:
        tables = [columns.published(table) for table in published]
    return query_error(rows, tables, draw(rows, seed))


@dataclass(frozen=True, eq=False, repr=False)
class _OriginalColumns:
    """The columns of the original, in whose codes published tables are read, as any reader could."""

    quasi: Sequence[QuasiColumn]
    sensitive: Mapping[str, SensitiveColumn]  # less those that are quasi-identifiers, too

    @classmethod
    def of(cls, whole: pl.DataFrame, table: CodedTable) -> _OriginalColumns:
        """Take the coded columns; where rows without a sensitive value were left out, read quasi-identifiers anew."""
        policy = table.policy
        sensitive = {name: column for name, column in table.sensitive.items() if name not in policy.both}
        if len(table) == whole.height:
            return cls(list(table.quasi.values()), sensitive)
        quasi = [read_quasi(whole[name], spec, policy.missing) for name, spec in policy.quasi.items()]
        return cls(quasi, sensitive)

    def rows(self, table: CodedTable, height: int) -> QueriedRows:
        """Return all rows of the original, those without a sensitive value as well."""
        return QueriedRows(
            quasi=tuple(column.codes for column in self.quasi),
            sensitive=tuple(_in_place(column.codes, table.rows, height) for column in self.sensitive.values()),
            height=height,
        )

    def published(self, table: CodedTable) -> QueriedTable:
        """Read a table of classes."""
        classes = table.classes
        shares, shown = self._cells(table.frame[classes.rows[classes.starts]])
        listed = [_listed(column, table) for column in self.quasi]
        everyone = np.arange(len(classes))
        return QueriedTable(
            shares=tuple(even if exact is None else exact for even, exact in zip(shares, listed, strict=True)),
            shown=tuple(text if exact is None else everyone for text, exact in zip(shown, listed, strict=True)),
            sizes=classes.sizes,
            groups=np.arange(len(classes)),
            sensitive=self._values(table, classes.labels_by_row(), len(classes)),
        )

    def linked(self, linked: LinkedRows, values: CodedTable) -> QueriedTable:
        """Read a table of quasi-identifiers and a table of sensitive values, which a group links."""
        frame, group = linked.frame, linked.group
        cells = classes_of(frame[[*(column.name for column in self.quasi), group]])
        first = frame[cells.rows[cells.starts]]
        numbers, owners = np.unique(values.frame[group].to_numpy(), return_inverse=True)
        return QueriedTable(
            *self._cells(first),
            sizes=cells.sizes,
            groups=np.searchsorted(numbers, first[group].to_numpy()),
            sensitive=self._values(values, owners, len(numbers)),
        )

    def _cells(self, cells: pl.DataFrame) -> tuple[tuple[ValueShares, ...], tuple[Ints, ...]]:
        """Return what the different texts of each quasi-identifier may stand for, and which text each cell shows."""
        texts = [_texts(cells[column.name]) for column in self.quasi]
        shares = (value_shares(column, different) for column, (different, _) in zip(self.quasi, texts, strict=True))
        return tuple(shares), tuple(numbers for _, numbers in texts)

    def _values(self, table: CodedTable, groups: Ints, count: int) -> dict[int, CodeSets]:
        return {
            number: _code_sets(table.sensitive[name], column, groups, count)
            for number, (name, column) in enumerate(self.sensitive.items())
            if name in table.sensitive
        }


def _listed(column: QuasiColumn, published: CodedTable) -> CodeSets | None:
    """Return the exact values of each class, where they are counted apart from the rows; None if not, or in bins."""
    if column.name not in published.apart:
        return None
    texts = column.hierarchy.leaves if isinstance(column, LabelColumn) else column.values.texts
    values, labels = published.values(column.name), published.classes.labels_by_row()
    equal = values_of(pl.Series([*texts, *values.texts], dtype=pl.String), ()).codes  # 1.0 is 1
    code = np.full(int(equal.max(initial=-1)) + 1, -1, dtype=np.int64)
    code[equal[: len(texts)]] = np.arange(len(texts))
    codes = code[equal[len(texts) :]]
    if (codes < 0).any():
        return None
    of_rows = np.append(codes, -1)[values.codes]
    return CodeSets.of(labels, of_rows, domain=len(texts), count=len(published.classes))


def _in_place(codes: Ints, rows: Ints, height: int) -> Ints:
    """Put codes back to where their rows stood; a row that lacks a sensitive value has none."""
    if len(rows) == height:
        return codes
    placed = np.full(height, -1, dtype=np.int64)
    placed[rows] = codes
    return placed


def _texts(cells: pl.Series) -> tuple[list[str], Ints]:
    """Return the different texts of a published column, and which of them each cell shows."""
    texts = cells.alias("").cast(pl.String).fill_null(MISSING)
    different = texts.unique(maintain_order=True)
    numbers = pl.Series(range(len(different)), dtype=pl.Int64)
    return different.to_list(), texts.replace_strict(different, numbers, return_dtype=pl.Int64).to_numpy()


def _code_sets(published: SensitiveColumn, original: SensitiveColumn, groups: Ints, count: int) -> CodeSets:
    """Return the sensitive values of each group; a release that withholds rows may show fewer of them."""
    labels = len(original.labels)
    equal = values_of(pl.Series([*original.labels, *published.labels], dtype=pl.String), ()).codes  # 1.0 is 1
    number = np.empty(int(equal.max()) + 1, dtype=np.int64)
    number[equal[:labels]] = np.arange(labels)
    return CodeSets.of(groups, number[equal[labels:]][published.codes], domain=labels, count=count)
