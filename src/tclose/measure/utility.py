"""What a release costs: the measures that a certificate holds, and their registry.

A new measure is a function and an entry of `MEASURES`. Certificate, terminal, page and comparison read the entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tclose.measure.base import Declaration, rounded
from tclose.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class NumberPlaces:
    """A numeric quasi-identifier: where its different values lie, and which of them each published row has."""

    places: Floats
    codes: Ints  # -1 is the last place

    @classmethod
    def of_points(cls, points: Floats) -> NumberPlaces:
        """Take the place of each row."""
        return cls(points, np.arange(len(points)))


@dataclass(frozen=True, eq=False)
class MeasuredPartition:
    """A partition as measures see it: sizes, losses and places of its classes."""

    sizes: Ints  # rows of each published class
    losses: Sequence[Floats]  # per quasi-identifier, the NCP of each class
    withheld: int
    k: int
    labels: Ints  # class of every published row
    numbers: Sequence[NumberPlaces]  # the numeric quasi-identifiers
    weights: Sequence[float] = ()  # of the quasi-identifiers, where the policy gives them different ones

    @property
    def rows(self) -> int:
        """All rows of the input."""
        return int(self.sizes.sum()) + self.withheld


@dataclass(frozen=True, kw_only=True)
class Measure(Declaration):
    """One measure of what a release costs; None where a table has nothing to measure it on."""

    compute: Callable[[MeasuredPartition], float | None]
    spelling: str = ".4f"  # of a figure in a narrow column
    compared: bool = True  # whether a comparison of methods shows it
    of_sizes: bool = False  # whether it looks at the sizes of classes alone
    optional: bool = False  # whether a release goes without it where there is nothing to measure


def gcp(partition: MeasuredPartition) -> float:
    """Return the global certainty penalty: the mean NCP over rows and quasi-identifiers; a withheld row counts 1."""
    if not partition.losses:
        return 0.0
    per_row = sum(float(partition.sizes @ loss) for loss in partition.losses) / len(partition.losses)
    return (per_row + partition.withheld) / partition.rows


def weighted_gcp(partition: MeasuredPartition) -> float | None:
    """Return the weighted mean of the NCP, Σw·NCP/Σw, where quasi-identifiers have different weights."""
    if not partition.weights:
        return None
    weighted = (weight * float(partition.sizes @ loss) for weight, loss in _weighted(partition))
    return (sum(weighted) / sum(partition.weights) + partition.withheld) / partition.rows


def _weighted(partition: MeasuredPartition) -> Iterator[tuple[float, Floats]]:
    return zip(partition.weights, partition.losses, strict=True)


def discernibility(partition: MeasuredPartition) -> float:
    """Return Σ size², plus withheld·rows."""
    return float((partition.sizes.astype(object) ** 2).sum() + partition.withheld * partition.rows)


def average_class(partition: MeasuredPartition) -> float:
    """Return rows per class over k."""
    return partition.rows / len(partition.sizes) / partition.k


def squared_error(partition: MeasuredPartition) -> float | None:
    """Return the squared distance to the class means on z-scores, as a share of that of one class."""
    between = whole = 0.0
    for column in partition.numbers:
        counts = np.bincount(column.codes % len(column.places), minlength=len(column.places))
        if not np.ptp(column.places[counts > 0]):
            continue
        away = column.places - float(counts @ column.places) / counts.sum()
        scores = away / np.sqrt(float(counts @ away**2) / counts.sum())
        sums = np.bincount(partition.labels, weights=scores[column.codes])
        between += float((sums**2 / partition.sizes).sum())
        whole += float(counts @ scores**2)
    return max(1 - between / whole, 0.0) if whole else None  # rounding may leave less than nothing


MEASURES = (
    Measure(
        name="gcp",
        title="detail lost (GCP)",
        short="GCP",
        meaning="The mean share of detail that a cell of a quasi-identifier loses; a withheld row loses everything.",
        better="lower",
        low=0.0,
        high=1.0,
        compute=gcp,
    ),
    Measure(
        name="weighted_gcp",
        title="detail lost, weighted",
        short="weighted",
        meaning="The same with the policy's weights: the sum of weight times share lost, over the sum of the weights.",
        better="lower",
        low=0.0,
        high=1.0,
        compute=weighted_gcp,
        optional=True,
    ),
    Measure(
        name="sse",
        title="information loss (squared error)",
        short="SSE",
        meaning="The squared distance of numeric quasi-identifiers to their class means, as a share of that of one "
        "class of all rows.",
        better="lower",
        low=0.0,
        high=1.0,
        compute=squared_error,
    ),
    Measure(
        name="discernibility",
        title="discernibility",
        short="discern.",
        meaning="The sum of the squared class sizes; a withheld row adds the number of all rows.",
        better="lower",
        low=0.0,
        high=None,
        compute=discernibility,
        spelling=".2e",
        of_sizes=True,
    ),
    Measure(
        name="c_avg",
        title="average class size, as a multiple of k",
        short="C_avg",
        meaning="The number of rows per class, divided by k.",
        better="lower",
        low=0.0,
        high=None,
        compute=average_class,
        compared=False,  # a comparison shows the average number of rows per class
        of_sizes=True,
    ),
)


def measured(partition: MeasuredPartition) -> dict[str, float | None]:
    """Return every measure by its name; None where a table has nothing to measure it on, unless it is optional."""
    figures = {measure: rounded(measure.compute(partition)) for measure in MEASURES}
    return {measure.name: figure for measure, figure in figures.items() if figure is not None or not measure.optional}


def class_sizes(partition: MeasuredPartition) -> dict[str, float]:
    """Return how large the classes are, in rows."""
    smallest, median, largest = np.quantile(partition.sizes, [0, 0.5, 1])
    return {"smallest": int(smallest), "median": float(median), "largest": int(largest)}
