"""The charts of a page and their labels, and the markup that pages are written with."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

from tclose.errors import MissingExtra
from tclose.measure.attack import K_ANONYMOUS, RAW, RELEASE
from tclose.privacy.explanation import GroupMove
from tclose.report.figures import AttributeFigures, Span
from tclose.words import legible, plain

shown = legible  # names and values of the data, for people
EMPTY = frozenset({"br", "meta"})


class Html(str):
    """Markup that is ready for the page."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: str | None) -> Html:
    """Return an element; its children are escaped unless they are markup themselves.

    >>> element("p", "a < b", element("b", "&"), class_="note")
    '<p class="note">a &lt; b<b>&amp;</b></p>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escaped(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in EMPTY:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{joined(children)}</{name}>")


def joined(children: Iterable[str]) -> Html:
    """Put pieces one after the other; those that are not markup are escaped."""
    return Html("".join(child if isinstance(child, Html) else _escaped(child) for child in children))


def _escaped(text: str) -> str:
    return html.escape(plain(text))


def table(headings: Iterable[str], rows: Iterable[Iterable[str]], *, caption: str, numbers: int = 0) -> Html:
    """Return a table whose first column names the row; the last `numbers` columns are figures."""
    titles = list(headings)
    figures = len(titles) - numbers
    head = element(
        "tr",
        *(
            element("th", title, scope="col", class_="figure" if i >= figures else None)
            for i, title in enumerate(titles)
        ),
    )
    body = [
        element(
            "tr",
            *(
                element("td", cell, class_="figure" if i >= figures else None)
                if i
                else element("th", cell, scope="row")
                for i, cell in enumerate(row)
            ),
        )
        for row in rows
    ]
    whole = element("table", element("caption", caption), element("thead", head), element("tbody", *body))
    return element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)


def data_block(content: Any, *, identity: str) -> Html:
    """Return JSON for the page's own script; nothing in it can end the block, or begin a comment."""
    text = json.dumps(_spelled(content), separators=(",", ":"), allow_nan=False)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Html(f'<script type="application/json" id="{html.escape(identity)}">{text}</script>')


def _spelled(content: Any) -> Any:
    """Spell what is invisible in every text, so that no label of a chart turns its line around."""
    if isinstance(content, str):
        return plain(content)
    if isinstance(content, Mapping):
        return {_spelled(key): _spelled(value) for key, value in content.items()}
    return [_spelled(value) for value in content] if isinstance(content, list | tuple) else content


