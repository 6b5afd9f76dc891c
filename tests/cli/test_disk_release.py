"""`anonymize --engine disk` in a process of its own: files, signals, a full disk, and runs that go on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tclose import verify
from tclose.examples import hospital

from .conftest import Outcome

POLICY = """
others = "drop"
k = 3
quasi = ["age", "sex"]
[sensitive.ldl]
t = 0.3
"""
ROWS = 600
ASKED = (
    "anonymize",
    "t.parquet",
    "--policy",
    "p.toml",
    "--certificate",
    "c.json",
    "--method",
    "mondrian",
    "--engine",
    "disk",
)
DISTURBED = """
import os, resource, signal, sys
from tclose.cli import main

what, last, parts = sys.argv.pop(1), int(sys.argv.pop(1)), 0
from tclose.run.parts import rows
usual = rows.split_part

def split(*given, **more):
    global parts
    parts += 1
    if parts == last:
        if what == "FULL":
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        else:
            os.kill(os.getpid(), getattr(signal, what))
    return usual(*given, **more)

rows.split_part = split
main()
"""
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of Unix")


@pytest.fixture(autouse=True)
def files(folder: Path) -> None:
    hospital(ROWS, seed=2).write_parquet(folder / "t.parquet", row_group_size=200)
    (folder / "p.toml").write_text(POLICY)


def disturbed(folder: Path, what: str, part: int, *more: str) -> subprocess.CompletedProcess[str]:
    """Run the command with a signal, or with a full disk, when it is about to split one of its parts."""
    arguments = (sys.executable, "-c", DISTURBED, what, str(part), *ASKED, *more)
    return subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=1800, check=False)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("out", ["r.csv", "r.parquet", "r"])
def test_every_kind_of_file(folder: Path, tclose: Callable[..., Outcome], out: str) -> None:
    more = ("--part-rows", "150") if out == "r" else ()
    made = tclose(*ASKED, "--out", out, *more, "--record", "s.json", "--json")
    assert (made.status, json.loads(made.out)["method"]) == (0, "mondrian"), made.err
    for engine in ("memory", "disk"):
        assert tclose("verify", out, "--certificate", "c.json", "--engine", engine).status == 0
    assert {path.name for path in folder.iterdir()} == {"t.parquet", "p.toml", "c.json", "s.json", out}
    assert (folder / "s.json").stat().st_mode & 0o777 == 0o600
    table = pl.read_csv(folder / out, infer_schema_length=None) if out == "r.csv" else pl.read_parquet(folder / out)
    assert sorted(table["ldl"]) == sorted(hospital(ROWS, seed=2)["ldl"])


def test_the_same_seed_gives_the_same_bytes(folder: Path, tclose: Callable[..., Outcome]) -> None:
    """With one thread in a process of its own, and with as many as there are cores in this one."""
    for name in "ab":
        more = (*ASKED, "--part-rows", "150", "--seed", "5", "--force", "--out", name)
        one = (*ASKED, "--seed", "5", "--force", "--out", f"{name}.parquet")
        if name == "a":
            code = f"from tclose.cli import run\nassert (run({[*more]}), run({[*one]})) == (0, 0)"
            environment = {**os.environ, "POLARS_MAX_THREADS": "1"}
            subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, check=True, capture_output=True)
        else:
            assert (tclose(*more).status, tclose(*one).status) == (0, 0)
    assert content(folder / "a") == content(folder / "b")
    assert (folder / "a.parquet").read_bytes() == (folder / "b.parquet").read_bytes()


def test_a_killed_run_is_continued(
    folder: Path, process: Callable[..., Outcome], tclose: Callable[..., Outcome]
) -> None:
    more = ("--part-rows", "150", "--out", "r")
    assert disturbed(folder, "SIGKILL", 2, *more).returncode == -signal.SIGKILL
    work = folder / ".r.tclose-work"
    assert {path.name for path in folder.iterdir()} == {"t.parquet", "p.toml", work.name}
    assert work.stat().st_mode & 0o777 == 0o700
    kept = {path.name: path.stat().st_mtime_ns for path in work.glob("part-*")}
    assert len(kept) == 2  # classes and rows of the first part
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in work.iterdir())
    tclose(*ASKED, *more).refuses(f"an earlier run left {work.name}: continue it with --resume")
    tclose(*ASKED, *more, "--method", "sabre", "--resume").refuses("another table, policy, option or version")
    assert {path.name: path.stat().st_mtime_ns for path in work.glob("part-*")} == kept
    seed = json.loads((work / "run.json").read_text())["seed"]
    assert disturbed(folder, "SIGKILL", 2, *more, "--resume").returncode == -signal.SIGKILL
    assert kept.items() < {path.name: path.stat().st_mtime_ns for path in work.glob("part-*")}.items()
    assert process(*ASKED, *more, "--resume").status == 0
    assert not work.exists()
    assert verify(folder / "r", folder / "c.json").holds
    again = ("--part-rows", "150", "--out", "again", "--seed", str(seed), "--force")
    assert tclose(*ASKED, *again).status == 0
    assert content(folder / "again") == content(folder / "r")


def test_a_run_that_is_asked_to_end_leaves_nothing(folder: Path) -> None:
    ended = disturbed(folder, "SIGTERM", 3, "--part-rows", "150", "--out", "r")
    assert (ended.returncode, ended.stdout) == (143, "")
    assert {path.name for path in folder.iterdir()} == {"t.parquet", "p.toml"}


def test_a_full_disk_leaves_nothing(folder: Path) -> None:
    ended = disturbed(folder, "FULL", 2, "--part-rows", "150", "--out", "r")
    assert ended.returncode == 2, ended.stderr
    assert "cannot be written" in ended.stderr
    assert {path.name for path in folder.iterdir()} == {"t.parquet", "p.toml"}


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--method", "incognito", "--resume"), "this release is made as one part, of which nothing is kept"),
        (("--resume",), "there is no run of r.csv to continue"),
    ],
)
def test_refusals(folder: Path, tclose: Callable[..., Outcome], more: tuple[str, ...], sentence: str) -> None:
    tclose(*ASKED, "--out", "r.csv", *more).refuses(sentence)
    assert {path.name for path in folder.iterdir()} == {"t.parquet", "p.toml"}


def test_only_the_engine_disk_continues(tclose: Callable[..., Outcome]) -> None:
    tclose(*ASKED[:-1], "memory", "--out", "r.csv", "--resume").refuses("only a run of the engine disk")


def test_a_run_is_not_continued_with_other_files_of_its_policy(folder: Path, tclose: Callable[..., Outcome]) -> None:
    tree = 'others = "drop"\nk = 3\n[quasi.age]\n[quasi.sex]\nhierarchy = "sex.csv"\n[sensitive.ldl]\nt = 0.3\n'
    (folder / "p.toml").write_text(tree)
    (folder / "sex.csv").write_text("female;any;*\nmale;any;*\n")
    more = ("--part-rows", "150", "--out", "r")
    assert disturbed(folder, "SIGKILL", 2, *more).returncode == -signal.SIGKILL
    (folder / "sex.csv").write_text("female;all;*\nmale;all;*\n")
    tclose(*ASKED, *more, "--resume").refuses("another table, policy, option or version")
