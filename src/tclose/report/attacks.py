"""What an adversary would have learnt, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tclose.report import charts
from tclose.report.markup import Html, element, shown
from tclose.report.page import Canvas, Section, key, listing, tag
from tclose.words import counted, number, percent

RELEASE = "release"
MOST_NAMED = 10


def attack_section(attacks: Mapping[str, Any], canvas: Canvas, *, public: bool) -> Section:
    """Show every attack; on a page for the public, on the release alone."""
    tables = [RELEASE] if public else list(attacks["tables"])
    headings = {"raw": "raw table", "k_anonymous": f"{attacks['k']}-anonymous", RELEASE: RELEASE}
    told = "Each attack is what somebody might try who holds the release and knows people in it."
    if not public:
        told += f" Beside the release: the raw table, and one that is merely {attacks['k']}-anonymous."
    parts = [element("p", told), _chart(attacks, tables, headings, canvas), _figures(attacks, tables, headings)]
    parts += [_words(one, public=public) for one in attacks["attacks"]]
    return Section("attacks", "What an adversary would have learnt", parts, "Attacks")


def _chart(attacks: Mapping[str, Any], tables: list[str], headings: Mapping[str, str], canvas: Canvas) -> Html:
    worked = [one for one in attacks["attacks"] if one[RELEASE]["figure"] is not None]
    rows = [(_short(one), table, one[table]["share"]) for one in worked for table in tables]
    label = "the share of rows that each attack affects"
    shares = [(_short(one), *(percent(one[table]["share"]) for table in tables)) for one in worked]
    figures = listing(label, ("attack", *(headings[table] for table in tables)), shares, numbers=len(tables))
    marks = {"raw": ("diamond", "muted"), "k_anonymous": ("square", "ink"), RELEASE: ("dot", "accent")}
    entries = key(*((*marks[table], headings[table]) for table in tables))
    internal = (tag(), " ") if len(tables) > 1 else ()
    caption = (*internal, "The share of rows about which each attack learns something: the further left, the better.")
    return canvas.figure(charts.attacked(rows, tables=tables), label=label, caption=caption, rows=figures, key=entries)


def _short(one: Mapping[str, Any]) -> str:
    return str(one["name"]).replace("_", " ")


def _figures(attacks: Mapping[str, Any], tables: list[str], headings: Mapping[str, str]) -> Html:
    rows = [
        (_short(one), one["figure"], *(_figure(one, table) for table in tables), one["better"])
        for one in attacks["attacks"]
    ]
    titles = ("attack", "figure", *(headings[table] for table in tables), "better")
    return listing("The figure of every attack", titles, rows, numbers=0)


def _figure(one: Mapping[str, Any], table: str) -> str:
    figure = one[table]["figure"]
    if figure is None:
        return "–"
    return percent(figure) if one["unit"] == "share" else number(figure)


def _words(one: Mapping[str, Any], *, public: bool) -> Html:
    sentence = element("p", element("strong", "The release: "), one[RELEASE]["sentence"])
    raw = Html() if public else element("p", element("strong", "The raw table: "), one["raw"]["sentence"], " ", tag())
    named = [
        f"class {each['class']:,} ({counted(each['rows'], 'row')}, {shown(each['attribute'])}"
        + (f": {shown(each['what'])})" if each["what"] else ")")
        for each in one["classes"][:MOST_NAMED]
    ]
    more = len(one["classes"]) - len(named)
    open_classes = f"Open: {'; '.join(named)}{f'; and {more:,} more' if more else ''}." if named else ""
    listed = element("p", open_classes) if named else Html()
    return element(
        "div",
        element("h3", f"{_short(one).capitalize()}: {one['title']}"),
        element("p", one["meaning"]),
        sentence,
        raw,
        listed,
    )
