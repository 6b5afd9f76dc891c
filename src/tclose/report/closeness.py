"""The section about closeness: how far every class is from the whole table, attribute by attribute."""

from __future__ import annotations

from collections.abc import Sequence

from tclose.distance import DISTANCES, JOINT_NEAR
from tclose.privacy import requirement
from tclose.privacy.allowance import Allowance
from tclose.release.certificate import Certificate
from tclose.release.claims import Claims, ModelClaim, Number
from tclose.report import charts
from tclose.report.figures import AttributeFigures, TableFigures
from tclose.report.markup import Html, element, shown
from tclose.report.page import Canvas, Section, key, listing
from tclose.words import counted, level, nt_closeness, number, percent

LONGEST_LIMIT = 10  # letters that a chart has room for
WHY = (
    "Anyone who knows a person's class learns the distribution of the sensitive values in that class. The closer it "
    "is to the distribution in the whole table, which anyone may know, the less the class alone tells about the "
    "person. An adversary who also knows how the classes were made may infer more."
)


def closeness_section(certificate: Certificate, tables: Sequence[TableFigures], canvas: Canvas) -> Section:
    """Show what the policy requires and what the release reaches, then every attribute."""
    claims = certificate.claims
    parts = [element("p", WHY), _requirements(claims.models)]
    parts += [_attribute(attribute, claims, canvas) for table in tables for attribute in table.attributes]
    return Section("closeness", "How close every class is to the whole table", parts, "Closeness")


def _requirements(models: Sequence[ModelClaim]) -> Html:
    rows = [
        (
            shown(claim.attribute or "every class"),
            requirement(str(claim.model)).title,
            requirement(str(claim.model)).words(claim.required),
            _level(claim.reached),
            "holds" if claim.satisfied else "fails",
        )
        for claim in models
    ]
    headings = ("attribute", "requirement", "required", "reached", "verdict")
    return listing("Every requirement of the policy and what the release reaches", headings, rows, numbers=0)


def _level(reached: Number | None) -> str:
    return number(reached) if isinstance(reached, int | float) else str(reached)


def _attribute(figures: AttributeFigures, claims: Claims, canvas: Canvas) -> Html:
    claim, limit = claims.attributes[figures.name], claims.limits.get(figures.name)
    allowed = "" if limit is None else f"; the policy allows {limit}"
    words = (
        f"The worst class is class {figures.worst.number:,} with {counted(figures.worst.rows, 'row')}. Its distance "
        f"from the whole table is {_level(claim.closeness)} (exactly {claim.closeness_exact}){allowed}. Half of the "
        f"classes are within {number(figures.typical.closeness)}. With this distance, "
        f"{_near(figures.distance)}.{_superset(claims.supersets.get(figures.name))}"
    )
    pair = element("div", _distribution(figures, canvas), *_moves(figures, canvas), class_="pair")
    return element(
        "article",
        element("h3", shown(figures.name)),
        element("p", words),
        *([] if figures.allows is None else [element("p", _allowed(figures.allows))]),
        pair,
        _classes(figures, limit, canvas),
    )


def _allowed(allows: Allowance) -> str:
    """Say what t allows in any class, not only in those of this release."""
    warning = "" if allows.warning is None else f" {allows.warning}."
    return f"Whatever the classes: {allows.claim.says}.{warning}"


def _near(distance: str) -> str:
    """Say what counts as near, as the end of a sentence."""
    return JOINT_NEAR[distance] if distance in JOINT_NEAR else DISTANCES[distance].near


def _superset(claim: ModelClaim | None) -> str:
    """Say what (n,t)-closeness requires, where that is required instead of a limit for every class."""
    return "" if claim is None else f" The policy requires {nt_closeness({str(claim.attribute): claim.required})}."


def _distribution(attribute: AttributeFigures, canvas: Canvas) -> Html:
    label = f"{shown(attribute.name)} in the table, in the worst class and in a typical class"
    shares = zip(attribute.table, attribute.worst.shares, attribute.typical.shares, strict=True)
    rows = [
        (name, *(percent(float(share)) for share in of_group))
        for name, of_group in zip(charts.different(attribute.groups), shares, strict=True)
    ]
    grouped = f" The {attribute.values:,} values are shown in {len(attribute.groups)} groups."
    caption = "The share of rows with each value: in the whole table, in the worst class and in a typical class."
    caption += "" if len(attribute.groups) == attribute.values else grouped
    marks = key(
        ("bar", "pale", "whole table"),
        ("thin", "accent", f"worst class ({attribute.worst.number:,})"),
        ("ring", "ink", f"typical class ({attribute.typical.number:,})"),
    )
    figures = listing(label, ("value", "table", "worst", "typical"), rows, numbers=3)
    return canvas.figure(charts.distribution(attribute), label=label, caption=[caption], rows=figures, key=marks)


def _moves(attribute: AttributeFigures, canvas: Canvas) -> list[Html]:
    if not attribute.moves:
        return []
    names, label = (
        charts.different(attribute.groups),
        f"moves that make the worst class equal for {shown(attribute.name)}",
    )
    rows = [
        (f"{order}. {names[move.source]}", names[move.target], percent(float(move.mass)), f"{float(move.cost):.4f}")
        for order, move in enumerate(attribute.moves, start=1)
    ]
    caption = (
        "The moves that turn the distribution of the worst class into that of the table: from the ring to the arrow's "
        "head; a wider line moves more rows. The sum of the costs is the distance."
    )
    if attribute.other_cost > 0:
        caption += f" Smaller moves, and moves within a group, cost {attribute.other_cost:.4f}."
    marks = key(("ring", "accent", "the class has too many rows"), ("arrow", "accent", "the class has too few rows"))
    figures = listing(label, ("from", "to", "share of rows", "cost"), rows, numbers=2)
    return [canvas.figure(charts.moves(attribute), label=label, caption=[caption], rows=figures, key=marks)]


def _classes(attribute: AttributeFigures, limit: Number | None, canvas: Canvas) -> Html:
    label = f"distances of all classes for {shown(attribute.name)}"
    line = None if limit is None else level(limit)
    caption = "The number of classes by their distance from the whole table."
    caption += "" if limit is None else f" The dashed line is t = {limit}: no class is beyond it."
    rows = [(f"{number(span.low)} to {number(span.high)}", f"{span.count:,}") for span in attribute.closeness]
    figures = listing(label, ("distance from the table", "classes"), rows, numbers=1)
    name = f"t = {limit}" if len(str(limit)) <= LONGEST_LIMIT else f"t ≈ {number(line or 0)}"
    spec = charts.histogram(attribute.closeness, title="distance from the whole table", line=line, name=name)
    return canvas.figure(spec, label=label, caption=[caption], rows=figures)
