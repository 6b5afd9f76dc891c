"""What each command prints and how it ends: one JSON object on stdout, talk on stderr, an exit status to rely on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tclose import steps

Run = Callable[..., Any]
SECRET = "S3CR3T"
TABLE = "zone,pay,ill\nz,1,flu\na,2,flu\nz,1,cold\na,9,cold\n"
ASKED = ("--qi", "zone", "--sensitive", "pay=0.3", "--sensitive", "ill=1/3")


@pytest.fixture(autouse=True)
def table(folder: Path) -> None:
    (folder / "t.csv").write_text(TABLE)


def answer(outcome: Any, status: int = 0) -> Any:
    """Return the one JSON object on stdout; nothing else may stand there."""
    assert outcome.status == status, outcome.err
    assert outcome.out.count("\n") == 1
    assert outcome.out.endswith("}\n")
    return json.loads(outcome.out)


def test_check(tclose: Run) -> None:
    outcome = tclose("check", "t.csv", *ASKED, "--k", "3", "--json")
    assert outcome.err == ""
    assert answer(outcome, 1) == {
        "rows": 4,
        "classes": 2,
        "smallest_class": 2,
        "satisfied": False,
        "sensitive": {
            "pay": {
                "distance": "ordered",
                "t": 0.3,
                "closeness": 0.375,
                "closeness_exact": "3/8",
                "satisfied": False,
                "worst_class": 1,
                "failing_classes": 2,
                "allows": {
                    "t": 0.3,
                    "answer": "yes",
                    "says": "with t = 0.3, its highest values (25.0 % of the rows) can be 0 % to 67.5 % of a class; "
                    "at no t does a class show one value only, unless half of the rows have it, or fewer than k; "
                    "below t = 0.187, no value is given away",
                    "of": "its highest values",
                    "share": 0.25,
                    "least": 0.0,
                    "most": 0.675,
                    "one_value_from": None,
                    "nothing_given_away_below": 0.1875,
                },
            },
            "ill": {
                "distance": "equal",
                "t": "1/3",
                "closeness": 0.0,
                "closeness_exact": "0/1",
                "satisfied": True,
                "worst_class": 1,
                "failing_classes": 0,
                "allows": {
                    "t": 1 / 3,
                    "answer": "yes",
                    "says": "with t = 0.3333, a value (50.0 % of the rows) can be 16.6 % to 83.4 % of a class; "
                    "at no t does a class show one value only, unless half of the rows have it, or fewer than k",
                    "of": "a value",
                    "share": 0.5,
                    "least": 1 / 6,
                    "most": 5 / 6,
                    "one_value_from": None,
                    "nothing_given_away_below": None,
                },
            },
        },
        "models": [
            {"model": "k", "attribute": None, "required": 3, "reached": 2, "satisfied": False, "failing_classes": 2},
            {
                "model": "t",
                "attribute": "pay",
                "required": 0.3,
                "reached": 0.375,
                "satisfied": False,
                "failing_classes": 2,
            },
            {
                "model": "t",
                "attribute": "ill",
                "required": "1/3",
                "reached": 0.0,
                "satisfied": True,
                "failing_classes": 0,
            },
        ],
    }


def test_check_with_every_model(tclose: Run) -> None:
    Path("p.toml").write_text(
        "others = 'drop'\nquasi = ['zone']\n[sensitive.ill]\nl = 2\nentropy_l = 2\nrecursive = { c = 2, l = 2 }\n"
        "alpha = 0.5\nbeta = 1\nenhanced_beta = 0.5\ndelta = 0.1\n[sensitive.pay]\nt = 0.5\nn = 4\n"
    )
    found = answer(tclose("check", "t.csv", "--policy", "p.toml", "--json"))
    assert found["sensitive"]["ill"]["t"] is None
    assert [(each["model"], each["attribute"], each["required"]) for each in found["models"]] == [
        ("k", None, 1),
        ("alpha", "ill", 0.5),
        ("beta", "ill", 1.0),
        ("enhanced_beta", "ill", 0.5),
        ("delta", "ill", 0.1),
        ("l", "ill", 2),
        ("entropy_l", "ill", 2.0),
        ("recursive", "ill", {"c": 2.0, "l": 2}),
        ("(n,t)", "pay", {"n": 4, "t": 0.5}),
    ]
    keys = {"model", "attribute", "required", "reached", "satisfied", "failing_classes"}
    assert all(set(each) == keys for each in found["models"])


def test_what_is_infinite_is_a_word(tclose: Run) -> None:
    Path("p.toml").write_text("others = 'drop'\nquasi = ['zone']\n[sensitive.pay]\ndelta = 0.1\n")
    found = answer(tclose("check", "t.csv", "--policy", "p.toml", "--json"), 1)
    assert found["models"][1]["reached"] == "infinite"


def test_check_for_people(tclose: Run) -> None:
    outcome = tclose("check", "t.csv", *ASKED)
    assert outcome.status == 1
    assert outcome.out.startswith("4 rows in 2 classes; the smallest class has 2 rows.\n")
    verdicts, allowed = outcome.out.split("What each t allows, in shares of rows:\n")
    told = {line.split("  ")[0]: line for line in verdicts.splitlines()}
    assert ["pay", "0.3", "highest", "25.0", "%", "67.5", "%", "0.375", "0.187"] in map(str.split, allowed.splitlines())
    assert told["pay"].split()[1:] == ["t-closeness,", "ordered", "≤", "0.3", "0.375", "1", "2", "fails"]
    assert told["ill"].split()[1:] == ["t-closeness,", "equal", "≤", "0.3333", "0", "1", "0", "holds"]
    assert "The table fails 1 of its 3 requirements." in outcome.out
    told_most = "Class 1 reveals most: anyone who knows that a person is in it learns that the distribution of 'pay'"
    assert told_most in " ".join(outcome.out.split())
    assert "--attribute pay --class 1" in " ".join(outcome.out.split())
    holds = tclose("check", "t.csv", "--qi", "zone", "--sensitive", "ill=0")
    assert holds.status == 0
    assert holds.out.endswith("The table meets its 2 requirements.\n")


def test_explain(tclose: Run) -> None:
    outcome = tclose("explain", "t.csv", *ASKED, "--attribute", "pay", "--class", "1", "--json")
    assert answer(outcome) == {
        "attribute": "pay",
        "class": 1,
        "rows": 2,
        "distance": "ordered",
        "closeness": 0.375,
        "closeness_exact": "3/8",
        "moves": [
            {"from": "1", "to": "2", "mass": "1/4", "distance": "1/2", "cost": "1/8"},
            {"from": "1", "to": "9", "mass": "1/4", "distance": "1", "cost": "1/4"},
        ],
        "shows": {"zone": "z"},
        "bins": ["1", "2", "9"],
        "moves_between_bins": [
            {"from": "1", "to": "2", "mass": "1/4", "distance": "1/2", "cost": "1/8"},
            {"from": "1", "to": "9", "mass": "1/4", "distance": "1", "cost": "1/4"},
        ],
    }


def long_domain(folder: Path) -> None:
    """A published table: two classes, one with low and one with high values, in turns at the end; one is missing."""
    rows = [("[20, 39]" if (i >= 108 and i % 2) or 60 <= i < 108 else "[0, 19]", i or "") for i in range(120)]
    body = "".join(f'"{age}",w,{pay}\n' for age, pay in rows)
    (folder / "t.csv").write_text(f"age,ward,pay\n{body}")
    (folder / "p.toml").write_text("keep = ['ward']\n[quasi.age]\n[sensitive.pay]\nt = 1\nmissing = 'value'\n")


def test_explain_groups_a_long_domain(tclose: Run, folder: Path) -> None:
    """The moves between at most 20 groups, and those within a group, cost as much as all moves, exactly."""
    long_domain(folder)
    asked = ("explain", "t.csv", "--policy", "p.toml", "--attribute", "pay", "--class", "2")
    outcome, every = tclose(*asked), tclose(*asked, "--all")
    assert (outcome.status, every.status, outcome.err) == (0, 0, "")
    assert "The class shows: age = [20, 39], ward = w." in outcome.out
    said = " ".join(outcome.out.split())
    assert "Its values are put into 20 groups; the costliest moves come first. --all lists every move." in said
    assert "(missing)" in said
    assert "within the group" in said
    assert len(every.out.splitlines()) > 60 > len(outcome.out.splitlines())
    assert "within the group" not in every.out
    answer = json.loads(tclose(*asked, "--json").out)
    assert len(answer["bins"]) == 20
    costs = [sum(Fraction(move["cost"]) for move in answer[key]) for key in ("moves", "moves_between_bins")]
    assert costs[0] == costs[1] == Fraction(answer["closeness_exact"])
    assert {move["to"] for move in answer["moves_between_bins"]} <= set(answer["bins"])


def test_explain_shows_a_missing_quasi_identifier(tclose: Run) -> None:
    Path("t.csv").write_text("zone,pay\n,1\na,2\n")
    outcome = tclose("explain", "t.csv", "--qi", "zone", "--sensitive", "pay=1", "--attribute", "pay", "--class", "1")
    assert "The class shows: zone = (missing)." in outcome.out


def test_explain_for_people(tclose: Run) -> None:
    outcome = tclose("explain", "t.csv", *ASKED, "--attribute", "pay", "--class", "1")
    assert outcome.status == 0
    assert "The class shows: zone = z.\n\n    from  to  share of rows  distance    cost\n" in outcome.out
    assert "Class 1 (2 rows) against the whole table, attribute 'pay'" in outcome.out
    assert "Earth mover's distance, the sum of the costs: 3/8 = 0.3750 (0 means equal," in outcome.out


def test_names_and_values_cannot_break_the_terminal(tclose: Run) -> None:
    Path("t.csv").write_text('zone,"pay\nper \x1b[2Jyear"\na,\x1b[31mx\nb,y\n')
    asked = ("--qi", "zone", "--sensitive", "pay\nper \x1b[2Jyear=0")
    outcome = tclose("check", "t.csv", *asked)
    assert "\x1b" not in outcome.out
    assert r"--attribute 'pay\nper \x1b[2Jyear' --class 1" in " ".join(outcome.out.split())
    outcome = tclose("explain", "t.csv", *asked, "--attribute", "pay\nper \x1b[2Jyear", "--class", "1")
    assert "\x1b" not in outcome.out
    assert r"\x1b[31mx" in outcome.out


def test_a_very_long_name_is_shortened(tclose: Run) -> None:
    name = "pay" * 400
    Path("t.csv").write_text(f"zone,{name}\na,1\nb,2\n")
    asked = ("--qi", "zone", "--sensitive", f"{name}=0")
    for outcome in (
        tclose("check", "t.csv", *asked),
        tclose("explain", "t.csv", *asked, "--attribute", name, "--class", "1"),
    ):
        assert outcome.err == ""
        joined = "".join(outcome.out.split())
        assert "paypay" in joined
        assert name[:60] not in joined
    outcome = tclose("check", "t.csv", *asked)
    assert "--attribute ATTRIBUTE --class 1" in " ".join(outcome.out.split())


def test_doctor(tclose: Run) -> None:
    found = answer(tclose("doctor", "--json"))
    assert set(found) == {
        "tclose",
        "python",
        "system",
        "cores",
        "needed",
        "extras",
        "kernels",
        "kernels_state",
        "healthy",
    }
    assert found["healthy"] is True
    assert {"numpy", "polars", "narwhals", "click", "rich"} <= set(found["needed"])
    outcome = tclose("doctor")
    assert outcome.status == 0
    assert outcome.out.startswith(f"tclose {found['tclose']} on Python {found['python']}")


def test_doctor_compiles_ahead(tclose: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tclose.partition.warm.warm", lambda progress: 3)
    monkeypatch.setattr("tclose.run.installation.warm_bound", lambda progress: 2)
    monkeypatch.setattr("tclose.run.installation.warm_exchange", lambda progress: 1)
    assert answer(tclose("doctor", "--warm", "--json"))["compiled"] == 6
    assert tclose("doctor", "--warm").out.endswith("All kernels are compiled; 6 kernels had been missing.\n")


def test_doctor_tells_what_is_not_there(tclose: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tclose.run.installation._version", lambda name: None if name in ("scipy", "numpy") else "1.0")
    outcome = tclose("doctor")
    assert outcome.status == 2
    assert "scipy is not installed: pip install 'tclose[solve]'" in outcome.out
    assert answer(tclose("doctor", "--json"), 2)["needed"]["numpy"] is None


def test_help_and_version(tclose: Run) -> None:
    for arguments in ((), ("--help",), ("check", "--help"), ("-h",)):
        outcome = tclose(*arguments)
        assert (outcome.status, outcome.err) == (0, "")
        assert outcome.out.startswith("Usage: tclose")
    assert tclose("--version").out.startswith("tclose, version ")


def raising(error: BaseException) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


@pytest.mark.parametrize("bug", [ValueError(SECRET), pl.exceptions.PanicException(SECRET), AssertionError(SECRET)])
def test_a_bug_is_no_answer_and_tells_no_cell(tclose: Run, monkeypatch: pytest.MonkeyPatch, bug: BaseException) -> None:
    monkeypatch.setattr(steps, "check", raising(bug))
    outcome = tclose("check", "t.csv", *ASKED)
    assert (outcome.status, outcome.out) == (70, "")
    assert outcome.err.startswith(f"error: this is a bug in tclose ({type(bug).__name__})")
    assert SECRET not in outcome.err


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (MemoryError(SECRET), 2, "error: the table does not fit into memory\n"),
        (OSError(28, "No space left on device", "out.csv"), 2, "error: out.csv: No space left on device\n"),
        (OSError(28, "No space left on device"), 2, "error: the answer cannot be written: No space left on device\n"),
    ],
)
def test_other_ends(tclose: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, says: str) -> None:
    monkeypatch.setattr(steps, "check", raising(error))
    outcome = tclose("check", "t.csv", *ASKED)
    assert (outcome.status, outcome.out, outcome.err.lstrip("\n")) == (status, "", says)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs the pipes of Unix")
@pytest.mark.parametrize("extra", [(), ("--json",)])
def test_a_reader_that_went_away_does_not_change_the_verdict(folder: Path, extra: tuple[str, ...]) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-c", "from tclose.cli import main; main()", "check", "t.csv", *ASKED, *extra]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, cwd=folder, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_console_without_our_letters(process: Run, folder: Path) -> None:
    outcome = process("check", "t.csv", *ASKED, PYTHONIOENCODING="ascii")
    assert (outcome.status, outcome.err) == (1, "")
    (folder / "t.csv").write_text("zöne,pay\na,1\n", encoding="utf-8")
    outcome = process("init", "t.csv", "--json", PYTHONIOENCODING="ascii")
    assert json.loads(outcome.out)["columns"][0]["column"] == "zöne"
    wanted = ("check", "t.csv", "--qi", "zone", "--sensitive", "pay=1")
    process(*wanted, PYTHONIOENCODING="ascii").refuses("'z?ne'")
