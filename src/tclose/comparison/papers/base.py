"""What an experiment is and what it returns: figures beside the paper's, and charts of what a paper draws."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tclose.errors import GapWarning, InputError, LeakWarning
from tclose.table import read
from tclose.types import Floats, Progress

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
            raise InputError(f"{name} is not the table that the paper uses: it has no column '{absent[0]}'")
        try:
            cells = np.asarray(frame[chosen].to_numpy(), dtype=np.float64)  # a CSV file is read as text
        except ValueError:
            cells = np.full((1, 1), np.nan)
        if not np.isfinite(cells).all():
            raise InputError(f"{name} is not the table that the paper uses: some cells are no numbers")
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
