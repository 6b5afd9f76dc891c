"""The page of `tclose compare`: every method side by side, and what protection costs with each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from tclose.compare.curve import Curve
from tclose.partition import METHODS
from tclose.policy import Policy
from tclose.report import charts
from tclose.report.glossary import COMPARED, TERMS
from tclose.report.markup import Html, element, shown
from tclose.report.page import Canvas, Section, assembled, facts, key, listing, words
from tclose.words import counted, number, percent

Trial = Mapping[str, Any]
FIGURES = {  # and how each is spelled
    "gcp": ("detail lost (GCP)", ".4f"),
    "classes": ("classes", ",d"),
    "smallest_class": ("smallest class", ",d"),
    "withheld": ("withheld", ",d"),
    "query_error": ("error of counts", ".4f"),
    "seconds": ("seconds", ".1f"),
}
MIND = "each table is judged on its own, and anatomy publishes quasi-identifiers as they are."
WORDS = ("Detail lost (GCP)", "Class", "k", "Closeness", "t", "Withheld row")


def comparison_page(found: Mapping[str, Any], policy: Policy, curve: Curve) -> str:
    """Return the page."""
    charts.libraries()
    canvas, trials = Canvas(), list(found["methods"])
    released = sorted((one for one in trials if one["outcome"] == "released"), key=_rank)
    sections = [_methods(released, canvas)] if released else []
    if len(curve.levels) > 1:
        sections.insert(0, _curve(curve, released[0]["name"], canvas))
    if released and policy.sensitive:
        sections.append(_closeness(released, policy))
    if others := [one for one in trials if one["outcome"] != "released"]:
        rows = [(one["name"], one["outcome"], one["reason"]) for one in others]
        none = listing("Methods without a release, and why", ("method", "outcome", "why"), rows, numbers=0)
        sections.append(Section("others", "Methods that gave no release", [none], "Without a release"))
    told = {**COMPARED, **{name: TERMS[name] for name in WORDS}}
    sections.append(Section("glossary", "Glossary", [words(told)], "Glossary"))
    footer = f"Made by tclose {version('tclose')}. This page asks no network for anything."
    header = _header(trials, released)
    return assembled(title="Methods compared", header=header, sections=sections, footer=footer, canvas=canvas)


def _rank(trial: Trial) -> tuple[bool, float, str]:
    """Put the method that loses least first; what several tables keep is not comparable, so they come last."""
    return METHODS[trial["method"]].tables != "one", trial["gcp"], trial["name"]


def _header(trials: Sequence[Trial], released: Sequence[Trial]) -> list[Html]:
    kicker = element("p", "tclose · methods compared", class_="kicker")
    if not released:
        return [kicker, element("h1", "No method can publish this table as its policy asks.")]
    best = released[0]
    title = f"Of the methods that can publish this table, {best['name']} keeps most detail."
    served = (
        f"{len(released)} of {counted(len(trials), 'method')} gave a release that holds everything that is asked for."
    )
    lead = f"{served} {best['name']} loses {number(best['gcp'])} of the detail in {counted(best['classes'], 'class')}."
    quickest = min(released, key=lambda one: one["seconds"])
    told = {
        "methods tried": str(len(trials)),
        "releases": str(len(released)),
        "least detail lost": number(best["gcp"]),
        "most detail lost": number(max(one["gcp"] for one in released)),
        f"quickest: {quickest['name']}": f"{quickest['seconds']:.1f} s",
    }
    return [kicker, element("h1", title), element("p", lead, class_="lead"), facts(told)]


def _curve(curve: Curve, best: str, canvas: Canvas) -> Section:
    names = sorted({name for name, _, _ in curve.points}, key=lambda name: (name != best, name))
    rows = [(name, *(_figure(loss) for loss in curve.losses(name))) for name in names]
    label = "the loss of every method against t"
    titles = ("method", *(f"t {'' if curve.title == 't' else '× '}{number(level)}" for level in curve.levels))
    figures = listing(label, titles, rows, numbers=len(curve.levels))
    caption = [
        f"Detail lost against t, the lower the better. {best} is drawn in colour, since it loses least at the policy's "
        "own t. A line ends where its method gives no release."
    ]
    marks = key(("thin", "accent", best), ("thin", "muted", "the other methods"))
    spec = charts.tradeoff(curve.points, title=curve.title, best=best)
    told = "The smaller t is, the less a class tells about the people in it, and the more has to be blurred."
    chart = canvas.figure(spec, label=label, caption=caption, rows=figures, key=marks)
    return Section("tradeoff", "What protection costs", [element("p", told), chart], "Trade-off")


def _methods(released: Sequence[Trial], canvas: Canvas) -> Section:
    label = "the share of detail that each method keeps"
    kept = [(one["name"], 1 - one["gcp"]) for one in released]
    rows = [(name, percent(share)) for name, share in kept]
    figures = listing(label, ("method", "kept"), rows, numbers=1)
    caption = ["How much of the quasi-identifiers' detail each method keeps, under the policy as it is."]
    spec = charts.shares(kept, title="share of detail kept")
    chart = canvas.figure(spec, label=label, caption=caption, rows=figures)
    lines = [
        (one["name"], *(_figure(one[name], spelling) for name, (_, spelling) in FIGURES.items())) for one in released
    ]
    whole = listing("Every release", ("method", *(title for title, _ in FIGURES.values())), lines, numbers=len(FIGURES))
    parts = [chart, whole]
    if several := [one["name"] for one in released if METHODS[one["method"]].tables != "one"]:
        told = f"{', '.join(several)}: a release of several tables, listed last. Its figures are not comparable: {MIND}"
        parts.append(element("p", element("strong", "Mind: "), told, class_="mind"))
    return Section("methods", "The methods side by side", parts, "Methods")


def _figure(figure: float | None, spelling: str = ".4f") -> str:
    return "–" if figure is None else format(figure, spelling)


def _closeness(released: Sequence[Trial], policy: Policy) -> Section:
    levels = {name: "" if spec.t is None else f" ≤ {number(spec.t)}" for name, spec in policy.sensitive.items()}
    titles = [shown(name) + level for name, level in levels.items()]
    rows = [(one["name"], *(_figure(one["closeness"][name]) for name in policy.sensitive)) for one in released]
    table = listing("The distance of the worst class, by method", ("method", *titles), rows, numbers=len(titles))
    return Section("closeness", "The closeness that each reaches", [table], "Closeness")
