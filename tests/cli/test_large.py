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
MEGABYTE, GIGABYTE = 1 << 20, 1 << 30
LINKED = """
k = 2
quasi = ["age", "zone"]
[sensitive.ill]
t = 0.5
distance = "equal"
[sensitive.pay]
t = 0.5
"""
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
    assert memory_of(tmp_path) < limit
    if copies == 1:  # the memory of the others is seen in `make soak`, that of attacks below, too
        return
    verify = "verify r --certificate c.json --engine disk --json"
    assert json.loads(run(tmp_path, *verify.split()))["holds"]
    attack = "attack r --original t.parquet --policy p.toml --engine disk --json"
    assert json.loads(run(tmp_path, *attack.split()))["tables"]["release"]["rows"] == copies * salaries.height
    assert memory_of(tmp_path) < limit
    published = pl.read_parquet(tmp_path / "r")["salary_class"].value_counts().sort("salary_class")
    counts = salaries["salary_class"].value_counts().sort("salary_class")
    assert (published["count"] == copies * counts["count"]).all()


def test_the_memory_of_attacks_does_not_grow_with_rows(tmp_path: Path) -> None:
    """A release that is the table itself, of 300,000 and of 3 million rows, with as many classes and values."""
    place = pl.int_range(300_000, eager=True)
    cells = {"age": place % 31, "zone": place % 7, "ill": place % 11, "pay": place % 13}
    (tmp_path / "p.toml").write_text(LINKED)
    used = []
    for copies in (1, 10):
        pl.concat([pl.DataFrame(cells)] * copies).write_parquet(tmp_path / "t.parquet")
        attack = "attack t.parquet --original t.parquet --policy p.toml --engine disk --json"
        found = json.loads(run(tmp_path, *attack.split()))
        assert found["tables"]["release"] == found["tables"]["raw"]
        assert found["tables"]["raw"] == {"rows": copies * 300_000, "classes": 217, "smallest_class": copies * 1382}
        used.append(memory_of(tmp_path))
    assert used[1] < used[0] + 64 * MEGABYTE  # some 20 bytes for each row that was added


def memory_of(folder: Path) -> int:
    """Return how many bytes the last command needed."""
    return 1024 * int((folder / "memory.txt").read_text())


def run(folder: Path, *arguments: str) -> str:
    """Run the command in a process of its own, which notes its memory."""
    command = (sys.executable, "-c", MEASURED, *arguments)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
