"""`tclose reproduce`: some of the papers' experiments, or all, one after the other.

An experiment returns figures beside the paper's, and charts of what the paper draws.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tclose.errors import GapWarning, InputError, LeakWarning, PolicyError, did_you_mean
from tclose.release.files import check_targets
from tclose.table import read
from tclose.types import Floats, Progress, silent, stretch

# What an experiment is and what it returns


CURVE = "a curve only"  # the paper draws the figure and prints no number
NOT_GIVEN = "–"  # the paper has no such figure


@dataclass(frozen=True)
class PaperFigure:
    """One figure: what it is, what the paper prints, what comes out here, and why the two differ."""

    what: str
    paper: str
    ours: str
    remark: str = ""


@dataclass(frozen=True)
class ChartLine:
    """One line of a chart, from left to right."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class LineChart:
    """Lines over the same axis; of all that is drawn so far, lower is better."""

    caption: str
    across: str  # what the horizontal axis measures
    upward: str  # what the vertical axis measures, with its unit; lower is better
    lines: tuple[ChartLine, ...]
    scale: Literal["linear", "log"] = "linear"


@dataclass(frozen=True)
class ExperimentPart:
    """One question of an experiment: its figures, and charts where the paper draws some."""

    title: str
    text: str
    figures: tuple[PaperFigure, ...]
    charts: tuple[LineChart, ...] = ()


@dataclass(frozen=True)
class DataFolder:
    """The folder with the tables that the papers use."""

    path: Path

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def missing(self, names: Sequence[str]) -> list[str]:
        """Return which of these files are not there."""
        return [name for name in names if not (self.path / name).is_file()]

    def read(self, name: str) -> Any:
        """Read one of the tables."""
        return read(self.path / name)

    def numbers(self, name: str, columns: Sequence[str] = (), *, without: Sequence[str] = ()) -> Floats:
        """Return some columns of a table, or all but some, as numbers: rows × columns."""
        frame = self.read(name)
        chosen = [*columns] or [column for column in frame.columns if column not in without]
        if absent := [column for column in chosen if column not in frame.columns]:
            raise InputError(
                "{name} is not the table that the paper uses: it has no column '{absent}'", name=name, absent=absent[0]
            )
        try:
            cells = np.asarray(frame[chosen].to_numpy(), dtype=np.float64)  # a CSV file is read as text
        except ValueError:
            cells = np.full((1, 1), np.nan)
        if not np.isfinite(cells).all():
            raise InputError("{name} is not the table that the paper uses: some cells are no numbers", name=name)
        return cells


@dataclass(frozen=True)
class Experiment:
    """A paper's experiment: its name on the command line, the paper, the files that it reads, and how it is run."""

    name: str
    title: str
    paper: str
    files: tuple[str, ...]
    run: Callable[[DataFolder, Progress], tuple[ExperimentPart, ...]]


@dataclass(frozen=True)
class ExperimentOutcome:
    """What an experiment came to, and how long it took."""

    experiment: Experiment
    parts: tuple[ExperimentPart, ...]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        about = {"name": self.experiment.name, "paper": self.experiment.paper, "seconds": round(self.seconds, 1)}
        return {**about, "parts": [asdict(part) for part in self.parts]}


@contextmanager
def no_release() -> Iterator[None]:
    """Leave out what is said of releases: an experiment publishes nothing, so a known seed does no harm."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)
        warnings.simplefilter("ignore", GapWarning)
        yield


# Run experiments


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
        from tclose.report.comparison_pages import reproduction_page
        from tclose.report.page import save

        save(reproduction_page(self), path, force=force)

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {"experiments": [outcome.to_dict() for outcome in self.outcomes]}


def experiments(name: str) -> list[Experiment]:
    """Return the experiment of this name, or all of them."""
    if name != ALL and name not in MODULES:
        known = (*MODULES, ALL)
        hint = did_you_mean(name, known) or f"; known are {', '.join(known)}"
        raise PolicyError("there is no experiment '{name}'{hint}", name=name, hint=hint)
    chosen = MODULES if name == ALL else [name]
    return [import_module(f"tclose.papers.{MODULES[each]}").EXPERIMENT for each in chosen]


def check_files(chosen: Sequence[Experiment], data: Path) -> DataFolder:
    """Say which files are needed and not there, before any work."""
    folder, needed = DataFolder(data), dict.fromkeys(name for experiment in chosen for name in experiment.files)
    if absent := folder.missing([*needed]):
        names = ", ".join(experiment.name for experiment in chosen if folder.missing(experiment.files))
        raise InputError(
            "{names}: put {absent} into {data}, or name their folder with --data (docs/papers.md says where "
            "they come from)",
            names=names,
            absent=", ".join(absent),
            data=data,
        )
    return folder


def reproduce(
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
