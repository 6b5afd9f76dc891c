"""A short fuzz run with a fixed seed; `make fuzz` runs thousands with a new one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).resolve().parent.parent / "bench" / "fuzz"


def fuzz(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command, given = [sys.executable, str(FUZZ), *options], {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=given, check=False, timeout=1800)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Releases that runs begin with; `make fuzz` makes them itself, as the first test does."""
    folder = tmp_path_factory.mktemp("published")
    assert fuzz(folder, "--make-published", str(folder)).returncode == 0
    return folder


@pytest.mark.skipif(not FUZZ.exists(), reason="the benches are not part of a package")
def test_damaged_files_find_nothing(tmp_path: Path) -> None:
    done = fuzz(tmp_path, "--cases", "20", "--seed", "11", "--workers", "2")
    assert done.returncode == 0, done.stdout
    assert "0 finds in 20 cases" in done.stdout


PLANTED = """
import os, tclose.steps as steps
check = steps.check
def planted(*arguments, **options):
    result = check(*arguments, **options)
    {bug}
    return result
steps.check = planted
"""
BUGS = {
    "os.abort()": "the process died",
    "os.write(1, b'\\x1b[2J')": "control characters on stdout",
    "raise ValueError": "exit status 70",
    "object.__setattr__(result, 'rows', 99)": "unequal verdict",
}


@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_are_found(tmp_path: Path, published: Path, bug: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(PLANTED.format(bug=bug))
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    options = ("--cases", "6", "--seed", "2", "--workers", "1", "--published", str(published))
    done = fuzz(tmp_path, *options, PYTHONPATH=paths)
    assert done.returncode == 1
    assert BUGS[bug] in done.stdout
    assert any((tmp_path / "fuzz-finds").glob("*/run.py"))


def test_a_case_is_the_same_again(tmp_path: Path, published: Path) -> None:
    assert fuzz(tmp_path, "--make-published", str(tmp_path)).returncode == 0
    one, two = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in (published, tmp_path))
    assert one == two


def test_one_case_again_says_whether_it_is_a_find(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(PLANTED.format(bug="object.__setattr__(result, 'rows', 99)"))
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    found = fuzz(tmp_path, "--cases", "16", "--seed", "2", "--workers", "1", PYTHONPATH=paths)
    seed = found.stdout.partition("FIND ")[2].partition(":")[0]
    again = fuzz(tmp_path, "--only", seed, PYTHONPATH=paths)
    assert (again.returncode, f"FIND {seed}: unequal verdict" in again.stdout) == (1, True)
    mended = fuzz(tmp_path, "--only", seed)
    assert (mended.returncode, f"case {seed} is no find" in mended.stdout) == (0, True)
