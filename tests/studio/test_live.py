"""The parts of pages that follow what a steward does, before anything is saved."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tclose import steps
from tclose.examples import hospital

from .conftest import Running
from .test_safety import Browser


class Steward:
    """Somebody at a studio, without a browser's window."""

    def __init__(self, studio: Running, table: Path) -> None:
        self.browser = Browser(studio)
        self.token = self.browser.form_token
        answer = self.browser.ask("POST", "/open", {"form_token": self.token, "path": str(table)})
        self.at = answer.getheader("location").removesuffix("/open")
        self.folder = next(studio.home.glob(".tclose/studio/*"))
        self.see("open")
        self.wait()

    def see(self, path: str) -> str:
        answer = self.browser.ask("GET", f"{self.at}/{path}")
        assert answer.status == 200, (path, answer.status)
        return str(answer.text)

    def do(self, path: str, **form: str) -> str:
        answer = self.browser.ask("POST", f"{self.at}/{path}", {"form_token": self.token, **form})
        assert answer.status == 303, (path, answer.status)
        return str(answer.getheader("location"))

    def wait(self) -> None:
        while (job := json.loads(self.browser.ask("GET", f"{self.at}/job").text)).get("state") == "running":
            time.sleep(0.05)
        assert job.get("state", "done") == "done", job


@pytest.fixture
def steward(empty: Running, tmp_path: Path) -> Steward:
    table = tmp_path / "patients.csv"
    hospital(150, seed=3).select("name", "zip", "age", "sex", "ldl", "diagnosis").write_csv(table)
    return Steward(empty, table)


def test_the_worst_class_follows_t_and_the_distance(steward: Steward) -> None:
    answers = [steward.see(f"sensitive/worst?place=0&t={t}&distance=value&bins=") for t in ("0,1", "0.3")]
    assert answers[0] != answers[1]
    assert all("in the whole table" in answer and "<html" not in answer for answer in answers)
    equal = steward.see("sensitive/worst?place=1&t=0.2&distance=equal&bins=")
    assert "of the rows of a class show" in equal
    for unfinished in ("", "0.", "x", "7", "nan"):
        steward.see(f"sensitive/worst?place=0&t={unfinished}")
    assert steward.browser.ask("GET", f"{steward.at}/sensitive/worst?place=9").status == 404


def test_the_drawing_and_the_sentences_speak_of_inner_values_too(empty: Running, tmp_path: Path) -> None:
    """Issue 25: of the ends of a line the commonest had 54 %, of all values the whole class."""
    (ldl,) = (column for column in steps.look(hospital(3000, seed=1)).columns if column.name == "ldl")
    bars = [vars(bar) for bar in ldl.bars]
    worst = steps.worst_allowed(bars, "ordered", 0.15)
    assert (worst.leans, worst.after) == ("value", 1)
    assert steps.worst_allowed(bars, "ordered", 0.02).after < 0.6

    hospital(3000, seed=1).select("name", "age", "ldl").write_csv(tmp_path / "many.csv")
    steward = Steward(empty, tmp_path / "many.csv")
    ranks = steward.see("sensitive/worst?place=0&t=0.15&distance=&bins_kind=")
    assert "with t = 0.15" in ranks.lower()
    assert "does not limit" in ranks
    assert "compare it in 20 bins of about as many rows each" in ranks
    bins = steward.see("sensitive/worst?place=0&t=0.15&distance=&bins_kind=quantiles&bins_of=20")
    assert "may show one bin only" in bins
    assert "does not limit" not in bins
    assert "nothing new" not in steward.see("sensitive")  # words that two constants chose


