"""Modules in the current folder are not run by the Python processes of Spark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

PLANTED = ("json", "importlib", "pathlib", "typing", "numpy", "pyarrow", "tclose")


@pytest.mark.soak  # a session of its own takes 10 s of CPU
def test_modules_of_the_current_folder_are_not_run(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="pip install 'tclose[spark]'")
    own, marker = tmp_path / "own", tmp_path / "run"
    own.mkdir()
    pl.DataFrame({"age": [20, 30] * 60, "ill": ["flu", "cold"] * 60}).write_parquet(own / "t.parquet")
    (own / "p.toml").write_text('k = 2\nquasi = ["age"]\n[sensitive.ill]\nt = 1\ndistance = "equal"\n')
    for name in PLANTED:
        (own / f"{name}.py").write_text(f"from builtins import open\nopen({str(marker)!r}, 'a').write('{name} ')\n")
    tool = Path(sys.executable).with_name("tclose")
    asked = ("anonymize", "t.parquet", "--policy", "p.toml", "--out", "r", "--certificate", "c.json")
    done = subprocess.run(
        [tool, *asked, "--engine", "spark", "--master", "local[1]", "--effort", "fast"],
        cwd=own, capture_output=True, text=True, timeout=1800, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not marker.exists(), marker.read_text()
