"""`tclose bound` and `--bound`: the answer, the proof, refusals, and how a search ends.

Processes of their own are started only where the shell, a signal or a missing library matters: each takes a second.
"""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tclose import bound, read
from tclose.measure.bound import search

Run = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("counted_clock")
SECRET = "S3CR3T"
ROWS = "".join(f"{SECRET}{i},{20 + i},{'ab'[i % 2]},{i // 10}\n" for i in range(40))
POLICY = 'identifiers = ["name"]\nk = 2\n[quasi.age]\n[quasi.zone]\n[sensitive.pay]\nt = 0.2\n'
ASKED = ("bound", "t.csv", "--policy", "p.toml")
QUICK = ("--seconds", "1")
PUBLISH = ("anonymize", "t.csv", "--policy", "p.toml", "--method", "mondrian", "--out", "r.csv")
WITHOUT_SCIPY = """
import importlib.util, sys
known = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "scipy" else known(name, package)
sys.modules["scipy"] = None
"""
INTERRUPTED = """
import os, signal
from tclose.cli import main, process, terminal
phases = []

def call(self, share, phase=""):
    process.check_ended()
    phases.append(phase)
    if sum(phase.startswith("searching") for phase in phases) == 3:
        os.kill(os.getpid(), signal.SIGINT)

terminal.ProgressBar.__call__ = call
main()
"""


@pytest.fixture(autouse=True)
def sources(folder: Path) -> None:
    (folder / "t.csv").write_text("name,age,zone,pay\n" + ROWS)
    (folder / "p.toml").write_text(POLICY)


def said(outcome: Any) -> str:
    return " ".join(outcome.out.split())


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"t.csv", "p.toml"}


# The answer


def test_a_sentence_with_the_bound_and_how_it_was_found(tclose: Run, folder: Path) -> None:
    outcome = tclose(*ASKED, *QUICK)
    assert (outcome.status, outcome.err) == (0, "")
    words = said(outcome)
    assert words.startswith("Every release of this table under this policy (one table, all rows) loses at least 0.")
    assert "of the detail (GCP, from 0 to 1, lower is better). Found in " in words
    assert SECRET not in outcome.out
    assert left(folder) == set()


def test_json(tclose: Run) -> None:
    outcome = tclose(*ASKED, *QUICK, "--json")
    assert (outcome.status, outcome.err) == (0, "")
    answer = json.loads(outcome.out)
    assert list(answer)[:4] == ["bound", "exact", "kind", "seconds"]
    numerator, _, denominator = answer["exact"].partition("/")
    assert 0 <= int(numerator) / int(denominator) - answer["bound"] < 0.0001
    assert answer["bound"] > 0


def test_a_table_that_may_be_published_as_it_is_has_no_bound(tclose: Run, folder: Path) -> None:
    (folder / "p.toml").write_text(POLICY.replace("k = 2", "k = 1").replace("t = 0.2", "t = 1"))
    outcome = tclose(*ASKED, *QUICK)
    assert outcome.status == 0
    assert said(outcome).startswith("No lower bound of at least 0.0001 was proved on the detail that a release loses")


