"""`tclose anonymize` and `verify` where a release has several tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
CELLS = [("20", "1", "flu"), ("30", "2", "cold"), ("40", "1", "cold"), ("50", "2", "flu")] * 3
TABLE = "name,age,pay,ill\n" + "".join(f"P{i},{','.join(row)}\n" for i, row in enumerate(CELLS))
POLICY = """
identifiers = ["name"]
k = 2
quasi = ["age"]
[sensitive.pay]
t = 0.2
[sensitive.ill]
t = 0.2
"""
ASKED = ("anonymize", "t.csv", "--policy", "p.toml", "--out", "r.csv", "--certificate", "c.json")
PROJECTIONS = (*ASKED, "--method", "projections", "--tables", "2")
ANATOMY = (*ASKED, "--method", "anatomy")
FILES = {PROJECTIONS: ["r-1.csv", "r-2.csv"], ANATOMY: ["r.csv", "r-sensitive.csv"]}
both = pytest.mark.parametrize("command", FILES, ids=["projections", "anatomy"])


@pytest.fixture(autouse=True)
def sources(folder: Path) -> None:
    (folder / "t.csv").write_text(TABLE)
    (folder / "p.toml").write_text(POLICY)


def made(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"t.csv", "p.toml"}


@both
def test_one_file_per_table_and_one_certificate(tclose: Run, folder: Path, command: tuple[str, ...]) -> None:
    done = tclose(*command)
    assert done.status == 0, done.err
    assert made(folder) == {*FILES[command], "c.json"}
    told = " ".join(done.out.split())
    assert f"Released {', '.join(FILES[command])}: 12 rows" in told
    checked = tclose("verify", "r.csv", "--certificate", "c.json")
    assert checked.status == 0
    assert "(2 tables), judged from the release alone" in checked.out


def test_what_projections_do_not_promise_is_said(tclose: Run) -> None:
    told = " ".join(tclose(*PROJECTIONS).out.split())
    assert "Note: each table is judged on its own; what several tables tell together about one person is not." in told


def test_that_an_anatomy_does_not_protect_identity_is_said(tclose: Run) -> None:
    done = tclose(*ANATOMY)
    words = "quasi-identifiers are published exactly: who is in the table is not hidden, only what is sensitive"
    assert f"warning: {words}" in done.err
    assert f"Note: {words}." in " ".join(done.out.split())
    assert words in " ".join(tclose("verify", "r.csv", "--certificate", "c.json").out.split())


def test_that_a_permutation_does_not_protect_identity_is_said(tclose: Run, folder: Path) -> None:
    done = tclose(*ASKED, "--method", "permutation", "--base", "mondrian")
    words = "quasi-identifiers are published exactly: who is in the table is not hidden, only what is sensitive"
    assert f"warning: {words}" in done.err
    assert f"Note: {words}." in " ".join(done.out.split())
    assert made(folder) == {"r.csv", "c.json"}
    assert (folder / "r.csv").read_text().startswith("age,pay,ill,group\n")
    checked = tclose("verify", "r.csv", "--certificate", "c.json")
    assert checked.status == 0
    assert words in " ".join(checked.out.split())


@both
def test_as_json(tclose: Run, command: tuple[str, ...]) -> None:
    answer = json.loads(tclose(*command, "--json").out)
    assert answer["release"] == "r.csv"
    assert [file["name"] for file in answer["files"]] == FILES[command]
    assert answer["satisfied"] is True
    checked = json.loads(tclose("verify", FILES[command][0], "--certificate", "c.json", "--json").out)
    assert checked["holds"] is True
    assert checked["files"] == FILES[command]


@both
def test_a_changed_file_is_not_trusted(tclose: Run, folder: Path, command: tuple[str, ...]) -> None:
    tclose(*command)
    for name in FILES[command]:
        before = (folder / name).read_text()
        (folder / name).write_text(before + before.splitlines()[-1] + "\n")
        checked = tclose("verify", "r.csv", "--certificate", "c.json")
        assert checked.status == 1
        assert f"{name}: the release is not the file that was certified" in " ".join(checked.out.split())
        (folder / name).write_text(before)


@both
def test_what_is_read_is_not_overwritten(tclose: Run, folder: Path, command: tuple[str, ...]) -> None:
    name = FILES[command][1]
    (folder / "t.csv").rename(folder / name)
    tclose(command[0], name, *command[2:]).refuses(name, "is read and would be overwritten")


def test_a_base_method(tclose: Run) -> None:
    answer = json.loads(tclose(*PROJECTIONS, "--base", "fragmentation", "--json").out)
    assert answer["base"] == "fragmentation"
    tclose(*PROJECTIONS, "--base", "anatomy", "--force").refuses("'anatomy' publishes several tables itself")
    tclose(*PROJECTIONS, "--base", "nothing", "--force").refuses("there is no method 'nothing'")


def test_options_for_projections_alone(tclose: Run) -> None:
    tclose(*ASKED, "--tables", "2").refuses("--tables is for --method projections", usage=True)
    tclose(*ANATOMY, "--base", "weave").refuses("--base is for --method projections or permutation", usage=True)


def test_more_tables_than_attributes(tclose: Run, folder: Path) -> None:
    tclose(*ASKED, "--method", "projections", "--tables", "3").refuses("tables is a whole number from 1 to 2")
    assert made(folder) == set()
