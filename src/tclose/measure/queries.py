"""How wrong counts come out that are asked of a release: the median relative error of random range queries.

A query counts the rows within a range on one to three quasi-identifiers and, where there is a sensitive attribute,
within a range on one of them: the question of Xiao and Tao (VLDB 2006) and of Cao, Karras, Kalnis and Tan (VLDB Journal
20, 2011). Ranges are laid around a row drawn by chance: where columns depend on each other, most others would find
nobody, and rightly say so. Anyone who has only the release takes every class for spread evenly over what it publishes.

The relative error is |estimate − truth| / max(truth, 0.1 % of the rows): without that floor, chance would
decide the error of a query that hardly any row answers. Truth is counted on all input rows, withheld ones too.
It is a figure for the steward: solved for enough queries, it would tell of cells that are not published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tclose.table.random_ranges import MOST_PREDICATES, SELECTIVITIES
from tclose.types import Floats, Ints

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