def test_without_the_solver_the_answer_says_so(
    process: Run, tclose: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sitecustomize.py").write_text(WITHOUT_SCIPY)
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    outcome = process(*ASKED, *QUICK, PYTHONPATH=path)
    assert outcome.status == 0, outcome.err
    assert "pip install 'tclose[solve]'" in said(outcome)
    monkeypatch.setattr(search, "find_spec", lambda name: None)
    assert "pip install 'tclose[solve]'" in json.loads(tclose(*ASKED, *QUICK, "--json").out)["note"]


# The proof


def test_a_proof_is_written_for_its_owner_and_holds(tclose: Run, folder: Path) -> None:
    outcome = tclose(*ASKED, *QUICK, "--certificate", "b.json")
    assert outcome.status == 0
    assert said(outcome).endswith("Proof: b.json. It reveals rows of the table: it must not leave the house.")
    if os.name != "nt":
        assert stat.S_IMODE((folder / "b.json").stat().st_mode) == 0o600
    checked = tclose(*ASKED, "--verify", "b.json")
    assert (checked.status, checked.err) == (0, "")
    assert said(checked).startswith("The proof holds. Every release of this table under this policy")
    answer = json.loads(tclose(*ASKED, "--verify", "b.json", "--json").out)
    assert (answer["holds"], answer["problem"]) == (True, None)
    assert f"loses at least {answer['bound']:.4f} " in said(outcome)


def test_an_existing_proof_is_overwritten_only_with_force(tclose: Run, folder: Path) -> None:
    (folder / "b.json").write_text("mine")
    tclose(*ASKED, *QUICK, "--certificate", "b.json").refuses("b.json exists already", "--force")
    assert (folder / "b.json").read_text() == "mine"
    assert tclose(*ASKED, *QUICK, "--certificate", "b.json", "--force").status == 0
    tclose(*ASKED, "--certificate", "t.csv", "--force").refuses("t.csv is read and would be overwritten")


@pytest.fixture
def proof(tclose: Run, folder: Path) -> dict[str, Any]:
    assert tclose(*ASKED, *QUICK, "--certificate", "b.json").status == 0
    content: dict[str, Any] = json.loads((folder / "b.json").read_text())
    return content


def test_a_proof_of_another_table_or_policy_or_that_was_changed_does_not_hold(
    tclose: Run, folder: Path, proof: dict[str, Any]
) -> None:
    def refused(says: str) -> None:
        outcome = tclose(*ASKED, "--verify", "b.json")
        assert (outcome.status, outcome.err) == (1, "")
        assert said(outcome) == f"The proof does not hold: {says}."

    (folder / "b.json").write_text(json.dumps({**proof, "bound": "99/100"}))
    refused("the proof shows less than it claims")
    answer = json.loads(tclose(*ASKED, "--verify", "b.json", "--json").out)
    assert (answer["holds"], answer["bound"], answer["exact"]) == (False, None, None)
    (folder / "b.json").write_text(json.dumps(proof))
    (folder / "p.toml").write_text(POLICY.replace("t = 0.2", "t = 0.3"))
    refused("the proof is about another table, or another policy")
    (folder / "p.toml").write_text(POLICY)
    (folder / "t.csv").write_text("name,age,zone,pay\n" + ROWS.replace(",20,", ",21,"))
    refused("the proof is about another table, or another policy")


@pytest.mark.parametrize("content", ["", "[]", "nonsense", "[" * 100_000, '{"digest": "0"}'])
def test_what_is_no_proof_is_refused(tclose: Run, folder: Path, content: str) -> None:
    (folder / "b.json").write_text(content)
    tclose(*ASKED, "--verify", "b.json").refuses("b.json is not a proof of a lower bound of tclose")
    tclose(*ASKED, "--verify", "none.json").refuses("there is no file none.json")


def test_a_proof_of_a_later_format_is_refused(tclose: Run, folder: Path, proof: dict[str, Any]) -> None:
    (folder / "b.json").write_text(json.dumps({**proof, "format": 99}))
    tclose(*ASKED, "--verify", "b.json").refuses("cannot read proofs of this format")


# Refusals


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        (f"suppress = 0.1\n{POLICY}", "suppress allows rows to be withheld"),
        (POLICY.replace("[quasi.age]", '[quasi.age]\npublish = "mean"'), "class means"),
        (f'loss = "sse"\n{POLICY}', 'the policy asks for loss = "sse"'),
    ],
)
def test_where_no_bound_can_be_given(tclose: Run, folder: Path, policy: str, says: str) -> None:
    (folder / "p.toml").write_text(policy)
    for command in (ASKED, (*PUBLISH, "--bound"), ("compare", *ASKED[1:], "--methods", "mondrian", "--bound")):
        tclose(*command).refuses(says)
    assert left(folder) == set()


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf"])
def test_a_time_is_above_0(tclose: Run, seconds: str) -> None:
    tclose(*ASKED, "--seconds", seconds).refuses("a number of seconds above 0")


@pytest.mark.parametrize(
    "arguments",
    [
        (*ASKED, "--verify", "b.json", "--seconds", "3"),
        (*ASKED, "--verify", "b.json", "--certificate", "c.json"),
        (*PUBLISH, "--bound-seconds", "3"),
        ("compare", *ASKED[1:], "--bound-seconds", "3"),
    ],
)
def test_options_that_do_not_fit_together(tclose: Run, arguments: tuple[str, ...]) -> None:
    tclose(*arguments).refuses(usage=True)


def test_methods_of_several_tables_have_no_bound(tclose: Run, folder: Path) -> None:
    outcome = tclose(*PUBLISH[:4], "--method", "anatomy", "--out", "r.csv", "--bound")
    outcome.refuses("a lower bound is about releases of one table", "'anatomy'")
    assert left(folder) == set()