def test_a_rare_answer_is_told_exactly() -> None:
    column = {"name": "hiv", "counted": {"no": 95, "yes": 5}, "missing": 0}
    allowed = steps.allowed_by(column, {"t": 0.1, "distance": "equal"}, 5, Path())
    assert allowed is not None
    assert allowed.claim.says.startswith("with t = 0.1, a value (5.0 % of the rows) can be 0 % to 15.0 % of a class")
    assert steps.allowed_by({**column, "counted": {}}, {"t": 0.1}, 5, Path()) is None  # too many values to keep
    assert steps.allowed_by(column, {"t": 7}, 5, Path()) is None
    assert steps.allowed_by({**column, "missing": 3}, {"t": 0.1, "distance": "equal"}, 5, Path()) is not None


def wait_for_preview(steward: Steward) -> str:
    while "hx-trigger" in (shown := steward.see("quasi/preview")):
        time.sleep(0.05)
    return shown


def test_combinations_are_counted_at_every_level_before_anything_is_complete(steward: Steward) -> None:
    steward.do("quasi/column", place="0", hierarchy_kind="prefix", hierarchy_levels="3 1")
    assert "Level 3 of every hierarchy" in wait_for_preview(steward)
    steward.do("quasi/column", place="0", hierarchy_kind="width", hierarchy_levels="x")
    assert "Level 3" in wait_for_preview(steward), "what cannot be read changes nothing"


def test_a_hierarchy_is_edited_exported_and_undone(steward: Steward) -> None:
    place = "2"
    steward.see(f"quasi/tree?place={place}")
    steward.wait()
    page = steward.see(f"quasi/tree?place={place}")
    assert "female" in page
    assert f'name="path" value="{steward.browser.studio.root}{steward.at}/quasi/tree?place={place}"' in page
    at = steward.do("quasi/change", place=place, level="1", do="move", below="female", group="<b>anybody")
    assert "level=1" in at
    assert "&lt;b&gt;anybody" in steward.see(f"quasi/tree?place={place}")
    assert "female;<b>anybody;*" in steward.see(f"quasi/export?place={place}")
    (file,) = steward.folder.glob("hierarchy-*.csv")
    assert file.stat().st_mode & 0o077 == 0
    said = steward.do("quasi/change", place=place, level="1", do="move", below="nobody", group="x")
    assert "said=choose+at+least+one" in said
    steward.do("undo", screen="quasi")
    assert "anybody" not in steward.see(f"quasi/export?place={place}")
    assert "hierarchy_kind" in steward.see("quasi")
    assert "said=" in steward.do("quasi/column", place=place, hierarchy="file ../../secret.csv")


def test_a_release_in_another_form_is_verified_and_its_command_writes_the_same_bytes(
    steward: Steward, tmp_path: Path
) -> None:
    for place in ("0", "1"):
        steward.do("sensitive/column", place=place, t="0.5")
    steward.do("try/run", method="mondrian", effort="fast")
    steward.wait()
    said = {"recipient": "<b>The university</b>", "purpose": "Research", "name": "ward-7"}
    steward.do("publish/run", candidate="1", format="parquet", columns="yes", report="", **said)
    steward.wait()
    page = steward.see("publish")
    assert "The finished files hold what their certificate says." in page
    assert "&lt;b&gt;The university" in page
    assert "recipient" in (steward.folder / "policy.toml").read_text()
    command = json.loads((steward.folder / "releases/1/register.json").read_text())["command"]
    run = [sys.executable, "-c", "from tclose.cli import main; main()", *shlex.split(command)[1:]]
    subprocess.run(run, cwd=tmp_path, check=True, capture_output=True)
    written = (steward.folder / "releases/1/ward-7.parquet").read_bytes()
    assert (tmp_path / "ward-7.parquet").read_bytes() == written
    archive = steward.browser.ask("GET", f"{steward.at}/publish?file=..%2Fproject.json")
    assert archive.status == 404
    for wrong in ({"name": "../x"}, {"profile": "odd"}, {"format": "exe"}):
        assert "said=" in steward.do("publish/run", **{"candidate": "1", "format": "csv", "report": "yes", **wrong})
