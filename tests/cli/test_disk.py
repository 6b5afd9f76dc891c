"""`--engine disk` on the command line, in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tclose import anonymize
from tclose.examples import hospital

from .conftest import Outcome

POLICY = 'others = "drop"\nk = 2\nquasi = ["age", "sex"]\n[sensitive.ldl]\nt = 0.3\n'
ENDED = """
import os, signal, sys
from tclose.cli import main, terminal
from tclose.run import disk
from tclose.table import groups
disk.BUDGET = 0
groups.PENDING = 1
last, moments = int(sys.argv.pop(1)), 0

def moment(self, share, phase=""):
    global moments
    moments += 1
    if moments == last:
        os.kill(os.getpid(), signal.SIGTERM)

terminal.ProgressBar.__call__ = moment
main()
"""


@pytest.fixture
def files(folder: Path) -> None:
    table = hospital(300, seed=2)
    table.write_parquet(folder / "t.parquet", row_group_size=50)
    (folder / "p.toml").write_text(POLICY)
    release = anonymize(table, folder / "p.toml", method="mondrian", seed=1)
    release.write(folder / "r", certificate=folder / "c.json", part_rows=100)


@pytest.mark.usefixtures("files")
@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
def test_check_and_verify(tclose: Callable[..., Outcome]) -> None:
    asked = ("check", "t.parquet", "--policy", "p.toml", "--json", "--engine")
    disk, memory = tclose(*asked, "disk"), tclose(*asked, "memory")
    assert (disk.status, disk.out, disk.err) == (1, memory.out, memory.err)
    proof = ("verify", "r", "--certificate", "c.json", "--json", "--engine")
    disk, memory = tclose(*proof, "disk"), tclose(*proof, "memory")
    assert (disk.status, disk.out) == (0, memory.out)
    assert json.loads(disk.out)["holds"]


@pytest.mark.usefixtures("files")
@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
def test_bad_input_is_one_sentence(folder: Path, tclose: Callable[..., Outcome]) -> None:
    data = (folder / "t.parquet").read_bytes()
    (folder / "t.parquet").write_bytes(data[:4] + b"\xff" * 9000 + data[9004:])
    tclose("check", "t.parquet", "--policy", "p.toml", "--engine", "disk").refuses("damaged")
    tclose("check", "absent.csv", "--policy", "p.toml", "--engine", "disk").refuses("there is no file absent.csv")
    tclose("check", "t.parquet", "--policy", "p.toml", "--engine", "x").refuses("engine", usage=True)


@pytest.mark.usefixtures("files")
@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
@pytest.mark.parametrize("last", [5, pytest.param(2, marks=pytest.mark.soak)])
@pytest.mark.parametrize(
    "asked",
    [
        "check t.parquet --policy p.toml",
        pytest.param("verify r --certificate c.json", marks=pytest.mark.soak),
        "attack r --original t.parquet --policy p.toml",
    ],
)
def test_an_ended_process_leaves_nothing(folder: Path, asked: str, last: int) -> None:
    temporary = folder / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-c", ENDED, str(last), *asked.split(), "--engine", "disk"]
    done = subprocess.run(
        command, capture_output=True, cwd=folder, env={**os.environ, "TMPDIR": str(temporary)}, check=False
    )
    assert done.returncode == 128 + signal.SIGTERM, done.stderr
    assert list(temporary.iterdir()) == []


@pytest.mark.usefixtures("files")
@pytest.mark.filterwarnings("ignore::tclose.LeakWarning")
def test_attack(folder: Path, tclose: Callable[..., Outcome]) -> None:
    asked = ("attack", "r", "--original", "t.parquet", "--policy", "p.toml", "--engine", "disk")
    shown = tclose(*asked)
    assert (shown.status, shown.err) == (0, "")
    words = " ".join(shown.out.split())
    assert "raw table release" in words
    assert "Note: not run out of core: the exchange, differencing and membership attacks" in words
    answer = json.loads(tclose(*asked, "--json").out)
    assert list(answer["tables"]) == ["raw", "release"]
    assert answer["tables"]["release"]["rows"] == 300
    assert len(answer["notes"]) == 1
    by_name = {one["name"]: one for one in answer["attacks"]}
    assert by_name["exchange"]["release"]["figure"] is None
    assert by_name["prosecutor"]["release"]["figure"] <= 0.5
    whole = tclose(*asked, "--register", "t.parquet")
    assert whole.status == 0
    assert whole.err.startswith("warning: all rows are held in memory: the register's rows are compared with those")
    (folder / "p.toml").write_text(POLICY.replace('["age", "sex"]', '["age", "zip"]'))
    tclose(*asked).refuses("the release cannot be read by this policy", "'zip'")
