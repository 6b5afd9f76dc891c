"""Classes are what a reader can form, whatever the size of the numbers in between."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from tclose.table.classes import classes_of, joined_keys, ranked, rows_by_label


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**40)), min_size=1, max_size=30),
    st.sampled_from([2**12, 2**30, 2**62]),
)
def test_pairs_stay_apart_however_little_room_there_is(pairs: list[tuple[int, int]], most: int) -> None:
    key, codes = np.array(pairs, dtype=np.int64).T
    joined, span = joined_keys(key, 4, codes, 2**40 + 1, most=most)
    assert 0 <= joined.min() <= joined.max() < span < most
    assert len(set(joined.tolist())) == len(set(pairs))
    assert len({(number, pair) for number, pair in zip(joined.tolist(), pairs, strict=True)}) == len(set(pairs))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(-(2**62), 2**62)), min_size=1, max_size=20))
def test_classes_are_numbered_as_the_table_first_shows_them(rows: list[tuple[str, int]]) -> None:
    found = classes_of(pl.DataFrame(rows, schema=["text", "number"], orient="row")).labels_by_row()
    seen = list(dict.fromkeys(rows))
    assert found.tolist() == [seen.index(row) for row in rows]


def test_minus_zero_is_zero() -> None:
    assert len(classes_of(pl.DataFrame({"x": [0.0, -0.0, 1.0]}))) == 2
    assert len(classes_of(pl.DataFrame({"x": [0.0, -0.0, None]}))) == 2


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.sampled_from([1, 2**16, 2**17]))
def test_rows_by_label(labels: list[int], factor: int) -> None:
    numbers = np.array(labels) * factor // 3
    expected = np.argsort(numbers, kind="stable")
    assert rows_by_label(numbers, int(numbers.max()) + 1).tolist() == expected.tolist()
    assert rows_by_label(numbers.astype(np.int32), int(numbers.max()) + 1).tolist() == expected.tolist()


@given(st.lists(st.one_of(st.integers(-3, 9), st.integers(-(2**62), 2**62)), min_size=1, max_size=20))
def test_ranks(keys: list[int]) -> None:
    distinct = sorted(set(keys))
    ranks, different = ranked(np.array(keys))
    assert different == len(distinct)
    assert ranks.tolist() == [distinct.index(key) for key in keys]
