"""`tclose anonymize` warns of columns that give rows away, and says first what remains exposed and what was lost."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tclose import LeakWarning, anonymize, read

Run = Callable[..., Any]
ROWS = 40
TABLE = "id,age,pay,ill,town\n" + "".join(
    f"S3CR3T{i},{20 + i},{1000 + 7 * i},{'flu' if i < 10 else ('cold', 'cough')[i % 2]},T{i}\n" for i in range(ROWS)
)
POLICY = """
identifiers = ["town"]
k = 5
[quasi.age]
[sensitive.id]
t = 1
distance = "equal"
[sensitive.pay]
t = 1
[sensitive.ill]
t = 1
"""
SAFE = """
identifiers = ["id", "town"]
others = "drop"
k = 5
[quasi.age]
[sensitive.pay]
t = 1
l = 2
bins = { count = 2 }
publish = "bin"
"""
ASKED = ("anonymize", "t.csv", "--policy", "p.toml", "--out", "r.csv", "--method", "mondrian")


@pytest.fixture(autouse=True)
def sources(folder: Path) -> None:
    (folder / "t.csv").write_text(TABLE)
    (folder / "p.toml").write_text(POLICY)
    (folder / "safe.toml").write_text(SAFE)


def words(text: str) -> str:
    return " ".join(text.split())


def test_a_patient_number_is_never_published_without_a_word(process: Run) -> None:
    """A number in each row, drafted as sensitive: one line for each column that gives rows away, without a value."""
    outcome = process(*ASKED)
    assert outcome.status == 0, outcome.err
    assert outcome.err.splitlines() == [
        "warning: 'id' is published exactly, and 40 of 40 rows have a value that at most two rows have: anyone who "
        "knows the value finds the row; list it in identifiers, or replace its values by common ones",
        "warning: 'pay' is published exactly, and 40 of 40 rows have a value that at most two rows have: anyone who "
        'knows the value finds the row; publish bins (bins with publish = "bin"), or list it in identifiers',
    ]
    assert "S3CR3T" not in outcome.out


def test_a_patient_number_in_two_rows_each(tclose: Run, folder: Path) -> None:
    rows = "".join(f"{i // 2},{20 + i % 30},{i % 3}\n" for i in range(1858))
    (folder / "t.csv").write_text("patient,age,stage\n" + rows)
    (folder / "p.toml").write_text("k = 5\n[quasi.age]\n[sensitive.patient]\nt = 1\n[sensitive.stage]\nt = 1\n")
    outcome = tclose(*ASKED)
    assert outcome.status == 0
    assert outcome.err.startswith("warning: 'patient' is published exactly, and 1,858 of 1,858 rows")
    assert outcome.err.count("\n") == 1


def test_what_remains_exposed_comes_before_the_verdict(tclose: Run) -> None:
    said = words(tclose(*ASKED).out)
    places = [
        said.index(part)
        for part in (
            "Released r.csv: 40 rows published",
            "What remains exposed:",
            "40 rows (100 %) show a value of 'id' or 'pay' that fewer than 5 rows share",
            "Cure: bins and publish = \"bin\" for 'pay'; common values in place of the rare ones of 'id'.",
            "40 rows (100 %) are given away by one known value",
            "10 rows (25.0 %) are in classes that show one value of 'ill': anyone who knows the class learns it.",
            "Cure: l = 2 for 'ill', or a smaller t.",
            "The release meets every requirement of its policy.",
            "How far the worst class is from the whole table",
        )
    ]
    assert places == sorted(places)


def test_the_json_has_everything(tclose: Run) -> None:
    answer = json.loads(tclose(*ASKED, "--json").out)
    assert [(finding["kind"], finding["rows"]) for finding in answer["exposed"]] == [
        ("rare_value", 40),
        ("known_value", 40),
        ("same_value", 10),
    ]
    assert answer["exposed"][2] == {
        "kind": "same_value",
        "rows": 10,
        "share": 0.25,
        "attributes": {"ill": 10},
        "sentence": "10 rows (25.0 %) are in classes that show one value of 'ill': anyone who knows the class learns "
        "it.",
        "cure": "l = 2 for 'ill', or a smaller t",
    }
    assert [warning.split("'")[1] for warning in answer["warnings"]] == ["id", "pay"]
    assert answer["lost"] == []


def test_where_nothing_is_exposed_it_says_what_was_looked_at(tclose: Run) -> None:
    outcome = tclose("anonymize", "t.csv", "--policy", "safe.toml", "--out", "r.csv", "--method", "mondrian")
    assert (outcome.status, outcome.err) == (0, "")
    said = words(outcome.out)
    assert "What remains exposed: - Nothing was found: no class shows one sensitive value only, and at least 5" in said
    answer = json.loads(tclose("anonymize", "t.csv", "--policy", "safe.toml", "--out", "r2.csv", "--json").out)
    assert (answer["exposed"], answer["lost"], answer["warnings"]) == ([], [], [])


# A release that lost everything


@pytest.fixture
def strict(folder: Path) -> None:
    (folder / "p.toml").write_text(SAFE.replace("t = 1", "t = 0"))


@pytest.mark.usefixtures("strict")
def test_a_release_that_lost_everything_says_so_loudly(tclose: Run) -> None:
    outcome = tclose(*ASKED)
    assert outcome.status == 0
    said = words(outcome.out)
    loud = "This release lost everything: all 40 rows are in one class."
    assert loud in said
    assert said.index("What remains exposed") < said.index(loud) < said.index("The release meets every requirement")
    assert "for 'pay' would keep about" in said
    assert "(estimated by weave, effort fast, on all 40 rows)" in said
    assert "tclose compare --out PAGE" in said


@pytest.mark.usefixtures("strict")
def test_the_estimate_is_in_the_json_and_can_be_used(tclose: Run, folder: Path) -> None:
    (lost,) = json.loads(tclose(*ASKED, "--json").out)["lost"]
    assert (lost["rows"], lost["one_class"], lost["gcp"]) == (40, True, 1.0)
    estimate = lost["estimate"]
    assert estimate["sample_rows"] == estimate["rows"] == 40
    (folder / "p.toml").write_text(SAFE.replace("t = 1", f"t = {estimate['t']['pay']}"))
    again = json.loads(tclose("anonymize", "t.csv", "--policy", "p.toml", "--out", "r2.csv", "--json").out)
    assert again["lost"] == []
    assert 1 - again["measures"]["gcp"] > 0.2


@pytest.mark.usefixtures("strict")
def test_the_estimate_changes_no_byte_of_the_release(tclose: Run, folder: Path) -> None:
    """The library estimates nothing; the same seed gives the same release."""
    assert tclose(*ASKED, "--seed", "3").status == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        release = anonymize(read(folder / "t.csv"), folder / "p.toml", method="mondrian", seed=3)
    release.write(folder / "library.csv")
    assert (folder / "r.csv").read_bytes() == (folder / "library.csv").read_bytes()
