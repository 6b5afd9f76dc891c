"""`anonymize --profile` from the command line: the page, JSON, what stays in the house, and what is refused."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tclose.errors import ProfileWarning

from .conftest import Outcome

pytest.importorskip("altair", reason="pip install 'tclose[report]'")
POLICY = """
identifiers = ["name"]
k = 2
[quasi.place]
[sensitive.note]
t = 0.9
distance = "equal"
"""
CONTEXT = """
[context]
recipient = "SENTENCE <i>of</i> the steward"
sampling_fraction = 0.5
[context.roles]
place = "SENTENCE about place"
name = "SENTENCE about name"
"""
FILES = [
    "--out",
    "r.csv",
    "--certificate",
    "c.json",
    "--record",
    "s.json",
    "--report",
    "r.html",
    "--method",
    "mondrian",
]
Run = Callable[..., Outcome]


@pytest.fixture
def call(tmp_path: Path, tclose: Run) -> Run:
    rows = {"name": [f"secret-{i}" for i in range(12)], "place": ["a", "b", "c"] * 4, "note": ["w", "x"] * 6}
    pl.DataFrame(rows).write_csv(tmp_path / "t.csv")
    (tmp_path / "p.toml").write_text(POLICY + CONTEXT, encoding="utf-8")

    def run(*more: str, files: list[str] = FILES) -> Outcome:
        return tclose("anonymize", "t.csv", "--policy", "p.toml", *files, *more)

    return run


def test_json_has_the_profile_and_the_page_the_sentences(call: Run, folder: Path) -> None:
    done = call("--profile", "wp216", "--json")
    assert done.status == 0, done.err
    assert "the profile wp216 is incomplete" in done.err
    answer = json.loads(done.out)
    profile = answer["profile"]
    assert (profile["name"], profile["complete"]) == ("wp216", False)
    by_name = {each["name"]: each for each in profile["requirements"]}
    assert by_name["recipient"]["says"] == "SENTENCE <i>of</i> the steward"
    assert by_name["purpose"] == {
        "name": "purpose",
        "part": "Means that are likely reasonably to be used",
        "title": "What the release is for",
        "verdict": "empty",
        "answer": "undecided",
        "says": "",
        "needs": "the steward's words: [context] purpose",
        "needed": True,
        "add": ["[context] purpose"],
    }
    assert any("the profile wp216 is incomplete" in warning for warning in answer["warnings"])
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "SENTENCE &lt;i&gt;of&lt;/i&gt; the steward" in page
    assert "Incomplete." in page
    assert "secret-" not in page


def test_what_is_missing_is_said_before_anything_is_written(
    call: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The warning comes once, while no file is there; it stops nothing."""
    there: list[bool] = []
    said = warnings.warn

    def spied(message: Any, category: Any = None, *more: Any, **named: Any) -> None:
        if category is ProfileWarning:
            there.append((folder / "r.csv").exists())
        said(message, category, *more, **named)

    monkeypatch.setattr(warnings, "warn", spied)
    done = call("--profile", "wp216")
    assert done.status == 0, done.err
    assert there == [False]
    assert done.err.count("the profile wp216 is incomplete") == 1
    assert (folder / "r.csv").exists()


def test_sentences_leave_the_house_with_a_profile_only(call: Run, folder: Path) -> None:
    """Without --profile, [context] changes nothing; with it, only the page has the sentences."""
    assert call("--profile", "hipaa").status == 0
    assert [path.name for path in folder.iterdir() if path.suffix != ".toml" and "SENTENCE" in path.read_text()] == [
        "r.html"
    ]
    done = call("--json", "--force")
    assert done.status == 0
    assert "profile" not in json.loads(done.out)
    assert "SENTENCE" not in (folder / "r.html").read_text(encoding="utf-8") + done.out + done.err


def test_pages_without_a_profile_do_not_depend_on_the_context(
    call: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    pages = []
    for policy in (POLICY, POLICY + CONTEXT):
        (folder / "p.toml").write_text(policy, encoding="utf-8")
        assert call("--seed", "1", "--force").status == 0
        pages.append([(folder / name).read_bytes() for name in ("r.html", "r.csv", "c.json")])
    assert pages[0] == pages[1]
    assert b".requirement" not in pages[0][0]


def test_a_public_page_leaves_out_the_original(call: Run, folder: Path) -> None:
    assert call("--profile", "iso27559").status == 0
    assert "of the original were alone" in (folder / "r.html").read_text(encoding="utf-8")
    assert call("--profile", "iso27559", "--public", "--force").status == 0
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "of the original were alone" not in page
    assert "Left out: this is about the original table." in page
    assert "SENTENCE about place" not in page, "the roles are not complete"


@pytest.mark.parametrize("method", ["anatomy", "projections", "permutation"])
def test_releases_of_other_layouts_have_a_profile(method: str, call: Run, folder: Path) -> None:
    files = ["--out", "r.csv", "--report", "r.html", "--method", method]
    done = call("--profile", "ema0070", "--json", files=files)
    assert done.status == 0, done.err
    by_name = {each["name"]: each for each in json.loads(done.out)["profile"]["requirements"]}
    assert by_name["maximum_risk"]["verdict"] == "not met"
    assert "No attacks were made" in by_name["attacks"]["says"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--profile", "gdpr", "--report", "r.html"], "'gdpr' is not one of"),
        (["--profile", "wp216"], "--profile is about the page that --report writes"),
    ],
)
def test_what_is_refused(more: list[str], words: str, call: Run, folder: Path) -> None:
    done = call(*more, files=["--out", "r.parquet"])
    done.refuses(words, usage=True)
    assert not list(folder.glob("r*"))


def test_wrong_weights_are_refused_before_anything_is_written(call: Run, folder: Path) -> None:
    context = "[context]\nsampling_weight = 'weight'\n"
    (folder / "p.toml").write_text(POLICY + context, encoding="utf-8")
    call("--profile", "wp216").refuses("the table has no column 'weight', the sampling_weight of [context]")
    assert not list(folder.glob("r*"))
    assert call().status == 0, "only a profile needs them"


def test_a_register_of_the_policy(call: Run, folder: Path) -> None:
    pl.DataFrame({"place": ["a", "b", "c"] * 20}).write_csv(folder / "people.csv")
    presence = "[presence]\npopulation = 'people.csv'\nmax = 0.9\n"
    (folder / "p.toml").write_text(POLICY + presence, encoding="utf-8")
    done = call("--profile", "iso27559", "--json")
    assert done.status == 0, done.err
    by_name = {each["name"]: each for each in json.loads(done.out)["profile"]["requirements"]}
    assert "of the 60 rows of the population that the policy names" in by_name["sample_risk"]["says"]


def test_a_profile_that_lacks_something_says_what(call: Run) -> None:
    done = call("--profile", "hipaa", "--method", "mondrian")
    assert done.status == 0, done.err
    assert "the profile hipaa is incomplete" in done.err
    assert "[context] knowledge" in done.err
