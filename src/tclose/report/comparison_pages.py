"""The pages of comparisons: methods side by side (`tclose compare`), and papers beside ours (`tclose reproduce`).

The page of `tclose compare` shows what protection costs with each method. The page of `tclose reproduce` shows the
papers' figures beside ours, and charts of what the papers draw. Lines over a common axis have a mark of their own each,
so that no colour alone tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tclose.comparison.comparison import Comparison, Curve
from tclose.comparison.trial import Trial, figures_of
from tclose.papers.reproduction import ExperimentOutcome, ExperimentPart, LineChart, Reproduction
from tclose.policy import Policy
from tclose.release.certificate import Origin
from tclose.release.lower_bound import BoundClaim
from tclose.release.output import created, tool
from tclose.report import charts
from tclose.report.charts import APART, OVERLAP, Html, Spec, compiled, element, libraries, shown
from tclose.report.page import (
    BOUND,
    COMPARED,
    NO_NETWORK,
    Canvas,
    Section,
    facts,
    key,
    listing,
    origin_line,
    page_html,
    terms,
    words,
)
from tclose.words import counted, kept_classes, lowered_loss, nt_closeness, number, percent

# The page of `tclose compare`


BOUND_LINE = "The dashed line is the lower bound: no release of one table, by whichever method, can lose less detail."
SEVERAL = "each table is judged on its own, and anatomy publishes quasi-identifiers as they are."
EXPLAINED = ("Detail lost (GCP)", "Class", "k", "Closeness", "t", "Withheld row", "(n,t)-closeness")


def comparison_page(comparison: Comparison, curve: Curve, table: str | None = None) -> str:
    """Return the page; `table` is what the table is called."""
    charts.libraries()
    canvas, released = Canvas(), comparison.ordered
    bound = None if comparison.bound is None else comparison.bound.bound
    sections = [_methods(released, comparison.policy, bound, canvas)] if released else []
    if len(curve.levels) > 1:
        sections.insert(0, _curve(curve, released[0].name, canvas))
    if released and comparison.policy.sensitive:
        sections.append(_closeness(released, comparison.policy))
    if others := [trial for trial in comparison.trials if trial.outcome != "released"]:
        sections.append(_without_release(others))
    explained = terms(comparison.policy.supersets)
    chosen = {**COMPARED, **{name: explained[name] for name in explained if name in EXPLAINED}}
    chosen |= {} if bound is None else BOUND
    sections.append(Section("glossary", "Glossary", [words(chosen)], "Glossary"))
    footer = f"Made by {tool()}. {NO_NETWORK}"
    origin = origin_line(Origin((), table, created(), tool()))
    header = [origin, *_comparison_header(comparison, released, bound)]
    return page_html(title="Methods compared", header=header, sections=sections, footer=footer, canvas=canvas)


def _lost(trial: Trial) -> float:
    """Return the share of detail that a release loses."""
    assert trial.gcp is not None
    return trial.gcp


def _marked(trial: Trial) -> str:
    """Return a method's name, with what its releases do not protect."""
    return f"{trial.name} ({trial.caveat})" if trial.caveat else trial.name


def _comparison_header(comparison: Comparison, released: Sequence[Trial], bound: float | None) -> list[Html]:
    trials = comparison.trials
    kicker = element("p", "tclose · methods compared", class_="kicker")
    if not released:
        return [kicker, element("h1", "No method can publish this table under its policy.")]
    best, quickest = released[0], min(released, key=lambda trial: trial.seconds or 0.0)
    among = (
        " of the methods that publish one table"
        if any(trial.several_tables for trial in released)
        else " of this table"
    )
    title = f"{_marked(best)} keeps the most detail{among}."
    if not comparison.policy.loses_gcp:
        title = (
            f"{best.name} has the least loss{among}. The policy's loss: {lowered_loss(comparison.policy.chosen_loss)}."
        )
    lead = (
        f"{len(released)} of {counted(len(trials), 'method')} gave a release that meets the policy. {best.name} loses "
        f"{number(_lost(best))} of the detail (0 is nothing, 1 is everything) in {counted(best.classes or 0, 'class')}."
    )
    if bound is not None:
        lead += f" {BoundClaim(bound).sentence(_lost(best))}"
    figures = {
        "methods tried": str(len(trials)),
        "releases": str(len(released)),
        f"detail lost: {best.name}": number(_lost(best)),
        "most detail lost": number(max(_lost(trial) for trial in released)),
        f"fastest: {quickest.name}": f"{quickest.seconds:.1f} s",
    }
    figures |= {} if bound is None else {"detail lost: lower bound": f"{bound:.4f}"}
    return [kicker, element("h1", title), element("p", lead, class_="lead"), facts(figures)]


def _curve(curve: Curve, best: str, canvas: Canvas) -> Section:
    names = sorted({name for name, _, _ in curve.points}, key=lambda name: (name != best, name))
    rows = [(name, *(_share(loss) for loss in curve.losses(name))) for name in names]
    rows += [(charts.LOWER_BOUND, *(_share(bound) for bound in curve.least_losses()))] if curve.bounds else []
    label = "the detail that every method loses, by t"
    titles = ("method", *(f"t {'' if curve.title == 't' else '× '}{number(level)}" for level in curve.levels))
    figures = listing(label, titles, rows, numbers=len(curve.levels))
    caption = [
        f"Detail lost, by t; lower is better. The coloured line is {best}. A line ends where its method gives no "
        "release."
    ]
    caption += [f" {BOUND_LINE}"] if curve.bounds else []
    dashed = [("dashed", "ink", charts.LOWER_BOUND)] if curve.bounds else []
    marks = key(("thin", "accent", best), ("thin", "muted", "the other methods"), *dashed)
    spec = charts.tradeoff(curve.points, title=curve.title, best=best, bounds=curve.bounds)
    lead = "With a smaller t, a class tells less about the people in it, and quasi-identifiers become less exact."
    chart = canvas.figure(spec, label=label, caption=caption, rows=figures, key=marks)
    return Section("tradeoff", "What protection costs", [element("p", lead), chart], "Trade-off")


