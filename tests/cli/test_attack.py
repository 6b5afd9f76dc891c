"""`tclose attack`: figures side by side, sentences, JSON, and one clear line for what cannot be attacked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tclose.measure.attack.scenes import ANONYMIZER

SECRET = "S3CR3T"  # as in conftest
POLICY = """
k = 2
identifiers = ["name"]
quasi = ["age", "sex"]
[sensitive.pay]
t = 0.5
[sensitive.ill]
l = 2
"""
ROWS = [(20, "f"), (22, "f"), (35, "m"), (36, "m"), (51, "f"), (58, "m"), (61, "f"), (64, "m")]
RELEASED = ["[20, 22],f"] * 2 + ["[35, 36],m"] * 2 + ['"[51, 58]","{f, m}"'] * 2 + ['"[61, 64]","{f, m}"'] * 2
ILL = ["flu", "cold", "flu", "flu", "cold", "ulcer", "flu", "ulcer"]


@pytest.fixture
def files(folder: Path) -> Path:
    """Write a table, its policy and a release of it, made by hand."""
    (folder / "p.toml").write_text(POLICY)
    cells = zip(ROWS, ILL, strict=True)
    table = [f"{SECRET},{age},{sex},{1000 + 10 * row},{ill}" for row, ((age, sex), ill) in enumerate(cells)]
    (folder / "t.csv").write_text("\n".join(["name,age,sex,pay,ill", *table]) + "\n")
    shown = [text if text.startswith('"') else f'"{text.rpartition(",")[0]}",{text[-1]}' for text in RELEASED]
    rows = [f"{quasi},{1000 + 10 * row},{ill}" for row, (quasi, ill) in enumerate(zip(shown, ILL, strict=True))]
    (folder / "r.csv").write_text("\n".join(["age,sex,pay,ill", *rows]) + "\n")
    return folder


ATTACK = ["attack", "r.csv", "--original", "t.csv", "--policy", "p.toml", "--method", "fragmentation"]


def test_a_table_and_sentences(files: Path, tclose: Any) -> None:
    found = tclose(*ATTACK)
    assert (found.status, found.err) == (0, "")
    for words in ("raw table", "2-anonymous table", "release", "homogeneity attack", "similarity attack"):
        assert words in found.out
    assert "2 rows (25.0 %) are in 1 class where everyone has the same value of 'ill'." in " ".join(found.out.split())
    assert SECRET not in found.out


def test_json(files: Path, tclose: Any) -> None:
    answer = json.loads(tclose(*ATTACK, "--json").out)
    by_name = {one["name"]: one for one in answer["attacks"]}
    same = by_name["homogeneity"]
    assert same["classes"] == [{"class": 2, "rows": 2, "attribute": "ill", "what": ""}]
    assert same["release"]["share"] == 0.25
    assert same["raw"]["rows"] == 8
    assert by_name["prosecutor"]["release"]["figure"] == 0.5
    assert by_name["rarity"]["better"] == "higher"
    assert by_name["intersection"]["release"]["figure"] is None


def test_two_releases(files: Path, tclose: Any) -> None:
    coarse = (files / "r.csv").read_text()
    for text in ('"[20, 22]",f', '"[51, 58]","{f, m}"', '"[61, 64]","{f, m}"'):
        coarse = coarse.replace(text, '"[20, 64]","{f, m}"')
    (files / "r2.csv").write_text(coarse)
    for second in ("r.csv", "r2.csv"):  # neither adds anything: the first is as fine everywhere
        answer = json.loads(tclose("attack", "r.csv", second, *ATTACK[2:], "--json").out)
        both = next(one for one in answer["attacks"] if one["name"] == "intersection")
        assert (both["release"]["figure"], both["release"]["rows"]) == (1, 0)


def test_a_register(files: Path, tclose: Any) -> None:
    (files / "people.csv").write_text("age,sex,address\n21,f,x\n20,f,x\n22,f,x\n99,m,x\n")
    answer = json.loads(tclose(*ATTACK, "--register", "people.csv", "--json").out)
    assert answer["register_rows"] == 4
    journalist = next(one for one in answer["attacks"] if one["name"] == "journalist")
    assert journalist["release"]["figure"] == pytest.approx(1 / 3)  # three people fit the first class


def test_the_default_method_makes_a_k_anonymous_table(files: Path, tclose: Any) -> None:
    answer = json.loads(tclose(*ATTACK[:-2], "--json").out)
    assert answer["tables"]["k_anonymous"]["smallest_class"] >= 2, ANONYMIZER


BAD = {
    "a register without a quasi-identifier": (
        {"people.csv": "sex\nf\n"},
        ["--register", "people.csv"],
        ["the register has no column 'age'"],
    ),
    "a register of another kind": (
        {"people.csv": "age,sex\nS3CR3T,f\n"},
        ["--register", "people.csv"],
        ["the register's column 'age' is not all numbers"],
    ),
    "a register that is not there": ({}, ["--register", "nobody.csv"], ["there is no file nobody.csv"]),
    "a release with other values": (
        {"r.csv": "age,sex,pay,ill\n20,S3CR3T,1000,flu\n"},
        [],
        ["the release does not belong to the table", "'sex' shows 1 value"],
    ),
    "a release with more rows than the table": (
        {"r.csv": "age,sex,pay,ill\n" + '"[20, 22]",f,1000,flu\n' * 3},
        [],
        ["the release does not belong to the table", "'pay'"],
    ),
    "a release without a column": (
        {"r.csv": "age,pay,ill\n20,1000,flu\n"},
        [],
        ["the release cannot be read by this policy", "'sex'"],
    ),
    "a method that is not there": ({}, ["--method", "magic"], ["there is no method 'magic'"]),
}


@pytest.mark.parametrize(("written", "more", "fragments"), BAD.values(), ids=BAD)
def test_what_cannot_be_attacked_is_one_clear_line(
    written: dict[str, str], more: list[str], fragments: list[str], files: Path, tclose: Any
) -> None:
    for name, text in written.items():
        (files / name).write_text(text)
    tclose(*ATTACK, *more).refuses(*fragments)


def test_a_cell_is_quoted_on_request_alone(files: Path, tclose: Any) -> None:
    (files / "r.csv").write_text("age,sex,pay,ill\n20,S3CR3T,1000,flu\n")
    assert "S3CR3T" in tclose(*ATTACK, "--show-values").err


def test_what_is_needed_is_asked_for(files: Path, tclose: Any) -> None:
    tclose("attack", "r.csv").refuses("--original", usage=True)


def test_a_guarded_release_is_attacked_as_it_was(files: Path, tclose: Any) -> None:
    rows = [f"{20 + i % 7},{'=1+1' if i % 2 else 'fine'}" for i in range(40)]
    Path("g.csv").write_text("\n".join(["age,ill", *rows]) + "\n")
    Path("g.toml").write_text("k = 2\nquasi = ['age']\n[sensitive.ill]\nt = 0.5\n")
    made = ("anonymize", "g.csv", "--policy", "g.toml", "--out", "gr.csv", "--method", "mondrian", "--guard-formulas")
    assert tclose(*made).status == 0
    asked = ("attack", "gr.csv", "--original", "g.csv", "--policy", "g.toml")
    assert tclose(*asked).status == 2
    assert tclose(*asked, "--guard-formulas").status == 0
