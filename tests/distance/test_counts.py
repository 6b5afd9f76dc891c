from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import examples

from tclose.distance import Counts, Ordered, Value, counts


def dense(table: Counts) -> list[list[int]]:
    return [table.dense(j).tolist() for j in range(len(table))]


rows_of = st.integers(1, 5).flatmap(
    lambda m: st.lists(st.lists(st.integers(0, 3), min_size=m, max_size=m).filter(any), min_size=1, max_size=6)
)


@settings(max_examples=examples(100), deadline=None)
@given(rows=rows_of, data=st.data())
def test_counting_codes_is_counting(rows: list[list[int]], data: st.DataObject) -> None:
    classes, codes = np.indices(np.shape(rows))
    labels, values = (np.repeat(where.ravel(), np.ravel(rows)) for where in (classes, codes))
    order = np.array(data.draw(st.permutations(range(len(labels)))))
    for chosen in (np.arange(len(labels)), order):
        counted = Counts.from_codes(labels[chosen], values[chosen], len(rows[0]))
        assert dense(counted) == rows
        assert counted.domain_size == len(rows[0])


@settings(max_examples=examples(50), deadline=None)
@given(rows=rows_of)
def test_a_dense_array_and_back(rows: list[list[int]]) -> None:
    table = Counts.from_dense(rows)
    assert dense(table) == rows
    assert len(table) == len(rows)
    assert table.sizes.tolist() == [sum(row) for row in rows]
    assert table.distinct.tolist() == [sum(count > 0 for count in row) for row in rows]
    assert table.per_entry(table.sizes).tolist() == [sum(row) for row in rows for count in row if count]


@settings(max_examples=examples(50), deadline=None)
@given(rows=rows_of, data=st.data())
def test_only_some_classes_in_some_order(rows: list[list[int]], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=8))
    assert dense(Counts.from_dense(rows).only(np.array(chosen))) == [rows[j] for j in chosen]


@settings(max_examples=examples(50), deadline=None)
@given(rows=rows_of, data=st.data())
def test_groups_of_neighbouring_values(rows: list[list[int]], data: st.DataObject) -> None:
    m = len(rows[0])
    group_of = np.cumsum([0, *data.draw(st.lists(st.booleans(), min_size=m - 1, max_size=m - 1))])
    coarse = Counts.from_dense(rows).coarsened(group_of, int(group_of[-1]) + 1)
    expected = [np.bincount(group_of, weights=row, minlength=coarse.domain_size).tolist() for row in rows]
    assert dense(coarse) == expected


@settings(max_examples=examples(50), deadline=None)
@given(rows=rows_of, block=st.integers(1, 12))
def test_blocks_hold_every_class_once_and_in_order(rows: list[list[int]], block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts, "BLOCK", block)
        blocks = list(Counts.from_dense(rows).blocks())
    assert [row for part in blocks for row in dense(part)] == rows
    assert all(len(part) for part in blocks)


@settings(max_examples=examples(50), deadline=None)
@given(rows=rows_of, block=st.integers(1, 12))
def test_blocks_change_no_distance(rows: list[list[int]], block: int) -> None:
    table, whole = Counts.from_dense(rows), np.sum(rows, axis=0)
    for distance in (Ordered(len(whole)), Value(np.cumsum(np.arange(len(whole))) * 10**15)):
        straight = distance.emd(table, whole)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(counts, "BLOCK", block)
            in_blocks = distance.emd(table, whole)
        assert [in_blocks[j] for j in range(len(rows))] == [straight[j] for j in range(len(rows))]


def test_a_million_small_classes_are_never_made_dense() -> None:
    """A dense array of these would hold 10¹⁰ cells."""
    labels, codes = np.repeat(np.arange(100_000), 2), np.arange(200_000) % 100_000
    table = Counts.from_codes(labels, codes, 100_000)
    assert len(table) == 100_000
    found = Ordered(100_000).emd(table, np.bincount(codes))
    assert len(found) == 100_000
    assert found.largest()[1] in (0, 49_999)
