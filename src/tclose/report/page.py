"""One HTML page that contains everything: style, charts and their script; it loads nothing from a network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from string import Template

from tclose.release.certificate import Origin
from tclose.release.files import check_targets, pending, publish
from tclose.report.charts import Spec, drawing_library
from tclose.report.markup import Html, data_block, element, joined, script_hash, table

INTERNAL = "internal"
NO_NETWORK = "This page loads nothing from a network."


@dataclass(frozen=True)
class Section:
    """A part of the page with its own heading."""

    identity: str
    title: str
    parts: Sequence[Html]
    short: str

    def html(self) -> Html:
        """Return the section."""
        heading = element("h2", self.title, id=f"{self.identity}-title")
        return element("section", heading, *self.parts, id=self.identity, aria_labelledby=f"{self.identity}-title")


@dataclass(frozen=True)
class Canvas:
    """The charts of a page, numbered as they are put on it."""

    specs: list[Spec] = field(default_factory=list)

    def figure(self, spec: Spec, *, label: str, caption: Iterable[str], rows: Html, key: Html | None = None) -> Html:
        """Return a chart with what it says in words, and its figures as a table."""
        self.specs.append(spec)
        number = str(len(self.specs) - 1)
        chart = element("div", element("div", class_="chart", data_chart=number), role="img", aria_label=label)
        figures = element("details", element("summary", "The figures as a table"), rows)
        return element("figure", element("figcaption", *caption), key or Html(), chart, figures)


def origin_line(origin: Origin) -> Html:
    """Return the line that says what the page is about: names, the time and the tool."""
    sentence = ", ".join(origin.words())
    return element("p", f"{sentence[:1].upper()}{sentence[1:]}" if not origin.files else sentence, class_="origin")


def facts(figures: Mapping[str, str]) -> Html:
    """Return the figures that stand at the top."""
    pairs = (element("div", element("dt", name), element("dd", figure)) for name, figure in figures.items())
    return element("dl", *pairs, class_="facts")


def words(terms: Mapping[str, str]) -> Html:
    """Return a glossary."""
    pairs = (joined((element("dt", name), element("dd", meaning))) for name, meaning in terms.items())
    return element("dl", *pairs, class_="words")


def key(*entries: tuple[str, str, str]) -> Html:
    """Say what a chart's marks mean: a shape, its colour, and its name."""
    shapes = {
        "bar": '<rect x="0" y="1" width="18" height="10" fill="{0}"/>',
        "thin": '<rect x="0" y="4" width="18" height="4" fill="{0}"/>',
        "dashed": '<path d="M0 6H18" stroke="{0}" stroke-width="2" stroke-dasharray="5 3"/>',
        "ring": '<circle cx="9" cy="6" r="4.5" fill="none" stroke="{0}" stroke-width="2"/>',
        "dot": '<circle cx="9" cy="6" r="5" fill="{0}"/>',
        "arrow": '<path d="M9 1 15 11 3 11Z" fill="{0}"/>',
        "diamond": '<path d="M9 0 15 6 9 12 3 6Z" fill="{0}"/>',
        "square": '<rect x="4" y="1" width="10" height="10" fill="none" stroke="{0}" stroke-width="2"/>',
    }
    drawn = (
        element(
            "li",
            Html(f'<svg viewBox="0 0 18 12" aria-hidden="true">{shapes[shape].format(f"var(--{color})")}</svg>'),
            name,
        )
        for shape, color, name in entries
    )
    return element("ul", *drawn, class_="key")


def tag(text: str = INTERNAL) -> Html:
    """Mark what must not be published."""
    return element("span", text, class_="tag")


def listing(caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: int) -> Html:
    """Return a table of figures."""
    return table(headings, rows, caption=caption, numbers=numbers)


def assembled(
    *, title: str, header: Iterable[Html], sections: Sequence[Section], footer: str, canvas: Canvas, style: str = ""
) -> str:
    """Put the page together; `style` is for what only some pages have."""
    resources = files("tclose.report")
    links = (element("li", element("a", section.short, href=f"#{section.identity}")) for section in sections)
    contents = element("nav", element("ul", *links), aria_label="Contents")
    library, script = drawing_library(), (resources / "page.js").read_text(encoding="utf-8")
    return Template((resources / "page.html").read_text(encoding="utf-8")).substitute(
        hashes=" ".join(f"'{script_hash(code)}'" for code in (library, script)),
        title=element("title", title)[len("<title>") : -len("</title>")],
        style=(resources / "style.css").read_text(encoding="utf-8") + style,
        header=joined((element("header", *header), contents)),
        content="\n".join(section.html() for section in sections),
        footer=element("footer", footer),
        data=data_block(canvas.specs, identity="charts"),
        library=library,
        script=script,
    )


def save(page: str, path: str | Path, *, force: bool = True) -> None:
    """Write a page, whole or not at all; without `force`, an existing file is refused."""
    check_targets([Path(path)], force=force)
    with pending({"report": Path(path)}, force=force) as written:
        written["report"].write(lambda file: file.write(page.encode()))
        publish(written.values())
