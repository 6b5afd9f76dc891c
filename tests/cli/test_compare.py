"""`tclose compare` and `tclose methods`, as a shell runs them."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tclose.partition.registry import METHODS

Run = Callable[..., Any]
SECRET = "S3CR3T"
ROWS = "".join(f"{SECRET}{i},{20 + i},{'ab'[i % 2]},{i % 4}\n" for i in range(40))
POLICY = 'identifiers = ["name"]\nk = 2\n[quasi.age]\n[quasi.zone]\n[sensitive.pay]\nt = 0.3\n'
ASKED = ("compare", "t.csv", "--policy", "p.toml")
FIGURES = ["GCP", "SSE", "discern.", "queries", "s", "MB"]
COMMAND = [sys.executable, "-c", "from tclose.cli import main; main()"]


@pytest.fixture(autouse=True)
def sources(folder: Path) -> None:
    (folder / "t.csv").write_text("name,age,zone,pay\n" + ROWS)
    (folder / "p.toml").write_text(POLICY)
    (folder / "tmp").mkdir()


@pytest.fixture
def environment(folder: Path, misbehaving: dict[str, str]) -> dict[str, str]:
    """Return an environment with methods that misbehave and a temporary folder of its own."""
    return {**misbehaving, "TMPDIR": str(folder / "tmp"), "BEGUN": str(folder / "begun"), "COLUMNS": "100"}


def left(folder: Path) -> list[str]:
    """Return what a command left behind, in the temporary folder as well."""
    found = {str(path.relative_to(folder)) for path in folder.rglob("*")}
    return sorted(found - {"t.csv", "p.toml", "tmp", "begun"})


# What it prints


def test_a_row_for_every_method(process: Run, folder: Path, environment: dict[str, str]) -> None:
    outcome = process(*ASKED, "--methods", "whole,unsuited,crash,chosen:two", **environment)
    assert (outcome.status, outcome.err) == (0, "")
    assert SECRET not in outcome.out
    lines = outcome.out.splitlines()
    assert lines[0].split() == ["method", "classes", "average", "smallest", *FIGURES]
    assert re.fullmatch(r"whole +1 +40\.0 +40 +1\.0000 +1\.0000 +1\.60e\+03 +\d\.\d{4} +\d+\.\d +[\d,]+", lines[1])
    assert lines[2].rstrip() == "unsuited    unsuited: it serves one attribute only"
    assert lines[3].startswith("crash       failed: this is a bug in tclose (ValueError in sitecustomize.py:")
    assert lines[4].startswith("chosen:two        2     20.0        20  ")
    closeness = lines.index("Distance of the worst class from the whole table, from 0 to 1:")
    assert lines[closeness + 1].split() == ["method", "pay", "≤", "0.3"]
    assert lines[closeness + 2].split() == ["whole", "0.0000"]
    assert lines[closeness + 3].split()[0] == "chosen:two"
    assert left(folder) == []


def test_json(process: Run, folder: Path, environment: dict[str, str]) -> None:
    outcome = process(*ASKED, "--methods", "whole,fragmentation:relaxed,killed", "--json", "--seed", "4", **environment)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.count("\n") == 1
    found = json.loads(outcome.out)
    assert list(found) == ["loss", "ranking", "methods"]
    assert (found["loss"], found["ranking"]) == ({"name": "gcp"}, ["fragmentation:relaxed", "whole"])
    whole, real, killed = found["methods"]
    assert (whole["name"], whole["classes"], whole["closeness"]) == ("whole", 1, {"pay": 0.0})
    assert (real["name"], real["outcome"]) == ("fragmentation:relaxed", "released")
    assert real["classes"] > 1
    assert real["gcp"] < whole["gcp"]
    assert real["query_error"] < whole["query_error"]
    assert real["compile_seconds"] >= 0
    assert (killed["outcome"], killed["gcp"]) == ("failed", None)
    assert left(folder) == []


def test_weave_says_which_classes_it_kept(tclose: Run, folder: Path) -> None:
    (folder / "held.csv").write_text("q,s\n0,1\n0,0\n0,1\n1,1\n1,1\n3,0\n3,0\n3,1\n")
    (folder / "held.toml").write_text("k = 2\n[quasi.q]\n[sensitive.s]\nt = 0.5\n")
    asked = ("compare", "held.csv", "--policy", "held.toml", "--methods")
    outcome = tclose(*asked, "weave")
    assert (outcome.status, outcome.err) == (0, "")
    sentence = "weave compared its own classes with those of other methods and kept those of equal rows."
    assert sentence in " ".join(outcome.out.split())
    held, rival = json.loads(tclose(*asked, "weave,mondrian:strict", "--json").out)["methods"]
    assert (held["start"], held["gcp"], rival["start"]) == ("equality classes", 0, None)


@pytest.mark.parametrize(
    ("names", "status", "says"),
    [
        (("crash,infeasible",), 70, "infeasible: t cannot be reached"),
        (("endless", "--limit", "0.3"), 1, "stopped: it took longer than 0.3 seconds"),
        (("unsuited,extra",), 2, "extra missing: the programme needs scipy: pip install 'tclose[solve]'"),
    ],
)
@pytest.mark.usefixtures("misbehave")
def test_no_release_at_all(tclose: Run, names: tuple[str, ...], status: int, says: str) -> None:
    outcome = tclose(*ASKED, "--methods", *names)
    assert outcome.status == status
    assert says in outcome.out
    assert outcome.out.rstrip().endswith("No method gave a release.")
    assert SECRET not in outcome.out + outcome.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--methods", "wave"), "there is no method 'wave' (did you mean 'weave'?)"),
        (("--methods", "weave:hard"), "'weave' has no variant 'hard'; it has balanced, fast, best"),
        (("--methods", ""), "expected a list of methods"),
        (("--limit", "0"), "a time limit is a number of seconds above 0"),
        (("--limit", "nan"), "a time limit is a number of seconds above 0"),
    ],
)
def test_refused(tclose: Run, arguments: tuple[str, ...], says: str) -> None:
    tclose(*ASKED, *arguments).refuses(says)


def test_what_cannot_be_reached_is_told_once(tclose: Run, folder: Path) -> None:
    (folder / "p.toml").write_text(POLICY.replace("k = 2", "k = 41"))
    outcome = tclose(*ASKED)
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err == "error: k = 41 cannot be reached: 40 can be\n"


# Stopped from outside


@contextmanager
def endless(folder: Path, environment: dict[str, str]) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start a comparison whose only method never ends; give its process, and a handle on the method's."""
    os.mkfifo(folder / "begun")
    command = [*COMMAND, *ASKED, "--methods", "endless", "--limit", "3600"]
    with subprocess.Popen(
        command, cwd=folder, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        handle = os.pidfd_open(int((folder / "begun").read_text()))  # reading waits until the method has begun
        try:
            yield child, handle
        finally:
            child.kill()
            os.close(handle)


def ended(handle: int) -> bool:
    """Wait for a process to end, half an hour at most."""
    return bool(select.select([handle], [], [], 1800)[0])


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux, to wait for another's child")
@pytest.mark.parametrize(
    ("number", "status"), [pytest.param(signal.SIGINT, 130, marks=pytest.mark.soak), (signal.SIGKILL, -9)]
)
def test_no_process_outlives_the_question(
    folder: Path, environment: dict[str, str], number: signal.Signals, status: int
) -> None:
    with endless(folder, environment) as (child, handle):
        child.send_signal(number)
        out, err = child.communicate()
        assert (child.returncode, out) == (status, b"")
        assert err.strip() == (b"interrupted" if number == signal.SIGINT else b"")
        assert ended(handle)
    assert left(folder) == []


# tclose methods


def test_methods_as_json_load_no_kernels(folder: Path) -> None:
    code = (
        "import sys; from tclose.cli import run; assert not run(['methods', '--json']) and 'numba' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=folder)
    found = {method["name"]: method for method in json.loads(done.stdout)["methods"]}
    assert set(found) == set(METHODS)
    assert found["weave"]["choices"] == ["balanced", "fast", "best"]
    assert list(found["fragmentation"]["variants"]) == ["relaxed", "tight", "printed"]
    for one in found.values():
        assert {"what", "who", "year", "sensitive", "distances", "growth", "option"} <= set(one)


# tclose anonymize --option

PUBLISH = ("anonymize", "t.csv", "--policy", "p.toml", "--out", "r.csv", "--method", "fragmentation")


def test_an_option_of_the_method(tclose: Run) -> None:
    tclose(*PUBLISH, "--seed", "1")
    plain = Path("r.csv").read_bytes()
    outcome = tclose(*PUBLISH, "--seed", "1", "--option", "sizing=gcd", "--option", "bound=published", "--force")
    assert outcome.status == 0
    assert Path("r.csv").read_bytes() != plain


def test_a_variant_of_the_method(tclose: Run) -> None:
    """A variant stands for its options; one that is given besides wins."""
    tclose(
        *PUBLISH, "--seed", "1", "--option", "sizing=gcd", "--option", "bound=published", "--option", "classes=grown"
    )
    printed = Path("r.csv").read_bytes()
    variant = (*PUBLISH[:-1], "fragmentation:printed", "--seed", "1", "--force")
    assert tclose(*variant).status == 0
    assert Path("r.csv").read_bytes() == printed
    tclose(*variant, "--option", "sizing=relaxed", "--option", "bound=tight", "--option", "classes=bisected")
    relaxed = Path("r.csv").read_bytes()
    tclose(*PUBLISH, "--seed", "1", "--force")
    assert Path("r.csv").read_bytes() == relaxed != printed


@pytest.mark.parametrize(
    ("arguments", "says", "usage"),
    [
        (("--option", "sizing=huge"), "option 'sizing' of method 'fragmentation' takes relaxed, gcd", False),
        (("--option", "size=gcd"), "method 'fragmentation' has no option 'size' (did you mean 'sizing'?)", False),
        (("--method", "sabre:tight"), "'sabre' has no variant 'tight'; it has printed, slack, nearest", False),
        (("--method", "pca:printed", "--effort", "fast"), "--effort is for --method weave", True),
        (("--option", "distance=x"), "takes a value that only Python code can give", False),
        (("--option", "sizing"), "expected --option NAME=VALUE", True),
        (("--option", "=gcd"), "expected --option NAME=VALUE", True),
        (("--option", "sizing=gcd", "--option", "sizing=relaxed"), "is given twice", True),
        (("--effort", "fast"), "--effort is for --method weave", True),
        (("--method", "weave", "--effort", "fast", "--option", "effort=best"), "is given twice", True),
        (("--method", "weave", "--option", "effort=most"), "takes balanced, fast, best", False),
    ],
)
def test_bad_options(tclose: Run, folder: Path, arguments: tuple[str, ...], says: str, usage: bool) -> None:
    tclose(*PUBLISH, *arguments).refuses(says, usage=usage)
    assert left(folder) == []
