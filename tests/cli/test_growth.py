"""Wide tables, long lists and stray quotes: every command ends soon. How time grows is measured in bench/growth.py.

The limits are generous: what took quadratic time took minutes or hours on these sizes.
"""

from __future__ import annotations

import cProfile
import json
import pstats
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tclose import Policy, steps
from tclose.run import engines

SECONDS = 150  # of CPU, which a busy machine does not take away
MANY = pytest.mark.parametrize("columns", [12_000, pytest.param(50_000, marks=pytest.mark.soak)])


def tclose(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from tclose.cli import main; main()", *arguments]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS)),
    )


def wide(folder: Path, columns: int) -> list[str]:
    """Write a table of four rows and many columns."""
    names = [f"c{number}" for number in range(columns)]
    rows = [",".join(str((row + number) % 3) for number in range(columns)) for row in range(4)]
    (folder / "table.csv").write_text("\n".join([",".join(names), *rows]) + "\n")
    return names


def test_a_stray_quote_in_the_header(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text('zone,pa"y\n' + "a,1\n" * 2_000_000)  # 8 MB; 1.6 MB took over 20 s
    done = tclose(tmp_path, "init", "table.csv")
    assert done.returncode == 2
    assert done.stderr.startswith("error: the header is not valid CSV: a quote in it is stray")


def test_20_000_missing_markers_and_more(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("zone,pay\n" + "a,1\nb,2\n" * 20)
    markers = json.dumps(["", *(f"m{number}" for number in range(200_000))])
    (tmp_path / "policy.toml").write_text(f"missing = {markers}\n[quasi.zone]\n[sensitive.pay]\nt = 1\n")
    assert tclose(tmp_path, "check", "table.csv", "--policy", "policy.toml").returncode == 0


@MANY
def test_many_columns_with_a_role(tmp_path: Path, columns: int) -> None:
    names = wide(tmp_path, columns)
    roles = f"keep = {json.dumps(names[2 : columns // 2])}\nidentifiers = {json.dumps(names[columns // 2 :])}"
    (tmp_path / "policy.toml").write_text(f"{roles}\n[quasi.c0]\n[sensitive.c1]\nt = 1\n")
    assert tclose(tmp_path, "check", "table.csv", "--policy", "policy.toml").returncode == 0


def queries_of_a_check(folder: Path, columns: int) -> int:
    wide(folder, columns)
    (folder / "policy.toml").write_text('others = "drop"\n[quasi.c0]\n[sensitive.c1]\nt = 1\n')
    with cProfile.Profile() as profile:
        steps.check(folder / "table.csv", folder / "policy.toml", engine="auto")
    calls: Any = pstats.Stats(profile)
    return sum(times for (_, _, name), (_, times, *_) in calls.stats.items() if "'collect' of" in name)


def test_columns_that_are_dropped_take_no_query_each(tmp_path: Path) -> None:
    """One takes polars 0.1 ms: 50,000 columns took 5 of 10 CPU seconds."""
    few, many = (queries_of_a_check(tmp_path, columns) for columns in (20, 400))
    assert 0 < many <= few


def test_a_small_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it is too large for memory, its size tells: how it is written need not be looked at."""
    wide(tmp_path, 3)
    policy = Policy(quasi=["c0"], sensitive={"c1": {"t": 1}}, others="drop")
    assert engines.table_on_disk(tmp_path / "table.csv").size < engines.MANY_ROWS
    monkeypatch.setattr(engines, "table_on_disk", lambda *_: pytest.fail("the file was looked at"))
    assert not engines.on_disk("auto", tmp_path / "table.csv", policy)
    assert not engines.published_on_disk("auto", tmp_path / "table.csv", policy, "weave", {})


@MANY
def test_columns_without_a_role_are_not_all_listed(tmp_path: Path, columns: int) -> None:
    wide(tmp_path, columns)
    (tmp_path / "policy.toml").write_text("[quasi.c0]\n[sensitive.c1]\nt = 1\n")
    done = tclose(tmp_path, "check", "table.csv", "--policy", "policy.toml")
    assert done.returncode == 2
    assert f"'c20', 'c21' and {columns - 22:,} more" in done.stderr
    assert len(done.stderr) < 1000


def test_a_release_of_many_columns(tmp_path: Path) -> None:
    names = wide(tmp_path, 2_500)
    (tmp_path / "policy.toml").write_text(f"keep = {json.dumps(names[2:])}\n[quasi.c0]\n[sensitive.c1]\nt = 1\n")
    arguments = ("anonymize", "table.csv", "--policy", "policy.toml", "--out", "release.csv", "--method", "mondrian")
    assert tclose(tmp_path, *arguments).returncode == 0
