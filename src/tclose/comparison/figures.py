"""The figures of a trial that terminal and page show, in this order: each has its headings and its spelling.

A measure of what a release costs is shown as its registry declares it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tclose.comparison.trial import COMPARED, Trial
from tclose.measure.utility import Measure
from tclose.policy import Policy
from tclose.words import lowered_loss

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


def figures_of(trials: tuple[Trial, ...], policy: Policy) -> tuple[TrialFigure, ...]:
    """Return the figures that say something about these trials.

    Rows withheld are shown where some trial withholds any, an optional measure where some trial has it, and the loss
    that the policy chooses where it is another figure than the detail lost.
    """
    withholds = any(trial.withheld for trial in trials)
    absent = {m.short for m in COMPARED if m.optional and all(trial.measures.get(m.name) is None for trial in trials)}
    absent |= set() if withholds else {"withheld"}
    figures = tuple(figure for figure in FIGURES if figure.short not in absent)
    return figures if policy.loses_gcp else (_chosen(policy), *figures)


def _chosen(policy: Policy) -> TrialFigure:
    """Return the loss that the policy chooses, by which methods are ranked."""
    title, spelling = lowered_loss(policy.chosen_loss), ",.0f" if policy.loss == "discernibility" else ".4f"
    meaning = f"the policy's loss: {title}, lower is better"
    return TrialFigure("loss", "loss by the policy", meaning, lambda trial: trial.loss, spelling)
