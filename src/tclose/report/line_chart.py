"""Lines over a common axis, each with a mark of its own, so that no colour alone tells them apart."""

from __future__ import annotations

from tclose.comparison.papers.base import LineChart
from tclose.report.charts import APART, Spec, compiled, libraries
from tclose.report.markup import Html
from tclose.report.page import key

STYLES = (  # the mark in the page's key, its colour, its shape in the chart, and whether it is filled
    ("dot", "accent", "circle", True),
    ("square", "ink", "square", False),
    ("diamond", "muted", "diamond", True),
    ("arrow", "warn", "triangle-up", True),
    ("ring", "alarm", "circle", False),
)
MOST_LINES = len(STYLES)
HEIGHT = 260


def line_chart(chart: LineChart) -> Spec:
    """Draw the lines of a chart."""
    alt = libraries()[0]
    places = sorted({across for line in chart.lines for across, _ in line.points})
    axis = alt.Axis(title=chart.across, grid=False, values=places, format=".3~g", **APART)
    scale = alt.Scale(domain=[places[0], places[-1]], nice=False, padding=8)
    x = alt.X("across", type="quantitative", axis=axis, scale=scale)
    logarithmic = chart.scale == "log"
    upward = alt.Scale(type="log", nice=False, padding=8) if logarithmic else alt.Scale(zero=True)
    spelled = {"format": "~s", "tickCount": 4} if logarithmic else {"format": ".3~g", "tickCount": 5}
    title = alt.Axis(title=chart.upward, labelOverlap="greedy", **spelled)
    y = alt.Y("upward", type="quantitative", axis=title, scale=upward)
    layers = []
    for line, (_, colour, shape, filled) in zip(chart.lines, STYLES, strict=False):
        rows = [{"name": line.name, "across": across, "upward": value} for across, value in line.points]
        tips = [alt.Tooltip("name", type="nominal"), *(_tip(field) for field in ("across", "upward"))]
        base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y, tooltip=tips)
        paint = f"var(--{colour})"
        marks = {"color": paint, "shape": shape, "filled": filled, "size": 70, "opacity": 1, "strokeWidth": 2}
        layers += [base.mark_line(color=paint, strokeWidth=1.5), base.mark_point(**marks)]
    return compiled(alt.layer(*layers).properties(height=HEIGHT))


def _tip(field: str) -> object:
    return libraries()[0].Tooltip(field, type="quantitative", format=",.4~g")


def line_key(chart: LineChart) -> Html:
    """Say which mark belongs to which line."""
    return key(*((mark, colour, line.name) for line, (mark, colour, *_) in zip(chart.lines, STYLES, strict=False)))
