"""The chance that a random range cuts a box: against the ranges that the queries of decision 023 really draw."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.measure.queries import QueriedRows, Query, draw
from tclose.table.random_ranges import RangeChances, RangeKinds, chance_to_start_before

COLUMNS = {
    "two values": lambda random: random.integers(0, 2, 400),
    "three values": lambda random: random.integers(0, 3, 400),
    "skewed": lambda random: (12 * random.random(400) ** 2).astype(np.int64),
    "one value in front": lambda random: np.where(random.random(400) < 0.8, 0, random.integers(1, 60, 400)),
    "gaps": lambda random: random.choice([2, 5, 6, 11], 400),
    "many values": lambda random: random.integers(0, 300, 400),
}
TABLES = (tuple(COLUMNS)[:3], tuple(COLUMNS)[3:])  # columns that are queried together


@cache
def queried(names: tuple[str, ...], *, sensitive: bool) -> tuple[dict[str, np.ndarray], list[Query]]:
    """Return the columns of a table, and the queries of several workloads about it."""
    random = np.random.default_rng(7)
    columns = {name: COLUMNS[name](random) for name in names}
    about = (random.integers(0, 5, 400),) if sensitive else ()
    return columns, drawn_queries(QueriedRows(tuple(columns.values()), about, 400))


def drawn_queries(rows: QueriedRows) -> list[Query]:
    return [query for seed in range(40) for query in draw(rows, seed)]


def drawn_ranges(queries: list[Query], column: int) -> np.ndarray:
    """Return the first and the last code of every range of one column."""
    return np.array([(one.first, one.last) for query in queries for one in query.quasi if one.column == column])


@pytest.mark.parametrize("sensitive", [True, False])
@pytest.mark.parametrize("name", COLUMNS)
def test_chances_are_those_of_the_workload(name: str, sensitive: bool) -> None:
    random = np.random.default_rng(7)
    (names,) = (names for names in TABLES if name in names)
    columns, queries = queried(names, sensitive=sensitive)
    codes, ranges = columns[name], drawn_ranges(queries, names.index(name))
    chances = RangeChances.of(np.bincount(codes), RangeKinds.of(3, sensitive=sensitive))
    present = np.unique(codes)
    for _ in range(12):
        values = np.sort(random.choice(present, random.integers(2, min(6, len(present)) + 1), replace=False))
        inside = (ranges[:, :1] <= values) & (ranges[:, 1:] >= values)
        expected = np.mean(inside.any(axis=1) & ~inside.all(axis=1))
        assert chances.cut_set(values.tolist()) == pytest.approx(expected, abs=0.02)
        low, high = values[0], values[-1]
        touched = (ranges[:, 0] <= high) & (ranges[:, 1] >= low)
        covered = (ranges[:, 0] <= low) & (ranges[:, 1] >= high)
        cut = chances.cut_box(np.array([low]), np.array([high]))[0]
        assert cut == pytest.approx(np.mean(touched & ~covered), abs=0.02)


def test_a_label_may_stand_for_values_that_do_not_occur() -> None:
    random = np.random.default_rng(3)
    codes = random.choice([2, 5, 6], 300)
    ranges = drawn_ranges(drawn_queries(QueriedRows((codes,), (), 300)), 0)
    chances = RangeChances.of(np.bincount(codes, minlength=9), RangeKinds.of(1, sensitive=False))
    for low, high in [(0, 8), (0, 2), (1, 5), (5, 8), (6, 8), (2, 6)]:
        touched = (ranges[:, 0] <= high) & (ranges[:, 1] >= low)
        covered = (ranges[:, 0] <= low) & (ranges[:, 1] >= high)
        cut = chances.cut_box(np.array([low]), np.array([high]))[0]
        assert cut == pytest.approx(np.mean(touched & ~covered), abs=0.02)


@given(st.floats(0.001, 0.999))
def test_a_range_starts_somewhere(span: float) -> None:
    places = np.linspace(0, 1 - span, 50)
    chances = chance_to_start_before(places, span)
    assert chances[0] == 0
    assert chances[-1] == pytest.approx(1)
    assert (np.diff(chances) >= -1e-12).all()
    assert chances + chances[::-1] == pytest.approx(np.ones(50))  # neither end is preferred


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.integers(0, 30), min_size=2, max_size=12).filter(any), st.integers(1, 3), st.booleans())
@example([17, 21], 1, True)  # a range that covers √.2 of the rows starts within .0002 of the first one
def test_larger_boxes_are_cut_more_often(counts: list[int], quasi: int, sensitive: bool) -> None:
    chances = RangeChances.of(np.array(counts), RangeKinds.of(quasi, sensitive=sensitive))
    present = np.flatnonzero(counts)
    for place, low in enumerate(present):
        boxes = chances.cut_box(np.full(len(present) - place, low), present[place:])
        assert boxes[0] == 0
        assert (np.diff(boxes) >= -1e-9).all()
        assert boxes[-1] <= 1 + 1e-9
        values = present[place:].tolist()
        assert chances.cut_set(values) == pytest.approx(boxes[-1])  # no value lies between them
        assert chances.cut_set([values[0], values[-1]][: len(values)]) <= boxes[-1] + 1e-9
    if len(present) > 1:
        whole = chances.cut_box(present[:1], present[-1:])
        assert whole[0] == pytest.approx(1)  # no range covers everything
    assert chances.varies == (len(present) > 1)
