"""Information loss: GCP and the other measures of what a release costs, the policy's own loss, and total loss.

GCP (global certainty penalty) is the mean NCP of all rows and quasi-identifiers. Every measure declares its name, its
direction and its range. A new measure is a function and an entry of `MEASURES`; certificate, terminal, page and
comparison read the entry.

The loss that a policy chooses is what weave lowers, and what a comparison ranks by. Every quasi-identifier loses a
share between 0 and 1, and the loss is their mean, weighted as the policy says. By `gcp` that share is the NCP. By `sse`
a number loses the squared distance to its class mean, as a share of that of one class; labels and texts lose their NCP.
By `queries` the share is the chance that a random range cuts the rows' box, so the loss is the expected share of rows
that a random range cuts. A number that is published as its class mean always loses its squared distance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol

import numpy as np

from tclose.policy import Policy
from tclose.table import CodedTable
from tclose.table.classes import Classes
from tclose.table.quasi import LabelColumn, NumberColumn, QuasiColumn, extremes_of
from tclose.table.random_ranges import RangeChances, chances_of
from tclose.types import Floats, Ints
from tclose.words import direction, level_that_keeps, lost_everything

# What every measure declares


DIGITS = 4  # a longer figure could be solved for cells that are not published
Direction = Literal["lower", "higher"]


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """A figure's name in JSON, its words for people, its range, and which direction is better."""

    name: str
    title: str
    short: str  # heads a narrow column
    meaning: str  # one sentence
    better: Direction
    low: float
    high: float | None

    @property
    def scale(self) -> str:
        """The range and the better direction, in words."""
        return direction(self.better, self.low, self.high)


def rounded(figure: float | None) -> float | None:
    """Return a figure as it is written; None where a table has nothing to measure it on."""
    return None if figure is None else round(figure, DIGITS)


# The measures that a certificate holds


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
    def spreads(self) -> Iterable[SquaredSpread]:
        """The squared errors of the numeric quasi-identifiers that vary."""

    @property
    def rows(self) -> int:
        """All rows of the input."""


@dataclass(frozen=True)
class SquaredSpread:
    """The squared distances of a number's z-scores from their mean: those of the class means, and those of all rows."""

    between: float
    whole: float


@dataclass(frozen=True, eq=False)
class SummedPartition:
    """A partition whose classes are not all at hand: what they lose was added up."""

    sizes: Ints
    lost: Sequence[float]
    spreads: Sequence[SquaredSpread]
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
    def spreads(self) -> Iterator[SquaredSpread]:
        """The squared errors of the numeric quasi-identifiers that vary."""
        for column in self.numbers:
            counts = np.bincount(column.codes % len(column.places), minlength=len(column.places))
            if (scores := z_scores(column.places, counts)) is not None:
                sums = np.bincount(self.labels, weights=scores[column.codes])
                yield SquaredSpread(float((sums**2 / self.sizes).sum()), float(counts @ scores**2))


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


def measures_of(partition: Measurable) -> dict[str, float | None]:
    """Return every measure by its name; None where a table has nothing to measure it on, unless it is optional."""
    figures = {measure: rounded(measure.compute(partition)) for measure in MEASURES}
    return {measure.name: figure for measure, figure in figures.items() if figure is not None or not measure.optional}


def class_sizes(partition: Measurable) -> dict[str, float]:
    """Return how large the classes are, in rows."""
    smallest, median, largest = np.quantile(partition.sizes, [0, 0.5, 1])
    return {"smallest": int(smallest), "median": float(median), "largest": int(largest)}


# The loss that a policy chooses


def chosen_loss(table: CodedTable, policy: Policy, classes: Classes, partition: MeasuredPartition) -> float:
    """Return the loss that the policy chooses; a withheld row loses everything."""
    if policy.loss == "discernibility":
        return discernibility(partition)
    losses = _losses(table, policy, classes, partition.losses)
    return _weighted([None if loss is None else float(classes.sizes @ loss) for loss in losses], policy, partition)


def summed_loss(policy: Policy, partition: SummedPartition, squared: Mapping[int, float | None]) -> float | None:
    """Return the loss that the policy chooses, of classes that were added up; that of queries only the rows tell.

    `squared` are the squared errors of numeric quasi-identifiers, by their places; None where one does not vary.
    """
    if policy.loss == "queries":
        return None
    if policy.loss == "discernibility":
        return discernibility(partition)
    lost: list[float | None] = list(partition.lost)
    for place, spec in enumerate(policy.quasi.values()):
        if place in squared and (policy.loss == "sse" or spec.publish == "mean"):
            lost[place] = squared[place]
    return _weighted(lost, policy, partition)


def _weighted(lost: Sequence[float | None], policy: Policy, partition: Measurable) -> float:
    """Return the mean of what all rows lose on each quasi-identifier, weighted; None counts nowhere."""
    weights = [
        float(spec.weight) if loss is not None else 0.0 for spec, loss in zip(policy.quasi.values(), lost, strict=True)
    ]
    if not sum(weights):
        return partition.withheld / partition.rows
    per_row = [0.0 if loss is None else loss for loss in lost]
    return float((np.dot(weights, per_row) / sum(weights) + partition.withheld) / partition.rows)


def _losses(table: CodedTable, policy: Policy, classes: Classes, ncp: Sequence[Floats]) -> list[Floats | None]:
    """Return what each class loses on each quasi-identifier, given what it loses by NCP; None where none can lose."""
    columns, losses = list(table.quasi.values()), list[Floats | None](ncp)
    if policy.loss == "queries":
        chances = chances_of(columns, list(table.sensitive.values()))
        losses = [cut_chances(column, chance, classes) for column, chance in zip(columns, chances, strict=True)]
    for q, column in enumerate(columns):
        if isinstance(column, NumberColumn) and (policy.loss == "sse" or column.spec.publish == "mean"):
            losses[q] = _squared_error(column, classes)
    return losses


