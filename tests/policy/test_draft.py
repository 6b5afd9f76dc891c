"""tclose init: a draft that gives every column one role, holds no cell, and asks for every t."""

from __future__ import annotations

import json
import re
import tomllib
import warnings
from pathlib import Path

import polars as pl
import pytest

import tclose
from tclose import Policy, PolicyError, steps
from tclose.cli import run
from tclose.examples import hospital
from tclose.policy.draft import Guess
from tclose.policy.draft import draft as draft_policy
from tclose.policy.draft import guess as guess_roles
from tclose.table.profile import profiles

SHARED = Path(__file__).parents[3] / "shared" / "data"
REAL = ["adult", "adult_arx", "cahousing", "census_casc", "census_sal500k", "nhanes_labs"]


def table(name: str) -> pl.DataFrame:
    if name == "hospital":
        return hospital(2000, seed=3)
    path = SHARED / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return tclose.read(path)[:40_000]


def guess(frame: pl.DataFrame) -> list[Guess]:
    return guess_roles(profiles(frame))


def draft(frame: pl.DataFrame) -> str:
    return draft_policy(profiles(frame))


def roles(frame: pl.DataFrame) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {"identifier": set(), "quasi": set(), "sensitive": set()}
    for each in guess(frame):
        found[each.role].add(each.column)
    return found


def filled_in(text: str) -> str:
    return re.sub(r"^# t = 0\.\?", "t = 0.5 #", text, flags=re.MULTILINE)


@pytest.mark.parametrize("name", ["hospital", *REAL])
def test_a_draft_needs_nothing_but_its_ts(tmp_path: Path, name: str) -> None:
    frame = table(name)
    text = draft(frame)
    read = tomllib.loads(text)
    named = [*read["identifiers"], *read["quasi"], *read["sensitive"]]
    assert sorted(named) == sorted(frame.columns)
    assert not any("t" in spec for spec in read["sensitive"].values())

    path = tmp_path / "policy.toml"
    path.write_text(text, encoding="utf-8")
    first = next(iter(read["sensitive"]))
    with pytest.raises(PolicyError, match=rf"^sensitive\.{first}: nothing is asked for: say t"):
        Policy.load(path)

    path.write_text(filled_in(text), encoding="utf-8")
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        result = tclose.check(frame, Policy.load(path))
    assert set(result.sensitive) == set(read["sensitive"])


@pytest.mark.parametrize(
    ("name", "identifier", "quasi", "sensitive"),
    [
        (
            "hospital",
            {"name", "ssn"},
            {"zip", "age", "sex", "education", "occupation"},
            {"ldl", "hdl", "hemoglobin", "systolic", "glucose", "length_of_stay", "charges", "diagnosis"},
        ),
        (
            "adult",
            set(),
            {"age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"},
            {"capital-gain", "hours-per-week", "income"},
        ),
        (
            "adult_arx",
            set(),
            {"age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"},
            {"salary-class"},
        ),
        ("cahousing", {"ID"}, {"longitude", "latitude"}, {"median_income", "median_house_value", "population"}),
        ("census_casc", set(), set(), {"FEDTAX", "FICA", "STATETAX"}),
        ("census_sal500k", set(), {"age", "sex", "education", "race", "birth_place"}, {"salary_class"}),
        (
            "nhanes_labs",
            {"ID"},
            {"Gender", "Age", "Race1", "HomeRooms", "SurveyYr"},
            {"Pulse", "BPSysAve", "BPDiaAve", "DirectChol", "TotChol", "BMI"},
        ),
    ],
)
def test_roles_of_real_tables(name: str, identifier: set[str], quasi: set[str], sensitive: set[str]) -> None:
    found = roles(table(name))
    assert found["identifier"] == identifier
    assert quasi <= found["quasi"]
    assert sensitive <= found["sensitive"]
    assert found["quasi"], "without a quasi-identifier nothing can be judged"


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("First Name", "identifier"), ("surname", "identifier"), ("e-mail", "identifier"),
        ("phoneNumber", "identifier"), ("SSN", "identifier"), ("patient_name", "identifier"),
        ("language", "quasi"), ("zip_code", "quasi"), ("Postcode", "quasi"), ("date_of_birth", "quasi"),
        ("birthDate", "quasi"), ("work_class", "quasi"), ("city_name", "quasi"), ("latest", "quasi"),
        ("label", "quasi"), ("wage", "sensitive"), ("HIV test", "sensitive"), ("drug", "sensitive"),
        ("Weight_kg", "sensitive"), ("test_result", "sensitive"), ("primaryDiagnosis", "sensitive"),
    ],
)  # fmt: skip
def test_roles_by_name(name: str, role: str) -> None:
    frame = pl.DataFrame({name: ["x", "y", "x", "y", "x", "y"], "other": ["p"] * 6})
    assert guess(frame)[0].role == role


