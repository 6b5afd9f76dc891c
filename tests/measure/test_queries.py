"""The error of counts: estimates against brute force, queries that ask something, errors that are what they say."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.measure.queries import (
    EACH,
    SELECTIVITIES,
    CodeSets,
    PublishedRanges,
    QueriedRows,
    QueriedTable,
    Query,
    Range,
    draw,
    query_error,
)


def stretch(*ranges: tuple[float, float], codes: int, or_missing: bool = False) -> PublishedRanges:
    low, high = np.array(ranges, dtype=float).T
    places = np.arange(codes, dtype=float)
    full = np.ones(len(ranges), dtype=bool)
    return PublishedRanges(low, high, full & or_missing, full, places, places + 1)


# Spreads


def test_a_range_spreads_evenly() -> None:
    ages = stretch((20, 30), (29, 30), (5, 10), codes=50)  # 20 to 29, 29, 5 to 9
    assert ages.shares(25, 29).tolist() == [0.5, 1, 0]
    assert ages.shares(0, 49).tolist() == [1, 1, 1]
    assert ages.shares(7, 20).tolist() == [0.1, 0, 0.6]


def test_a_point_lies_within_or_not() -> None:
    means = stretch((23.4, 23.4), codes=50)
    assert [float(means.shares(*asked)[0]) for asked in [(20, 22), (20, 23), (23, 30), (24, 30)]] == [0, 1, 1, 0]


def test_missing_is_one_value_more_and_lies_in_no_range() -> None:
    assert stretch((0, 4), codes=9, or_missing=True).shares(0, 8).tolist() == [0.8]
    assert stretch((2, 2), codes=9, or_missing=True).shares(0, 8).tolist() == [0.5]
    nothing = PublishedRanges(*(np.zeros(1),) * 2, *(np.zeros(1, dtype=bool),) * 2, np.zeros(1), np.ones(1))
    assert nothing.shares(0, 0).tolist() == [0]


def test_members_count_as_often_as_they_occur() -> None:
    members = CodeSets.of(np.array([0, 0, 0, 2, 0]), np.array([1, 3, 3, 0, -1]), domain=4, count=3)
    assert members.shares(3, 3).tolist() == [0.5, 0, 0]
    assert members.shares(0, 3).tolist() == [0.75, 0, 1]


# Estimates


@st.composite
def tables(draw: st.DrawFn) -> tuple[QueriedRows, list[list[set[int]]], np.ndarray]:
    """Rows of two quasi-identifiers and a sensitive attribute, in classes; what each class publishes, as sets."""
    rows, classes = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    codes = [np.array(draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))) for _ in range(3)]
    labels = np.unique(draw(st.lists(st.integers(0, classes - 1), min_size=rows, max_size=rows)), return_inverse=True)[
        1
    ]
    shown = [[set(column[labels == c].tolist()) for c in range(labels.max() + 1)] for column in codes[:2]]
    return QueriedRows((codes[0], codes[1]), (codes[2],), rows), shown, labels


@settings(deadline=None)
@given(tables(), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=3, max_size=3))
def test_an_estimate_is_the_mean_over_all_tables_that_would_look_alike(
    table: tuple[QueriedRows, list[list[set[int]]], np.ndarray], asked: list[tuple[int, int]]
) -> None:
    """A range on the first column, a set on the second: each row may be anything that its class shows."""
    rows, shown, labels = table
    ranges = [Range(number % 2, min(pair), max(pair)) for number, pair in enumerate(asked)]
    whole = [set(range(min(one), max(one) + 1)) for one in shown[0]]
    owners = np.array([c for c, one in enumerate(shown[1]) for _ in one])
    published = QueriedTable(
        shares=(
            stretch(*((min(one), max(one) + 1) for one in whole), codes=4),
            CodeSets.of(owners, np.array([v for one in shown[1] for v in sorted(one)]), domain=4, count=len(shown[1])),
        ),
        shown=(np.arange(len(whole)), np.arange(len(whole))),
        sizes=np.bincount(labels),
        groups=np.arange(len(whole)),
        sensitive={0: CodeSets.of(labels, rows.sensitive[0], domain=4, count=len(whole))},
    )
    expected = 0.0
    for row, label in enumerate(labels.tolist()):
        if ranges[2].first <= rows.sensitive[0][row] <= ranges[2].last:
            pairs = list(product(whole[label], shown[1][label]))
            fits = [ranges[0].first <= a <= ranges[0].last and ranges[1].first <= b <= ranges[1].last for a, b in pairs]
            expected += sum(fits) / len(pairs)
    query = Query((ranges[0], ranges[1]), Range(0, ranges[2].first, ranges[2].last), 0.1)
    assert published.estimate(query) == pytest.approx(expected)


def exactly(rows: QueriedRows) -> QueriedTable:
    """Publish every row as it is, in a class of its own."""
    each = np.arange(rows.height)
    spreads = [CodeSets.of(each, codes, domain=int(codes.max()) + 1, count=rows.height) for codes in rows.quasi]
    sensitive = {
        i: CodeSets.of(each, c, domain=int(c.max()) + 1, count=rows.height) for i, c in enumerate(rows.sensitive)
    }
    return QueriedTable(tuple(spreads), (each,) * len(spreads), np.ones(rows.height, dtype=np.int64), each, sensitive)


def some_rows(height: int = 200, *, quasi: int = 3, sensitive: int = 2, missing: bool = True) -> QueriedRows:
    chance = np.random.default_rng(5)
    low = -1 if missing else 0
    return QueriedRows(
        tuple(chance.integers(low, 3 + 9 * i, height) for i in range(quasi)),
        tuple(chance.integers(0, 5 + i, height) for i in range(sensitive)),
        height,
    )


def test_nothing_lost_is_no_error() -> None:
    rows = some_rows()
    found = query_error(rows, [exactly(rows)], draw(rows, 3))
    assert found is not None
    assert found.median == pytest.approx(0, abs=1e-12)
    assert [part["error"] for part in found.parts] == pytest.approx([0] * 9, abs=1e-12)


def test_relative_errors_have_a_floor() -> None:
    """Of 2,000 rows 0.1 % are 2: an estimate of 1 where nobody is misses by half, and 4 instead of 8."""
    codes = np.repeat([0, 1, 2], [8, 0, 1992])
    rows, cells = QueriedRows((codes,), (), 2000), np.zeros(1, dtype=np.int64)
    for sizes, spread, asked in [
        (np.array([1]), CodeSets.of(cells, np.array([1]), domain=3, count=1), Range(0, 1, 1)),
        (np.array([4]), CodeSets.of(cells, np.array([0]), domain=3, count=1), Range(0, 0, 0)),
    ]:
        published = QueriedTable((spread,), (cells,), sizes, cells, {})
        found = query_error(rows, [published], [Query((asked,), None, 0.1)])
        assert found is not None
        assert found.median == 0.5


def test_each_table_answers_for_its_own_sensitive_attributes() -> None:
    rows = some_rows()
    whole = exactly(rows)
    tables = [
        QueriedTable(whole.shares, whole.shown, whole.sizes, whole.groups, {i: whole.sensitive[i]}) for i in (1, 0)
    ]
    found = query_error(rows, tables, draw(rows, 3))
    assert found is not None
    assert found.median == pytest.approx(0, abs=1e-12)


def test_errors_are_told_by_predicates_and_selectivity() -> None:
    rows = some_rows(quasi=2)
    one = QueriedTable(
        shares=tuple(stretch((0, int(codes.max()) + 1), codes=int(codes.max()) + 1) for codes in rows.quasi),
        shown=(np.zeros(1, dtype=np.int64),) * 2,
        sizes=np.array([200]),
        groups=np.zeros(1, dtype=np.int64),
        sensitive={
            i: CodeSets.of(np.zeros(200, dtype=np.int64), codes, domain=9, count=1)
            for i, codes in enumerate(rows.sensitive)
        },
    )
    queries = draw(rows, 3)
    found = query_error(rows, [one], queries)
    assert found is not None
    errors = [abs(one.estimate(query) - rows.count(query)) / max(rows.count(query), 0.2) for query in queries]
    assert found.median == np.median(errors)
    assert found.median > 0.05
    for part in found.parts:
        mine = [
            error
            for error, query in zip(errors, queries, strict=True)
            if (len(query.quasi), query.selectivity) == (part["predicates"], part["selectivity"])
        ]
        assert len(mine) == EACH
        assert part["error"] == np.median(mine)
    assert found.to_dict() == {"query_error": found.median, "query_errors": [dict(part) for part in found.parts]}


# Queries


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(1, 4), st.integers(0, 2), st.integers(0, 9), st.booleans())
def test_queries_are_many_different_and_ask_something(quasi: int, sensitive: int, seed: int, missing: bool) -> None:
    rows = some_rows(60, quasi=quasi, sensitive=sensitive, missing=missing)
    queries = draw(rows, seed)
    assert len(queries) == min(quasi, 3) * len(SELECTIVITIES) * EACH
    assert draw(rows, seed) == queries != draw(rows, seed + 1)
    for query in queries:
        asked = [(rows.quasi, one) for one in query.quasi]
        asked += [(rows.sensitive, query.sensitive)] if query.sensitive is not None else []
        assert (query.sensitive is None) == (sensitive == 0)
        assert len({one.column for one in query.quasi}) == len(query.quasi)
        assert rows.count(query) > 0
        for columns, one in asked:
            codes = columns[one.column]
            within = np.count_nonzero((codes >= one.first) & (codes <= one.last))
            assert 0 < within < np.count_nonzero(codes >= 0)


def test_ranges_cover_the_share_of_rows_that_is_asked_for() -> None:
    chance = np.random.default_rng(1)
    rows = QueriedRows(tuple(chance.integers(0, 10_000, 50_000) for _ in range(3)), (), 50_000)
    for query in draw(rows, 2):
        share = query.selectivity ** (1 / len(query.quasi))
        for one in query.quasi:
            covered = np.count_nonzero((rows.quasi[one.column] >= one.first) & (rows.quasi[one.column] <= one.last))
            assert covered / 50_000 == pytest.approx(share, abs=0.002)


def test_constant_columns_are_not_asked_about() -> None:
    same, nothing, different = np.zeros(9, dtype=np.int64), np.full(9, -1), np.arange(9)
    queries = draw(QueriedRows((same, different, nothing), (same,), 9), 0)
    assert {(query.quasi[0].column, len(query.quasi), query.sensitive) for query in queries} == {(1, 1, None)}
    assert draw(QueriedRows((same, nothing), (different,), 9), 0) == []
    assert query_error(QueriedRows((same,), (different,), 9), [], []) is None
