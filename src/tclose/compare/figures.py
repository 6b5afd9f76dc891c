"""The figures of a trial that terminal and page show, in this order: each has its headings and its spelling.

A measure of what a release costs is shown as its registry declares it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tclose.compare.trial import COMPARED, Trial
from tclose.measure.utility import Measure

Value = Callable[[Trial], float | int | None]


@dataclass(frozen=True)
class TrialFigure:
    """One figure of a trial."""

    short: str  # heads a column in a terminal
    title: str  # heads a column on a page
    meaning: str
    value: Value
    spelling: str  # as in `format`

    @classmethod
    def of_measure(cls, measure: Measure) -> TrialFigure:
        """Return the figure that a measure declares."""

        def value(trial: Trial) -> float | None:
            return trial.measures.get(measure.name)

        return cls(measure.short, measure.title, f"{measure.title}, {measure.scale}", value, measure.spelling)

    def spelled(self, trial: Trial) -> str:
        """Return a trial's figure as people read it; nothing where it has none."""
        figure = self.value(trial)
        return "" if figure is None else format(figure, self.spelling)


FIGURES = (
    TrialFigure("classes", "classes", "number of classes", lambda trial: trial.classes, ",d"),
    TrialFigure("average", "rows per class", "average rows per class", lambda trial: trial.average_class, ",.1f"),
    TrialFigure("smallest", "smallest class", "rows in the smallest class", lambda trial: trial.smallest_class, ",d"),
    TrialFigure("withheld", "rows withheld", "rows withheld", lambda trial: trial.withheld, ",d"),
    *(TrialFigure.of_measure(measure) for measure in COMPARED),
    TrialFigure(
        "queries",
        "error of counts",
        "median relative error of counts, from 0, lower is better",
        lambda trial: trial.query_error,
        ".4f",
    ),
    TrialFigure("s", "seconds", "seconds", lambda trial: trial.seconds, ".1f"),
    TrialFigure("MB", "memory (MB)", "peak memory in megabytes", lambda trial: trial.peak_megabytes, ",.0f"),
)


def figures_of(trials: tuple[Trial, ...]) -> tuple[TrialFigure, ...]:
    """Return the figures that say something about these trials: without rows withheld where no trial withholds any."""
    withholds = any(trial.withheld for trial in trials)
    return tuple(figure for figure in FIGURES if figure.short != "withheld" or withholds)
