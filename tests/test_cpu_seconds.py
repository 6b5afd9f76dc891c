"""Tests of the tests' helpers: a test that takes too much CPU fails, and pairs of values leave none out."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest

from . import cpu_seconds, pairs
from .cpu_seconds import SharedFixtures, is_listed, reasons
from .pairs import in_pairs, in_turns

HERE = Path(__file__).parent
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
CONFTEST = """
from importlib.util import module_from_spec, spec_from_file_location
found = spec_from_file_location("cpu_seconds", {file!r})
plugin = module_from_spec(found)
found.loader.exec_module(plugin)
plugin.LIMIT, plugin.MARGIN, plugin.BUSY = 0.1, 1.0, 1e9
plugin.reasons = lambda: {{"test_long.py::test_listed": "why"}}
pytest_addoption = plugin.pytest_addoption

def pytest_configure(config):
    plugin.register(config, may_fail=True)
"""
LONG = """
import subprocess, sys, time
import pytest

BURN = "import time\\nwhile time.process_time() < 0.3: pass"

@pytest.fixture(scope="module")
def shared():
    exec("begun = time.process_time()\\nwhile time.process_time() < begun + 0.3: pass")

def test_in_a_process(): subprocess.run([sys.executable, "-c", BURN], check=True)
def test_listed(): subprocess.run([sys.executable, "-c", BURN], check=True)
def test_that_makes_a_shared_fixture(shared): pass
@pytest.mark.soak
def test_soak(): subprocess.run([sys.executable, "-c", BURN], check=True)
"""


def test_a_test_above_the_limit_fails_unless_it_is_listed(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST.format(file=cpu_seconds.__file__))
    (tmp_path / "test_long.py").write_text(LONG)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = soak\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--cpu-log=log.jsonl"]
    environment = {**ENVIRONMENT, "CI": "true"}  # where pytest's summary shows a reason of several lines in full
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
    _, _, summary = done.stdout.partition("short test summary")
    lines = summary.strip().splitlines()
    assert [line.split()[1] for line in lines if line.startswith("ERROR ")] == ["test_long.py::test_in_a_process"]
    assert lines[-1].startswith("4 passed, 1 error in ")
    assert "a test may use 0.1" in done.stdout
    assert "fixture shared" in done.stdout
    assert "test_long.py::test_listed  (listed)" in done.stdout
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 4


def test_a_shared_fixture_is_charged_without_those_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([0.0, 1.0, 3.0, 7.0])
    monkeypatch.setattr(cpu_seconds, "cpu_seconds", lambda: next(moments))
    shared = SharedFixtures()
    shared.begin()
    shared.begin()
    shared.end("inner")
    shared.end("outer")
    assert shared.by_name == {"inner": 2.0, "outer": 5.0}
    assert shared.total == 7.0


def test_every_listed_test_is_there_and_says_why() -> None:
    for name, reason in reasons().items():
        file, _, test = name.partition("::")
        assert f"def {test.partition('[')[0]}(" in (HERE.parent / file).read_text(encoding="utf-8"), name
        assert len(reason) > 10, name
    listed = {"tests/a.py::test_b": "why", "tests/a.py::test_c[1]": "why"}
    assert is_listed("tests/a.py::test_b[2]", listed)
    assert is_listed("tests/a.py::test_c[1]", listed)
    assert not is_listed("tests/a.py::test_c[2]", listed)


def test_pairs_leave_no_pair_out() -> None:
    parameters = ["abc", "xyz", [1, 2], range(4)]
    cases = in_pairs(*parameters)
    chosen = [case.values for case in cases if not case.marks]
    assert len({case.values for case in cases}) == 3 * 3 * 2 * 4
    for (a, first), (b, second) in combinations(enumerate(parameters), 2):
        assert {(case[a], case[b]) for case in chosen} == {(one, other) for one in first for other in second}
    assert len(chosen) <= 14


def test_turns_leave_no_value_out() -> None:
    chosen = [case.values for case in in_turns(range(7), "abc") if not case.marks]
    assert [value for value, _ in chosen] == list(range(7))
    assert {other for _, other in chosen} == set("abc")


MARKED = """
import pytest

@pytest.mark.each_value
@pytest.mark.parametrize("a", range(3))
@pytest.mark.parametrize("b", "xy")
def test_combined(a, b): ...

@pytest.mark.one_in(3)
@pytest.mark.parametrize("a", range(7))
def test_alike(a): ...

@pytest.mark.one_in(2)
@pytest.mark.parametrize("a", [pytest.param(0, marks=pytest.mark.soak), 1, 2, 3])
def test_some_are_left_out_already(a): ...
"""


def test_marks_leave_cases_to_soak_but_no_value(tmp_path: Path) -> None:
    places = CONFTEST.format(file=pairs.__file__).split("plugin.LIMIT")[0].replace("cpu_seconds", "pairs")
    (tmp_path / "conftest.py").write_text(
        f"{places}pytest_collection_modifyitems = lambda items: plugin.leave_to_soak(items)\n"
    )
    (tmp_path / "test_marked.py").write_text(MARKED)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n soak\n each_value\n one_in\n")
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", "-m", "not soak"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    kept = [line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line]
    assert kept == [
        *("test_combined[x-0]", "test_combined[x-2]", "test_combined[y-1]"),
        *("test_alike[0]", "test_alike[3]", "test_alike[6]"),
        *("test_some_are_left_out_already[1]", "test_some_are_left_out_already[3]"),
    ], done.stdout
