"""Pages and guards from the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polars as pl
import pytest

from tclose.cli import run

pytest.importorskip("altair", reason="pip install 'tclose[report]'")
POLICY = 'identifiers = ["name"]\nk = 2\n[quasi.place]\n[sensitive.note]\nt = 0.9\ndistance = "equal"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = {"name": [f"secret-{i}" for i in range(12)], "place": ["a", "b", "c"] * 4, "note": ["=1+1", "x"] * 6}
    pl.DataFrame(rows).write_csv(tmp_path / "t.csv")
    (tmp_path / "p.toml").write_text(POLICY, encoding="utf-8")
    return tmp_path


def call(folder: Path, command: str, *more: str) -> int:
    return run([command, str(folder / "t.csv"), "--policy", str(folder / "p.toml"), *more])


def release(folder: Path, *more: str) -> int:
    written = ["--out", str(folder / "r.csv"), "--certificate", str(folder / "r.json"), "--method", "mondrian"]
    return call(folder, "anonymize", *written, *more)


def test_a_page_beside_the_release(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert release(folder, "--report", str(folder / "r.html"), "--json") == 0
    digest = json.loads(capsys.readouterr().out)["digest"]
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert digest in page
    assert "raw table" in page
    assert "secret-" not in page


def test_a_page_for_the_public(folder: Path) -> None:
    assert release(folder, "--report", str(folder / "r.html"), "--public") == 0
    assert "raw table" not in (folder / "r.html").read_text(encoding="utf-8")


def test_a_page_without_attacks_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "t.csv").write_text("name,place,note\na,b,c\n", encoding="utf-8")
    (folder / "p.toml").write_text(POLICY.replace("k = 2", "k = 1"), encoding="utf-8")
    capsys.readouterr()
    assert release(folder, "--report", str(folder / "r.html")) == 0
    assert "the page shows no attacks" in capsys.readouterr().err


def test_a_guarded_release(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert release(folder, "--guard-formulas", "--report", str(folder / "r.html")) == 0
    assert "'=1+1" in (folder / "r.csv").read_text(encoding="utf-8")
    assert "formula guard" in (folder / "r.html").read_text(encoding="utf-8")
    assert run(["verify", str(folder / "r.csv"), "--certificate", str(folder / "r.json")]) == 0


def test_a_page_of_compared_methods(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "c.html"
    assert call(folder, "compare", "--methods", "mondrian:strict", "--out", str(out), "--levels", "1", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["tradeoff"]) == 1
    assert "mondrian:strict keeps the most detail" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        ("anonymize", ["--out", "r.csv", "--public"]),
        ("compare", ["--levels", "1,2"]),
        ("compare", ["--out", "c.html", "--levels", "a"]),
        ("compare", ["--out", "nowhere/c.html"]),
    ],
)
def test_misuse(folder: Path, command: str, wrong: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert call(folder, command, *wrong) == 2
    assert not list(folder.glob("*.html"))


def test_without_the_extra_nothing_is_released(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    assert release(folder, "--report", str(folder / "r.html")) == 2
    assert not (folder / "r.csv").exists()
