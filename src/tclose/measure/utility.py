"""What a release costs: each measure declares its name, its direction and its range."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tclose.types import Floats, Ints

DIGITS = 4  # a longer figure could be solved for cells that are not published


@dataclass(frozen=True, eq=False)
class Outcome:
    """A partition as measures see it: sizes, losses and places of its classes."""

    sizes: Ints  # rows of each published class
    losses: Sequence[Floats]  # per quasi-identifier, the NCP of each class
    withheld: int
    k: int
    labels: Ints  # class of every published row
    points: Floats  # rows × numeric quasi-identifiers; may have no columns

    @property
    def rows(self) -> int:
        """All rows of the input."""
        return int(self.sizes.sum()) + self.withheld


@dataclass(frozen=True)
class Measure:
    """One figure: which way is better, between which bounds."""

    name: str
    title: str
    better: Literal["lower", "higher"]
    low: float
    high: float | None
    compute: Callable[[Outcome], float | None]


def gcp(outcome: Outcome) -> float:
    """Return the global certainty penalty: the mean NCP over rows and quasi-identifiers; a withheld row counts 1."""
    if not outcome.losses:
        return 0.0
    per_row = sum(float(outcome.sizes @ loss) for loss in outcome.losses) / len(outcome.losses)
    return (per_row + outcome.withheld) / outcome.rows


def discernibility(outcome: Outcome) -> float:
    """Return Σ size², plus withheld·rows."""
    return float((outcome.sizes.astype(object) ** 2).sum() + outcome.withheld * outcome.rows)


def average_class(outcome: Outcome) -> float:
    """Return rows per class over k."""
    return outcome.rows / len(outcome.sizes) / outcome.k


def squared_error(outcome: Outcome) -> float | None:
    """Return the squared distance to the class means on z-scores, as a share of that of one class."""
    points = outcome.points
    deviation = points.std(axis=0) if points.size else np.zeros(0)
    points = points[:, deviation > 0]
    if not points.shape[1]:
        return None
    scores = (points - points.mean(axis=0)) / deviation[deviation > 0]
    sums = np.stack([np.bincount(outcome.labels, weights=column) for column in scores.T])
    whole = float((scores**2).sum())
    return max(1 - float((sums**2 / outcome.sizes).sum()) / whole, 0.0)  # rounding may leave less than nothing


MEASURES = (
    Measure("gcp", "detail lost (GCP)", "lower", 0.0, 1.0, gcp),
    Measure("sse", "information loss (squared error)", "lower", 0.0, 1.0, squared_error),
    Measure("discernibility", "discernibility", "lower", 0.0, None, discernibility),
    Measure("c_avg", "average class size over k", "lower", 0.0, None, average_class),
)


def measured(outcome: Outcome) -> dict[str, float | None]:
    """Return every measure by its name; none where a table has nothing to measure it on."""
    figures = {measure.name: measure.compute(outcome) for measure in MEASURES}
    return {name: None if figure is None else round(figure, DIGITS) for name, figure in figures.items()}


def class_sizes(outcome: Outcome) -> dict[str, float]:
    """Return how large the classes are."""
    smallest, median, largest = np.quantile(outcome.sizes, [0, 0.5, 1])
    return {"smallest": int(smallest), "median": float(median), "largest": int(largest)}
