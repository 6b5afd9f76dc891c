"""Quasi-identifiers before and after: in bins that the release names, and with nobody alone in one."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose import LeakWarning, Policy, anonymize
from tclose.measure.pair import TablePair, read_published
from tclose.report.figures import ELSE, MISSING, BeforeAfter, before_and_after
from tclose.table import encode

QUASI = {
    "ranges": {"age": {}},
    "coded": {"age": {"step": 5, "top": 80, "bottom": 25}},
    "labels": {"zip": {"hierarchy": {"prefix": [5, 4, 3]}}},
    "sets": {"zip": {}},
    "both": {"age": {}, "sex": {}},
}


def compared(frame: pl.DataFrame, quasi: dict[str, Any], k: int = 4) -> tuple[list[BeforeAfter], pl.DataFrame]:
    policy = Policy(quasi=quasi, sensitive={"pay": {"t": 0.5}}, k=k, others="drop")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        published = anonymize(frame, policy, method="mondrian", seed=2).frame
    original = encode(frame, policy)
    return before_and_after(TablePair.of(original, read_published(published, original))), published


@pytest.mark.parametrize("quasi", QUASI)
@pytest.mark.parametrize("gaps", [False, True])
def test_bins_are_published_and_small_ones_hidden(quasi: str, gaps: bool, make_table: Any) -> None:
    frame = make_table()
    if gaps:
        every_ninth = pl.int_range(pl.len()) % 9 == 0
        columns = [pl.when(every_ninth).then(pl.lit("")).otherwise(pl.col(name)).alias(name) for name in QUASI[quasi]]
        frame = frame.with_columns(columns)
    figures, published = compared(frame, QUASI[quasi])
    assert [column.name for column in figures] == list(QUASI[quasi])
    for column in figures:
        shown = " ".join(published[column.name].unique().to_list())
        for name in set(column.bins) - {ELSE, MISSING}:
            assert re.search(rf"(?<![\d.]){re.escape(name.removeprefix('from '))}(?![\d.])", shown), name
        assert (MISSING in column.bins) == gaps
        assert column.after.sum() == pytest.approx(1)
        counts = [count for count in column.before if count is not None]
        assert all(count >= 4 and count % 4 == 0 for count in counts)
        assert len(counts) >= 2
        assert column.hidden != 1


def test_what_is_published_exactly_is_the_same_before_and_after() -> None:
    frame = pl.DataFrame({"sex": ["a", "b"] * 50, "pay": np.arange(100) // 2})
    ((column,), _) = compared(frame, {"sex": {}})
    assert column.bins == ("a", "b")
    assert column.before == (52, 52)  # rounded to multiples of k = 4
    assert column.after.tolist() == [0.5, 0.5]


def test_a_column_that_tells_nothing_has_no_chart() -> None:
    frame = pl.DataFrame({"zip": [f"{i:03}" for i in range(8)], "pay": range(8)})
    figures, _ = compared(frame, {"zip": {"hierarchy": {"prefix": [3]}}}, k=8)
    assert figures == []
