"""The page's charts, made by Altair and compiled for the drawing library that the page contains.

Colours are the page's own CSS variables, so that a chart follows light, dark and print without being drawn again.
Fields have fixed names: a column's name or a value is only ever data.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from tclose.errors import MissingExtra
from tclose.measure.attack import K_ANONYMOUS, RAW, RELEASE
from tclose.privacy.groups import GroupMove
from tclose.report.figures import AttributeFigures, Span
from tclose.report.labels import short_labels
from tclose.report.markup import shown

Spec = dict[str, Any]
Bars = Sequence[tuple[str, float | None]]
INK, MUTED, LINE, PALE, ACCENT = "var(--ink)", "var(--muted)", "var(--line)", "var(--pale)", "var(--accent)"
BAND = 24  # pixels per bar
NAMES_PIXELS = 140  # for the names of methods at the ends of their lines
PERCENT = ".0%"
MOST_TICKS = 4  # of an axis that counts classes: half a class would be spelled as one
APART: dict[str, Any] = {"labelOverlap": "greedy", "labelSeparation": 4}  # numbers along an axis
DASHED: dict[str, Any] = {"strokeWidth": 2, "strokeDash": [5, 4]}  # a limit
LOWER_BOUND = "lower bound"
CONFIG = {
    "background": "transparent",
    "font": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": MUTED,
        "titleFontWeight": "normal",
        "labelFontSize": 13,
        "titleFontSize": 13,
        "labelLimit": 0,  # labels are short already
        "gridColor": LINE,
        "domainColor": LINE,
        "tickColor": LINE,
    },
    "bar": {"color": ACCENT},
    "rule": {"color": INK},
    "text": {"color": INK, "fontSize": 13},
}


def libraries() -> tuple[Any, Any]:
    """Return Altair and its compiler, or say how to install them."""
    try:
        import altair
        import vl_convert
    except ImportError as missing:
        raise MissingExtra("altair and vl-convert-python", "report", "a report") from missing
    return altair, vl_convert


@cache
def drawing_library() -> str:
    """Return the script that draws charts: Vega, whole, without a request to any network."""
    script = str(libraries()[1].javascript_bundle("window.draw = vegaEmbed;")).replace("</script", "<\\/script")
    return f"(function () {{{script}\n}})();"


def compiled(chart: Any) -> Spec:
    """Return what the page's script draws."""
    altair, compiler = libraries()
    version = ".".join(altair.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    whole = chart.properties(width="container").configure(**CONFIG).to_dict()
    spec = compiler.vegalite_to_vega(whole, vl_version=version)
    return dict(json.loads(spec)) if isinstance(spec, str) else dict(spec)


def different(names: Sequence[str]) -> list[str]:
    """Spell names so that no two are alike, although long ones are cut.

    >>> different(["a", "a", "b"])
    ['a', 'a (2)', 'b']
    """
    seen: dict[str, int] = {}
    spelled = []
    for name in map(shown, names):
        seen[name] = seen.get(name, 0) + 1
        spelled.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return spelled


def _data(rows: list[dict[str, Any]]) -> Any:
    return libraries()[0].Chart(libraries()[0].Data(values=rows))


def _shares(title: str, field: str = "share") -> Any:
    alt = libraries()[0]
    axis = alt.Axis(format=PERCENT, tickCount=4, title=title, **APART)
    return alt.X(field, type="quantitative", axis=axis, scale=alt.Scale(domainMin=0, nice=True))


def _names(names: Sequence[str], *, field: str = "name", offset: int = 0) -> Any:
    alt = libraries()[0]
    axis = alt.Axis(title=None, ticks=False, domain=False, grid=False, offset=offset)
    return alt.Y(field, type="nominal", sort=None, scale=alt.Scale(domain=list(names)), axis=axis)


def distribution(figures: AttributeFigures) -> Spec:
    """Draw the table's distribution as pale bars, the worst class upon them, a typical class as rings."""
    names, values = short_labels(figures.groups), different(figures.groups)
    columns = zip(names, values, figures.table, figures.worst.shares, figures.typical.shares, strict=True)
    rows = [
        {"name": name, "value": value, "table": float(whole), "worst": float(worst), "typical": float(typical)}
        for name, value, whole, worst, typical in columns
    ]
    y, title = _names(names), "share of rows"
    tips = [
        _tip("value", "value"),
        _tip("table", "whole table"),
        _tip("worst", "worst class"),
        _tip("typical", "typical"),
    ]
    base = _data(rows).encode(y=y, tooltip=tips)
    chart = (
        base.mark_bar(color=PALE, size=BAND * 0.8).encode(x=_shares(title, "table"))
        + base.mark_bar(color=ACCENT, size=BAND * 0.3).encode(x=_shares(title, "worst"))
        + base.mark_point(color=INK, filled=False, size=60, strokeWidth=2, fill="var(--paper)")
        .transform_filter("datum.typical > 0")  # a ring on the axis would only hide names
        .encode(x=_shares(title, "typical"))
    )
    return compiled(chart.properties(height=BAND * len(names)))


def _tip(field: str, title: str) -> Any:
    alt = libraries()[0]
    if field == "value":
        return alt.Tooltip(field, title=title, type="nominal")
    return alt.Tooltip(field, title=title, type="quantitative", format=".1%")


def moves(figures: AttributeFigures) -> Spec:
    """Draw the moves of rows: from a ring to an arrow's head; a wider line moves more rows."""
    alt, names, values = libraries()[0], short_labels(figures.groups), different(figures.groups)
    rows = [_move(order, move, names, values) for order, move in enumerate(figures.moves, start=1)]
    axis = alt.Axis(title="moves, the costliest first", labelAngle=0, grid=False, labelFontSize=12)
    x = alt.X("order", type="ordinal", axis=axis)
    width = alt.StrokeWidth("mass", type="quantitative", legend=None, scale=alt.Scale(domainMin=0, range=[1.5, 9]))
    shape = alt.Shape("direction", type="nominal", legend=None, scale=alt.Scale(
        domain=["down", "up"], range=["triangle-down", "triangle-up"]
    ))  # fmt: skip
    titles = {"source": "from", "target": "to", "share": "share"}
    tips = [alt.Tooltip(field, type="nominal", title=title) for field, title in titles.items()]
    base = _data(rows).encode(x=x, tooltip=tips)
    y, target = _names(names, field="from"), _names(names, field="to")
    chart = (
        base.mark_rule(color=ACCENT, opacity=0.75).encode(y=y, y2=alt.Y2("to", bandPosition=0.5), strokeWidth=width)
        + base.mark_point(color=ACCENT, filled=False, size=50, strokeWidth=2, fill="var(--paper)").encode(y=y)
        + base.mark_point(color=ACCENT, filled=True, size=130, opacity=1).encode(y=target, shape=shape)
    )
    return compiled(chart.properties(height=BAND * len(names)))


def _move(order: int, move: GroupMove, names: Sequence[str], values: Sequence[str]) -> dict[str, Any]:
    return {
        "order": order,
        "from": names[move.source],
        "to": names[move.target],
        "source": values[move.source],
        "target": values[move.target],
        "mass": float(move.mass),
        "share": f"{float(move.mass):.2%}",
        "direction": "down" if move.target > move.source else "up",
    }


def histogram(spans: Sequence[Span], *, title: str, line: float | None, name: str) -> Spec:
    """Draw how many classes lie in each span, and the limit as a dashed line."""
    alt = libraries()[0]
    rows = [{"low": span.low, "high": span.high, "classes": span.count} for span in spans]
    end = max(spans[-1].high, 0 if line is None else line)
    x = alt.X(
        "low",
        type="quantitative",
        bin="binned",
        scale=alt.Scale(domain=[min(spans[0].low, end if line is None else line), end], nice=False),
        axis=alt.Axis(title=title, grid=False, tickCount=6, **APART),
    )
    most = max(span.count for span in spans)
    ticks = {"values": list(range(most + 1))} if most <= MOST_TICKS else {"tickCount": MOST_TICKS, "tickMinStep": 1}
    y = alt.Y("classes", type="quantitative", axis=alt.Axis(title="classes", format=",d", **ticks))
    tips = [alt.Tooltip(field, type="quantitative", format=",") for field in ("low", "high", "classes")]
    chart = _data(rows).mark_bar(binSpacing=1).encode(x=x, x2="high", y=y, tooltip=tips)
    if line is not None:
        marker = _data([{"low": line, "name": name}])
        side = "right" if line > (spans[0].low + end) / 2 else "left"
        place = alt.X("low", type="quantitative")
        chart = chart + marker.mark_rule(**DASHED).encode(x=place)
        text = marker.mark_text(align=side, dx=-6 if side == "right" else 6, dy=-8, baseline="bottom")
        chart = chart + text.encode(x=place, y=alt.value(0), text=alt.Text("name", type="nominal"))
    return compiled(chart.properties(height=170))


def shares(bars: Bars, *, title: str, marks: Sequence[float] | None = None, most: float | None = None) -> Spec:
    """Draw shares as bars, and further shares as rings upon them; a share that is hidden has no bar.

    A dashed line shows the largest share that is possible, where it is known.
    """
    alt, names = libraries()[0], short_labels([name for name, _ in bars])
    whole = different([name for name, _ in bars])
    rows = [
        {"name": name, "value": value, "share": share}
        for name, value, (_, share) in zip(names, whole, bars, strict=True)
    ]
    tips = [
        alt.Tooltip("value", type="nominal", title="name"),
        alt.Tooltip("share", type="quantitative", format=".1%"),
    ]
    color = ACCENT if marks is None else PALE
    chart = _data(rows).mark_bar(size=BAND * 0.7, color=color).encode(y=_names(names), x=_shares(title), tooltip=tips)
    if marks is not None:
        rings = [{**row, "share": float(mark)} for row, mark in zip(rows, marks, strict=True)]
        base = _data(rings).encode(y=_names(names), x=_shares(title), tooltip=tips)
        chart = chart + base.mark_point(color=ACCENT, filled=True, size=70, opacity=1)
    if most is not None:
        chart = chart + _data([{"share": most}]).mark_rule(color=INK, **DASHED).encode(x=_shares(title))
    return compiled(chart.properties(height=BAND * len(names)))


def attacked(rows: Sequence[tuple[str, str, float]], *, tables: Sequence[str]) -> Spec:
    """Draw, per attack, the share of rows affected in each table: the release is the filled mark."""
    alt, names = libraries()[0], list(dict.fromkeys(name for name, _, _ in rows))
    data = [{"name": name, "table": table, "share": share} for name, table, share in rows]
    tips = [alt.Tooltip(field, type="nominal") for field in ("name", "table")]
    tips.append(alt.Tooltip("share", type="quantitative", format=".1%"))
    chart = None
    for table in tables:
        base = _data([row for row in data if row["table"] == table]).mark_point(opacity=1, **MARKS[table])
        layer = base.encode(y=_names(names, offset=10), x=_shares("share of rows affected"), tooltip=tips)
        chart = layer if chart is None else chart + layer
    return compiled(chart.properties(height=(BAND + 4) * len(names)))  # type: ignore[union-attr]


MARKS: dict[str, dict[str, Any]] = {  # of the tables that are attacked
    RAW: {"color": MUTED, "filled": True, "size": 90, "shape": "diamond"},
    K_ANONYMOUS: {"color": INK, "filled": False, "size": 90, "strokeWidth": 2, "shape": "square"},
    RELEASE: {"color": ACCENT, "filled": True, "size": 110, "shape": "circle"},
}


def tradeoff(
    rows: Sequence[tuple[str, float, float]], *, title: str, best: str, bounds: Sequence[tuple[float, float]] = ()
) -> Spec:
    """Draw the loss of every method against t, the best in colour; a dashed line is what every release must lose."""
    alt = libraries()[0]
    data: list[dict[str, Any]] = [{"method": name, "t": t, "loss": loss} for name, t, loss in rows]
    least: list[dict[str, Any]] = [{"method": LOWER_BOUND, "t": t, "loss": bound} for t, bound in bounds]
    levels = sorted({row["t"] for row in (*data, *least)})
    span = f"{levels[-1]} + {levels[-1] - levels[0]} * {NAMES_PIXELS} / max(width - {NAMES_PIXELS}, 1)"
    axis = alt.Axis(title=title, grid=False, values=levels, format=".3~g", **APART)
    scale = alt.Scale(domainMin=levels[0], domainMax=alt.ExprRef(span), nice=False)  # with room for the names
    x = alt.X("t", type="quantitative", axis=axis, scale=scale)
    y = alt.Y("loss", type="quantitative", axis=alt.Axis(title="detail lost (GCP)", tickCount=5))
    tips = [
        alt.Tooltip("method", type="nominal"),
        *(alt.Tooltip(field, type="quantitative") for field in ("t", "loss")),
    ]

    def lines(chosen: list[dict[str, Any]], color: str, width: float) -> Any:
        base = _data(chosen).encode(x=x, y=y, detail=alt.Detail("method", type="nominal"), tooltip=tips)
        return base.mark_line(color=color, strokeWidth=width) + base.mark_point(color=color, filled=True, size=45)

    others = [row for row in data if row["method"] != best]
    chart = lines(others, MUTED, 1.2) if others else None
    colored = lines([row for row in data if row["method"] == best], ACCENT, 3)
    chart = colored if chart is None else chart + colored
    if least:
        chart = chart + _data(least).encode(x=x, y=y, tooltip=tips).mark_line(color=INK, **DASHED)
    last, highest = {row["method"]: row for row in (*data, *least)}, max(row["loss"] for row in data)
    room = highest / (12 if any(":" in method for method in last) else 19)  # names with a choice take two lines
    labels = [row for row in last.values() if row["method"] in _spaced(list(last.values()), best, room)]
    named = _data(labels).mark_text(align="left", baseline="middle", dx=9, lineBreak=":", fontSize=12)
    text = named.encode(x=x, y=y, text=alt.Text("method", type="nominal"))
    return compiled((chart + text).properties(height=340))


def _spaced(ends: list[dict[str, Any]], best: str, room: float) -> set[str]:
    """Choose the methods whose names do not overlap at the end of their lines, the best first."""
    kept: list[dict[str, Any]] = []
    for row in sorted(ends, key=lambda row: (row["method"] != best, row["loss"])):
        if all(abs(row["loss"] - other["loss"]) > room for other in kept):
            kept.append(row)
    return {row["method"] for row in kept}
