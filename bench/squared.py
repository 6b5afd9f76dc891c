"""k alone: the squared error of class means, in percent of that of one class, of weave and of MDAV.

    python bench/squared.py [--efforts fast,balanced,best] [--seeds 1,2,3]

The three tables on which microaggregation is usually measured; all columns are numbers and quasi-identifiers. Of the
seeds, the median. MDAV is `microaggregation:merge`, in the same run.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings

import polars as pl

import tclose
from cases import DATA, table
from measure import at_most, machine
from measure import table as lines

EIA_COLUMNS = 10  # revenues and sales, the last columns of the table
TARGETS = {  # percent at balanced and at best; elsewhere MDAV's is the target
    ("census", 3): (4.9, 4.78),
    ("census", 5): (7.7, 7.44),
    ("census", 10): (11.8, 11.4),
    ("tarragona", 3): (14.9, 14.7),
    ("tarragona", 5): (20.7, 20.4),
}
SIZES = {"census": (3, 5, 10), "tarragona": (3, 5), "eia": (3, 5)}


def numbers(name: str) -> pl.DataFrame:
    """Return the columns that are microaggregated."""
    frame = table("census_casc.csv" if name == "census" else f"{name}.csv")
    return frame.select(frame.columns[-EIA_COLUMNS:]) if name == "eia" else frame


def squared_error(frame: pl.DataFrame, k: int, method: str, seed: int) -> float:
    """Return the squared error of a release, in percent."""
    policy = tclose.Policy(quasi={name: {"publish": "mean"} for name in frame.columns}, sensitive={}, k=k)
    return 100 * float(tclose.anonymize(frame, policy, method=method, seed=seed).certificate.content["measures"]["sse"])


def main() -> None:
    warnings.simplefilter("ignore")
    if not DATA.exists():
        sys.exit(f"left out: the tables of {DATA} are not there")
    parser = argparse.ArgumentParser()
    parser.add_argument("--efforts", default="fast,balanced,best")
    parser.add_argument("--seeds", default="1,2,3")
    asked, found = parser.parse_args(), []
    for name, sizes in SIZES.items():
        frame = numbers(name)
        for k in sizes:
            mdav = squared_error(frame, k, "microaggregation:merge", 1)
            for effort in asked.efforts.split(","):
                started = time.process_time()
                seeds = [int(seed) for seed in asked.seeds.split(",")]
                lost = statistics.median(squared_error(frame, k, f"weave:{effort}", seed) for seed in seeds)
                took = (time.process_time() - started) / len(seeds)
                print(f"{name} k={k}, {effort}: {lost:.3f} %, MDAV {mdav:.3f} %, {took:.1f} CPU s", file=sys.stderr)
                target = TARGETS.get((name, k), (mdav, mdav))[effort == "best"] if effort != "fast" else mdav
                found.append(at_most(f"{name} k={k}, {effort}: squared error, %", lost, min(target, mdav)))
    print(f"\n{machine()}\n\n{lines(found)}")


if __name__ == "__main__":
    main()
