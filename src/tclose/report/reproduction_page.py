"""The page of `tclose reproduce`: the papers' figures beside ours, and charts of what the papers draw."""

from __future__ import annotations

from collections.abc import Iterable

from tclose.comparison.papers.base import ExperimentOutcome, ExperimentPart, LineChart
from tclose.comparison.papers.reproduction import Reproduction
from tclose.release.certificate import Origin
from tclose.release.naming import created, tool
from tclose.report import charts
from tclose.report.line_chart import line_chart, line_key
from tclose.report.markup import Html, element
from tclose.report.page import NO_NETWORK, Canvas, Section, assembled, facts, listing, origin_line, words
from tclose.words import counted, number

LEAD = (
    "Every figure that a paper prints stands beside the one that comes out here. Where a paper only draws a curve, "
    "there is no number to compare with, and the table says so."
)
MEANINGS = {
    "paper": "What the paper prints. “A curve only”: it draws the figure without numbers. “–”: it has no such figure.",
    "ours": "What comes out here, on the tables named in each section.",
    "Detail lost (GCP)": "The mean share of detail that a cell of a quasi-identifier loses, from 0 to 1.",
    "Discernibility": "The sum of the squared class sizes.",
    "Star": "A cell that is suppressed. A class stars every column in which its rows differ.",
    "t": "How far the distribution of a sensitive attribute in a class may be from the whole table, from 0 to 1.",
}


def reproduction_page(found: Reproduction) -> str:
    """Return the page."""
    charts.libraries()
    canvas = Canvas()
    sections = [_section(outcome, canvas) for outcome in found.outcomes]
    sections.append(Section("glossary", "Glossary", [words(MEANINGS)], "Glossary"))
    origin = origin_line(Origin((), None, created(), tool()))
    footer = f"Made by {tool()}. {NO_NETWORK}"
    header = [origin, *_header(found)]
    return assembled(title="The papers' experiments", header=header, sections=sections, footer=footer, canvas=canvas)


def _header(found: Reproduction) -> list[Html]:
    figures = [figure for outcome in found.outcomes for part in outcome.parts for figure in part.figures]
    shown = {
        "papers": str(len(found.outcomes)),
        "figures": str(len(figures)),
        "minutes": number(round(sum(outcome.seconds for outcome in found.outcomes) / 60, 1)),
    }
    return [
        element("p", "tclose · the papers' experiments", class_="kicker"),
        element("h1", "What the papers report, and what comes out here."),
        element("p", LEAD, class_="lead"),
        facts(shown),
    ]


def _section(outcome: ExperimentOutcome, canvas: Canvas) -> Section:
    about = outcome.experiment
    tables = f" Tables: {', '.join(_tables(about.files))}." if about.files else " It needs no table."
    lead = f"{about.paper}.{tables} It took {number(round(outcome.seconds, 1))} seconds."
    parts = [element("p", lead), *(html for part in outcome.parts for html in _part(part, canvas))]
    return Section(about.name, about.title, parts, about.name)


def _tables(files: Iterable[str]) -> list[str]:
    """Return the files that are tables; the hierarchies of one table go without saying."""
    return [name for name in files if "/" not in name]


def _part(part: ExperimentPart, canvas: Canvas) -> list[Html]:
    columns = 4 if any(figure.remark for figure in part.figures) else 3
    headings = ("figure", "paper", "ours", "remark")[:columns]
    rows = [(figure.what, figure.paper, figure.ours, figure.remark)[:columns] for figure in part.figures]
    table = listing(f"{part.title}: {counted(len(rows), 'figure')}", headings, rows, numbers=0)
    return [element("h3", part.title), element("p", part.text), table, *(_figure(each, canvas) for each in part.charts)]


def _figure(chart: LineChart, canvas: Canvas) -> Html:
    """Return a chart with its key, and every point as a table."""
    places = sorted({across for line in chart.lines for across, _ in line.points})
    values = {line.name: dict(line.points) for line in chart.lines}
    rows = [(name, *(_value(by_place.get(place)) for place in places)) for name, by_place in values.items()]
    titles = (chart.across, *map(number, places))
    figures = listing(f"{chart.caption}: {chart.upward}; lower is better", titles, rows, numbers=len(places))
    scale = ", on a logarithmic scale" if chart.scale == "log" else ""
    caption = [f"{chart.caption}. Upward: {chart.upward}{scale}; lower is better."]
    return canvas.figure(line_chart(chart), label=chart.caption, caption=caption, rows=figures, key=line_key(chart))


def _value(value: float | None) -> str:
    return "–" if value is None else number(value)
