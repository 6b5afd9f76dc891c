"""CPU seconds and peak memory of `anonymize` in memory, from disk and on Spark, beside an earlier tclose.

    .venv/bin/python bench/places.py OTHER_TCLOSE [--rounds N] [--engine memory disk spark] [--rows N ...]

OTHER_TCLOSE is the command of the earlier version, such as .previous/.venv/bin/tclose. The tables are the census of
500,000 rows (`census_sal500k.csv`), its first rows where fewer are asked for, as Parquet. Both versions run in turns
with the same seed, after one run of each; medians. CPU seconds are those of the command and all processes that it
starts, those of Spark that outlive it included. Memory is the largest sum of the proportional sizes (PSS) of all
processes, in a run of its own.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

import polars as pl

from door import peak
from measure import machine

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "census_sal500k.csv"
PR_SET_CHILD_SUBREAPER = 36  # of prctl(2)
POLICY = """k = 5
others = "drop"
quasi = ["age", "sex", "education"]
[sensitive.salary_class]
t = 0.1
"""


def command_of(tool: str, engine: str, folder: Path) -> list[str]:
    """Return a command that publishes the table of a folder."""
    out = folder / ("release" if engine == "spark" else "release.parquet")
    shutil.rmtree(out, ignore_errors=True)
    where = ["--engine", engine, *(["--master", "local[2]"] if engine == "spark" else [])]
    files = ["--out", str(out), "--certificate", str(folder / "c.json"), "--force", "--seed", "1"]
    return [tool, "anonymize", str(folder / "t.parquet"), "--policy", str(folder / "p.toml"), *files, *where]


def with_orphans(command: list[str]) -> float:
    """Return the CPU seconds of a command and of all processes that it starts, those that outlive it included."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # so that orphans become children of this process
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print a line for each place and size."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("other")
    asked.add_argument("--rounds", type=int, default=3)
    asked.add_argument("--engine", nargs="+", default=["memory", "disk", "spark"])
    asked.add_argument("--rows", nargs="+", type=int, default=[200, 5_000, 50_000, 500_000])
    given = asked.parse_args()
    tools = [given.other, str(Path(__file__).resolve().parent.parent / ".venv" / "bin" / "tclose")]
    print(machine(), flush=True)
    print("| engine | rows | CPU s before | after | ratio | MB before | after | ratio |", flush=True)
    print("|---|---|---|---|---|---|---|---|", flush=True)
    table = pl.read_csv(DATA)
    for engine in given.engine:
        for rows in given.rows:
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place)
                table.head(rows).write_parquet(folder / "t.parquet")
                (folder / "p.toml").write_text(POLICY)
                for tool in tools:
                    with_orphans(command_of(tool, engine, folder))
                found: list[list[float]] = [[], []]
                for _ in range(given.rounds):
                    for times, tool in zip(found, tools, strict=True):
                        times.append(with_orphans(command_of(tool, engine, folder)))
                before, after = map(statistics.median, found)
                most = [peak(command_of(tool, engine, folder)) for tool in tools]
            spent = f"{before:.2f} | {after:.2f} | {after / before:.2f}"
            print(
                f"| {engine} | {rows:,} | {spent} | {most[0]:.0f} | {most[1]:.0f} | {most[1] / most[0]:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
