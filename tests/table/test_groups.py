"""Rows that are counted in batches: how many share an identifier."""

from __future__ import annotations

import polars as pl
import pytest

from tclose import Policy
from tclose.table.domains import counted_rows, repeats_of
from tclose.table.groups import GroupedRows


@pytest.mark.parametrize("batch", [1, 2, 7])
def test_rows_share_an_identifier_only_where_it_is_known(batch: int) -> None:
    """Three rows are of Ann; those without a name are of nobody knows whom, however the table says so."""
    frame = pl.DataFrame({"name": ["Ann", "?", "Bob", "", "Ann", "?", None, "Ann", "", None]})
    policy = Policy.from_dict(
        {"identifiers": ["name"], "quasi": ["age"], "sensitive": {"pay": {"t": 1}}, "missing": ["?"]}
    )
    groups = GroupedRows(repeats_of("name", policy), budget=None)
    for rows in frame.iter_slices(batch):
        groups.add(counted_rows(rows, groups.grouping), rows.height)
    assert groups.repeated() == 3
