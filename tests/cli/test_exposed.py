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


def test_a_patient_number_is_never_published_without_a_word(tclose: Run) -> None:
    """A number in each row, drafted as sensitive: one line for each column that gives rows away, without a value."""
    outcome = tclose(*ASKED)
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
            "Class alone (beyond the cut-off): Of those who have 'flu' (ill),",
            "For 10 rows (25.0 %), some value is as good as given away",
            "Stands out (beyond the cut-off): 40 rows (100 %) show a value of 'id' or 'pay' that at most two rows show",
            "Cure: bins = { quantiles = 10 } and publish = \"bin\" for 'pay'; 'id' in identifiers; step = 5 for",
            "One more fact (within the cut-off): No published column looks like the code of a place",
            "Unprotected columns (within the cut-off): ",
            "The release meets every requirement of its policy.",
            "How far the worst class is from the whole table",
        )
    ]
    assert places == sorted(places)


def test_the_json_has_everything(tclose: Run) -> None:
    answer = json.loads(tclose(*ASKED, "--json").out)
    alone, stands, fact, unprotected = answer["exposed"]
    assert [each["name"] for each in answer["exposed"]] == [
        *("class_alone", "stands_out", "one_more_fact", "unprotected")
    ]
    assert (alone["answer"], alone["rows"], alone["share"]) == ("no", 10, 0.25)
    assert {key: alone["suspicion"][0][key] for key in ("column", "value", "table")} == {
        "column": "ill",
        "value": "flu",
        "table": 0.25,
    }
    assert alone["suspicion"][0]["class"] == 1.0
    assert (stands["answer"], stands["rows"], stands["baseline"]) == ("no", 40, 0.0)
    assert all(cure["rows_after"] < figure["rows"] for figure in answer["exposed"] for cure in figure["cures"])
    assert (fact["answer"], unprotected["answer"]) == ("yes", "yes")
    for figure in answer["exposed"]:  # deprecated keys
        assert figure["sentence"] == figure["says"]
        assert {"kind", "attributes", "cure"} <= figure.keys()
    assert [warning.split("'")[1] for warning in answer["warnings"]] == ["id", "pay"]
    assert answer["lost"] == []


def test_where_nothing_is_exposed_it_says_what_was_looked_at(tclose: Run) -> None:
    outcome = tclose("anonymize", "t.csv", "--policy", "safe.toml", "--out", "r.csv", "--method", "mondrian")
    assert (outcome.status, outcome.err) == (0, "")
    said = words(outcome.out)
    assert "Class alone (within the cut-off): For no row, some value is as good as given away" in said
    assert "Stands out (within the cut-off): 2 rows (5.0 %) show a number of their own as the end of a range" in said
    answer = json.loads(tclose("anonymize", "t.csv", "--policy", "safe.toml", "--out", "r2.csv", "--json").out)
    assert [each["answer"] for each in answer["exposed"]] == ["yes", "no", "yes", "yes"]  # weave makes more classes
    assert (answer["lost"], answer["warnings"]) == ([], [])


NOTHING_LIMITS = "nothing limits what is learned about a person beyond who the person is"


def test_a_policy_without_a_sensitive_column_is_never_bare(tclose: Run, folder: Path) -> None:
    (folder / "k.toml").write_text('k = 5\nothers = "drop"\n[quasi.age]\n')
    made = tclose("anonymize", "t.csv", "--policy", "k.toml", "--out", "r.csv", "--certificate", "c.json")
    assert NOTHING_LIMITS in words(made.out)
    assert NOTHING_LIMITS in words(tclose("verify", "r.csv", "--certificate", "c.json").out)
    assert NOTHING_LIMITS in words(tclose("check", "r.csv", "--policy", "k.toml").out)
    assert NOTHING_LIMITS not in words(tclose(*ASKED).out)


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
