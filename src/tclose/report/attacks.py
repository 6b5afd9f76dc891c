"""The section about attacks: what an adversary learns from the release, beside the raw and the k-anonymous table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tclose.measure.attack import K_ANONYMOUS, RAW, RELEASE, AttackResult, Attacks, ExposedClass
from tclose.report import charts
from tclose.report.markup import Html, element, shown
from tclose.report.page import Canvas, Section, key, listing, tag
from tclose.words import counted, percent

MOST_NAMED = 10
MARKS = {RAW: ("diamond", "muted"), K_ANONYMOUS: ("square", "ink"), RELEASE: ("dot", "accent")}


def attack_section(attacks: Attacks, canvas: Canvas, *, public: bool) -> Section:
    """Show every attack; on a page for the public, on the release alone."""
    headings = {RELEASE: attacks.headings[RELEASE]} if public else attacks.headings
    lead = "Each attack is something that an adversary may try who has the release and knows people in it."
    if not public:
        lead += f" For comparison, the raw table and a table that is only {attacks.k}-anonymous are attacked, too."
    parts = [
        element("p", lead),
        _chart(attacks.results, headings, canvas),
        _figures(attacks.results, headings),
        *(_attack(result, public=public) for result in attacks.results),
    ]
    return Section("attacks", "What an adversary learns", parts, "Attacks")


def _chart(results: Sequence[AttackResult], headings: Mapping[str, str], canvas: Canvas) -> Html:
    applied = [result for result in results if result.findings[RELEASE].figure is not None]
    label = "the share of rows that each attack affects"
    shares = [
        (result.attack.label, *(percent(result.findings[table].share) for table in headings)) for result in applied
    ]
    figures = listing(label, ("attack", *headings.values()), shares, numbers=len(headings))
    points = [(result.attack.label, table, result.findings[table].share) for result in applied for table in headings]
    marks = key(*((*MARKS[table], heading) for table, heading in headings.items()))
    internal = (tag(), " ") if len(headings) > 1 else ()
    caption = (*internal, "The share of rows that each attack affects. Further left is better.")
    spec = charts.attacked(points, tables=list(headings))
    return canvas.figure(spec, label=label, caption=caption, rows=figures, key=marks)


def _figures(results: Sequence[AttackResult], headings: Mapping[str, str]) -> Html:
    rows = [
        (
            result.attack.label,
            result.attack.figure,
            *(result.spelled(table) for table in headings),
            result.attack.better,
        )
        for result in results
    ]
    titles = ("attack", "figure", *headings.values(), "better")
    return listing("The figure of every attack, and which direction is better", titles, rows, numbers=0)


def _attack(result: AttackResult, *, public: bool) -> Html:
    """Explain one attack, and what it learns from the release and from the raw table."""
    attack, release = result.attack, result.findings[RELEASE]
    parts = [
        element("h3", attack.title.capitalize()),
        element("p", attack.meaning),
        element("p", element("strong", "The release: "), release.sentence),
    ]
    if not public:
        parts.append(element("p", element("strong", "The raw table: "), result.findings[RAW].sentence, " ", tag()))
    if release.classes:
        parts.append(element("p", _exposed(release.classes)))
    return element("div", *parts)


def _exposed(classes: Sequence[ExposedClass]) -> str:
    """List the first classes that an attack succeeds on."""
    listed = "; ".join(_exposed_class(exposed) for exposed in classes[:MOST_NAMED])
    more = f"; and {len(classes) - MOST_NAMED:,} more" if len(classes) > MOST_NAMED else ""
    return f"Affected: {listed}{more}."


def _exposed_class(exposed: ExposedClass) -> str:
    lesson = f": {shown(exposed.what)}" if exposed.what else ""
    return f"class {exposed.number:,} ({counted(exposed.rows, 'row')}, {shown(exposed.attribute)}{lesson})"
