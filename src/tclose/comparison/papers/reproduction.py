"""`tclose reproduce`: some of the experiments, or all, one after the other."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tclose.comparison.papers.base import DataFolder, Experiment, ExperimentOutcome
from tclose.errors import InputError, PolicyError, did_you_mean
from tclose.release.files import check_targets
from tclose.types import Progress, silent, stretch

ALL = "all"
MODULES: Mapping[str, str] = {  # where each experiment is, in the order in which they run
    "li-2007": "li_2007",
    "weber": "weber",
    "liang-yuan": "liang_yuan",
    "soria-comas": "soria_comas",
}
SHARES: Mapping[str, float] = {"li-2007": 0.2, "weber": 0.6, "liang-yuan": 0.15, "soria-comas": 0.05}  # of the time


@dataclass(frozen=True)
class Reproduction:
    """What the experiments came to."""

    outcomes: tuple[ExperimentOutcome, ...]

    def report(self, path: str | Path, *, force: bool = True) -> None:
        """Write one HTML page with every figure; without `force`, an existing file is refused."""
        from tclose.report.page import save
        from tclose.report.reproduction_page import reproduction_page

        save(reproduction_page(self), path, force=force)

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {"experiments": [outcome.to_dict() for outcome in self.outcomes]}


def experiments(name: str) -> list[Experiment]:
    """Return the experiment of this name, or all of them."""
    if name != ALL and name not in MODULES:
        known = (*MODULES, ALL)
        hint = did_you_mean(name, known) or f"; known are {', '.join(known)}"
        raise PolicyError(f"there is no experiment '{name}'{hint}")
    chosen = MODULES if name == ALL else [name]
    return [import_module(f"tclose.comparison.papers.{MODULES[each]}").EXPERIMENT for each in chosen]


def check_files(chosen: Sequence[Experiment], data: Path) -> DataFolder:
    """Say which files are needed and not there, before any work."""
    folder, needed = DataFolder(data), dict.fromkeys(name for experiment in chosen for name in experiment.files)
    if absent := folder.missing([*needed]):
        names = ", ".join(experiment.name for experiment in chosen if folder.missing(experiment.files))
        raise InputError(
            f"{names}: put {', '.join(absent)} into {data}, or name their folder with --data "
            "(docs/papers.md says where they come from)"
        )
    return folder


def reproduced(
    name: str, *, data: Path, out: str | Path | None = None, force: bool = False, progress: Progress = silent
) -> Reproduction:
    """Run one experiment, or all, on the tables of a folder; no release is written.

    `out` is a page to write. Without `force`, an existing file is refused, before any work.
    """
    chosen = experiments(name)
    folder = check_files(chosen, data)
    if out is not None:
        from tclose.report.charts import libraries

        libraries()
        check_targets([Path(out)], force=force)
    found = Reproduction(_outcomes(chosen, folder, progress))
    if out is not None:
        found.report(out, force=force)
    return found


def _outcomes(chosen: Sequence[Experiment], folder: DataFolder, progress: Progress) -> tuple[ExperimentOutcome, ...]:
    outcomes, done = [], 0.0
    whole = sum(SHARES[experiment.name] for experiment in chosen)
    for experiment in chosen:
        share = SHARES[experiment.name] / whole
        started = time.perf_counter()
        parts = experiment.run(folder, stretch(progress, done, done + share))
        outcomes.append(ExperimentOutcome(experiment, parts, time.perf_counter() - started))
        done += share
    progress(1.0, "done")
    return tuple(outcomes)
