"""Information: what columns tell about each other, and how far a release is from its table (Kifer & Gehrke 2006).

Both take the view of a reader who shares each published text out evenly among the cells that it covers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tclose.measure.detail import Detail, DetailMeasure, ExactColumn, VisibleColumn, joint
from tclose.measure.linkage import BLOCK, Links
from tclose.types import Floats, Ints

VALUES = 1024  # of an attribute, looked at together
COMPARISONS = 1_000_000  # of a row with a class, made together
SECONDS_PER_PRODUCT = 1.5e-10  # of a matrix product, on an ordinary machine
SECONDS_PER_CELL = 1e-8  # of a dense block that is filled and summed
SECONDS_PER_FIT = 1e-8  # of one column of one person, compared with one class


def mutual_information(shares: Floats) -> float:
    """Return Σ p·ln(p / (row · column)) of a table of shares, in nats.

    >>> round(mutual_information(np.array([[0.5, 0.0], [0.0, 0.5]])), 4), mutual_information(np.full((2, 2), 0.25))
    (0.6931, 0.0)
    """
    return max(_information(shares, shares.sum(axis=1), shares.sum(axis=0)), 0.0)


def _information(shares: Floats, rows: Floats, columns: Floats) -> float:
    """Return the part of the sum that some columns of a table of shares contribute."""
    present = shares > 0
    independent = (rows[:, None] * columns)[present]
    return float((shares[present] * np.log(shares[present] / independent)).sum())


def information_between(column: VisibleColumn, attribute: ExactColumn, *, after: bool) -> float:
    """Return what a column tells about an attribute, in the table or in its release; values come in stretches."""
    values = attribute.after if after else attribute.before
    shares_of_values = np.bincount(values, minlength=attribute.domain) / len(values)
    shares_of_cells = column.shares_after() if after else column.shares_before()
    total = 0.0
    for first in range(0, attribute.domain, VALUES):
        stretch = slice(first, first + VALUES)
        shares = joint(column, attribute, after=after, values=stretch)
        total += _information(shares, shares_of_cells, shares_of_values[stretch])
    return max(total, 0.0)


def information_kept(detail: Detail) -> float | None:
    """Return the share that is left of what quasi-identifiers tell about sensitive values, over all pairs."""
    before = after = 0.0
    for column in detail.visible:
        for attribute in detail.sensitive:
            detail.people.beat()
            before += information_between(column, attribute, after=False)
            detail.people.beat()
            after += information_between(column, attribute, after=True)
    return after / before if before > 1e-12 else None


def _information_seconds(detail: Detail) -> float:
    values: int = sum(attribute.domain for attribute in detail.sensitive)
    products: int = sum(column.spread.size for column in detail.visible) * values
    cells: int = sum(column.spread.shape[1] for column in detail.visible) * values
    return products * SECONDS_PER_PRODUCT + 2 * cells * SECONDS_PER_CELL


@dataclass(frozen=True, eq=False)
class Occurring:
    """The different pairs of a person's row and a sensitive value in the table, and those of a value and a class."""

    row: Ints  # of the different rows, per pair; pairs are in the order of their values
    value: Ints
    count: Ints  # how often the table has the pair
    class_value: Ints  # per value that a class shows, in the order of values
    class_number: Ints
    class_count: Ints

    @classmethod
    def of(cls, detail: Detail, attribute: ExactColumn) -> Occurring:
        """Count what occurs."""
        people, classes = len(detail.people.rows), len(detail.people.sizes)
        pairs, count = np.unique(attribute.before * people + detail.people.row_of, return_counts=True)
        shown, class_count = np.unique(attribute.after * classes + detail.labels, return_counts=True)
        value, row = np.divmod(pairs, people)
        class_value, class_number = np.divmod(shown, classes)
        return cls(row, value, count, class_value, class_number, class_count)

    def classes_per_pair(self) -> tuple[Ints, Ints]:
        """Return, per pair, where the classes that show its value begin, and how many they are."""
        first = np.searchsorted(self.class_value, self.value, "left")
        return first, np.searchsorted(self.class_value, self.value, "right") - first


