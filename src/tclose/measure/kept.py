"""The measures of detail kept: what an analyst still sees of a table in its release.

A new measure is a file of its own and an entry here. Terminal, page and JSON read what the entry declares.
"""

from __future__ import annotations

from tclose.measure.base import rounded
from tclose.measure.correlations import CORRELATIONS
from tclose.measure.detail import Detail, DetailMeasure
from tclose.measure.information import DIVERGENCE, INFORMATION
from tclose.measure.marginals import MARGINALS
from tclose.types import Progress, silent

DETAIL_MEASURES: tuple[DetailMeasure, ...] = (MARGINALS, CORRELATIONS, INFORMATION, DIVERGENCE)


def kept(detail: Detail, progress: Progress = silent) -> dict[str, float | None]:
    """Return every measure of detail kept, by its name; None where the table has nothing to measure it on.

    The figures compare the release with the original: they stay with its steward.
    """
    figures = {}
    for done, measure in enumerate(DETAIL_MEASURES):
        progress(done / len(DETAIL_MEASURES), measure.title)
        figures[measure.name] = rounded(measure.compute(detail))
    return figures
