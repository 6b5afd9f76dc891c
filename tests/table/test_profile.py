"""Profiles of columns, from which a policy is drafted: kinds and counts, never a cell."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from tclose.policy.draft import Profile
from tclose.table.profile import profiles


def test_a_profile_counts_rows_values_and_missing_cells() -> None:
    frame = pl.DataFrame(
        {"age": ["20", "30", "?", "20"], "ill": ["flu", None, "cold", "NA"], "pay": [1.5, 2.0, 2.5, None]}
    )
    age, ill, pay = profiles(frame)
    assert replace(age, numbers=None) == Profile(
        name="age", kind="number", rows=4, distinct=2, missing=1, markers=("?",), own=3, longest=2
    )
    assert ill == Profile(name="ill", kind="text", rows=4, distinct=2, missing=2, markers=("NA",), own=2, longest=4)
    assert replace(pay, numbers=None) == Profile(
        name="pay", kind="number", rows=4, distinct=3, missing=1, own=3, longest=3
    )


def test_a_profile_holds_no_cell() -> None:
    frame = pl.DataFrame({"name": ["S3CR3T", "other"], "mixed": ["S3CR3T", "5"]})
    assert "S3CR3T" not in repr(profiles(frame))