def _methods(released: Sequence[Trial], policy: Policy, bound: float | None, canvas: Canvas) -> Section:
    label = "the share of detail that each method keeps"
    shares = [(trial.name, 1 - _lost(trial)) for trial in released if not trial.caveat]
    rows = [(name, percent(share)) for name, share in shares]
    figures = listing(label, ("method", "kept"), rows, numbers=1)
    caption = ["How much detail of the quasi-identifiers each method keeps under the policy; higher is better."]
    caption += (
        [] if bound is None else [" No release of one table, by whichever method, can reach beyond the dashed line."]
    )
    parts: list[Html] = []
    if shares:
        spec = charts.shares(shares, title="share of detail kept", most=None if bound is None else 1 - bound)
        parts.append(canvas.figure(spec, label=label, caption=caption, rows=figures))
    parts += _figures(released, policy)
    parts += [element("p", kept_classes(trial.name, trial.start)) for trial in released if trial.start is not None]
    if several := [trial.name for trial in released if trial.several_tables]:
        note = (
            f"{', '.join(several)}: a release of several tables, listed last. Its figures are not comparable: {SEVERAL}"
        )
        parts.append(element("p", element("strong", "Note: "), note, class_="note"))
    return Section("methods", "The methods side by side", parts, "Methods")


def _figures(released: Sequence[Trial], policy: Policy) -> list[Html]:
    """Return a table of every figure of every release, and what the figures are."""
    figures = figures_of(tuple(released), policy)
    rows = [(_marked(trial), *(figure.spelled(trial) or "–" for figure in figures)) for trial in released]
    titles = ("method", *(figure.title for figure in figures))
    table = listing("Every release", titles, rows, numbers=len(figures))
    return [table, words({figure.title: f"{figure.meaning}." for figure in figures if figure.meaning != figure.title})]


def _without_release(others: Sequence[Trial]) -> Section:
    rows = [(_marked(trial), trial.outcome, trial.reason) for trial in others]
    table = listing("Methods without a release, and why", ("method", "outcome", "reason"), rows, numbers=0)
    return Section("others", "Methods without a release", [table], "Without a release")


def _share(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:.4f}"


def _closeness(released: Sequence[Trial], policy: Policy) -> Section:
    limits = {name: spec.limit for name, spec in policy.required.items()}
    titles = [shown(name) + ("" if limit is None else f" ≤ {number(limit)}") for name, limit in limits.items()]
    rows = [(_marked(trial), *(_share(trial.closeness[name]) for name in limits)) for trial in released]
    caption = "The distance of the worst class from the whole table, from 0 (equal) to 1 (as far as possible)"
    table = listing(caption, ("method", *titles), rows, numbers=len(titles))
    notes = [element("p", f"The policy requires {nt_closeness(policy.supersets)}.")] if policy.supersets else []
    return Section("closeness", "The closeness that each method reaches", [table, *notes], "Closeness")


# Line charts


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
    axis = alt.Axis(
        title=chart.across, grid=False, values=places, format=".3~g", labelOverlap=OVERLAP, labelSeparation=APART
    )
    scale = alt.Scale(domain=[places[0], places[-1]], nice=False, padding=8)
    x = alt.X("across", type="quantitative", axis=axis, scale=scale)
    logarithmic = chart.scale == "log"
    upward = alt.Scale(type="log", nice=False, padding=8) if logarithmic else alt.Scale(zero=True)
    spelled, ticks = ("~s", 4) if logarithmic else (".3~g", 5)
    title = alt.Axis(title=chart.upward, labelOverlap="greedy", format=spelled, tickCount=ticks)
    y = alt.Y("upward", type="quantitative", axis=title, scale=upward)
    layers = []
    for line, (_, colour, shape, filled) in zip(chart.lines, STYLES, strict=False):
        rows = [{"name": line.name, "across": across, "upward": value} for across, value in line.points]
        tips = [alt.Tooltip("name", type="nominal"), *(_tip(field) for field in ("across", "upward"))]
        base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y, tooltip=tips)
        paint = f"var(--{colour})"
        marks = base.mark_point(color=paint, shape=shape, filled=filled, size=70, opacity=1, strokeWidth=2)
        layers += [base.mark_line(color=paint, strokeWidth=1.5), marks]
    return compiled(alt.layer(*layers).properties(height=HEIGHT))


def _tip(field: str) -> object:
    return libraries()[0].Tooltip(field, type="quantitative", format=",.4~g")


def line_key(chart: LineChart) -> Html:
    """Say which mark belongs to which line."""
    return key(*((mark, colour, line.name) for line, (mark, colour, *_) in zip(chart.lines, STYLES, strict=False)))


# The page of `tclose reproduce`


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
    header = [origin, *_reproduction_header(found)]
    return page_html(title="The papers' experiments", header=header, sections=sections, footer=footer, canvas=canvas)


def _reproduction_header(found: Reproduction) -> list[Html]:
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
