"""What a release costs: the measures that a certificate holds, and their registry.

A new measure is a function and an entry of `MEASURES`. Certificate, terminal, page and comparison read the entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

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


class Measurable(Protocol):
    """What measures are computed from: of all classes together, apart from their sizes."""

    @property
    def sizes(self) -> Ints:
        """Rows of each published class."""

    @property
    def withheld(self) -> int:
        """Rows that are not published."""

    @property
    def k(self) -> int:
        """Rows that each class must have."""

    @property
    def weights(self) -> Sequence[float]:
        """Of the quasi-identifiers, where the policy gives them different ones."""

    @property
    def lost(self) -> Sequence[float]:
        """The NCP of all published rows, per quasi-identifier."""

    @property
    def spreads(self) -> Iterable[Spread]:
        """The squared errors of the numeric quasi-identifiers that vary."""

    @property
    def rows(self) -> int:
        """All rows of the input."""


@dataclass(frozen=True)
class Spread:
    """The squared distances of a number's z-scores from their mean: those of the class means, and those of all rows."""

    between: float
    whole: float


@dataclass(frozen=True, eq=False)
class SummedPartition:
    """A partition whose classes are not all at hand: what they lose was added up."""

    sizes: Ints
    lost: Sequence[float]
    spreads: Sequence[Spread]
    withheld: int
    k: int
    weights: Sequence[float] = ()

    @property
    def rows(self) -> int:
        """All rows of the input."""
        return int(self.sizes.sum()) + self.withheld


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

    @property
    def lost(self) -> list[float]:
        """The NCP of all published rows, per quasi-identifier."""
        return [float(self.sizes @ loss) for loss in self.losses]

    @property
    def spreads(self) -> Iterator[Spread]:
        """The squared errors of the numeric quasi-identifiers that vary."""
        for column in self.numbers:
            counts = np.bincount(column.codes % len(column.places), minlength=len(column.places))
            if (scores := z_scores(column.places, counts)) is not None:
                sums = np.bincount(self.labels, weights=scores[column.codes])
                yield Spread(float((sums**2 / self.sizes).sum()), float(counts @ scores**2))


def z_scores(places: Floats, counts: Ints) -> Floats | None:
    """Return places, with so many rows at each, in standard deviations from their mean; None if all are equal."""
    if not np.ptp(places[counts > 0]):
        return None
    away = places - float(counts @ places) / counts.sum()
    return np.asarray(away / np.sqrt(float(counts @ away**2) / counts.sum()))


@dataclass(frozen=True, kw_only=True)
class Measure(Declaration):
    """One measure of what a release costs; None where a table has nothing to measure it on."""

    compute: Callable[[Measurable], float | None]
    spelling: str = ".4f"  # of a figure in a narrow column
    compared: bool = True  # whether a comparison of methods shows it
    of_sizes: bool = False  # whether it looks at the sizes of classes alone
    optional: bool = False  # whether a release goes without it where there is nothing to measure


def gcp(partition: Measurable) -> float:
    """Return the global certainty penalty: the mean NCP over rows and quasi-identifiers; a withheld row counts 1."""
    if not (lost := partition.lost):
        return 0.0
    return (sum(lost) / len(lost) + partition.withheld) / partition.rows


def weighted_gcp(partition: Measurable) -> float | None:
    """Return the weighted mean of the NCP, Σw·NCP/Σw, where quasi-identifiers have different weights."""
    if not (weights := partition.weights):
        return None
    weighted = (weight * lost for weight, lost in zip(weights, partition.lost, strict=True))
    return (sum(weighted) / sum(weights) + partition.withheld) / partition.rows


def discernibility(partition: Measurable) -> float:
    """Return Σ size², plus withheld·rows."""
    return float((partition.sizes.astype(object) ** 2).sum() + partition.withheld * partition.rows)


def average_class(partition: Measurable) -> float:
    """Return rows per class over k."""
    return partition.rows / len(partition.sizes) / partition.k


def squared_error(partition: Measurable) -> float | None:
    """Return the squared distance to the class means on z-scores, as a share of that of one class."""
    between = whole = 0.0
    for spread in partition.spreads:
        between, whole = between + spread.between, whole + spread.whole
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


def measured(partition: Measurable) -> dict[str, float | None]:
    """Return every measure by its name; None where a table has nothing to measure it on, unless it is optional."""
    figures = {measure: rounded(measure.compute(partition)) for measure in MEASURES}
    return {measure.name: figure for measure, figure in figures.items() if figure is not None or not measure.optional}


def class_sizes(partition: Measurable) -> dict[str, float]:
    """Return how large the classes are, in rows."""
    smallest, median, largest = np.quantile(partition.sizes, [0, 0.5, 1])
    return {"smallest": int(smallest), "median": float(median), "largest": int(largest)}