# How a search ends


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_an_interrupted_search_leaves_nothing(folder: Path) -> None:
    command = [sys.executable, "-c", INTERRUPTED, *ASKED, "--certificate", "b.json"]
    done = subprocess.run(command, capture_output=True, cwd=folder, text=True, timeout=1800, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")
    assert left(folder) == set()


SOLVING = """
from functools import partial
import numpy as np
from scipy.optimize import linprog
from tclose import cli
from tclose.partition.shared.pulse import Pulse, waited_for

def interrupted(arguments):
    beats = []
    def beat(share, phase=""):
        beats.append(share)
        if len(beats) > 3:
            raise KeyboardInterrupt
    random = np.random.default_rng(1)
    once = partial(linprog, -random.random(900), A_ub=random.random((900, 900)), b_ub=np.ones(900), method="highs")

    def solve():  # until it is interrupted: a fast machine solves one problem before that
        while True:
            once()

    try:
        waited_for(solve, Pulse(beat))
    except KeyboardInterrupt:
        return 130
    return 0

cli.run = interrupted
cli.main()
"""


def test_a_solver_at_work_does_not_abort_the_end() -> None:
    done = subprocess.run([sys.executable, "-c", SOLVING], capture_output=True, text=True, timeout=1800, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_progress_says_how_high_the_bound_is(folder: Path) -> None:
    phases: list[str] = []
    found = bound(read("t.csv"), "p.toml", seconds=1, progress=lambda share, phase="": phases.append(phase))
    stated = [float(words[3]) for phase in phases if len(words := phase.split()) == 6 and words[0] == "searching,"]
    assert stated == sorted(stated)
    assert stated[-1] == pytest.approx(found.bound, abs=0.0002)


# Beside a release


def test_a_release_says_which_part_of_its_loss_is_unavoidable(tclose: Run, folder: Path) -> None:
    files = ("--certificate", "c.json", "--bound-proof", "b.json", "--bound-seconds", "1")
    outcome = tclose(*PUBLISH, *files)
    assert (outcome.status, outcome.err) == (0, "")
    content = json.loads((folder / "c.json").read_text())
    share = content["bound"] / content["measures"]["gcp"]
    assert (share >= 0.25) == (" % of this loss is unavoidable: every release" in said(outcome))
    assert "Proof of the bound: b.json. It reveals rows of the table: it must not leave the house." in said(outcome)
    if os.name != "nt":
        assert stat.S_IMODE((folder / "b.json").stat().st_mode) == 0o600
    checked = json.loads(tclose(*ASKED, "--verify", "b.json", "--json").out)
    assert (checked["holds"], checked["bound"]) == (True, content["bound"])
    assert checked["proof_sha256"] == content["bound_proof_sha256"]
    verified = tclose("verify", "r.csv", "--certificate", "c.json")
    assert verified.status == 0
    assert "the lower bound on the detail lost, the fingerprint of its proof" in said(verified)
    assert left(folder) == {"r.csv", "c.json", "b.json"}


def test_the_page_states_the_bound_and_no_price(tclose: Run, folder: Path) -> None:
    pytest.importorskip("altair", reason="pip install 'tclose[report]'")
    outcome = tclose(*PUBLISH, "--bound", "--bound-seconds", "1", "--report", "r.html", "--public", "--json")
    assert outcome.status == 0, outcome.err
    content = json.loads(outcome.out)
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert f"loses at least {content['bound']:.4f} (GCP). Only the steward can check this" in page
    assert "prices" not in page.partition("<script")[0]
    assert "prices" not in outcome.out


def test_compare_states_the_bound(tclose: Run) -> None:
    asked = ("compare", *ASKED[1:], "--methods", "mondrian:strict", "--bound", "--bound-seconds", "1")
    outcome = tclose(*asked)
    assert outcome.status == 0, outcome.err
    assert "Every release of this table under this policy (one table, all rows) loses at least 0." in said(outcome)
    found = json.loads(tclose(*asked, "--json").out)
    assert 0 < found["bound"]["bound"] <= found["methods"][0]["gcp"]
    assert "exact" in found["bound"]


def test_compare_draws_the_bound_as_a_curve(tclose: Run, folder: Path) -> None:
    pytest.importorskip("altair", reason="pip install 'tclose[report]'")
    levels = ("--levels", "0.5,1,2", "--out", "c.html", "--json")
    asked = ("compare", *ASKED[1:], "--methods", "mondrian:strict", "--bound", "--bound-seconds", "0.5", *levels)
    outcome = tclose(*asked)
    assert outcome.status == 0, outcome.err
    assert [level["bound"]["bound"] >= 0 for level in json.loads(outcome.out)["tradeoff"]] == [True] * 3
    page = (folder / "c.html").read_text(encoding="utf-8")
    assert re.search('"method": ?"lower bound"', page)
    assert '<th scope="row">lower bound</th>' in page