def divergence(detail: Detail, attribute: ExactColumn) -> float | None:
    """Return Σ p·ln(p/q) over all combinations of quasi-identifiers and one sensitive value, in nats.

    p is the table's share; q is the share that a reader gives, who shares the rows of each class out among all
    combinations of the cells that it covers. None where the release says that a combination of the table does not
    exist, as may be when rows were withheld.
    """
    occurring = Occurring.of(detail, attribute)
    volumes = np.ones(len(detail.people.sizes))
    first_rows = np.unique(detail.labels, return_index=True)[1]
    for column in detail.visible:
        volumes *= column.covered[column.texts[first_rows]]
    weights = occurring.class_count / (volumes[occurring.class_number] * len(detail.labels))
    dense, sparse = _believed_seconds(detail, attribute, occurring)
    believed = (believed_dense if dense < sparse else believed_sparse)(detail.people, occurring, weights)
    if (believed == 0).any():
        return None
    p = occurring.count / len(attribute.before)
    return max(float((p * np.log(p / believed)).sum()), 0.0)


def believed_dense(people: Links, occurring: Occurring, weights: Floats) -> Floats:
    """Return the share that a reader gives each pair: all rows against all classes, some values at a time."""
    believed = np.zeros(len(occurring.row))
    domain = int(max(occurring.value.max(), occurring.class_value.max())) + 1
    for low in range(0, domain, VALUES):
        width = min(VALUES, domain - low)
        shown = (occurring.class_value >= low) & (occurring.class_value < low + width)
        of_class = np.zeros((len(people.sizes), width))
        of_class[occurring.class_number[shown], occurring.class_value[shown] - low] = weights[shown]
        step = max(1, BLOCK // max(len(people.sizes), width))
        for start in range(0, len(people.rows), step):
            block = slice(start, min(start + step, len(people.rows)))
            people.beat()
            shares = people.fitting(block).astype(np.float64) @ of_class
            pairs = (occurring.row >= block.start) & (occurring.row < block.stop)
            pairs &= (occurring.value >= low) & (occurring.value < low + width)
            believed[pairs] = shares[occurring.row[pairs] - start, occurring.value[pairs] - low]
    return believed


def believed_sparse(people: Links, occurring: Occurring, weights: Floats) -> Floats:
    """Return the same by looking, for each pair, at the classes that show its value: few, where values are rare."""
    first, many = occurring.classes_per_pair()
    believed, ends = np.zeros(len(first)), np.cumsum(many)
    start = 0
    while start < len(first):
        people.beat()
        done = int(ends[start - 1]) if start else 0
        stop = max(int(np.searchsorted(ends, done + COMPARISONS, "right")), start + 1)
        pair = np.repeat(np.arange(start, stop), many[start:stop])
        entry = np.arange(len(pair)) + np.repeat(first[start:stop] + done - ends[start:stop] + many[start:stop],
                                                 many[start:stop])  # fmt: skip
        fits = people.fit(occurring.row[pair], occurring.class_number[entry])
        believed[start:stop] = np.bincount(pair - start, weights=weights[entry] * fits, minlength=stop - start)
        start = stop
    return believed


def _believed_seconds(detail: Detail, attribute: ExactColumn, occurring: Occurring) -> tuple[float, float]:
    """Return about how long both ways to look at all pairs take."""
    combinations = len(detail.people.rows) * len(detail.people.sizes)
    dense = combinations * (SECONDS_PER_CELL + attribute.domain * SECONDS_PER_PRODUCT)
    sparse = float(occurring.classes_per_pair()[1].sum()) * len(detail.visible) * SECONDS_PER_FIT
    return dense, sparse


def mean_divergence(detail: Detail) -> float | None:
    """Return the mean over all sensitive attributes."""
    divergences = []
    for attribute in detail.sensitive:
        if (distance := divergence(detail, attribute)) is None:
            return None
        divergences.append(distance)
    return float(np.mean(divergences)) if divergences else None


def _divergence_seconds(detail: Detail) -> float:
    return sum(
        min(_believed_seconds(detail, attribute, Occurring.of(detail, attribute))) for attribute in detail.sensitive
    )


INFORMATION = DetailMeasure(
    name="information",
    title="share of mutual information kept",
    short="information",
    meaning="How much is left of what quasi-identifiers tell about sensitive values, over all pairs of columns.",
    better="higher",
    low=0.0,
    high=None,
    compute=information_kept,
    seconds=_information_seconds,
)
DIVERGENCE = DetailMeasure(
    name="divergence",
    title="divergence from the table (KL, in nats)",
    short="divergence",
    meaning="How far the table that a reader would reconstruct is from the original, with all quasi-identifiers taken "
    "together; the mean over the sensitive attributes.",
    better="lower",
    low=0.0,
    high=None,
    compute=mean_divergence,
    why_none="not known: no sensitive values are published, or the release rules out a row of the table",
    seconds=_divergence_seconds,
)
