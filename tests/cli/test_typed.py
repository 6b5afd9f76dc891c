"""`anonymize --format columns`, `verify` and `attack` as a shell runs them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

Run = Callable[..., Any]
CELLS = [("20", "m", "flu"), ("30", "f", "cold"), ("40", "m", "cold"), ("50", "f", "flu")] * 6
TABLE = "name,age,sex,ill\n" + "".join(f"P{i},{','.join(row)}\n" for i, row in enumerate(CELLS))
POLICY = """
identifiers = ["name"]
k = 3
[quasi.age]
[quasi.sex]
[sensitive.ill]
t = 0.4
"""
ASKED = ("anonymize", "t.csv", "--policy", "p.toml", "--method", "mondrian", "--seed", "1", "--certificate", "c.json")


@pytest.fixture(autouse=True)
def sources(folder: Path) -> None:
    (folder / "t.csv").write_text(TABLE)
    (folder / "p.toml").write_text(POLICY)


def made(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"t.csv", "p.toml"}


def test_typed_columns_on_the_command_line(tclose: Run, folder: Path) -> None:
    done = tclose(*ASKED, "--out", "r.csv", "--format", "columns")
    assert done.status == 0, done.err
    lines = (folder / "r.csv").read_text().splitlines()
    assert lines[0] == "age_low,age_high,age_mid,sex,ill,class,class_size"
    assert lines[1] == '20,30,25.0,"[""f"",""m""]",cold,1,12'
    assert json.loads((folder / "c.json").read_text())["release_format"] == "columns"
    assert tclose("verify", "r.csv", "--certificate", "c.json").status == 0


def test_text_stays_as_it_was(tclose: Run, folder: Path) -> None:
    tclose(*ASKED, "--out", "r.csv")
    before = (folder / "r.csv").read_bytes(), (folder / "c.json").read_bytes()
    tclose(*ASKED, "--out", "r.csv", "--format", "text", "--force")
    assert ((folder / "r.csv").read_bytes(), (folder / "c.json").read_bytes()) == before
    assert b"release_format" not in before[1]
    assert before[0].splitlines()[1] == b'"[20, 30]","{f, m}",cold'


def test_parquet_has_real_lists(tclose: Run, folder: Path) -> None:
    assert tclose(*ASKED, "--out", "r.parquet", "--format", "columns").status == 0
    frame = pl.read_parquet(folder / "r.parquet")
    assert frame.schema["sex"] == pl.List(pl.String)
    assert (frame.schema["age_low"], frame.schema["age_mid"]) == (pl.Int64, pl.Float64)


def test_a_name_that_clashes_is_refused(tclose: Run, folder: Path) -> None:
    (folder / "t.csv").write_text(TABLE.replace("ill", "class"))
    (folder / "p.toml").write_text(POLICY.replace("ill", "class"))
    tclose(*ASKED, "--out", "r.csv", "--format", "columns").refuses("'class'", "rename that column")
    assert made(folder) == set()


@pytest.mark.parametrize("method", ["anatomy", "permutation", "projections"])
def test_other_layouts_are_refused(tclose: Run, folder: Path, method: str) -> None:
    asked = ("anonymize", "t.csv", "--policy", "p.toml", "--out", "r.csv", "--format", "columns", "--method", method)
    tclose(*asked).refuses("one table")
    assert made(folder) == set()


def test_a_format_that_nobody_knows_is_refused(tclose: Run) -> None:
    tclose(*ASKED, "--out", "r.csv", "--format", "rows").refuses("'rows' is not one of", usage=True)


def test_a_page_is_made_beside_typed_columns(tclose: Run, folder: Path) -> None:
    done = tclose(*ASKED, "--out", "r.csv", "--format", "columns", "--report", "r.html")
    assert done.status == 0, done.err
    assert made(folder) == {"r.csv", "c.json", "r.html"}


def test_attacks_read_typed_columns(tclose: Run) -> None:
    tclose(*ASKED, "--out", "typed.csv", "--format", "columns")
    tclose(*ASKED, "--out", "text.csv", "--force")
    typed, text = (
        tclose("attack", name, "--original", "t.csv", "--policy", "p.toml") for name in ("typed.csv", "text.csv")
    )
    assert typed.status == text.status == 0, typed.err
    assert typed.out == text.out
