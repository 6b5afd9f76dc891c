"""What a small command loads: counted in modules, since no test depends on a clock (`bench/startup.py` has one)."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tclose import cli
from tclose.table.sources import door

TABLE = "zone,pay,ill\na,1,flu\nb,2.5,cold\na,3,flu\n"
POLICY = "k = 2\nquasi = ['zone']\n[sensitive.pay]\nt = 0.1\n[sensitive.ill]\nt = 0.1\n"
RUN = "from tclose.cli import run\nrun({arguments})"
READ = """
from tclose.table.sources import reader
asked = {"source": None, "only": [], "missing": [""], "part": None, "detect": False}
with open("t.csv", "rb") as file:
    answer = list(reader.WORK["table"](asked, file))
assert len(answer) > 1
"""
MOST_OF_CHECK, MOST_OF_READER = 114, 29  # modules of tclose: they may fall, and must not rise
NEEDLESS = {  # for a check of a file without somebody who looks at a bar
    "difflib",
    "html",
    "narwhals",
    "rich.progress",
    "tclose.policy.draft",
    "tclose.table.sources.notation",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "p.toml").write_text(POLICY)
    return tmp_path


def loaded(code: str, folder: Path, *started: str) -> set[str]:
    """Return the modules that a fresh Python has after running some code."""
    told = f"{code}\nimport json, sys\njson.dump(sorted(sys.modules), sys.stderr)"
    environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}  # which is checked
    command = [sys.executable, *(started[:1] or ()), "-c", told, *started[1:]]
    done = subprocess.run(command, capture_output=True, cwd=folder, check=True, text=True, env=environment)
    return set(json.loads(done.stderr))


def ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] == "tclose"}


def test_a_check_loads_what_it_needs(folder: Path) -> None:
    found = loaded(RUN.format(arguments=["check", "t.csv", "--policy", "p.toml"]), folder)
    assert not NEEDLESS & found
    assert len(ours(found)) <= MOST_OF_CHECK


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_and_version_load_the_command_line_alone(folder: Path, arguments: list[str]) -> None:
    found = loaded(RUN.format(arguments=arguments), folder)
    assert not {"numpy", "polars", "tclose.policy", "tclose.table"} & found
    assert len(ours(found)) <= 10


def test_importing_tclose_loads_next_to_nothing(folder: Path) -> None:
    assert ours(loaded("import tclose", folder)) == {"tclose", "tclose.lazy_imports"}


def test_reading_a_small_table_loads_polars_alone(folder: Path) -> None:
    """Numpy takes longer to load than such a table to read."""
    begin = door.START.rpartition("from tclose")[0]
    found = loaded(begin + READ, folder, "-I", door._what_is_imported())
    assert "polars" in found
    assert not {"numpy", "narwhals", "tclose.policy.model", "tclose.table.coded"} & found
    assert len(ours(found)) <= MOST_OF_READER


def test_garbage_is_looked_for_as_usual_once_the_libraries_are_loaded() -> None:
    usual, callbacks = gc.get_threshold(), list(gc.callbacks)
    try:
        cli.collect_later()
        assert gc.get_threshold()[0] == cli.OBJECTS_OF_LIBRARIES > usual[0]
        gc.collect()
        assert (gc.get_threshold(), gc.callbacks) == (usual, callbacks)
    finally:
        gc.set_threshold(*usual)
        gc.callbacks[:] = callbacks
