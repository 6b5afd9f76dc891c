"""What it costs to begin: CPU seconds of small commands, divided by those of importing polars and numpy.

    .venv/bin/python bench/startup.py [--rounds N] [--other PYTHON ...] [--modules]

The CPU seconds are those of the command and of all processes that it starts, such as the one that reads the table. All
commands run in turns, and the least of all rounds counts: what disturbs a process only adds to it. With `--other`, the
Python of another checkout runs in the same turns. `--modules` prints how many modules are loaded instead.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from measure import at_most, machine, table
from tclose.steps import write_example

ROWS = 200
LIBRARIES, LIMITS = "import polars, numpy", {"import": 1.3, "help": 1.0, "version": 1.0, "check": 3.0}
COUNTED = "import sys\n{code}\nprint('\\n', len(sys.modules), sum(name.startswith('tclose') for name in sys.modules))"


def commands(python: str, table: Path, policy: Path) -> dict[str, list[str]]:
    """Return what is measured; an installed command starts as its script does."""
    checked = ["check", str(table), "--policy", str(policy)]
    script = [python, "-c", "import sys; from tclose.cli import main; main()"]
    return {
        "libraries": [python, "-c", LIBRARIES],
        "import": [python, "-c", "import tclose"],
        "help": [*script, "--help"],
        "version": [*script, "--version"],
        "check": [*script, *checked],
    }


def cpu(command: Sequence[str], folder: Path) -> float:
    """Return the CPU seconds of a command and of what it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def least(all_commands: Mapping[str, Sequence[str]], folder: Path, rounds: int) -> dict[str, float]:
    """Run all commands in turns; return the least CPU seconds of each. The first round warms the files up."""
    found = dict.fromkeys(all_commands, float("inf"))
    for number in range(rounds + 1):
        for name, command in all_commands.items():
            spent = cpu(command, folder)
            found[name] = min(found[name], spent) if number else float("inf")
    return found


def modules(all_commands: Mapping[str, Sequence[str]], folder: Path) -> None:
    """Print how many modules each command has loaded, and how many of them are of tclose."""
    for name, command in all_commands.items():
        code = command[2].replace("main()", "from tclose.cli import run; run(sys.argv[1:])")
        counted = [command[0], "-c", COUNTED.format(code=code), *command[3:]]
        done = subprocess.run(counted, cwd=folder, capture_output=True, text=True, check=True)
        print(name, done.stdout.splitlines()[-1])


def main() -> int:
    """Print the CPU seconds, and each as a multiple of importing the libraries."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=20)
    arguments.add_argument("--other", action="append", default=[])
    arguments.add_argument("--modules", action="store_true")
    asked = arguments.parse_args()
    for name in ("SOURCE_DATE_EPOCH", "PYTHONDONTWRITEBYTECODE"):  # modules are compiled once, as where it is installed
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = write_example(folder, rows=ROWS, seed=1)
        if asked.modules:
            modules(commands(sys.executable, *files), folder)
            return 0
        pythons = dict(zip(("", *(f"{each}: " for each in asked.other)), (sys.executable, *asked.other), strict=True))
        every = {of + name: each for of, python in pythons.items() for name, each in commands(python, *files).items()}
        found = least(every, folder, asked.rounds)
    print(machine())
    for name, spent in found.items():
        print(f"{name}: {spent:.3f} CPU seconds, {spent / found['libraries']:.2f}")
    told = [at_most(f"{name} / libraries", found[name] / found["libraries"], most) for name, most in LIMITS.items()]
    print(table(told))
    return 0 if all(each.holds for each in told) else 1


if __name__ == "__main__":
    raise SystemExit(main())
