"""9 and 9.0 are one value wherever a table comes from: as text in a CSV file, and as a number in a Parquet file."""

from __future__ import annotations

import json
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose import LeakWarning, Policy, check
from tclose.steps import anonymize, verify
from tclose.steps import check as check_file
from tclose.table.values import may_be_spelled_twice, with_alike_numbers, with_one_number

NUMBERS = [
    "9",
    "9.0",
    "9.00",
    "90e-1",
    "0.9e1",
    "8",
    "8.5",
    "8.50",
    "0",
    "-0",
    "0.0",
    "-0.0",
    "-3.0",
    "-3",
    "1e2",
    "1e+02",
]


def in_both(tmp_path: Path, columns: dict[str, list[str]]) -> tuple[Path, Path]:
    """Write a table as text, and as the floats that the text spells."""
    text = pl.DataFrame(columns)
    text.write_csv(tmp_path / "t.csv")
    text.cast(pl.Float64).write_parquet(tmp_path / "t.parquet")
    return tmp_path / "t.csv", tmp_path / "t.parquet"


COLUMNS = {"age": ["9", "9.0", "9.00", "8", "8.0", "8"], "ward": ["1", "1.0", "1", "2", "2", "2.0"]}
COLUMNS |= {"pay": ["3", "3.0", "4", "4.00", "3", "4"], "who": ["1", "1.0", "2", "3", "3.0", "4"]}
POLICY: dict[str, Any] = {"quasi": ["age"], "keep": ["ward"], "sensitive": {"pay": {"t": 0.5, "l": 2}}, "person": "who"}


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_a_number_is_one_value_in_every_role(tmp_path: Path, engine: Any) -> None:
    answers = [check_file(path, Policy.from_dict(POLICY), engine=engine) for path in in_both(tmp_path, COLUMNS)]
    assert answers[0].to_dict() == answers[1].to_dict()
    assert answers[0].classes == 2


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_a_release_spells_a_number_once(tmp_path: Path, engine: Any) -> None:
    columns = {name: cells * 4 for name, cells in COLUMNS.items() if name != "who"}
    policy = Policy.from_dict({name: value for name, value in POLICY.items() if name != "person"} | {"k": 2})
    files = {"out": tmp_path / "r.csv", "certificate": tmp_path / "r.json"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        anonymize(in_both(tmp_path, columns)[0], policy, engine=engine, seed=1, **files)
    published = pl.read_csv(tmp_path / "r.csv", infer_schema=False)
    assert set(published["ward"]) == {"1", "2"}
    assert set(published["pay"]) == {"3", "4"}
    assert json.loads((tmp_path / "r.json").read_text())["classes"] == 2
    assert verify(tmp_path / "r.csv", tmp_path / "r.json").holds


def test_codes_that_are_no_numbers_stay_as_they_are() -> None:
    """The identifier 009 is text, so 9 and 9.0 beside it are two texts; and 1.50 alone keeps its zero."""
    for cells in (["009", "9", "9.0"], ["1.50", "2.00"], ["a", "1.0", "1"]):
        column = pl.Series("id", cells)
        assert with_one_number(column, ()).to_list() == cells
    assert with_one_number(pl.Series("n", ["9.0", "9", None, "?"]), ["?"]).to_list() == ["9", "9", None, "?"]


@given(st.lists(st.sampled_from(NUMBERS), min_size=1))
def test_a_number_gets_the_shortest_spelling_that_occurs(cells: list[str]) -> None:
    expected = []
    for cell in cells:
        alike = {
            text.removeprefix("-") if not Decimal(text) else text for text in cells if Decimal(text) == Decimal(cell)
        }
        expected.append(min(alike, key=lambda text: (len(text), text)))
    assert with_one_number(pl.Series("n", cells), ()).to_list() == expected


@given(st.lists(st.sampled_from([*NUMBERS, "abc", "1e", "007", "-", ".5", "5."]), min_size=1))
def test_numbers_that_may_turn_out_to_be_equal_get_the_same_bucket(cells: list[str]) -> None:
    alike = with_alike_numbers(pl.Series("n", cells)).to_list()
    numbers = {cell: key for cell, key in zip(cells, alike, strict=True) if cell in NUMBERS}
    for one, key in numbers.items():
        for other, other_key in numbers.items():
            assert (key == other_key) == (Decimal(one) == Decimal(other))
            if one != other and Decimal(one) == Decimal(other):
                assert may_be_spelled_twice(pl.Series([one, other]))


def test_check_of_a_frame_of_text() -> None:
    frames = [pl.DataFrame({"age": ["9", "9.0", "8", "8"], "pay": [1, 2, 1, 2]})]
    frames.append(frames[0].cast({"age": pl.Float64}))
    answers = [check(frame, {"quasi": ["age"], "sensitive": {"pay": {"t": 0.5}}, "k": 2}) for frame in frames]
    assert answers[0].to_dict() == answers[1].to_dict()
    assert answers[0].satisfied
