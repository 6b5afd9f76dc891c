"""Axes of the page's charts."""

from __future__ import annotations

import pytest

from tclose.report.charts import histogram
from tclose.report.figures import Span


@pytest.mark.parametrize(("classes", "ticks"), [(1, [0, 1]), (3, [0, 1, 2, 3]), (9, None)])
def test_an_axis_that_counts_classes_shows_whole_classes(classes: int, ticks: list[int] | None) -> None:
    drawn = histogram([Span(0.0, 0.1, classes)], title="distance", line=0.2, name="t = 0.2")
    shown = [axis.get("values") for axis in drawn["axes"] if axis.get("title") == "classes"]
    assert shown == [ticks]
