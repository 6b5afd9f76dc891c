"""Releases of real tables of half a million rows and more, out of core, within a limit of memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

POLICY = """
others = "drop"
k = 2
quasi = ["age", "sex", "education"]
[sensitive.salary_class]
t = 0.088
"""
MEASURED = """
from pathlib import Path
from tclose.cli import main
try:
    main()
finally:
    status = Path("/proc/self/status").read_text().splitlines()  # what rusage says may be the memory of the parent
    Path("memory.txt").write_text(next(line.split()[1] for line in status if line.startswith("VmHWM")))
"""
GIGABYTE = 1 << 30
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how much memory was used")


@pytest.mark.parametrize(
    ("copies", "limit"),
    [
        pytest.param(1, 0.7 * GIGABYTE, id="500,000 rows"),
        pytest.param(10, GIGABYTE, id="5 million rows", marks=pytest.mark.soak),
    ],
)
def test_a_release_out_of_core(data: Path, tmp_path: Path, copies: int, limit: float) -> None:
    salaries = pl.read_csv(data / "census_sal500k.csv")
    pl.concat([salaries] * copies).write_parquet(tmp_path / "t.parquet")
    (tmp_path / "p.toml").write_text(POLICY)
    asked = "anonymize t.parquet --policy p.toml --out r --certificate c.json --effort fast --engine disk --json"
    made = run(tmp_path, *asked.split(), "--part-rows", "60000")
    found = json.loads(made)
    assert sum(file["rows"] for file in found["files"]) == copies * salaries.height
    assert len(found["files"]) > 5
    assert 1024 * int((tmp_path / "memory.txt").read_text()) < limit
    verify = "verify r --certificate c.json --engine disk --json"
    assert json.loads(run(tmp_path, *verify.split()))["holds"]
    published = pl.read_parquet(tmp_path / "r")["salary_class"].value_counts().sort("salary_class")
    counts = salaries["salary_class"].value_counts().sort("salary_class")
    assert (published["count"] == copies * counts["count"]).all()


def run(folder: Path, *arguments: str) -> str:
    """Run the command in a process of its own, which notes its memory."""
    command = (sys.executable, "-c", MEASURED, *arguments)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
