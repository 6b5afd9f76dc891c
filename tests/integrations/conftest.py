"""Packages that do not belong into the environment of developers: they have one of their own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACE = ROOT / ".integrations-venv" / "bin"
QUIET = {"GX_ANALYTICS_ENABLED": "false", "DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "NO_COLOR": "1"}
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def run_there() -> Run:
    """Run a program of that environment, with the tclose of this folder."""
    if not (PLACE / "dbt").exists():
        pytest.skip("dbt, Great Expectations and Jupyter are not installed: make test-integrations")

    def run(program: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(PLACE), os.environ["PATH"]])
        environment = {**os.environ, **QUIET, "PYTHONPATH": str(ROOT / "src"), "PATH": path}
        command = [str(PLACE / program), *arguments]
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=1800
        )

    return run