def _squared_error(column: NumberColumn, classes: Classes) -> Floats | None:
    """Return the mean squared distance to each class's mean, in squared deviations; None of a constant column."""
    points = column.points()
    if not (deviation := float(points.std())):
        return None
    places = (points - points.mean()) / deviation
    labels, sizes = classes.labels_by_row(), classes.sizes
    means = np.bincount(labels, weights=places) / sizes
    return np.asarray(np.bincount(labels, weights=(places - means[labels]) ** 2) / sizes)


def cut_chances(column: QuasiColumn, chances: RangeChances, classes: Classes) -> Floats | None:
    """Return, per class, the chance that a random range cuts what it publishes; None of a column without ranges.

    A missing cell lies in no range, so it is no part of what can be cut.
    """
    if not chances.varies:
        return None
    if isinstance(column, LabelColumn):
        return _cut_labels(column, chances, classes)
    if isinstance(column, NumberColumn):
        ends = extremes_of(column.codes, classes)
        known = ends.high >= 0
        low, high = np.where(known, ends.low, 0), np.where(known, ends.high, 0)
        return chances.cut_box(low, high)
    codes, starts = column.members(classes)
    members = np.split(codes, starts[1:])
    return np.array([chances.cut_set(values[values >= 0].tolist()) for values in members])


def _cut_labels(column: LabelColumn, chances: RangeChances, classes: Classes) -> Floats:
    """Return the chance that a random range cuts the leaves below each class's label."""
    height, node, _ = column.nodes(classes)
    low, high = np.zeros(len(classes), dtype=np.int64), np.zeros(len(classes), dtype=np.int64)
    for h, level in enumerate(column.hierarchy.levels):
        here = (height == h) & (node >= 0)
        low[here] = np.searchsorted(level, node[here], "left")
        high[here] = np.searchsorted(level, node[here], "right") - 1
    return chances.cut_box(low, high)


# The reconstruction error of anatomy (Xiao & Tao 2006)


def reconstruction_error(labels: Ints, codes: Ints) -> float:
    """Return the paper's reconstruction error per row: 0 where every row's value is known, below 1 always.

    A reader gives a row each value of its group with the share p that the value has there. The squared error,
    (1 − p)² for the true value and p² for each other, adds up to s·(1 − Σp²) over a group of s rows.

    >>> reconstruction_error(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 0]))
    0.25
    """
    width = int(codes.max()) + 1
    cells, counts = np.unique(labels * width + codes, return_counts=True)
    sizes = np.bincount(labels)
    return 1 - float((counts**2 / sizes[cells // width]).sum()) / len(labels)


# Releases that lost everything


TOTAL_LOSS = 0.95  # a release that loses at least this share of detail (GCP) has lost everything
KEPT_SHARE = 0.25  # share of detail that the estimated t keeps at least


@dataclass(frozen=True)
class LevelEstimate:
    """The smallest thresholds, all scaled by one factor, that keep a quarter of the detail of a sample."""

    levels: Mapping[str, Fraction] | None  # t of each attribute; None where even t = 1 keeps less
    kept: float  # share of detail that they keep on the sample, from 0 to 1
    rows: int  # of the sample
    of: int  # rows of the table

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        levels = None if self.levels is None else {name: float(t) for name, t in self.levels.items()}
        return {"t": levels, "detail_kept": round(self.kept, 4), "sample_rows": self.rows, "rows": self.of}


@dataclass(frozen=True)
class LostDetail:
    """How much detail a table of a release lost, and which t would keep some where it lost everything."""

    rows: int
    one_class: bool  # whether all rows are in one class
    gcp: float
    withheld: int = 0  # rows of the input that are not in it
    linked: bool = True  # whether its rows show quasi-identifiers; those of an anatomy show a group
    table: int | None = None  # which of several tables, counted from 1
    estimate: LevelEstimate | None = None  # None where no t was estimated

    @property
    def everything(self) -> bool:
        """Whether the table lost everything.

        It did if almost no detail is left, or if all rows are in one class that is less exact than the rows were: a
        class of rows that were alike from the beginning loses nothing.
        """
        return self.gcp >= TOTAL_LOSS or (self.one_class and self.rows > 1 and (self.gcp > 0 or not self.linked))

    @property
    def sentence(self) -> str:
        """What was lost."""
        return lost_everything(
            self.rows,
            self.gcp,
            one_class=self.one_class,
            withheld=self.withheld,
            linked=self.linked,
            table=self.table,
        )

    @property
    def withheld_most(self) -> bool:
        """Whether it lost everything because most rows are withheld: a larger t would not be the cure."""
        return self.withheld > self.rows

    @property
    def advice(self) -> str:
        """Which t would keep detail, as far as it was estimated."""
        if self.withheld_most:
            return 'Say missing = "value" where values are missing, keep fewer columns, or ask for less.'
        if self.estimate is None:
            return "Ask for less: a larger t, a smaller k, or less of the other models."
        estimate = self.estimate
        return level_that_keeps(estimate.levels, estimate.kept, sample=estimate.rows, rows=estimate.of)

    def to_dict(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        table = {} if self.table is None else {"table": self.table}
        estimate = None if self.estimate is None else self.estimate.to_dict()
        figures = {"rows": self.rows, "one_class": self.one_class, "gcp": self.gcp, "estimate": estimate}
        return {**table, **figures, "sentence": self.sentence, "advice": self.advice}
