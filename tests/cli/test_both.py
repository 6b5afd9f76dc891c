"""The command line where a column is both quasi-identifier and sensitive."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
CELLS = [("20", "m", "flu"), ("30", "f", "cold"), ("40", "m", "cold"), ("50", "f", "flu")] * 6
TABLE = "name,age,sex,ill\n" + "".join(f"P{i},{','.join(row)}\n" for i, row in enumerate(CELLS))
POLICY = """
identifiers = ["name"]
both = ["age"]
k = 3
[quasi.age]
[quasi.sex]
[sensitive.age]
t = 0.3
[sensitive.ill]
t = 0.4
"""
ASKED = ("anonymize", "t.csv", "--policy", "p.toml", "--out", "r.csv", "--certificate", "c.json", "--method")
MONDRIAN = (*ASKED, "mondrian", "--seed", "1")
VERIFY = ("verify", "r.csv", "--certificate", "c.json")


@pytest.fixture(autouse=True)
def sources(folder: Path) -> None:
    (folder / "t.csv").write_text(TABLE)
    (folder / "p.toml").write_text(POLICY)


def made(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"t.csv", "p.toml"}


def test_rows_show_ranges_and_a_second_file_counts_exact_values(tclose: Run, folder: Path) -> None:
    done = tclose(*MONDRIAN)
    assert done.status == 0, done.err
    assert made(folder) == {"r.csv", "r-both.csv", "c.json"}
    assert "Released r.csv, r-both.csv: 24 rows" in " ".join(done.out.split())
    lines = (folder / "r-both.csv").read_text().splitlines()
    assert lines[:3] == ["age,sex,column,value,count", '"[20, 40]",m,age,20,6', '"[20, 40]",m,age,40,6']
    assert (folder / "r.csv").read_text().splitlines()[1] == '"[20, 40]",m,cold'
    checked = tclose(*VERIFY)
    assert checked.status == 0
    assert "(2 tables), judged from the release alone" in checked.out
    assert json.loads(tclose(*VERIFY, "--json").out)["sensitive"]["age"]["closeness_exact"] == "1/6"


def test_a_tampered_list_is_not_trusted(tclose: Run, folder: Path) -> None:
    tclose(*MONDRIAN)
    counts = folder / "r-both.csv"
    counts.write_text(counts.read_text().replace("age,20,6", "age,20,7"))
    told = tclose(*VERIFY, "--json")
    assert told.status == 1
    words = " ".join(json.loads(told.out)["problems"])
    assert "r-both.csv: the release is not the file that was certified" in words
    assert "the counts of 'age' do not add up to the rows of 1 class" in words


def test_a_raw_table_is_checked(tclose: Run) -> None:
    answer = json.loads(tclose("check", "t.csv", "--policy", "p.toml", "--json").out)
    assert answer["classes"] == 4
    assert answer["sensitive"]["age"]["closeness_exact"] == "1/2"


def test_attacks_read_the_list_beside_the_release(tclose: Run, folder: Path) -> None:
    tclose(*MONDRIAN)
    asked = ("attack", "r.csv", "--original", "t.csv", "--policy", "p.toml")
    found = {each["name"]: each for each in json.loads(tclose(*asked, "--json").out)["attacks"]}
    assert found["background_join"]["release"]["figure"] is None  # no row shows an age
    assert found["homogeneity"]["release"]["rows"] == 0
    (folder / "r-both.csv").unlink()
    tclose(*asked).refuses("there is no file", "r-both.csv")


def test_the_page_shows_the_column_and_attacks(tclose: Run, folder: Path) -> None:
    done = tclose(*MONDRIAN, "--report", "page.html")
    assert done.status == 0, done.err
    page = (folder / "page.html").read_text()
    assert "quasi-identifier and sensitive: published less exactly, its exact values counted by class" in page
    assert "background knowledge" in page


@pytest.mark.parametrize("method", ["anatomy", "projections", "permutation"])
def test_a_method_with_a_layout_of_its_own_is_refused(tclose: Run, folder: Path, method: str) -> None:
    says = f"method '{method}' cannot publish a column that is both quasi-identifier and sensitive"
    tclose(*ASKED, method).refuses(says)
    assert made(folder) == set()


def test_existing_counts_are_not_overwritten(tclose: Run, folder: Path) -> None:
    (folder / "r-both.csv").write_text("mine")
    tclose(*MONDRIAN).refuses("r-both.csv exists already")
    assert made(folder) == {"r-both.csv"}


def test_compare_says_which_methods_cannot(tclose: Run) -> None:
    asked = ("compare", "t.csv", "--policy", "p.toml", "--methods", "mondrian,anatomy", "--seed", "1", "--json")
    found = {each["name"]: each for each in json.loads(tclose(*asked).out)["methods"]}
    assert found["mondrian:strict"]["outcome"] == "released"
    assert found["anatomy"]["outcome"] == "unsuited"
