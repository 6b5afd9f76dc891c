"""The page of reproduced experiments."""

from __future__ import annotations

from collections.abc import Callable

from tclose.papers.reproduction import (
    CURVE,
    ChartLine,
    Experiment,
    ExperimentOutcome,
    ExperimentPart,
    LineChart,
    PaperFigure,
    Reproduction,
)
from tclose.report.comparison_pages import MOST_LINES, reproduction_page

CHART = LineChart(
    "Figure <3>",
    "k",
    "seconds",
    tuple(ChartLine(f"measure {name}", ((2.0, 10.0 + name), (5.0, 1e8))) for name in range(MOST_LINES)),
    scale="log",
)
PART = ExperimentPart(
    "Data <quality>", "What a table costs.", (PaperFigure("rows per class", CURVE, "943", "t < 1"),), (CHART,)
)
PLAIN = ExperimentPart("Tables", "Every digit is a column.", (PaperFigure("stars", "54", "54"),))


def made(*parts: ExperimentPart) -> Reproduction:
    experiment = Experiment("li-2007", "On Adult", "Li & others, 2007", ("adult.csv", "trees/age.csv"), lambda *_: ())
    return Reproduction((ExperimentOutcome(experiment, parts, 61.25),))


def test_every_figure_stands_beside_the_papers(text_of: Callable[[str], str]) -> None:
    html = reproduction_page(made(PART, PLAIN))
    text = text_of(html)
    assert "figure | paper | ours | remark" in text
    assert "rows per class | a curve only | 943 | t < 1" in text
    assert "stars | 54 | 54" in text
    assert "Li & others, 2007. Tables: adult.csv. It took 61.2 seconds." in text
    assert "Data <quality>" in text
    assert "<quality>" not in html


def test_a_chart_has_its_points_as_a_table(text_of: Callable[[str], str]) -> None:
    html = reproduction_page(made(PART))
    text = text_of(html)
    assert html.count('class="chart"') == 1
    assert "Figure <3>. Upward: seconds, on a logarithmic scale; lower is better." in text
    assert "k | 2 | 5" in text
    assert "measure 4 | 14 | 100,000,000" in text


def test_a_page_without_charts(text_of: Callable[[str], str]) -> None:
    html = reproduction_page(made(PLAIN))
    assert 'class="chart"' not in html
    assert "| remark" not in text_of(html)
