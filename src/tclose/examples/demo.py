"""The files of the demonstration: a made-up hospital table, its policy and the hierarchy that the policy names."""

from __future__ import annotations

import shutil
from importlib.resources import as_file, files
from pathlib import Path

from tclose.examples.hospital import hospital


def write_example(folder: Path, *, rows: int, seed: int) -> tuple[Path, Path]:
    """Write the table, the policy and the hierarchy; return the paths of the first two."""
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / "hospital.csv"
    hospital(rows, seed=seed).write_csv(table)
    for name in ("policy.toml", "diagnosis.csv"):
        with as_file(files("tclose.examples") / name) as source:
            shutil.copyfile(source, folder / name)
    return table, folder / "policy.toml"
