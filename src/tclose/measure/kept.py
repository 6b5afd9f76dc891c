"""The measures of detail kept: what an analyst still sees of a table in its release."""

from __future__ import annotations

from tclose.measure import correlations, information, marginals
from tclose.measure.detail import Detail, Kept
from tclose.measure.utility import DIGITS

MEASURES: tuple[Kept, ...] = (marginals.MEASURE, correlations.MEASURE, information.KEPT, information.DIVERGENCE)


def kept(detail: Detail) -> dict[str, float | None]:
    """Return every measure of detail kept, by its name; None where the table has nothing to measure it on.

    The figures compare the release with the original: they stay with its steward.
    """
    figures = {measure.name: measure.compute(detail) for measure in MEASURES}
    return {name: None if figure is None else round(figure, DIGITS) for name, figure in figures.items()}