def test_roles_by_values() -> None:
    frame = pl.DataFrame(
        {
            "code": [f"c{i}" for i in range(60)],
            "patientId": [i % 50 for i in range(60)],
            "reading": [i / 7 for i in range(60)],
            "group": ["a", "b"] * 30,
            "flag": [True, False] * 30,
        }
    )
    assert [each.role for each in guess(frame)] == ["identifier", "identifier", "sensitive", "quasi", "quasi"]


def test_no_cell_stands_in_the_draft() -> None:
    cells = {"name": ["Xq1", "Xq2"], "city": ["Xq3", "Xq4"], "diagnosis": ["Xq5", "Xq6"], "ldl": ["Xq7", "8"]}
    frame = pl.DataFrame(cells)
    assert "Xq" not in draft(frame)
    assert "Xq" not in json.dumps([each.to_dict() for each in guess(frame)])


def test_missing_values_are_seen() -> None:
    frame = pl.DataFrame({"age": ["1", "2", "?", "1"], "ldl": ["1", "NA", "", "1"], "diagnosis": ["a", "b", None, "a"]})
    text = draft(frame)
    read = tomllib.loads(text)
    assert read["missing"] == ["", "NA", "?"]
    assert read["sensitive"]["ldl"] == {"missing": "value"}
    assert read["sensitive"]["diagnosis"] == {"distance": "equal", "missing": "value"}
    assert "no value in 2 rows" in text
    assert "no value in 1 row:" in text


ODD = ["a b", 'quo"te', "line\nbreak", "back\\slash", "ä", "del\x7f", "tab\t", "#", "[x]", "^x$", "*"]


@pytest.mark.parametrize("odd", ODD)
def test_any_column_name_makes_valid_toml(odd: str) -> None:
    frame = pl.DataFrame({odd: ["a", "a"], f"diagnosis {odd}": ["a", "a"], f"ssn {odd}": ["a", "a"]})
    read = tomllib.loads(draft(frame))
    assert [*read["quasi"], *read["sensitive"], *read["identifiers"]] == frame.columns


def test_some_column_forms_the_classes() -> None:
    assert roles(pl.DataFrame({"ldl": [1, 2], "hdl": [3, 4]})) == {
        "identifier": set(),
        "quasi": {"ldl"},
        "sensitive": {"hdl"},
    }


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    frame = hospital(300, seed=1)
    frame.write_csv("t.csv")
    text = steps.init("t.csv").policy
    assert "# In a class, its lowest values (5.0 % of the rows) can be at most" in text

    assert run(["init", "t.csv"]) == 0
    assert capsys.readouterr() == (text, "")

    assert run(["init", "t.csv", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert set(answer) == {"policy", "columns", "person", "warnings"}
    assert answer["policy"] == text
    assert [each["column"] for each in answer["columns"]] == frame.columns
    keys = {"column", "role", "kind", "why", "missing", "settings", "remarks"}
    assert all(set(each) == keys for each in answer["columns"])

    assert run(["init", "t.csv", "--out", "p.toml"]) == 0
    assert Path("p.toml").read_text(encoding="utf-8") == text
    assert "choose every t" in capsys.readouterr().out

    assert run(["check", "t.csv", "--policy", "p.toml"]) == 2
    assert capsys.readouterr().err.startswith("error: sensitive.ldl: nothing is asked for: say t")

    assert run(["init", "t.csv", "--out", "p.toml"]) == 2
    assert capsys.readouterr().err == "error: p.toml exists already: name another file, or overwrite it with --force\n"

    Path("p.toml").write_text(filled_in(text), encoding="utf-8")
    assert run(["check", "t.csv", "--policy", "p.toml", "--json"]) in (0, 1)
    assert len(json.loads(capsys.readouterr().out)["sensitive"]) == 8
