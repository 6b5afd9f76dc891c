"""How wrong a reader's counts are, asked of a release's file."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tclose import steps
from tclose.errors import InputError

POLICY = {"k": 2, "quasi": ["age", "zone"], "sensitive": {"pay": {"t": 1}}}


def table() -> pl.DataFrame:
    rows = range(400)
    return pl.DataFrame(
        {"age": [row % 40 for row in rows], "zone": [f"z{row % 7}" for row in rows], "pay": [row % 5 for row in rows]}
    )


def test_counts_of_an_exact_release_are_right() -> None:
    exact = table().with_columns(pl.col("age").cast(str))
    assert steps.query_error(exact, table(), POLICY) == 0


def test_a_coarser_release_answers_worse(tmp_path: Path) -> None:
    errors = []
    for k in (3, 40):
        target = tmp_path / f"{k}.csv"
        steps.anonymize(table(), {**POLICY, "k": k}, out=target, method="mondrian")
        errors.append(steps.query_error(target, table(), POLICY))
    assert errors[0] is not None
    assert errors[1] is not None
    assert 0 <= errors[0] < errors[1]
    assert steps.query_error(target, table(), POLICY) == errors[1]  # the same counts are asked again


def test_a_release_of_another_table_is_refused() -> None:
    with pytest.raises(InputError):
        steps.query_error(table().drop("zone"), table(), POLICY)
