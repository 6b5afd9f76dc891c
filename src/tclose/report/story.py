"""What the page tells of a release: the verdict first, then why it holds, what it cost, and how to check it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tclose.measure.attack import Attacks
from tclose.measure.utility import MEASURES
from tclose.policy import Policy
from tclose.privacy import requirement
from tclose.privacy.judge import JudgedTable
from tclose.release.beside import Beside
from tclose.release.certificate import Certificate
from tclose.release.published import PublishedTable
from tclose.report import charts
from tclose.report.attacks import attack_section
from tclose.report.before import BeforeAfter, before_and_after
from tclose.report.closeness import closeness_section
from tclose.report.figures import TableFigures, all_kept, figures_of
from tclose.report.glossary import TERMS
from tclose.report.markup import Html, element, shown
from tclose.report.page import Canvas, Section, assembled, facts, key, listing, tag, words
from tclose.words import counted, level, number, percent, requirements

NO_CHART = "The release tells nothing of it, or publishes means, or it has too many different values."
MOST_TOLD = 3  # attributes, one by one, in the lead
ROLES = {"quasi": "quasi-identifier: published less exactly", "keep": "published exactly, part of the class"}


@dataclass(frozen=True, eq=False)
class Story:
    """Everything that the page of a release is made of."""

    content: Mapping[str, Any]  # of the certificate
    digest: str
    tables: Sequence[TableFigures]
    losses: Sequence[Mapping[str, float]]
    before: Sequence[BeforeAfter] = ()  # of the raw table
    compared: bool = False  # whether there was a raw table to compare with
    attacks: Mapping[str, Any] | None = None
    identifiers: Sequence[str] = ()
    public: bool = True
    canvas: Canvas = field(default_factory=Canvas)

    @property
    def internal(self) -> bool:
        """Whether something on the page is about the raw table."""
        return not self.public and bool(self.before or self.attacks or self.identifiers)

    def page(self) -> str:
        """Return the page."""
        sections = [
            closeness_section(self.content, self.tables, self.canvas),
            self._classes(),
            self._detail(),
            *([] if self.attacks is None else [attack_section(self.attacks, self.canvas, public=self.public)]),
            self._policy(),
            self._certificate(),
            Section("glossary", "Glossary", [words(TERMS)], "Glossary"),
        ]
        footer = f"Made by tclose {self.content['version']}. This page asks no network for anything."
        title = "Release report · tclose"
        return assembled(title=title, header=self._header(), sections=sections, footer=footer, canvas=self.canvas)

    def _header(self) -> list[Html]:
        content = self.content
        parts = [
            element("p", "tclose · release report", class_="kicker"),
            element("h1", verdict(content)),
            element("p", reasons(content), class_="lead"),
        ]
        if "scope" in content:
            parts.append(element("p", element("strong", "Mind: "), f"{content['scope']}.", class_="mind"))
        if self.internal:
            told = "Parts of this page show the raw table and are marked so. Keep it inside, or make it with --public."
            parts.append(element("p", element("strong", "Internal. "), told, class_="internal"))
        return [*parts, facts(self._facts())]

    def _facts(self) -> dict[str, str]:
        content = self.content
        found = {
            "rows published": f"{content['rows']:,}",
            "rows withheld": f"{content['withheld']:,}",
            "classes": f"{content['classes']:,}",
            f"{content['counted']} in the smallest class": f"{_smallest(content):,}",
        }
        if (lost := content["measures"]["gcp"]) is not None and self.losses[0]:
            found["detail kept"] = percent(1 - lost)
        return found

    def _classes(self) -> Section:
        sizes, k = self.content["measures"]["class_sizes"], self.content["policy"].get("k", 1)
        told = (
            f"Whoever is looked for in the release is found among {counted(sizes['smallest'], 'row')} at least. "
            f"Half of the classes have {number(sizes['median'])} rows or fewer, the largest has {sizes['largest']:,}."
        )
        parts = [element("p", told)]
        for place, one in enumerate(self.tables, start=1):
            label = "how many classes are of which size" + (f", table {place}" if len(self.tables) > 1 else "")
            by_rows = self.content["counted"] == "rows"
            spec = charts.histogram(
                one.sizes, title="rows in a class", line=k if by_rows else None, name=f"k = {k}" if by_rows else ""
            )
            rows = [(f"{span.low:,.0f} to {span.high - 1:,.0f}", f"{span.count:,}") for span in one.sizes]
            figures = listing(label, ("rows", "classes"), rows, numbers=1)
            least = (
                f"The dashed line is k = {k}: no class may be smaller."
                if by_rows
                else f"Each has {k} persons at least."
            )
            caption = [f"Size of the classes, in rows. {least}"]
            parts.append(self.canvas.figure(spec, label=label, caption=caption, rows=figures))
        return Section("classes", "How large the classes are", parts, "Classes")

    def _detail(self) -> Section:
        kept, parts = all_kept(self.losses), []
        if kept:
            label = "the share of detail that each quasi-identifier keeps"
            rows = [(shown(name), percent(share), number(round(1 - share, 4))) for name, share in kept.items()]
            figures = listing(label, ("quasi-identifier", "kept", "lost (NCP)"), rows, numbers=2)
            caption = ["How exact each quasi-identifier still is: 100 % is as it was, 0 % tells nothing any more."]
            spec = charts.shares(list(kept.items()), title="share of detail kept")
            parts.append(self.canvas.figure(spec, label=label, caption=caption, rows=figures))
        if self.compared and not self.public:
            parts += [self._before(one) for one in self.before]
            if left := [shown(name) for name in kept if name not in {one.name for one in self.before}]:
                parts.append(element("p", f"Without a chart, before and after: {', '.join(left)}. {NO_CHART}"))
        cost = [(one.title, number(self.content["measures"][one.name]), one.better)
                for one in MEASURES if self.content["measures"].get(one.name) is not None]  # fmt: skip
        parts.append(
            listing("What the release costs, by the usual measures", ("measure", "figure", "better"), cost, numbers=0)
        )
        return Section("detail", "What happened to the quasi-identifiers", parts, "Detail")

    def _before(self, one: BeforeAfter) -> Html:
        name, label = shown(one.name), f"{shown(one.name)} before and after"
        spec = charts.shares(
            [
                (text, None if rows is None else rows / one.rows)
                for text, rows in zip(one.bins, one.before, strict=True)
            ],
            title="share of rows",
            marks=one.after.tolist(),
        )
        rows = [
            (shown(text), "hidden" if before is None else percent(before / one.rows), percent(float(after)))
            for text, before, after in zip(one.bins, one.before, one.after, strict=True)
        ]
        figures = listing(label, ("published bin", "raw table", "release"), rows, numbers=2)
        hidden = f" {counted(one.hidden, 'bin')} of the raw table too small to show." if one.hidden else ""
        hidden += f" Shares of the raw table are rounded to multiples of {one.unit:,} rows."
        caption = (tag(), f" {name}: the raw table, and what a reader of the release would expect who shares each "
                   f"published value out evenly.{hidden}")  # fmt: skip
        marks = key(("bar", "pale", "raw table"), ("dot", "accent", "release"))
        heading = element("h3", name)
        return element("div", heading, self.canvas.figure(spec, label=label, caption=caption, rows=figures, key=marks))

    def _policy(self) -> Section:
        policy = self.content["policy"]
        rows = [(shown(name), ROLES["quasi"], "") for name in policy.get("quasi", ())]
        rows += [(shown(name), f"sensitive, distance {spec.get('distance', '')}", requirements(spec))
                 for name, spec in policy.get("sensitive", {}).items()]  # fmt: skip
        rows += [(shown(name), ROLES["keep"], "") for name in policy.get("keep", ())]
        rows += [
            (shown(name), "published exactly and not judged (unlinkable)", "") for name in policy.get("unlinkable", ())
        ]
        rows += [(shown(name), "identifier: never published", "") for name in (() if self.public else self.identifiers)]
        k, suppress = policy.get("k", 1), policy.get("suppress", 0)
        told = f"Every class needs at least k = {k} {self.content['counted']}; "
        told += f"a share of {suppress} of the rows may be withheld." if float(suppress) else "no row may be withheld."
        return Section(
            "policy",
            "What the policy asks for",
            [
                element("p", told),
                listing("Every column and its role", ("column", "role", "asked for"), rows, numbers=0),
            ],
            "Policy",
        )

    def _certificate(self) -> Section:
        content = self.content
        rows = [
            ("method", content["method"]),
            ("tclose", content["version"]),
            ("digest of the certificate", self.digest),
        ]
        files = content.get("tables", ())
        rows += [(f"SHA-256 of {shown(one['file'])}", one["sha256"]) for one in files]
        rows += [] if files else [("SHA-256 of the release", content["sha256"])]
        if content.get("guard_formulas"):
            rows.append(("formula guard", "text that a spreadsheet could run begins with an apostrophe"))
        told = (
            "The release was judged again from its own published values, by code that shares nothing with the method "
            "that made it. Anybody can repeat that without the original table:"
        )
        coded = [(name, element("code", value)) for name, value in rows]
        return Section(
            "certificate",
            "The certificate",
            [
                element("p", told),
                element("pre", "tclose verify RELEASE --certificate CERTIFICATE --digest " + self.digest),
                listing("What is certified", ("what", "value"), coded, numbers=0),
            ],
            "Certificate",
        )


def release_page(
    certificate: Certificate,
    tables: Sequence[PublishedTable],
    judged: Sequence[JudgedTable],
    policy: Policy,
    *,
    beside: Beside | None,
    attacks: Attacks | None,
    public: bool,
) -> str:
    """Return the page of a release."""
    charts.libraries()
    compared = beside is not None and not public
    story = Story(
        content=certificate.content,
        digest=certificate.digest,
        tables=[figures_of(each.table, table.judge.policy) for each, table in zip(judged, tables, strict=True)],
        losses=[table.losses for table in tables],
        before=before_and_after(beside) if compared and beside is not None else (),
        compared=compared,
        attacks=None if attacks is None else attacks.to_dict(),
        identifiers=policy.identifiers,
        public=public,
    )
    return story.page()


def verdict(content: Mapping[str, Any]) -> str:
    """Say in a sentence whether the release holds what was asked for."""
    if content["satisfied"]:
        return "This release holds everything that its policy asks for."
    return "This release does not hold what its policy asks for."


def reasons(content: Mapping[str, Any]) -> str:
    """Say what that means, with the figures."""
    rows, classes = counted(content["rows"], "row"), counted(content["classes"], "class")
    least = counted(_smallest(content), content["counted"].removesuffix("s"))
    told = f"Its {rows} stand{'s' * (content['rows'] == 1)} in {classes} of look-alikes, each with {least} at least."
    close = {name: found for name, found in content["sensitive"].items() if found["t"] is not None}
    if len(close) > MOST_TOLD:
        tightest = max(close, key=lambda name: close[name]["closeness"] / max(level(close[name]["t"]), 1e-9))
        told += (
            f" In every class, each of the {len(close)} sensitive attributes is as close to the whole table as asked; "
        )
        told += f"nearest to its limit comes {_close(tightest, close[tightest])}."
    elif close:
        reached = _listed([_close(*one) for one in close.items()])
        told += f" The largest distance of a class from the whole table: {reached}."
    further = [one for one in content["models"] if one["model"] not in ("t", "k")]
    names = dict.fromkeys(requirement(one["model"]).title for one in further if one["satisfied"])
    return told + (f" It also keeps to {_listed(list(names))}." if names else "")


def _close(name: str, found: Mapping[str, Any]) -> str:
    return f"{shown(name)} {number(found['closeness'])} (allowed: {found['t']})"


def _smallest(content: Mapping[str, Any]) -> int:
    """Return who is in the smallest class, in whatever k counts."""
    found = [one["reached"] for one in content["models"] if one["model"] == "k"]
    return int(found[0]) if found else int(content["smallest_class"])


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
