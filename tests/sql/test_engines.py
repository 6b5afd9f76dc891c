"""Real tables and hostile names, judged by real databases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tclose

ENGINES = ("duckdb_judge", "postgres_judge", "spark_judge", pytest.param("usual_spark_judge", marks=pytest.mark.soak))
HOSTILE = "a\"b`c'; DROP TABLE visits; --"
VALUES = ["'; DROP TABLE visits; --", "\\", "\\'", "two\nlines", "/* x */", "ä€😀", "$1", "{x}"]


@pytest.fixture(params=ENGINES)
def judge(request: pytest.FixtureRequest) -> Any:
    """Judge a table in each database."""
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("distance", ["equal", "hierarchical"])
def test_adult_is_judged_as_check_judges_it(
    judge: Callable[..., Any], agrees: Callable[..., None], data: Path, distance: str
) -> None:
    table = pl.read_csv(data / "adult_arx.csv", infer_schema=False)
    by_tree = {"hierarchy": data / "adult_hierarchies/occupation.csv"}
    occupation = {"distance": "equal"} if distance == "equal" else by_tree
    policy = tclose.Policy(
        quasi=["sex", "race"],
        sensitive={"occupation": {"t": 0.1, "l": 4, **occupation}, "age": {"t": 0.2, "distance": "ordered"}},
        k=5,
        others="drop",
    )
    lines = judge(table, policy)
    agrees(lines, table, policy)
    assert {line["holds"] for line in lines} == {True, False}


@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")  # some values differ in punctuation only
def test_hostile_names_and_values_are_only_names_and_values(
    judge: Callable[..., Any], agrees: Callable[..., None]
) -> None:
    table = pl.DataFrame({HOSTILE: ["x", "y"] * 4, "ill.ness": VALUES, "q1": [1, 1, 2, 2] * 2})
    rows = [[value, "odd" if place % 2 else "even", "*"] for place, value in enumerate(VALUES)]
    policy = tclose.Policy(
        quasi=[HOSTILE, "q1"],
        sensitive={"ill.ness": {"t": 0.5, "l": 2, "hierarchy": {"rows": rows}}},
        missing=["'", '"', "\\"],
    )
    with pytest.raises(tclose.InputError):  # a backslash stands for a missing value, and the policy does not allow any
        tclose.check(table, policy)
    agrees(judge(table, policy), table, policy)
    policy = tclose.Policy(quasi=[HOSTILE, "q1"], sensitive=policy.sensitive, k=2)
    agrees(judge(table, policy), table, policy)


def test_large_numbers_are_exact_or_a_problem(judge: Callable[..., Any], agrees: Callable[..., None]) -> None:
    policy = tclose.Policy(quasi=["q"], sensitive={"pay": {"t": "1/3", "distance": "value"}})
    table = pl.DataFrame({"q": [1, 1, 2, 2], "pay": [0, 10**16 + 1, 10**16 + 2, 3]})
    agrees(judge(table, policy), table, policy)
    longer = table.with_columns(pay=pl.Series(["0", "1" + "0" * 30, "3", "5"]))
    assert [line["problem"] for line in judge(longer, policy)] == [None, "the numbers have too many digits"]
