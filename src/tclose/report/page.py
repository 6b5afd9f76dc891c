"""One HTML page that contains everything: style, charts and their script; it loads nothing from a network.

The words of the pages are explained for readers who are not statisticians.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from string import Template

from tclose.release.certificate import Origin
from tclose.release.files import check_targets, write_whole
from tclose.report.charts import Html, Spec, data_block, drawing_library, element, joined, script_hash, table
from tclose.words import NT_MEANING

# The page and its parts


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


def page_html(
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
    write_whole(path, page.encode(), force=force)


# The glossary


TERMS = {
    "Sensitive attribute": "A column that nobody may learn about a person, such as a diagnosis or a salary. "
    "Its values are published as they are.",
    "Quasi-identifier": "A column that a neighbour or an employer may know about a person, such as age or place. "
    "A combination of such columns can identify a person, so they are published less exactly.",
    "Class": "All rows that show the same quasi-identifiers in the release. Anyone who knows a person's "
    "quasi-identifiers can find the person's class, but not the person's row.",
    "k": "The smallest number of rows (or persons) that a class may have: everyone hides among at least k.",
    "Distribution": "The share of the rows that has each value.",
    "Closeness": "How far the distribution of a sensitive attribute in a class is from the distribution in the whole "
    "table, from 0 (equal) to 1 (as far as possible). The closeness of a release is that of its worst class.",
    "t": "The largest distance that the policy allows. With a smaller t, a class tells less about the people in it, "
    "and the quasi-identifiers become less exact.",
    "Earth mover's distance": "How closeness is measured. Think of the distribution of the class as heaps of earth, "
    "and of the distribution of the table as the heaps that are wanted: the distance is the least work, mass times "
    "distance, that turns one into the other.",
    "Detail lost (GCP)": "How much less exactly the quasi-identifiers are published, on average, from 0 (unchanged) to "
    "1 (nothing is left). It is measured against the ranges of the published rows; a withheld row counts as 1. Lower "
    "is better. A share kept of 70 % is a loss of 0.3.",
    "Withheld row": "A row that is not in the release at all.",
    "Certificate": "A file that says what was proved. Anyone can check it against the release, without the "
    "original table, with: tclose verify.",
    "SHA-256, digest": "Fingerprints: they change if a single letter of the file changes. They are not a signature; "
    "compare them with fingerprints that reached you another way.",
}
SUPERSETS = {
    "(n,t)-closeness": f"A weaker form of t-closeness: {NT_MEANING}. A superset is the whole table, or all rows that "
    "agree with the class on some of the quasi-identifiers. A class of n rows or more may be at any distance.",
}
OF_MODELS = {
    "average_t": (
        "Average t-closeness",
        "The mean distance from the whole table is limited, taken over all rows, each with the distance of its class. "
        "It is a promise about a random person: a single class may be farther away, unless t limits it, too.",
    ),
    "t_by": (
        "t-closeness by group",
        "Some groups of persons have a smaller t than the others. A class obeys the smallest t of its members.",
    ),
    "kl": (
        "KL divergence",
        "Another figure for how far the distribution in a class is from that in the whole table, in nats: 0 means "
        "equal. It sums p·ln(p/q) over the values, with p the share in the class and q the share in the table. It does "
        "not know which values are near each other.",
    ),
}
BOUND = {
    "Lower bound": "A proved figure: no release of all rows of the table in one table, whichever method makes it, can "
    "meet the policy and lose less detail. The least possible loss lies between the lower bound and the loss reached.",
}
JOINT = {
    "Attributes together": "Two or more sensitive attributes judged as one: its values are the tuples that rows show, "
    "such as a diagnosis with a salary. Each attribute alone can be close to the whole table although tuples are not.",
}
COMPARED = {
    "Method": "A published way to put rows into classes. All methods give the same guarantee; they differ in its cost, "
    "and in what an adversary who knows the method may infer.",
    "Trade-off": "Protection costs detail. The curve shows how much detail each method loses; lower is better.",
}


def terms(with_supersets: Collection[str], models: Collection[str] = ()) -> dict[str, str]:
    """Return the terms of a page; (n,t)-closeness and some other models are explained where they are required."""
    explained = {**TERMS, **SUPERSETS} if with_supersets else TERMS
    return explained | dict(words for model, words in OF_MODELS.items() if model in models)
