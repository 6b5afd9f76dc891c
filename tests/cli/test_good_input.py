"""Good input, however it is spelled: the same table gives the same answer."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

Run = Callable[..., Any]

ROWS = [("a,b", "4", "flu"), ("c", "3.0", 'so-called "flu"'), ("a,b", "3", "line\nbreak"), ("c", "5", "flu")]
ASKED = ("--qi", "zone", "--sensitive", "pay=0.3", "--sensitive", "ill=0.3", "--k", "2", "--json")


def spelled(separator: str = ",", line_end: str = "\n", *, last: bool = True, start: bytes = b"") -> bytes:
    quoted = [["zone", "pay", "ill"], *(['"' + cell.replace('"', '""') + '"' for cell in row] for row in ROWS)]
    text = line_end.join(separator.join(row) for row in quoted) + (line_end if last else "")
    return start + text.encode()


def stored(how: str) -> bytes:
    buffer = io.BytesIO()
    frame = pl.DataFrame(ROWS, schema=["zone", "pay", "ill"], orient="row")
    getattr(frame.with_columns(pl.col("pay").cast(pl.Float64), pl.col("ill").cast(pl.Categorical)), how)(buffer)
    return buffer.getvalue()


SPELLINGS = {
    "comma": spelled(","),
    "semicolon": spelled(";"),
    "tab": spelled("\t"),
    "byte order mark": spelled(start=b"\xef\xbb\xbf"),
    "CRLF": spelled(line_end="\r\n").replace(b"line\r\nbreak", b"line\nbreak"),
    "no last line end": spelled(last=False),
    "blank last lines": spelled() + b"\n\r\n",
    "Parquet": stored("write_parquet"),
    "Arrow file": stored("write_ipc"),
    "Arrow stream": stored("write_ipc_stream"),
}
NOTES = {"semicolon": "note: read as CSV, separator ;\n", "tab": "note: read as CSV, separator tab\n"}
ANSWER = {
    "rows": 4,
    "classes": 2,
    "smallest_class": 2,
    "satisfied": True,
    "sensitive": {
        "pay": {
            "distance": "ordered",
            "t": 0.3,
            "closeness": 0.125,
            "closeness_exact": "1/8",
            "satisfied": True,
            "worst_class": 1,
            "failing_classes": 0,
        },
        "ill": {
            "distance": "equal",
            "t": 0.3,
            "closeness": 0.25,
            "closeness_exact": "1/4",
            "satisfied": True,
            "worst_class": 1,
            "failing_classes": 0,
        },
    },
    "models": [
        {"model": "k", "attribute": None, "required": 2, "reached": 2, "satisfied": True, "failing_classes": 0},
        {"model": "t", "attribute": "pay", "required": 0.3, "reached": 0.125, "satisfied": True, "failing_classes": 0},
        {"model": "t", "attribute": "ill", "required": 0.3, "reached": 0.25, "satisfied": True, "failing_classes": 0},
    ],
}


def answered(out: str) -> Any:
    """Return an answer without what each t allows, which tests of its own are about."""
    answer = json.loads(out)
    for finding in answer["sensitive"].values():
        assert finding.pop("allows")["answer"] == "yes"
    return answer


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_file_and_standard_input(tclose: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, spelling: str) -> None:
    (folder / "table").write_bytes(SPELLINGS[spelling])
    outcome = tclose("check", "table", *ASKED)
    assert (outcome.status, outcome.err) == (0, NOTES.get(spelling, ""))
    assert answered(outcome.out) == ANSWER
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(SPELLINGS[spelling])))
    assert tclose("check", "-", *ASKED) == outcome


def test_standard_input_of_a_real_process(process: Run) -> None:
    outcome = process("check", "-", *ASKED, stdin=SPELLINGS["Arrow stream"])
    assert (outcome.status, outcome.err, answered(outcome.out)) == (0, "", ANSWER)


def test_a_policy_says_the_same_as_options(tclose: Run) -> None:
    Path("t.csv").write_bytes(SPELLINGS["comma"])
    Path("p.toml").write_text("k = 2\nquasi = ['zone']\n[sensitive.pay]\nt = 0.3\n[sensitive.ill]\nt = 0.3\n")
    assert answered(tclose("check", "t.csv", "--policy", "p.toml", "--json").out) == ANSWER


def test_options_spell_columns_as_csv_does(tclose: Run) -> None:
    Path("t.csv").write_text('"zone, old",x=y,*\na,1,p\nb,1,q\n')
    outcome = tclose("check", "t.csv", "--qi", '"zone, old", *', "--sensitive", "x=y=1/3", "--json")
    answer = json.loads(outcome.out)
    assert (answer["classes"], answer["sensitive"]["x=y"]["t"]) == (2, "1/3")
    outcome = tclose("check", "t.csv", "--qi", "*", "--sensitive", "x=y=0", "--distance", "x=y=equal", "--json")
    assert json.loads(outcome.out)["sensitive"]["x=y"]["distance"] == "equal"


def test_only_k(tclose: Run) -> None:
    Path("t.csv").write_text("zone,x\na,1\na,2\nb,3\n")
    answer = json.loads(tclose("check", "t.csv", "--qi", "zone", "--k", "2", "--json").out)
    assert (answer["satisfied"], answer["sensitive"], answer["models"][0]["reached"]) == (False, {}, 1)


def test_column_kinds_in_a_csv(tclose: Run) -> None:
    Path("t.csv").write_text(
        "zone,zip,pay,day,adult,big,tiny\n"
        "a,01234,1.10,2024-03-01,true,9223372036854775808,1e-05\n"
        "b,01235,1.1,2023-12-31,false,-9223372036854775809,-2E-3\n"
    )
    columns = ("zip", "pay", "day", "adult", "big", "tiny")
    asked = [option for column in columns for option in ("--sensitive", f"{column}=1")]
    found = json.loads(tclose("check", "t.csv", "--qi", "zone", *asked, "--json").out)["sensitive"]
    assert {name: (each["distance"], each["closeness_exact"]) for name, each in found.items()} == {
        "zip": ("equal", "1/2"),
        "pay": ("ordered", "0/1"),
        "day": ("ordered", "1/2"),
        "adult": ("equal", "1/2"),
        "big": ("ordered", "1/2"),
        "tiny": ("ordered", "1/2"),
    }


def test_markers_of_missing_values(tclose: Run) -> None:
    Path("t.csv").write_text("zone,pay\na,1\na,NA\nb,2\nb,?\n")
    text = "missing = ['NA', '?']\nquasi = ['zone']\n[sensitive.pay]\nt = 1\nmissing = 'suppress'\n"
    Path("p.toml").write_text(text)
    answer = json.loads(tclose("check", "t.csv", "--policy", "p.toml", "--json").out)
    assert (answer["rows"], answer["withheld"], answer["classes"]) == (2, 2, 2)


def test_a_third_is_a_third(tclose: Run) -> None:
    Path("t.csv").write_text("zone,pay\na,1\na,2\nb,2\n")  # class b is exactly 1/3 away
    for t, status in (("1/3", 0), ("0.3333", 1), ("0.33333333333333333333", 1), ("0.34", 0)):
        assert tclose("check", "t.csv", "--qi", "zone", "--sensitive", f"pay={t}").status == status
        Path("p.toml").write_text(f"quasi = ['zone']\n[sensitive.pay]\nt = {t if '/' not in t else repr(t)}\n")
        assert tclose("check", "t.csv", "--policy", "p.toml").status == status


def test_files_beside_the_policy(tclose: Run, folder: Path) -> None:
    (folder / "deep").mkdir()
    Path("deep/h.csv").write_text("flu;lung;*\nasthma;lung;*\n")
    Path("deep/m.csv").write_text(";x;y\nx;0;1\ny;1;0\n")
    ill, city = "[sensitive.ill]\nt = 0.25\nhierarchy = 'h.csv'\n", "[sensitive.city]\nt = 0.5\nmatrix = 'm.csv'\n"
    Path("deep/p.toml").write_text("quasi = ['zone']\n" + ill + city)
    Path("t.csv").write_text("zone,ill,city\na,flu,x\nb,asthma,y\n")
    outcome = tclose("check", "t.csv", "--policy", "deep/p.toml", "--json")
    assert outcome.status == 0
    assert {name: found["closeness_exact"] for name, found in json.loads(outcome.out)["sensitive"].items()} == {
        "ill": "1/4",
        "city": "1/2",
    }


def test_leaks_are_warned_about_on_stderr(tclose: Run) -> None:
    Path("t.csv").write_text("ssn,zone,batch,pay\n1,a,x,1\n1,a,y,1\n")
    roles = 'identifiers = ["ssn"]\nunlinkable = ["batch"]\nquasi = ["zone"]\n'
    Path("p.toml").write_text(roles + "[sensitive.pay]\nt = 0\n")
    outcome = tclose("check", "t.csv", "--policy", "p.toml", "--json")
    assert json.loads(outcome.out)["satisfied"]
    assert outcome.err.splitlines() == [
        "warning: 'batch' is published as it is and not judged (unlinkable)",
        "warning: identifier 'ssn' repeats in 2 rows: if they are rows of one person, "
        'say person = "ssn", or k and l count rows, not persons',
    ]
    Path("p.toml").write_text('person = "ssn"\nk = 2\n' + roles + "[sensitive.pay]\nt = 0\n")
    outcome = tclose("check", "t.csv", "--policy", "p.toml", "--json")
    assert (outcome.status, len(outcome.err.splitlines())) == (1, 1)
    assert json.loads(outcome.out)["models"][0] == {
        "model": "k",
        "attribute": None,
        "required": 2,
        "reached": 1,
        "satisfied": False,
        "failing_classes": 1,
    }


def test_values_that_look_alike_are_warned_about_and_never_shown(tclose: Run) -> None:
    Path("t.csv").write_text("age,ill\n20,HIV\n30,hiv\n40,HIV \n50,flu\n")
    Path("p.toml").write_text("k = 2\n[quasi.age]\n[sensitive.ill]\nl = 2\n")
    commands = [("check",), ("anonymize", "--method", "mondrian", "--out", "r.csv")]
    for command, *options in commands:
        outcome = tclose(command, "t.csv", "--policy", "p.toml", *options)
        assert outcome.err.count("warning: sensitive 'ill' has 3 pairs of values that differ only in case, spaces") == 1
        assert "hiv" not in (outcome.out + outcome.err).lower()


def test_minus_zero_in_a_csv_is_zero(tclose: Run) -> None:
    Path("t.csv").write_text("zone,pay\n0.0,1\n-0.0,2\n0.0,1\n-0.0,2\n")
    outcome = tclose("check", "t.csv", "--qi", "zone", "--sensitive", "pay=0", "--json")
    assert json.loads(outcome.out)["classes"] == 1


def test_a_table_of_persons_that_holds_is_released(tclose: Run) -> None:
    Path("t.csv").write_text("q,pid,s\n1,1,a\n1,2,b\n2,1,a\n2,3,b\n")
    policy = 'k = 2\nidentifiers = ["pid"]\nperson = "pid"\n[quasi.q]\n[sensitive.s]\nentropy_l = 2\n'
    Path("p.toml").write_text(policy)
    assert tclose("check", "t.csv", "--policy", "p.toml").status == 0
    outcome = tclose("anonymize", "t.csv", "--policy", "p.toml", "--out", "r.csv")
    assert outcome.status == 0, outcome.err
    assert Path("r.csv").read_text() == "q,s\n1,a\n1,b\n2,a\n2,b\n"
