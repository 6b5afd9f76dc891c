"""What the door costs: CPU seconds and peak memory of whole commands, beside an earlier tclose that read by itself.

    .venv/bin/python bench/door.py OTHER_TCLOSE [--rounds N] [--command check|anonymize|verify] [--rows N ...]

OTHER_TCLOSE is the command of the earlier version, such as .previous/.venv/bin/tclose. The tables are the invented
hospital of 200 and 1,000,000 rows, as CSV and as Parquet. Both versions run in turns, after one run of each, which also
compiles the kernels; medians. Releases are written in the format of the table, and each version verifies its own.
CPU seconds are those of the command and all processes that it starts; memory is the largest sum of the proportional
sizes (PSS) of all of them, looked at every 20 ms in runs of their own.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import machine
from tclose.examples import hospital

POLICY = """k = 2
others = "drop"
quasi = ["age", "zip", "sex"]
[sensitive.ldl]
t = 0.15
"""


def command_of(name: str, tool: str, table: Path, policy: Path) -> list[str]:
    """Return a command about a table; a release that is verified is written first."""
    if name == "check":
        return [tool, "check", str(table), "--policy", str(policy), "--engine", "memory"]
    folder = Path(tempfile.mkdtemp(dir=table.parent))
    release, certificate = str(folder / f"r{table.suffix}"), str(folder / "c.json")
    to = ["--out", release, "--certificate", certificate, "--engine", "memory", "--seed", "1", "--force"]
    publish = [tool, "anonymize", str(table), "--policy", str(policy), *to]
    if name == "anonymize":
        return publish
    cpu(publish)
    return [tool, "verify", release, "--certificate", certificate]


def cpu(command: list[str]) -> float:
    """Return the CPU seconds of a command and of what it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def peak(command: list[str]) -> float:
    """Return the megabytes that a command and what it starts take at the same time, at most."""
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    most = 0
    while running.poll() is None:
        most = max(most, sum(map(size, tree(running.pid))))
        time.sleep(0.02)
    return most / 1024


def tree(root: int) -> list[int]:
    """Return a process and those below it."""
    found = [root]
    for number in found:
        for task in Path(f"/proc/{number}/task").glob("*/children"):
            try:
                found += map(int, task.read_text().split())
            except OSError:
                continue
    return found


def size(process: int) -> int:
    """Return the kilobytes of a process, shared pages by shares."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--command", choices=("check", "anonymize", "verify"), default="check")
    parser.add_argument("--rows", type=int, nargs="+", default=(200, 1_000_000))
    asked = parser.parse_args()
    own = Path(sys.executable).with_name("tclose")
    print(f"{machine()}; load {os.getloadavg()[0]:.1f}")
    print("| table | CPU s: before | after | after / before | peak MB: before | after |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        (place := Path(folder, "p.toml")).write_text(POLICY)
        for rows in asked.rows:
            frame = hospital(rows, seed=1)
            for ending in ("csv", "parquet"):
                table = Path(folder, f"t{rows}.{ending}")
                getattr(frame, f"write_{ending}")(table)
                commands = [command_of(asked.command, str(tool), table, place) for tool in (asked.other, own)]
                for command in commands:
                    cpu(command)
                runs = [[cpu(command) for command in commands] for _ in range(asked.rounds)]
                before, after = (statistics.median(some) for some in zip(*runs, strict=True))
                ratio = statistics.median(new / old for old, new in runs)
                memory = [statistics.median(peak(command) for _ in range(3)) for command in commands]
                figures = f"{before:.2f} | {after:.2f} | {ratio:.2f} | {memory[0]:,.0f} | {memory[1]:,.0f}"
                print(f"| {rows:,} rows, {ending} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
