"""Releases of large tables: CPU seconds as a multiple of polars', peak memory, and how both grow.

    python bench/large.py [engine=auto] [effort=balanced] [table=sal] [copies …]

The table is census_sal500k, repeated (2 and 20 copies by default: 1 and 10 million rows), or with table=hospital the
invented hospital table with five sensitive attributes, half a million rows for each copy. The denominator is polars
reading, sorting and writing the same Parquet file. Every figure comes from a process of its own; kernels are compiled
already, and CPU seconds, those of the process that reads files included, are counted after a small release has loaded
them. Memory is measured in another process, without that.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import polars as pl

import cases
from measure import at_most, machine, table
from scale import DATA, POLICY, apart_in, cpu_seconds, megabytes, run_polars

MOST_CPU, MOST_MEGABYTES, MOST_GROWTH = 8.0, 300.0, 11.0  # times polars; above the interpreter; for ten times the rows
ROWS = 500_000  # of a copy


def make(kind: str, copies: int, folder: Path) -> Any:
    """Write a table, and return its policy."""
    if kind == "hospital":
        cases.patients(copies * ROWS).write_parquet(folder / "table.parquet")
        return cases.HOSPITAL.to_dict()
    pl.concat([pl.read_csv(DATA)] * copies, rechunk=True).write_parquet(folder / "table.parquet")
    return POLICY


def run(what: str, folder: Path) -> dict[str, Any]:
    """Publish the table of a folder and return the figures."""
    from tclose.steps import anonymize

    warnings.simplefilter("ignore")
    asked = json.loads((folder / "asked.json").read_text())
    common: dict[str, Any] = {"seed": 1, "force": True, "options": {"effort": asked["effort"]}}
    idle = megabytes("VmRSS")
    if what == "seconds":  # loads the kernels
        pl.read_parquet(folder / "table.parquet", n_rows=20_000).write_parquet(folder / "small.parquet")
        common["engine"] = "memory" if asked["engine"] == "memory" else "disk"
        anonymize(folder / "small.parquet", asked["policy"], out=folder / "small_out.parquet", **common)
    before, began = cpu_seconds(), time.perf_counter()
    common["engine"] = asked["engine"]
    made = anonymize(folder / "table.parquet", asked["policy"], out=folder / "out.parquet", **common)
    seconds, wall = cpu_seconds() - before, time.perf_counter() - began
    gcp, peak = made.certificate.measures["gcp"], megabytes("VmHWM") - idle
    return {"seconds": seconds, "wall": wall, "gcp": gcp, "peak": peak, "in parts": made.release is None}


def main() -> None:
    """Measure tables of several sizes."""
    asked = {"engine": "auto", "effort": "balanced", "table": "sal"}
    asked |= dict(word.split("=") for word in sys.argv[1:] if "=" in word)
    sizes = [int(word) for word in sys.argv[1:] if word.isdigit()] or [2, 20]
    told, found = [], {}
    for copies in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            policy = make(asked["table"], copies, folder)
            (folder / "asked.json").write_text(json.dumps({**asked, "policy": policy}, default=str))
            theirs, ours, memory = (apart_in(__file__, what, folder) for what in ("polars", "seconds", "memory"))
        found[copies] = ours["seconds"]
        rows = f"{copies * ROWS / 1e6:g} M rows"
        print(f"{rows}: polars {theirs['seconds']:.2f} CPU s, {theirs['peak']:.0f} MB; we {ours['seconds']:.1f} CPU s, "
              f"{ours['wall']:.0f} s, GCP {ours['gcp']:.4f}, {memory['peak']:.0f} MB above the interpreter, "
              f"{'in parts' if ours['in parts'] else 'in memory'}", flush=True)  # fmt: skip
        told.append(at_most(f"{rows}: CPU s / polars", ours["seconds"] / theirs["seconds"], MOST_CPU))
        if copies == 2:
            told.append(at_most(f"{rows}: peak memory above the interpreter, MB", memory["peak"], MOST_MEGABYTES))
    if len(sizes) > 1:
        factor, growth = sizes[-1] / sizes[0], found[sizes[-1]] / found[sizes[0]]
        told.append(at_most(f"growth of CPU s for {factor:g} times the rows", growth, MOST_GROWTH * factor / 10))
    print(f"\n{machine()}, {asked}\n\n{table(told)}")


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] in ("polars", "seconds", "memory"):
        own = Path(sys.argv[2])
        print(json.dumps(run_polars(own) if sys.argv[1] == "polars" else run(sys.argv[1], own)))
    else:
        main()
