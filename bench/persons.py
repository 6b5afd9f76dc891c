"""What it saves that weave counts persons while classes form, compared with classes by rows that are merged afterwards.

Patients of the made-up hospital get one to five visits each: the quasi-identifiers stay, the lab values are those of
other patients.

    python bench/persons.py [PATIENTS]
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl

import tclose
from tclose.examples import hospital
from tclose.partition import METHODS

LABS = ("ldl", "hdl", "systolic")
SETTINGS = ({"k": 3, "t": 0.2}, {"k": 5, "t": 0.2}, {"k": 5, "t": 0.15}, {"k": 10, "t": 0.2})
SEEDS = (1, 2, 3)


def visits(patients: int) -> pl.DataFrame:
    """Return several rows for each patient."""
    random, table = np.random.default_rng(7), hospital(patients, seed=5)
    rows = np.repeat(np.arange(patients), random.integers(1, 6, size=patients))
    shuffled = [table[name][random.integers(0, patients, size=len(rows))] for name in LABS]
    return table[rows].with_columns(*shuffled)


def policy(k: int, t: float) -> tclose.Policy:
    """Return what is asked of each release: k persons, and t of each lab value."""
    return tclose.Policy.from_dict(
        {
            "identifiers": ["name", "ssn"],
            "person": "ssn",
            "k": k,
            "others": "drop",
            "quasi": {"zip": {"hierarchy": {"prefix": [5, 3, 1]}}, "age": {}, "sex": {}},
            "sensitive": {name: {"t": t} for name in LABS},
        }
    )


def losses(table: pl.DataFrame, asked: tclose.Policy) -> Iterator[tuple[float, float]]:
    """Yield the detail lost and the CPU seconds of each seed."""
    for seed in SEEDS:
        start = time.process_time()
        release = tclose.anonymize(table, asked, seed=seed)
        yield release.certificate.measures["gcp"], time.process_time() - start


def main() -> None:
    """Print one line per policy."""
    warnings.simplefilter("ignore", tclose.LeakWarning)
    table, weave = visits(int(sys.argv[1]) if len(sys.argv) > 1 else 3000), METHODS["weave"]
    next(losses(table[:500], policy(3, 0.2)))  # kernels are compiled now
    print(f"{table.height:,} rows of {table['ssn'].n_unique():,} persons")
    print("| k persons, t | GCP, merged afterwards | CPU s | GCP, persons inside weave | CPU s |\n" + "|---" * 5 + "|")
    for setting in SETTINGS:
        figures: list[float] = []
        for inside in (False, True):
            METHODS["weave"] = replace(weave, counts_persons=inside)
            figures += np.median(list(losses(table, policy(**setting))), axis=0).tolist()
        before, seconds_before, after, seconds_after = figures
        print(
            f"| {setting['k']}, {setting['t']} | {before:.4f} | {seconds_before:.1f} | {after:.4f} | "
            f"{seconds_after:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
