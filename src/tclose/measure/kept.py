"""The measures of detail kept: what an analyst still sees of a table in its release.

A new measure is a file of its own and an entry here. Terminal, page and JSON read what the entry declares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tclose.measure.base import rounded
from tclose.measure.correlations import CORRELATIONS
from tclose.measure.detail import Detail, DetailMeasure
from tclose.measure.disclosed import DISCLOSED
from tclose.measure.information import DIVERGENCE, INFORMATION
from tclose.measure.learning import Prediction
from tclose.measure.marginals import MARGINALS
from tclose.types import Progress, silent
from tclose.words import html_table, number

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


def kept(detail: Detail, progress: Progress = silent) -> dict[str, float | None]:
    """Return every measure of detail kept, by its name; None where the table has nothing to measure it on.

    The figures compare the release with the original: they stay with its steward.
    """
    figures = {}
    for done, measure in enumerate(DETAIL_MEASURES):
        progress(done / len(DETAIL_MEASURES), measure.title)
        figures[measure.name] = rounded(measure.compute(detail))
    return figures
