"""Speed and memory of check(), side by side with polars and pycanon in one run.

Warm-up: each side runs once before it is timed (pycanon is timed on its only run: it takes minutes).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl

import tclose
from measure import Measurement, at_least, at_most, machine, ratio, seconds, table
from tclose.examples import hospital

HERE = Path(__file__).parent
DATA = HERE.parent.parent / "shared" / "data"
PEERS = HERE.parent / ".bench-venv" / "bin" / "python"
ROWS = 1_000_000
QUASI = ["zip", "age", "sex", "education", "occupation"]
ADULT_QUASI = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]
POLICY = tclose.Policy(
    quasi=QUASI, sensitive={"ldl": {"t": 0.15}, "hemoglobin": {"t": 0.15}, "diagnosis": {"t": 0.2}}, k=5
)

PEAK_OF_CHECK = """
import sys, polars as pl
sys.path.insert(0, {here!r})
from check import POLICY
import tclose

def memory(field):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(field))

tclose.check(pl.DataFrame({{name: ["1", "2"] for name in {columns!r}}}), POLICY, ignore_others=True)
frame = pl.read_parquet({path!r})
before = memory("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
tclose.check(frame, POLICY, ignore_others=True)
print((memory("VmHWM") - before) / frame.estimated_size())
"""


def against_polars(frame: pl.DataFrame) -> Measurement:
    """Three sensitive attributes, five quasi-identifiers, a million rows."""
    value = ratio(lambda: tclose.check(frame, POLICY, ignore_others=True), lambda: frame.group_by(QUASI).agg(pl.len()))
    return at_most("check of a million rows / polars grouping them", value, 6)


def peak_memory(frame: pl.DataFrame) -> Measurement:
    """What check() adds at its peak to a process that holds the frame."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "hospital.parquet")
        frame.write_parquet(path)
        code = PEAK_OF_CHECK.format(here=str(HERE), path=path, columns=[*QUASI, "ldl", "hemoglobin", "diagnosis"])
        answer = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return at_most("peak memory that check adds / the frame", float(answer.stdout), 3)


PYCANON = """
import sys, time, pandas as pd
from pycanon import anonymity
frame = pd.read_csv(sys.argv[1], skipinitialspace=True)
start = time.perf_counter()
anonymity.t_closeness(frame, sys.argv[2].split(","), ["hours-per-week"])
print(time.perf_counter() - start)
"""


def against_pycanon() -> Measurement | None:
    """t-closeness of hours-per-week over seven quasi-identifiers of Adult."""
    path = DATA / "adult.csv"
    if not path.exists() or not PEERS.exists():
        print(f"left out: pycanon on Adult needs {path} and {PEERS}", file=sys.stderr)
        return None
    frame = tclose.read(path)
    policy = tclose.Policy(quasi=ADULT_QUASI, sensitive={"hours-per-week": {"t": 0.2}})
    tclose.check(frame, policy, ignore_others=True)
    ours = min(seconds(lambda: tclose.check(frame, policy, ignore_others=True)) for _ in range(5))
    command = [str(PEERS), "-W", "ignore", "-c", PYCANON, str(path), ",".join(ADULT_QUASI)]
    theirs = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return at_least("pycanon / check, t-closeness of Adult's hours-per-week", theirs / ours, 500)


def main() -> None:
    frame = hospital(ROWS, seed=1)
    found = [against_polars(frame), peak_memory(frame), against_pycanon()]
    print(f"\n{machine()}\n\n{table([m for m in found if m])}")


if __name__ == "__main__":
    main()
