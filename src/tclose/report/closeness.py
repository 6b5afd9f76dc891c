"""The heart of the page: how close every class is to the table, attribute by attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tclose.distance import DISTANCES
from tclose.privacy import requirement
from tclose.report import charts
from tclose.report.figures import AttributeFigures, TableFigures, by_name
from tclose.report.markup import Html, element, shown
from tclose.report.page import Canvas, Section, key, listing
from tclose.words import counted, level, number, percent, required


def closeness_section(content: Mapping[str, Any], tables: Sequence[TableFigures], canvas: Canvas) -> Section:
    """Tell how close the release is, then why, attribute by attribute."""
    told = (
        "Anyone who knows a person's class learns the distribution of the sensitive values in it. It must hardly "
        "differ from that of the whole table, which anybody may know: then the class tells next to nothing about the "
        "person."
    )
    parts = [element("p", told), _requirements(content)]
    parts += [_attribute(one, content["sensitive"][one.name], canvas) for one in by_name(tables)]
    return Section("closeness", "How close every class is to the whole table", parts, "Closeness")


def _requirements(content: Mapping[str, Any]) -> Html:
    rows = [
        (
            shown(one["attribute"] or "every class"),
            requirement(one["model"]).title,
            required(one["required"]),
            one["reached"] if isinstance(one["reached"], str) else number(one["reached"]),
            "holds" if one["satisfied"] else "fails",
        )
        for one in content["models"]
    ]
    headings = ("attribute", "requirement", "asked", "reached", "verdict")
    return listing("Every requirement of the policy and what the release reaches", headings, rows, numbers=0)


def _attribute(one: AttributeFigures, found: Mapping[str, Any], canvas: Canvas) -> Html:
    name, t = shown(one.name), found["t"]
    allowed = "" if t is None else f", where the policy allows {t}"
    told = (
        f"The worst class, number {one.worst.number:,} with {counted(one.worst.rows, 'row')}, is "
        f"{number(found['closeness'])} away from the whole table (exactly {found['closeness_exact']}){allowed}; half "
        f"of the classes are within {number(one.typical.closeness)}. Here {DISTANCES[one.distance].near}."
    )
    pair = element("div", _distribution(one, canvas), *_moves(one, canvas), class_="pair")
    return element("article", element("h3", name), element("p", told), pair, _classes(one, t, canvas))


def _distribution(one: AttributeFigures, canvas: Canvas) -> Html:
    label = f"{shown(one.name)} in the table, in the worst and in a typical class"
    rows = [
        (name, percent(float(table)), percent(float(worst)), percent(float(typical)))
        for name, table, worst, typical in zip(
            charts.different(one.groups), one.table, one.worst.shares, one.typical.shares, strict=True
        )
    ]
    grouped = (
        "" if len(one.groups) == one.values else f" The {one.values:,} values are shown in {len(one.groups)} groups."
    )
    caption = [f"The share of rows that shows each value: whole table, worst class, and a typical class.{grouped}"]
    marks = key(
        ("bar", "pale", "whole table"),
        ("thin", "accent", f"worst class ({one.worst.number:,})"),
        ("ring", "ink", f"typical class ({one.typical.number:,})"),
    )
    figures = listing(label, ("value", "table", "worst", "typical"), rows, numbers=3)
    return canvas.figure(charts.distribution(one), label=label, caption=caption, rows=figures, key=marks)


def _moves(one: AttributeFigures, canvas: Canvas) -> list[Html]:
    if not one.moves:
        return []
    names, label = charts.different(one.groups), f"the earth that moves for {shown(one.name)}"
    rows = [
        (f"{order}. {names[move.source]}", names[move.target], percent(move.mass), f"{move.cost:.4f}")
        for order, move in enumerate(one.moves, start=1)
    ]
    rest = f" Smaller moves, and those within a group, cost {one.other_cost:.4f}." if one.other_cost > 0 else ""
    caption = [
        "The earth that must move to turn the worst class into the table: from the ring to the arrow's head, the wider "
        f"the more. What it costs is the distance.{rest}"
    ]
    marks = key(("ring", "accent", "too many rows here"), ("arrow", "accent", "too few rows here"))
    figures = listing(label, ("from", "to", "share of rows", "cost"), rows, numbers=2)
    return [canvas.figure(charts.moves(one), label=label, caption=caption, rows=figures, key=marks)]


def _classes(one: AttributeFigures, t: Any, canvas: Canvas) -> Html:
    label = f"the closeness of all classes for {shown(one.name)}"
    line = None if t is None else level(t)
    against = "" if t is None else f" The dashed line is t = {t}: no class may lie beyond it."
    rows = [(f"{number(span.low)} to {number(span.high)}", f"{span.count:,}") for span in one.closeness]
    figures = listing(label, ("distance from the table", "classes"), rows, numbers=1)
    spec = charts.histogram(one.closeness, title="distance from the whole table", line=line, name=f"t = {t}")
    return canvas.figure(spec, label=label, caption=[f"All classes by their distance.{against}"], rows=figures)
