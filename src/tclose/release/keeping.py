"""How much detail a release keeps, for those who analyse it: the table before and after, by every measure.

Here frames become what the measures see (`measure/detail.py`).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tclose.errors import InputError, LeakWarning, did_you_mean
from tclose.measure import correlations, information, marginals
from tclose.measure.detail import Detail, Exact, Kept, Visible
from tclose.measure.learning import Prediction, predict
from tclose.measure.utility import DIGITS
from tclose.policy import Policy
from tclose.recode.covering import Covering
from tclose.release.beside import Published, Stage, frame_of

MEASURES: tuple[Kept, ...] = (marginals.MEASURE, correlations.MEASURE, information.KEPT, information.DIVERGENCE)


def kept(release: Any, *, original: Any, policy: Policy) -> dict[str, float | None]:
    """Return every measure of detail kept, by its name; none where the table has nothing to measure it on.

    `release` is a published frame, or a `Release`. The figures compare with the original: they stay with its steward.
    """
    detail = detail_of(release, original, policy)
    figures = {measure.name: measure.compute(detail) for measure in MEASURES}
    return {name: None if figure is None else round(figure, DIGITS) for name, figure in figures.items()}


def predicted(release: Any, *, original: Any, policy: Policy, target: str, seed: int = 0) -> Prediction:
    """Tell how well a sensitive column is predicted from everything else, before and after; needs scikit-learn."""
    if target not in policy.sensitive:
        hint = did_you_mean(target, policy.sensitive)
        raise InputError(f"'{target}' is no sensitive attribute of the policy{hint}")
    return predict(detail_of(release, original, policy), target, seed=seed)


def detail_of(release: Any, original: Any, policy: Policy) -> Detail:
    """Bring a table and its release together."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakWarning)  # told when the table was published
        stage = Stage.of(original, policy)
        shown = stage.published(frame_of(release), "the release")
    return Detail(
        visible=[_visible(column, shown) for column in shown.columns],
        sensitive=[
            Exact(name, cells.before, cells.after, cells.domain, cells.worth) for name, cells in shown.cells.items()
        ],
        labels=shown.labels,
        own=shown.own,
    )


def _visible(column: Covering, shown: Published) -> Visible:
    worth = None if column.numbers is None else np.append(column.numbers, np.nan)
    return Visible(
        name=column.name,
        cells=column.cell_of_row,
        texts=column.text_of_class[shown.labels],
        spread=column.spread(),
        covered=column.covers.sum(axis=1),
        before=worth,
        after=column.worth(),
    )
