"""What Python shows of requests and studies: no cell of a table, and no seed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from tclose import Policy, steps
from tclose.run.rows import FrameRows
from tclose.run.study import Study

TABLE = pl.DataFrame({"age": [31, 31, 42, 42], "ill": ["secret illness", "b", "secret illness", "b"]})
POLICY = Policy.from_dict({"k": 2, "quasi": ["age"], "sensitive": {"ill": {"t": 0.5, "distance": "equal"}}})
SEED = 123_456_789


@pytest.mark.parametrize(
    "make",
    [
        lambda: steps.Request(table=TABLE, policy=POLICY, out="out.csv", seed=SEED),
        lambda: steps.Request(table=TABLE, policy=POLICY, out="out.csv", seed=SEED).checked(),
        lambda: steps.ApplyRequest(record="record.json", table=TABLE, out="out.csv", seed=SEED),
        lambda: steps.AttackRequest(release=TABLE, original=TABLE, policy=POLICY),
        lambda: steps.CompareRequest(table=TABLE, policy=POLICY, seed=SEED),
        lambda: Study(TABLE, POLICY),
        lambda: Study(TABLE, POLICY).coded,
        lambda: Study(TABLE, POLICY).beside(TABLE),
        lambda: FrameRows.quietly(TABLE, POLICY),
    ],
)
def test_what_python_shows_has_no_cells_and_no_seed(make: Callable[[], Any]) -> None:
    shown = re.sub("0x[0-9a-f]+", "", repr(make()))  # where an object lies, which may look like a cell
    assert "secret illness" not in shown
    assert str(SEED) not in shown
    assert "31" not in shown
