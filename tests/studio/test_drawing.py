"""Drawings stay inside their frame, and less loss lies lower."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tclose.studio.screens.candidates import curve_chart

LOSSES = st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=3, max_size=3)


@given(st.dictionaries(st.text(max_size=5), LOSSES, max_size=7), st.one_of(st.just([]), LOSSES))
def test_every_point_lies_inside_and_in_order(losses: dict[str, list[float | None]], least: list[float | None]) -> None:
    chart = curve_chart([0.1, 0.2, 0.4], losses, least)
    assert len(chart.lines) == len(losses) + bool(least)
    for line in chart.lines:
        assert all(0 <= point.x <= chart.width and 0 <= point.y <= chart.height for point in line.points)
        for one, other in zip(line.points, line.points[1:], strict=False):
            assert one.x < other.x
            assert float(one.text) <= float(other.text) or one.y < other.y
