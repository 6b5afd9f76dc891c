"""Streams that are closed, full or without a reader: the exit status is the command's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tclose import verify

TABLE = "age,ill\n20,flu\n20,cold\n30,flu\n30,cold\n"
POLICY = "k = 2\n[quasi.age]\n[sensitive.ill]\nt = {t}\n"
COMMAND = f"'{sys.executable}' -c 'from tclose.cli import main; main()'"
CHECK = f"{COMMAND} check t.csv --policy"
ANONYMIZE = f"{COMMAND} anonymize t.csv --policy p.toml --method mondrian --seed 1 --out r.csv --certificate c.json"
CLOSED = ("<&- >&- 2>&-", "2>/dev/full", "2>&1 | true", "| head -c 1")  # each stream is closed, full, unread, half read
MORE_CLOSED = (">&-", "2>&-", ">&- 2>&-", "| true")


def rarely(*cases: str) -> list[Any]:
    """Leave cases to `make soak`: each takes a process, and others are much the same."""
    return [pytest.param(case, marks=pytest.mark.soak) for case in cases]


@pytest.fixture(autouse=True)
def sources(folder: Path) -> None:
    (folder / "t.csv").write_text(TABLE)
    (folder / "p.toml").write_text(POLICY.format(t=0.5))
    (folder / "fails.toml").write_text("k = 3\n" + POLICY.format(t=0.5).removeprefix("k = 2\n"))


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell, in which a pipe has the status of the first command that fails."""
    command = ["bash", "-o", "pipefail", "-c", line]
    more = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800, env=more)


@pytest.mark.parametrize("closed", [*CLOSED, *rarely(*MORE_CLOSED)])
def test_the_exit_status_stays_right(closed: str) -> None:
    """1: the table does not hold what the policy asks for, whoever hears of it."""
    done = shell(f"{CHECK} fails.toml {closed}")
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("closed", ["2>/dev/full", *rarely("2>&-", "2>&1 | true")])
def test_the_exit_status_of_an_error_stays_right(closed: str) -> None:
    done = shell(f"{CHECK} no.toml {closed}")
    assert (done.returncode, done.stdout + done.stderr) == (2, "")


@pytest.mark.parametrize(
    ("closed", "unbuffered"),
    [pytest.param(">&- 2>&-", "", marks=pytest.mark.soak), ("<&- >&- 2>&-", "1"), ("2>&1 | true", "1")],
)
def test_a_release_is_whole(folder: Path, closed: str, unbuffered: str) -> None:
    """A file that takes the number of a closed stream would hold what is printed."""
    done = shell(f"{ANONYMIZE} {closed}", PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr) == (0, "")
    assert {path.name for path in folder.iterdir()} == {"t.csv", "p.toml", "fails.toml", "r.csv", "c.json"}
    assert verify("r.csv", "c.json").holds


@pytest.mark.parametrize(
    "line", ["--version >&-", "init t.csv | true", *rarely("--help | true", "methods | true", "methods --json >&-")]
)
def test_nobody_reads_the_answer(line: str) -> None:
    done = shell(f"{COMMAND} {line}")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("asked", ["methods", *rarely("--help")])
def test_an_answer_that_does_not_fit_on_the_disk_is_an_error(asked: str) -> None:
    done = shell(f"{COMMAND} {asked} > /dev/full")
    assert (done.returncode, done.stderr) == (2, "error: the answer cannot be written: No space left on device\n")


@pytest.mark.parametrize("more", ["--json", *rarely("")])
def test_a_release_is_complete_although_its_answer_does_not_fit_on_the_disk(more: str) -> None:
    done = shell(f"{ANONYMIZE} {more} > /dev/full")
    sentence = "error: the release is complete, but the answer cannot be written: No space left on device\n"
    assert done.returncode == 2
    assert done.stderr.endswith(sentence)
    assert verify("r.csv", "c.json").holds


def test_standard_input_is_closed() -> None:
    done = shell(f"{CHECK} p.toml <&-".replace("t.csv", "-"))
    assert (done.returncode, done.stderr) == (2, "error: standard input is closed, so there is no table to read\n")
