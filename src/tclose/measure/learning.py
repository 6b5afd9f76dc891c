"""A downstream model: how well one column is predicted from the rest, before and after.

A random forest is trained and tested, in folds, on the table and on the release. A number stands for itself or for the
mean of what its range covers, a category for one column per value, shared out among the values that a text covers. So
a model sees of a release what an analyst would feed it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tclose.errors import MissingExtra
from tclose.measure.detail import Detail, ExactColumn, VisibleColumn
from tclose.types import Floats, Ints

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


def _features(visible: Sequence[VisibleColumn], rest: Sequence[ExactColumn], *, after: bool) -> Floats:
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


def _of_exact(column: ExactColumn, *, after: bool) -> Floats:
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
