"""A release on a Spark cluster of two workers against one in memory: loss, and CPU seconds of Python.

python bench/spark.py [ROWS] [PART_ROWS] [EFFORT]; needs Java and pip install 'tclose[spark]'.
"""

from __future__ import annotations

import os
import resource
import runpy
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import polars as pl

HERE = Path(__file__).parent
DATA = HERE.parent.parent / "shared" / "data" / "census_sal500k.csv"
ASKED = {"quasi": ["age", "sex", "education"], "sensitive": {"salary_class": {"t": 0.088}}, "k": 2, "others": "drop"}


def main(rows: int, part_rows: int, effort: str) -> None:
    import tclose.spark

    warnings.simplefilter("ignore")
    place = runpy.run_path(str(HERE.parent / "tests" / "spark" / "cluster.py"))
    policy, table = tclose.Policy.from_dict(ASKED), pl.read_csv(DATA)
    table = pl.concat([table] * -(-rows // table.height)).head(rows)
    with place["started"]() as machines, place["session"](machines.address, machines.folder, place["free_port"]()) as s:
        folder = machines.folder / "table"
        folder.mkdir()
        for number, part in enumerate(table.iter_slices(-(-rows // 8))):
            part.write_parquet(folder / f"{number}.parquet")
        frame = s.read.parquet(str(folder))
        tclose.spark.anonymize(
            s.read.parquet(str(folder / "0.parquet")).filter("age < 30"), policy, effort=effort, seed=1
        ).close()  # loads everything
        before, begun = python_seconds(), time.perf_counter()
        with tclose.spark.anonymize(frame, policy, effort=effort, part_rows=part_rows, seed=1) as release:
            report("spark", release.certificate.measures["gcp"], python_seconds() - before, begun)
            release.write(machines.folder / "release", certificate=machines.folder / "c.json")
            print("verified", tclose.spark.verify(s, machines.folder / "release", machines.folder / "c.json").holds)
        on_disk(folder, policy, part_rows, effort)
    tclose.anonymize(table.head(1000), policy, effort=effort, seed=1)
    before, begun = own_seconds(), time.perf_counter()
    made = tclose.anonymize(table, policy, effort=effort, seed=1)
    report("memory", made.certificate.measures["gcp"], own_seconds() - before, begun)


def on_disk(folder: Path, policy: Any, part_rows: int, effort: str) -> None:
    """Publish the same files from disk, in parts of the same size."""
    from tclose import steps

    before, begun = own_seconds(), time.perf_counter()
    asked: dict[str, Any] = {"part_rows": part_rows, "options": {"effort": effort}, "seed": 1, "engine": "disk"}
    made = steps.anonymize(folder, policy, out=folder.parent / "on-disk", **asked)
    report("disk", made.certificate.measures["gcp"], own_seconds() - before, begun)


def report(what: str, loss: object, seconds: float, begun: float) -> None:
    print(f"{what}: GCP {loss}, {seconds:.1f} CPU s of Python, {time.perf_counter() - begun:.1f} s", flush=True)


def own_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def python_seconds() -> float:
    """Return the CPU seconds of this process and of all Python workers of Spark."""
    ticks, total = os.sysconf("SC_CLK_TCK"), own_seconds()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"pyspark.daemon" in (process / "cmdline").read_bytes():
                numbers = (process / "stat").read_text().rpartition(")")[2].split()
                total += sum(map(int, numbers[11:13])) / ticks
        except OSError:
            continue
    return total


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(given[0]) if given else 1_000_000, int(given[1]) if given[1:] else 60_000, (given[2:] or ["balanced"])[0])
