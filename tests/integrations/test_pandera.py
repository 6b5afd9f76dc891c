"""The check for pandera schemas, on frames of pandas and of polars."""

from __future__ import annotations

import importlib
from typing import Any

import polars as pl
import pytest

pandera = pytest.importorskip("pandera", reason="pip install pandera")

from tclose.integrations.pandera import meets_policy  # noqa: E402

POLICY = {"identifiers": ["name"], "quasi": ["zone"], "sensitive": {"pay": {"t": 0.1}}, "k": 2}
NAMES = ["Ada", "Bob", "Cid", "Dan"]


def table(kind: str, pay: list[int]) -> Any:
    frame = pl.DataFrame({"name": NAMES, "zone": list("aabb"), "pay": pay})
    return frame.to_pandas() if kind == "pandas" else frame


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_schema_judges_the_whole_table(kind: str) -> None:
    pa = importlib.import_module(f"pandera.{kind}")
    schema = pa.DataFrameSchema(checks=meets_policy(POLICY))
    good = table(kind, [3, 4, 3, 4])
    assert schema.validate(good).shape == good.shape
    with pytest.raises(pandera.errors.SchemaError, match="does not meet its policy") as failure:
        schema.validate(table(kind, [3, 3, 4, 4]))
    assert "Ada" not in str(failure.value)


def test_options_are_those_of_check() -> None:
    pa = importlib.import_module("pandera.pandas")
    schema = pa.DataFrameSchema(checks=meets_policy({"quasi": ["zone"], "k": 2}, ignore_others=True))
    assert len(schema.validate(table("pandas", [3, 4, 3, 4]))) == 4
