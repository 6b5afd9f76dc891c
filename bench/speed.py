"""How fast weave is, as ratios within one run, and how much memory it takes.

Warm-up: one small run of every effort before anything is timed, so that compiled kernels are loaded; polars runs once
before it is timed, then both alternate.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import tclose
from cases import DATA, HOSPITAL, Case, cases, patients
from measure import Measurement, at_most, machine, seconds, table
from tclose.partition import Problem, method_named
from tclose.partition.split import problem_of
from tclose.privacy.feasibility import publishable
from tclose.table import encode

FIRST_CALL = """
import time, sys, warnings
warnings.simplefilter("ignore")
import tclose
frame, policy = tclose.read({table!r}), tclose.Policy(quasi=["TAXINC", "POTHVAL"], sensitive={{"FEDTAX": {{"t": .1}}}}, k=2, others="drop")
def run():
    start = time.perf_counter()
    tclose.anonymize(frame, policy, seed=1, effort="fast")
    return time.perf_counter() - start
print(run() - run())
"""  # noqa: E501
PEAK = """
import sys, warnings
sys.path.insert(0, {here!r})
warnings.simplefilter("ignore")
from speed import coded_bytes, problem, woven
from cases import HOSPITAL, patients

def memory(field):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(field))

woven(problem(patients(2000), HOSPITAL), "balanced")
large = problem(patients({rows}), HOSPITAL)
before = memory("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
woven(large, "balanced")
print((memory("VmHWM") - before) / coded_bytes(large))
"""


def problem(frame: pl.DataFrame, policy: tclose.Policy) -> Problem:
    """Return what a method is given, as anonymize() makes it."""
    return problem_of(publishable(encode(frame, policy), policy).table, policy)


def woven(asked: Problem, effort: str) -> np.ndarray[Any, Any]:
    """Return the classes."""
    return method_named("weave")(asked, effort=effort, seed=1)


def coded_bytes(asked: Problem) -> int:
    """Return the size of the coded table: one code per row and column, and the points."""
    columns = [axis.codes for axis in asked.all_axes] + [one.codes for one in asked.sensitive]
    return sum(column.nbytes for column in columns) + asked.points.nbytes


def case_named(name: str) -> Case:
    """Return one of the cases."""
    return next(case for case in cases() if case.name == name)


def processor_seconds(asked: Problem, effort: str) -> float:
    """Return the time that all cores spend on one run."""
    start = time.process_time()
    woven(asked, effort)
    return time.process_time() - start


def against_polars() -> list[Measurement]:
    """Half a million rows: weave, balanced, against reading, sorting and writing them; and against best's loss."""
    case, path = case_named("sal500k t=0.088"), DATA / "census_sal500k.csv"
    asked = problem(case.table(), case.policy)
    few = problem(case.table().sample(50_000, seed=1), case.policy)

    def polars(folder: str) -> None:
        frame = pl.read_csv(path)
        frame.sort(frame.columns).write_csv(Path(folder) / "sorted.csv")

    with tempfile.TemporaryDirectory() as folder:
        polars(folder)
        pairs = [(seconds(lambda: woven(asked, "balanced")), seconds(lambda: polars(folder))) for _ in range(3)]
    ratios = sorted(ours / theirs for ours, theirs in pairs)
    small = min(seconds(lambda: woven(few, "balanced")) for _ in range(2))
    losses = {effort: gcp(case, effort) for effort in ("balanced", "best")}
    return [
        at_most("sal500k, balanced / polars reads, sorts, writes: time, median of 3", ratios[1], 20),
        at_most("sal500k, 500,000 rows / 50,000 rows: time", min(ours for ours, _ in pairs) / small, 13),
        at_most("sal500k, balanced / best: GCP", losses["balanced"] / losses["best"], 1.1),
    ]


def rivals() -> list[Measurement]:
    """How long the rivals that should scale take on half a million rows, beside weave in the same run."""
    case = case_named("sal500k t=0.088")
    asked = problem(case.table(), case.policy)
    ours = seconds(lambda: woven(asked, "balanced"))
    found = []
    for name in ("mondrian", "sabre"):
        method = method_named(name)
        method(asked, seed=1)  # warm-up
        taken = seconds(partial(method, asked, seed=1))
        found.append(at_most(f"sal500k, {name} / weave balanced: time", taken / ours, 10))
    return found


def compared() -> Measurement:
    """Every method on Adult, with the default time limits."""
    case = case_named("adult equal t=0.2")
    frame = case.table()
    return at_most(
        "adult, compare with every method: seconds", seconds(lambda: tclose.compare(frame, case.policy)), 120
    )


def gcp(case: Case, effort: str) -> float:
    """Return the loss of a release."""
    content = tclose.anonymize(case.table(), case.policy, seed=1, effort=effort).certificate.content
    return float(content["measures"]["gcp"])


def fast_on_adult() -> list[Measurement]:
    """What the least effort costs and gives."""
    case = case_named("adult equal t=0.2")
    asked = problem(case.table(), case.policy)
    fast, best = processor_seconds(asked, "fast"), processor_seconds(asked, "best")
    return [
        at_most("adult equal t=0.2, fast / best: CPU", fast / best, 0.1),
        at_most("adult equal t=0.2, fast: GCP", gcp(case, "fast"), 0.66),
    ]


def first_call() -> Measurement:
    """What a first call in a new process takes longer than a second, with the cache warm."""
    code = FIRST_CALL.format(table=str(DATA / "census_casc.csv"))
    answer = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return at_most("first call in a new process / seconds more than the second", float(answer.stdout), 3)


def memory(rows: int = 200_000) -> Measurement:
    """What weave adds at its peak to a process that holds the coded table."""
    code = PEAK.format(here=str(Path(__file__).parent), rows=rows)
    answer = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return at_most(f"hospital, {rows:,} rows: peak memory that weave adds / the coded table", float(answer.stdout), 6)


def million() -> Measurement:
    """A million patients with five sensitive attributes, from frame to judged release."""
    frame = patients(1_000_000)
    taken = seconds(lambda: tclose.anonymize(frame, HOSPITAL, seed=1))
    return at_most("hospital, a million rows, five attributes, balanced: seconds", taken, 3600)


def main() -> None:
    warnings.simplefilter("ignore", tclose.LeakWarning)
    for effort in ("fast", "balanced", "best"):
        woven(problem(patients(1000), HOSPITAL), effort)
    shared = [*against_polars(), *fast_on_adult(), first_call(), *rivals(), compared()] if DATA.exists() else []
    found = [*shared, memory(), million()]
    print(f"\n{machine()}\n\n{table(found)}")


if __name__ == "__main__":
    main()