def script_hash(script: str) -> str:
    """Return what a content security policy calls a script that may run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


# Short labels for axes


FONT_PIXELS = 13
WIDEST_PIXELS = 170  # of a label; a phone leaves about 360 for a whole chart
WIDTHS = {**dict.fromkeys(" .,:;'|!()[]{}/-ijltfrI", 0.38), **dict.fromkeys("mwMW@%…", 1.0)}  # in ems of a wide font
NUMBER = r"-?\d+(?:\.\d+)?"
RANGE = re.compile(
    rf"(?P<open>[(\[]|from |[≤≥])?(?P<low>{NUMBER})(?:(?P<sep> – |, )(?P<high>{NUMBER}))?(?P<close>[\])])?"
)
UNITS = ((12, "tn"), (9, "bn"), (6, "M"), (3, "k"), (0, ""))  # powers of ten


def short_labels(names: Sequence[str]) -> list[str]:
    """Shorten names: numbers to the digits that tell ranges apart, texts to what differs.

    >>> short_labels(["1115369472 – 6809200000", "7097144834 – 12531000000"])
    ['1.12 bn – 6.81 bn', '7.1 bn – 12.5 bn']
    >>> short_labels(["malignant neoplasm of the colon, unspecified", "malignant neoplasm of the lung", "flu"])
    ['…colon, unspecified', '…lung', 'flu']
    """
    whole = _with_short_numbers([shown(name) for name in names])
    cut = [_cut(name) for name in whole]
    pairs = zip(whole, cut, strict=True)
    return _numbered([label if cut.count(label) == 1 else _distinct_part(name, whole, cut) for name, label in pairs])


def width(text: str) -> float:
    """Return about how many ems a text takes in a wide font."""
    return sum(_letter_width(letter) for letter in text)


def _letter_width(letter: str) -> float:
    if letter in WIDTHS:
        return WIDTHS[letter]
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF" or letter > "\uffff":
        return 1.4
    return 0.8 if letter.isupper() or letter > "\u024f" else 0.64


def _cut(name: str, pixels: float = WIDEST_PIXELS) -> str:
    """Cut a text to a width; an ellipsis stands for the rest."""
    if width(name) * FONT_PIXELS <= pixels:
        return name
    end = len(name)
    while end and width(name[:end].rstrip() + "…") * FONT_PIXELS > pixels:
        end -= 1
    return name[:end].rstrip() + "…"


def _distinct_part(name: str, whole: Sequence[str], cut: Sequence[str]) -> str:
    """Leave out how a name begins where others that look the same when cut begin so, too."""
    alike = [other for other, label in zip(whole, cut, strict=True) if label == _cut(name)]
    common = _common_start(min(alike), max(alike))
    start = max(common.rfind(letter) for letter in " -_/:") + 1
    return _cut("…" + name[start:]) if start and len(set(alike)) > 1 else _cut(name)


def _common_start(first: str, last: str) -> str:
    end = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:end]


def _numbered(labels: Sequence[str]) -> list[str]:
    """Put numbers behind labels that are still alike."""
    seen: dict[str, int] = {}
    numbered = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        mark = "" if seen[label] == 1 else f" ({seen[label]})"
        numbered.append(_cut(label, WIDEST_PIXELS - width(mark) * FONT_PIXELS) + mark)
    return numbered


def _with_short_numbers(names: Sequence[str]) -> list[str]:
    """Spell long ends of ranges with as few digits, from three on, as keep all ranges and their ends apart."""
    if not any(RANGE.fullmatch(name) and width(name) * FONT_PIXELS > WIDEST_PIXELS for name in names):
        return list(names)
    for digits in range(3, 7):
        spelled = [_range(name, digits) for name in names]
        if len(set(spelled)) == len(set(names)) and None not in spelled:
            return [name for name in spelled if name is not None]
    return list(names)


def _range(name: str, digits: int) -> str | None:
    """Return a range with short ends; None if so few digits make one number of two."""
    parts = RANGE.fullmatch(name)
    if parts is None or (parts["high"] is None and parts["open"] is None):  # a single value may be a code
        return name
    low, high = (end and _short_number(end, digits) for end in (parts["low"], parts["high"]))
    if low == high and parts["low"] != parts["high"]:
        return None
    return "".join(part for part in (parts["open"], low, parts["sep"], high, parts["close"]) if part)


def _short_number(text: str, digits: int) -> str:
    number = Decimal(text)
    rounded = Decimal(f"{number:.{digits - 1}e}")
    if rounded.adjusted() >= 15:
        return f"{rounded:.{digits - 1}e}"
    power, unit = next((power, unit) for power, unit in UNITS if rounded.adjusted() >= power or not power)
    spelled = f"{rounded.scaleb(-power).normalize():f}"
    return f"{spelled} {unit}".rstrip()


# Charts


Spec = dict[str, Any]
Bars = Sequence[tuple[str, float | None]]
INK, MUTED, LINE, PALE, ACCENT = "var(--ink)", "var(--muted)", "var(--line)", "var(--pale)", "var(--accent)"
BAND = 24  # pixels per bar
NAMES_PIXELS = 140  # for the names of methods at the ends of their lines
PERCENT = ".0%"
MOST_TICKS = 4  # of an axis that counts classes: half a class would be spelled as one
OVERLAP, APART = "greedy", 4  # of numbers along an axis
THICK, DASHES = 2, [5, 4]  # of the line of a limit
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
    whole = chart.properties(width="container").properties(config=altair.Config.from_dict(CONFIG)).to_dict()
    spec = compiler.vegalite_to_vega(whole, vl_version=version)
    return dict(json.loads(spec)) if isinstance(spec, str) else dict(spec)


def distinct_names(names: Sequence[str]) -> list[str]:
    """Spell names so that no two are alike, although long ones are cut.

    >>> distinct_names(["a", "a", "b"])
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
    axis = alt.Axis(format=PERCENT, tickCount=4, title=title, labelOverlap=OVERLAP, labelSeparation=APART)
    return alt.X(field, type="quantitative", axis=axis, scale=alt.Scale(domainMin=0, nice=True))


