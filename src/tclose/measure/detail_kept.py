"""The measures of detail kept: what an analyst still sees of a table in its release.

- Marginals: how much of each column's own distribution a reader still sees.
- Correlations: how far Pearson's r of all pairs of numbers with a quasi-identifier moves. A published range stands for
  the mean of the values that it covers.
- Information: what columns tell about each other, and how far a release is from its table (Kifer & Gehrke 2006). Both
  take the view of a reader who shares each published text out evenly among the cells that it covers.
- Disclosure: the mutual information of class and sensitive value, which is the mean KL divergence of the classes from
  the whole table, each class counted as often as it has rows (Rebollo-Monedero, Forné & Domingo-Ferrer 2010). The model
  `kl` bounds the divergence of every class.
- Prediction: a random forest is trained and tested, in folds, on the table and on the release. A number stands for
  itself or for the mean of what its range covers, a category for one column per value, shared out among the values that
  a text covers. So a model sees of a release what an analyst would feed it.

A new measure is an entry of `DETAIL_MEASURES`. Terminal, page and JSON read what the entry declares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from tclose.errors import MissingExtra
from tclose.measure.information_loss import rounded
from tclose.measure.linkage import BLOCK, Links
from tclose.measure.pair import Detail, DetailMeasure, SensitiveCells, VisibleColumn, joint
from tclose.types import Floats, Ints, Progress, silent
from tclose.words import html_table, number

# Marginals


def of_column(column: VisibleColumn) -> float:
    """Return 1 − the variational distance between a column's shares before and after.

    After, each text is shared out evenly among the cells that it covers.
    """
    return float(1 - np.abs(column.shares_before() - column.shares_after()).sum() / 2)


def marginals_kept(detail: Detail) -> float | None:
    """Return the mean over all quasi-identifiers and kept columns."""
    kept = [of_column(column) for column in detail.visible]
    return float(np.mean(kept)) if kept else None


MARGINALS = DetailMeasure(
    name="marginals",
    title="share of each column's distribution kept",
    short="marginals",
    meaning="How far the distribution of a quasi-identifier, as a reader of the release sees it, agrees with that of "
    "the table; the mean over the columns.",
    better="higher",
    low=0.0,
    high=1.0,
    compute=marginals_kept,
)


# Correlations


def correlation(first: Floats, second: Floats) -> float | None:
    """Return r over the rows that have both numbers; None where one of the columns does not vary.

    >>> round(correlation(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0])), 9)
    1.0
    """
    both = ~(np.isnan(first) | np.isnan(second))
    first, second = first[both], second[both]
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    x, y = first - first.mean(), second - second.mean()
    spread = math.sqrt(float(x @ x)) * math.sqrt(float(y @ y))
    return min(max(float(x @ y) / spread, -1.0), 1.0) if spread else None


def pairs(detail: Detail) -> list[tuple[str, str, float, float | None]]:
    """Return every pair with its correlation before, and after: None where a published column no longer varies."""
    columns = [
        (column.name, column.before[column.cells], column.after[column.texts], True)
        for column in detail.visible
        if column.before is not None and column.after is not None
    ]
    columns += [
        (column.name, column.worth[column.before], column.worth[column.after], False)
        for column in detail.sensitive
        if column.worth is not None
    ]
    correlated = []
    for (name, before, after, blurred), (other_name, other_before, other_after, also) in combinations(columns, 2):
        detail.people.beat()
        was = correlation(before, other_before) if blurred or also else None
        if was is not None:
            correlated.append((name, other_name, was, correlation(after, other_after)))
    return correlated


def correlations_moved(detail: Detail) -> float | None:
    """Return the mean change of a correlation, as an amount.

    None without two columns of numbers, and where a pair has no correlation left: its change is not known, and a mean
    over the other pairs would hide that.
    """
    changes = []
    for *_, was, now in pairs(detail):
        if now is None:
            return None
        changes.append(abs(was - now))
    return float(np.mean(changes)) if changes else None


CORRELATIONS = DetailMeasure(
    name="correlations",
    title="mean change of a correlation",
    short="correlations",
    meaning="How much Pearson's r of two numeric columns changes from the table to the release; the mean over all "
    "pairs with a quasi-identifier. No figure where a published column of numbers no longer varies.",
    better="lower",
    low=0.0,
    high=2.0,
    compute=correlations_moved,
    why_none="not known: fewer than two columns of numbers, or a published one no longer varies",
)


# Information and divergence


VALUES = 1024  # of an attribute, looked at together
COMPARISONS = 1_000_000  # of a row with a class, made together
SECONDS_PER_PRODUCT = 1.5e-10  # of a matrix product, on an ordinary machine
SECONDS_PER_CELL = 1e-8  # of a dense block that is filled and summed
SECONDS_PER_FIT = 1e-8  # of one column of one person, compared with one class


def _information(shares: Floats, rows: Floats, columns: Floats) -> float:
    """Return the part of the sum that some columns of a table of shares contribute."""
    present = shares > 0
    independent = (rows[:, None] * columns)[present]
    return float((shares[present] * np.log(shares[present] / independent)).sum())


def information_between(column: VisibleColumn, attribute: SensitiveCells, *, after: bool) -> float:
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
    def of(cls, detail: Detail, attribute: SensitiveCells) -> Occurring:
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


def divergence(detail: Detail, attribute: SensitiveCells) -> float | None:
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


def _believed_seconds(detail: Detail, attribute: SensitiveCells, occurring: Occurring) -> tuple[float, float]:
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


# Disclosure by classes


def disclosed_by_classes(labels: Ints, values: Ints) -> float:
    """Return Σ share·ln(share / (share of the class · share of the value)) over pairs that occur, in nats.

    >>> round(disclosed_by_classes(np.array([0, 0, 1, 1]), np.array([5, 5, 6, 6])), 4)
    0.6931
    """
    rows, domain = len(labels), int(values.max()) + 1
    pairs, count = np.unique(labels * domain + values, return_counts=True)
    of_class, of_value = np.bincount(labels), np.bincount(values)
    ratio = count / of_class[pairs // domain] * (rows / of_value[pairs % domain])
    return max(float(count @ np.log(ratio)) / rows, 0.0)  # rounding may leave less than nothing


def mean_disclosed(detail: Detail) -> float | None:
    """Return the mean over all sensitive attributes."""
    disclosed = [_of_attribute(detail, attribute) for attribute in detail.sensitive]
    return float(np.mean(disclosed)) if disclosed else None


def _of_attribute(detail: Detail, attribute: SensitiveCells) -> float:
    return disclosed_by_classes(detail.labels, attribute.after)


DISCLOSED = DetailMeasure(
    name="disclosed",
    title="information that classes disclose (nats)",
    short="disclosed",
    meaning="What a person's class tells about the person's sensitive value on average: the mutual information of "
    "class and value, or the mean KL divergence of the classes; the mean over the sensitive attributes.",
    better="lower",
    low=0.0,
    high=None,
    compute=mean_disclosed,
)


# Prediction by a downstream model


MOST_COLUMNS = 100  # of a category; the rarest beyond are left out


@dataclass(frozen=True)
class Prediction:
    """How well a column is predicted: before, after, and by a guess that looks at nothing."""

    target: str
    score: str  # "accuracy", or "R²" for a number
    before: float
    after: float
    guess: float


def predict(detail: Detail, target: str, *, folds: int = 3, trees: int = 40, seed: int = 0) -> Prediction:
    """Predict a sensitive column from everything else that is published."""
    try:
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
        from sklearn.model_selection import KFold, cross_val_score
    except ImportError:
        raise MissingExtra("scikit-learn", "learn", "a downstream model") from None
    aim = next(column for column in detail.sensitive if column.name == target)
    rest = [column for column in detail.sensitive if column is not aim]
    numeric = aim.worth is not None
    forest = RandomForestRegressor if numeric else RandomForestClassifier
    scores = []
    for after in (False, True):
        wanted = aim.after if after else aim.before
        answers = aim.worth[wanted] if aim.worth is not None else wanted
        model = forest(n_estimators=trees, min_samples_leaf=5, max_features="sqrt", random_state=seed)
        parts = KFold(folds, shuffle=True, random_state=seed)
        scoring = "r2" if numeric else "accuracy"
        features = _features(detail.visible, rest, after=after)
        scores.append(float(cross_val_score(model, features, answers, cv=parts, scoring=scoring).mean()))
    guess = 0.0 if numeric else float(np.bincount(aim.before).max() / len(aim.before))
    return Prediction(target, "R²" if numeric else "accuracy", scores[0], scores[1], guess)


def _features(visible: Sequence[VisibleColumn], rest: Sequence[SensitiveCells], *, after: bool) -> Floats:
    """Return rows × features."""
    columns = [_of_visible(column, after=after) for column in visible]
    columns += [_of_exact(column, after=after) for column in rest]
    rows = len(columns[0])
    return np.concatenate([column.reshape(rows, -1) for column in columns], axis=1)


def _of_visible(column: VisibleColumn, *, after: bool) -> Floats:
    if column.before is not None and column.after is not None:
        return _filled(column.after[column.texts] if after else column.before[column.cells])
    shown = _most_frequent(column.cells, column.spread.shape[1])
    if after:
        return column.spread[:, shown][column.texts]
    return np.eye(column.spread.shape[1])[:, shown][column.cells]


def _of_exact(column: SensitiveCells, *, after: bool) -> Floats:
    cells = column.after if after else column.before
    if column.worth is not None:
        return _filled(column.worth[cells])
    return np.eye(column.domain)[:, _most_frequent(column.before, column.domain)][cells]


def _most_frequent(cells: Ints, domain: int) -> Ints:
    return np.argsort(-np.bincount(cells, minlength=domain), kind="stable")[:MOST_COLUMNS]


def _filled(numbers: Floats) -> Floats:
    """Put the mean where there is no number."""
    missing = np.isnan(numbers)
    return np.where(missing, 0.0 if missing.all() else numbers[~missing].mean(), numbers)


# The registry of the measures, and all of their figures


DETAIL_MEASURES: tuple[DetailMeasure, ...] = (MARGINALS, CORRELATIONS, INFORMATION, DIVERGENCE, DISCLOSED)


@dataclass(frozen=True)
class DetailKept:
    """How much detail a release keeps for analysts: figures by the measure's name, and a downstream model if asked."""

    figures: Mapping[str, float | None]  # None where the table has nothing to measure
    prediction: Prediction | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the same as JSON has it."""
        prediction = {} if self.prediction is None else {"prediction": vars(self.prediction)}
        return {**self.figures, **prediction}

    def _repr_html_(self) -> str:
        figures = [
            (measure.title, "" if (figure := self.figures[measure.name]) is None else number(figure), measure.better)
            for measure in DETAIL_MEASURES
        ]
        return html_table("Detail kept", ("measure", "figure", "better"), figures)


def detail_figures_of(detail: Detail, progress: Progress = silent) -> dict[str, float | None]:
    """Return every measure of detail kept, by its name; None where the table has nothing to measure it on.

    The figures compare the release with the original: they stay with its steward.
    """
    figures = {}
    for done, measure in enumerate(DETAIL_MEASURES):
        progress(done / len(DETAIL_MEASURES), measure.title)
        figures[measure.name] = rounded(measure.compute(detail))
    return figures
