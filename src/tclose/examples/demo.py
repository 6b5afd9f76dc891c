"""The files of the demonstration: a made-up hospital table, its policy and the hierarchy that the policy names."""

from __future__ import annotations

import shutil
from importlib.resources import as_file, files
from pathlib import Path

from tclose.examples.hospital import hospital

NAMES = ("hospital.csv", "policy.toml", "diagnosis.csv")


def write_example(folder: Path, *, rows: int, seed: int) -> tuple[Path, Path]:
    """Write the table, the policy and the hierarchy; return the paths of the first two."""
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / NAMES[0]
    with table.open("wb") as file:  # polars takes no path that is not UTF-8
        hospital(rows, seed=seed).write_csv(file)
    for name in NAMES[1:]:
        with as_file(files("tclose.examples") / name) as source:
            shutil.copyfile(source, folder / name)
    return table, folder / "policy.toml"
