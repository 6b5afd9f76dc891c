"""`tclose reproduce`: tables in the terminal, JSON, a page; what is missing is said in one sentence."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tclose.papers import liang_yuan

Run = Callable[..., Any]


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liang_yuan, "INSTANCES", 1)
    monkeypatch.setattr(liang_yuan, "TABLES", 2)


def test_figures_stand_beside_the_papers(process: Run, data: Path, folder: Path) -> None:
    outcome = process("reproduce", "soria-comas", "--data", str(data))
    assert (outcome.status, outcome.err) == (0, "")
    assert re.search(r"^figure +paper +ours *$", outcome.out, re.MULTILINE)
    mdav = re.findall(r"^(?:Census|Tarragona|EIA), k = \d+ +(\S+) +(\S+) *$", outcome.out, re.MULTILINE)
    assert len(mdav) == 12
    assert all(paper == ours for paper, ours in mdav)
    assert re.findall(r"^first, t = 0.05: squared error +(\S+) +(\S+)", outcome.out, re.MULTILINE) == [
        ("0.60", "0.605"),
        ("0.41", "0.412"),
    ]
    least = re.findall(r"loses least by squared error +first +(\w+)", outcome.out)
    assert least == ["first"] * 4 + ["merge"] + ["first"] * 3 + ["merge"] * 2
    assert list(folder.iterdir()) == []


def test_without_its_tables_it_says_where_to_put_them(tclose: Run, folder: Path) -> None:
    tclose("reproduce", "weber").refuses("weber: put nhanes_labs.csv into ../shared/data, or name", "--data")
    tclose("reproduce", "all", "--data", ".", "--out", "p.html").refuses("adult_arx.csv", "nhanes_labs.csv", "eia.csv")
    assert list(folder.iterdir()) == []


@pytest.mark.usefixtures("brief")
def test_json_and_a_page(tclose: Run, folder: Path) -> None:
    pytest.importorskip("altair", reason="pip install 'tclose[report]'")
    outcome = tclose("reproduce", "liang-yuan", "--json", "--out", "p.html")
    assert (outcome.status, outcome.err) == (0, "")
    (experiment,) = json.loads(outcome.out)["experiments"]
    assert experiment["name"] == "liang-yuan"
    assert experiment["parts"][0]["figures"][0] == {"what": "table 2: stars", "paper": "54", "ours": "54", "remark": ""}
    assert "n(|E| + cut)/2 stars" in (folder / "p.html").read_text(encoding="utf-8")
    tclose("reproduce", "liang-yuan", "--out", "p.html").refuses("p.html", "--force")


@pytest.mark.usefixtures("brief")
def test_without_the_extra_tables_are_printed_all_the_same(
    tclose: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    outcome = tclose("reproduce", "liang-yuan")
    assert (outcome.status, outcome.err) == (0, "")
    assert "theorem 6" in outcome.out
    tclose("reproduce", "liang-yuan", "--out", "p.html").refuses("pip install 'tclose[report]'")
    assert list(folder.iterdir()) == []


def test_bad_names(tclose: Run) -> None:
    tclose("reproduce", "webber").refuses("there is no experiment 'webber' (did you mean 'weber'?)")
    tclose("reproduce").refuses("Missing argument 'NAME'", usage=True)
    tclose("reproduce", "liang-yuan", "--out", "nowhere/p.html").refuses("nowhere")
    tclose("reproduce", "weber", "--data", "a\0b").refuses("a\\x00b")


def test_help_names_every_experiment(tclose: Run) -> None:
    out = tclose("reproduce", "--help").out
    assert "li-2007, weber, liang-yuan, soria-comas or all" in " ".join(out.split())
    assert "../shared/data" in out