def _names(names: Sequence[str], *, field: str = "name", offset: int = 0) -> Any:
    alt = libraries()[0]
    axis = alt.Axis(title=None, ticks=False, domain=False, grid=False, offset=offset)
    return alt.Y(field, type="nominal", sort=None, scale=alt.Scale(domain=list(names)), axis=axis)


def distribution(figures: AttributeFigures) -> Spec:
    """Draw the table's distribution as pale bars, the worst class upon them, a typical class as rings."""
    names, values = short_labels(figures.groups), distinct_names(figures.groups)
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
    alt, names, values = libraries()[0], short_labels(figures.groups), distinct_names(figures.groups)
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
        axis=alt.Axis(title=title, grid=False, tickCount=6, labelOverlap=OVERLAP, labelSeparation=APART),
    )
    most = max(span.count for span in spans)
    axis = alt.Axis(title="classes", format=",d", tickCount=MOST_TICKS, tickMinStep=1)
    if most <= MOST_TICKS:
        axis = alt.Axis(title="classes", format=",d", values=list(range(most + 1)))
    y = alt.Y("classes", type="quantitative", axis=axis)
    tips = [alt.Tooltip(field, type="quantitative", format=",") for field in ("low", "high", "classes")]
    chart = _data(rows).mark_bar(binSpacing=1).encode(x=x, x2="high", y=y, tooltip=tips)
    if line is not None:
        marker = _data([{"low": line, "name": name}])
        side = "right" if line > (spans[0].low + end) / 2 else "left"
        place = alt.X("low", type="quantitative")
        chart = chart + marker.mark_rule(strokeWidth=THICK, strokeDash=DASHES).encode(x=place)
        text = marker.mark_text(align=side, dx=-6 if side == "right" else 6, dy=-8, baseline="bottom")
        chart = chart + text.encode(x=place, y=alt.value(0), text=alt.Text("name", type="nominal"))
    return compiled(chart.properties(height=170))


def shares(bars: Bars, *, title: str, marks: Sequence[float] | None = None, most: float | None = None) -> Spec:
    """Draw shares as bars, and further shares as rings upon them; a share that is hidden has no bar.

    A dashed line shows the largest share that is possible, where it is known.
    """
    alt, names = libraries()[0], short_labels([name for name, _ in bars])
    whole = distinct_names([name for name, _ in bars])
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
        limit = _data([{"share": most}]).mark_rule(color=INK, strokeWidth=THICK, strokeDash=DASHES)
        chart = chart + limit.encode(x=_shares(title))
    return compiled(chart.properties(height=BAND * len(names)))


def attack_chart(rows: Sequence[tuple[str, str, float]], *, tables: Sequence[str]) -> Spec:
    """Draw, per attack, the share of rows affected in each table: the release is the filled mark."""
    alt, names = libraries()[0], list(dict.fromkeys(name for name, _, _ in rows))
    data = [{"name": name, "table": table, "share": share} for name, table, share in rows]
    tips = [alt.Tooltip(field, type="nominal") for field in ("name", "table")]
    tips.append(alt.Tooltip("share", type="quantitative", format=".1%"))
    chart = None
    for table in tables:
        base = MARKS[table].on(_data([row for row in data if row["table"] == table]))
        layer = base.encode(y=_names(names, offset=10), x=_shares("share of rows affected"), tooltip=tips)
        chart = layer if chart is None else chart + layer
    return compiled(chart.properties(height=(BAND + 4) * len(names)))  # type: ignore[union-attr]


@dataclass(frozen=True)
class Mark:
    """How the points of a table that is attacked look."""

    color: str
    shape: str
    filled: bool = True
    size: int = 90

    def on(self, chart: Any) -> Any:
        """Draw points like this."""
        return chart.mark_point(
            opacity=1, color=self.color, shape=self.shape, filled=self.filled, size=self.size, strokeWidth=THICK
        )


MARKS = {
    RAW: Mark(MUTED, "diamond"),
    K_ANONYMOUS: Mark(INK, "square", filled=False),
    RELEASE: Mark(ACCENT, "circle", size=110),
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
    axis = alt.Axis(title=title, grid=False, values=levels, format=".3~g", labelOverlap=OVERLAP, labelSeparation=APART)
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
        line = _data(least).mark_line(color=INK, strokeWidth=THICK, strokeDash=DASHES)
        chart = chart + line.encode(x=x, y=y, tooltip=tips)
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
