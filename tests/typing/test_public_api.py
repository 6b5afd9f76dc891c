"""The public API is typed: mypy --strict accepts a script that uses it, and the script runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tclose

SCRIPT = Path(__file__).with_name("public_api.py")
SOURCE = Path(tclose.__file__).parents[1]


def test_mypy_accepts_a_script(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Against the source; `make wheel-test` does the same against the installed wheel.

    mypy keeps what it found in each file that is as it was, from one run to the next.
    """
    pytest.importorskip("mypy", reason="pip install mypy")
    environment, kept = {**os.environ, "MYPYPATH": str(SOURCE)}, pytestconfig.cache.mkdir("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(kept), str(SCRIPT)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout


def test_the_package_says_that_it_is_typed() -> None:
    assert (SOURCE / "tclose" / "py.typed").is_file()


def test_the_script_runs(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,pay\n" + "".join(f"{20 + i},{i % 4}\n" for i in range(16)))
    (tmp_path / "p.toml").write_text("k = 2\n[quasi.age]\n[sensitive.pay]\nt = 0.5\n")
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, str(SCRIPT), "t.csv", "p.toml"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout) == (0, f"{tclose.__version__} 2 True\n"), done.stderr
