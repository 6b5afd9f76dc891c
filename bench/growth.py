"""How the time of a command grows when its input doubles: 2 is linear, 4 is quadratic.

One JSON line per figure: {name, value, target, holds}. `value` is the ratio of the CPU seconds at the two largest
sizes, with the time of a command that does nothing taken off.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from measure import Measurement, at_most, machine, table

LINEAR = 3.0  # between linear (2) and quadratic (4): caches and garbage collection are not quite linear
Write = Callable[[Path, int], list[str]]  # writes the input of a size, returns the command


def stray_quote(folder: Path, size: int) -> list[str]:
    (folder / "table.csv").write_text('zone,pa"y\n' + "a,1\n" * size)
    return ["init", "table.csv"]


def missing_markers(folder: Path, size: int) -> list[str]:
    (folder / "table.csv").write_text("zone,pay\n" + "a,1\nb,2\n" * 20)
    markers = json.dumps(["", *(f"m{number}" for number in range(size))])
    (folder / "policy.toml").write_text(f"missing = {markers}\n[quasi.zone]\n[sensitive.pay]\nt = 1\n")
    return ["check", "table.csv", "--policy", "policy.toml"]


def _wide(folder: Path, size: int) -> list[str]:
    names = [f"c{number}" for number in range(size)]
    rows = [",".join(str((row + number) % 3) for number in range(size)) for row in range(4)]
    (folder / "table.csv").write_text("\n".join([",".join(names), *rows]) + "\n")
    return names


def drafted_columns(folder: Path, size: int) -> list[str]:
    _wide(folder, size)
    return ["init", "table.csv"]


def columns_of(role: str, *command: str) -> Write:
    def write(folder: Path, size: int) -> list[str]:
        names = _wide(folder, size)
        listed = '"drop"' if role == "others" else json.dumps(names[2:])
        (folder / "policy.toml").write_text(f"{role} = {listed}\n[quasi.c0]\n[sensitive.c1]\nt = 1\n")
        (folder / "release.csv").unlink(missing_ok=True)
        return [command[0], "table.csv", "--policy", "policy.toml", *command[1:]]

    return write


ANONYMIZE = ("anonymize", "--out", "release.csv", "--method", "mondrian")
CASES: dict[str, tuple[Write, int]] = {  # the larger of the two sizes
    "rows after a stray quote in the header": (stray_quote, 8_000_000),
    "missing markers, check": (missing_markers, 400_000),
    "columns, init": (drafted_columns, 10_000),
    "columns dropped, check": (columns_of("others", "check"), 100_000),
    "columns kept, check": (columns_of("keep", "check"), 50_000),
    "columns unlinkable, check": (columns_of("unlinkable", "check"), 50_000),
    "columns that identify, check": (columns_of("identifiers", "check"), 50_000),
    "columns dropped, anonymize": (columns_of("others", *ANONYMIZE), 100_000),
    "columns kept, anonymize": (columns_of("keep", *ANONYMIZE), 20_000),
    "columns unlinkable, anonymize": (columns_of("unlinkable", *ANONYMIZE), 20_000),
}


def cpu_seconds(folder: Path, command: list[str]) -> float:
    """Return what one run of a command takes, with all its threads and children."""
    before = os.times()
    run = [sys.executable, "-c", "from tclose.cli import main; main()", *command]
    done = subprocess.run(run, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode not in (0, 1, 2) or b"bug" in done.stderr:
        sys.exit(f"{command} ended with {done.returncode}")
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def growth(write: Write, size: int) -> float:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        idle = cpu_seconds(folder, ["--version"])
        small, large = (cpu_seconds(folder, write(folder, part)) - idle for part in (size // 2, size))
    return large / max(small, 0.05)  # what takes next to no time does not grow


def main() -> None:
    chosen = sys.argv[1:] or list(CASES)
    told: list[Measurement] = [at_most(f"growth: {name}", growth(*CASES[name]), LINEAR) for name in chosen]
    print(f"\n{machine()}\n\n{table(told)}")


if __name__ == "__main__":
    main()
