"""The page of a release: what remains exposed, the verdict, why it holds, what it cost, and how anyone can check it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from tclose.measure.attack import Attacks
from tclose.measure.exposure import ReleaseExposure
from tclose.measure.information_loss import LostDetail
from tclose.measure.pair import TablePair
from tclose.measure.release_exposure import exposed_rows
from tclose.privacy import requirement
from tclose.release.certificate import MOST_FILES, Certificate
from tclose.release.claims import Claims, ModelClaim
from tclose.release.release import WrittenRelease
from tclose.report import charts
from tclose.report import release_sections as profile_part
from tclose.report.charts import Html, element, shown
from tclose.report.figures import TableFigures, before_and_after, figures_of
from tclose.report.page import (
    BOUND,
    JOINT,
    NO_NETWORK,
    Canvas,
    Section,
    facts,
    listing,
    origin_line,
    page_html,
    terms,
    words,
)
from tclose.report.profiles import FilledProfile
from tclose.report.release_sections import (
    DetailSection,
    attack_section,
    closeness_section,
    detail_figures,
    exposed_part,
    lost_part,
)
from tclose.types import Progress, silent, stretch
from tclose.words import NOTHING_LIMITS, counted, level, nt_closeness, number, percent, required

PHASE = "drawing the page"
MOST_LISTED = 3  # attributes, one by one, in the lead
QUASI = "quasi-identifier: published less exactly"
BOTH = "quasi-identifier and sensitive: published less exactly, its exact values counted by class"
KEPT = "published exactly, part of the class"
UNLINKABLE = "published exactly and not judged (unlinkable)"
IDENTIFIER = "identifier: never published"
INTERNAL = (
    "Parts of this page show the raw table and are marked as internal. Do not publish this page; --public makes one "
    "without them."
)
JUDGED = (
    "The release was judged again from its own published values, by code that shares nothing with the method that made "
    "it. Anyone can repeat this without the original table:"
)


def release_page(
    written: WrittenRelease,
    *,
    beside: TablePair | None,
    attacks: Attacks | None,
    public: bool,
    profile: FilledProfile | None = None,
    progress: Progress = silent,
) -> str:
    """Return the page of a release; with its original beside it, unless the page is for the public."""
    charts.libraries()
    certificate, judged, release = written.certificate, written.judged, written.release
    tables, policy, originals = release.layout.tables, release.policy, release.prepared.whole.originals
    compared, figures = None if public else beside, []
    for done, (table, published) in enumerate(zip(judged, tables, strict=True)):
        progress(0.2 * done / len(tables), PHASE)
        figures.append(figures_of(table.table, published.judge.policy))
    progress(0.2, PHASE)
    page = ReleasePage(
        certificate=certificate,
        tables=figures,
        detail=DetailSection(
            losses=[table.losses for table in tables],
            measures=certificate.measures,
            loss=certificate.loss,
            bound=certificate.bound,
            before_after=None if compared is None else before_and_after(compared),
            kept=() if compared is None else detail_figures(compared, stretch(progress, 0.3, 0.8)),
        ),
        attacks=attacks,
        exposed=exposed_rows(judged, policy, () if public else originals, knows_persons=not public),
        lost=written.lost,
        identifiers=() if public else policy.identifiers,
        public=public,
        profile=profile,
    )
    return page.html(stretch(progress, 0.8, 1.0, PHASE))


@dataclass(frozen=True, eq=False)
class ReleasePage:
    """Everything that the page of a release is made of."""

    certificate: Certificate
    tables: Sequence[TableFigures]
    detail: DetailSection
    attacks: Attacks | None
    exposed: ReleaseExposure
    lost: Sequence[LostDetail]
    identifiers: Sequence[str]
    public: bool
    profile: FilledProfile | None = None
    canvas: Canvas = field(default_factory=Canvas)

    @property
    def internal(self) -> bool:
        """Whether something on the page is about the raw table."""
        estimated = any(loss.estimate for loss in self.lost)
        raw = self.detail.before_after or self.attacks or self.identifiers or estimated
        return not self.public and bool(raw or (self.profile and self.profile.about_raw))

    def html(self, progress: Progress = silent) -> str:
        """Return the page."""
        makers: list[Callable[[], Section]] = [
            lambda: closeness_section(self.certificate, self.tables, self.canvas),
            self._classes,
            lambda: self.detail.section(self.canvas),
            *([] if self.attacks is None else [partial(attack_section, self.attacks, self.canvas, public=self.public)]),
            self._policy,
            self._certificate,
            self._glossary,
        ]
        style = ""
        if self.profile is not None:
            makers.insert(0, partial(profile_part.section, self.profile, public=self.public))
            style = profile_part.style()
        sections = []
        for done, make in enumerate(makers):
            progress(done / len(makers))
            sections.append(make())
        footer = f"Made by tclose {self.certificate.version}. {NO_NETWORK}"
        title = f"{shown(self.certificate.called or 'Release report')} · tclose"
        header, canvas = self._header(), self.canvas
        return page_html(title=title, header=header, sections=sections, footer=footer, canvas=canvas, style=style)

    def _header(self) -> list[Html]:
        certificate = self.certificate
        parts = [
            origin_line(certificate.origin),
            element("p", "tclose · release report", class_="kicker"),
            *([] if self.profile is None else [profile_part.status(self.profile)]),
            *exposed_part(self.exposed, None if self.public else self.attacks),
            *lost_part(self.lost, public=self.public),
            element("p", verdict(certificate), class_="verdict"),
            element("p", summary(certificate), class_="lead"),
        ]
        if certificate.scope is not None:
            parts.append(element("p", element("strong", "Note: "), f"{certificate.scope}.", class_="note"))
        if self.internal:
            parts.append(element("p", element("strong", "Internal. "), INTERNAL, class_="internal"))
        return [*parts, facts(self._facts())]

    def _facts(self) -> dict[str, str]:
        certificate = self.certificate
        figures = {
            "rows published": f"{certificate.claims.rows:,}",
            "rows withheld": f"{certificate.withheld:,}",
            "classes": f"{certificate.claims.classes:,}",
            f"{certificate.counted} in the smallest class": f"{certificate.smallest:,}",
        }
        if (lost := certificate.measures["gcp"]) is not None and self.detail.losses[0]:
            figures["detail kept"] = percent(1 - lost)
        return figures

    def _classes(self) -> Section:
        sizes = self.certificate.class_sizes
        sentence = (
            f"Every person is in a class of at least {counted(sizes.smallest, 'row')}. Half of the classes have at "
            f"most {number(sizes.median)} rows; the largest class has {counted(sizes.largest, 'row')}."
        )
        parts = [element("p", sentence)]
        for place, table in enumerate(self.tables, start=1):
            parts.append(self._sizes(table, f", table {place}" if len(self.tables) > 1 else ""))
        return Section("classes", "How large the classes are", parts, "Classes")

    def _sizes(self, table: TableFigures, which: str) -> Html:
        k, by_rows = self.certificate.policy.k, self.certificate.counted == "rows"
        label = f"the number of classes by their size{which}"
        line, name = (k, f"k = {k}") if by_rows else (None, "")
        spec = charts.histogram(table.sizes, title="rows in a class", line=line, name=name)
        rows = [(_sizes_of_span(span.low, span.high - 1), f"{span.count:,}") for span in table.sizes]
        figures = listing(label, ("rows", "classes"), rows, numbers=1)
        limit = f"The dashed line is k = {k}: no class is smaller."
        limit = limit if by_rows else f"Every class has at least {counted(k, 'person')}."
        caption = [f"The number of classes by their size, in rows. {limit}"]
        return self.canvas.figure(spec, label=label, caption=caption, rows=figures)

    def _policy(self) -> Section:
        certificate, policy = self.certificate, self.certificate.policy
        rows = [(shown(name), BOTH if name in policy.both else QUASI, "") for name in policy.quasi]
        rows += [
            (shown(name), f"sensitive, distance {claim.distance}", _required(name, certificate.claims.models))
            for name, claim in certificate.claims.sensitive.items()
        ]
        rows += [
            (shown(name), f"attributes together, distance {claim.distance}", _required(name, certificate.claims.models))
            for name, claim in certificate.claims.joint.items()
        ]
        rows += [(shown(name), KEPT, "") for name in policy.keep]
        rows += [(shown(name), UNLINKABLE, "") for name in policy.unlinkable]
        rows += [(shown(name), IDENTIFIER, "") for name in self.identifiers]
        withheld = f"at most {percent(float(policy.suppress))} of the rows may be withheld"
        sentence = f"Every class must have at least k = {policy.k} {certificate.counted}; "
        sentence += f"{withheld}." if policy.suppress else "no row may be withheld."
        table = listing("Every column, its role and what is required", ("column", "role", "required"), rows, numbers=0)
        entries = (certificate.temper, certificate.presence)
        tempering = [element("p", entry.words) for entry in entries if entry is not None]
        return Section("policy", "What the policy requires", [element("p", sentence), *tempering, table], "Policy")

    def _glossary(self) -> Section:
        claims, bound = self.certificate.claims, {} if self.certificate.bound is None else BOUND
        explained = terms(claims.supersets, {str(claim.model) for claim in claims.models}) | bound
        explained |= JOINT if claims.joint else {}
        return Section("glossary", "Glossary", [words(explained)], "Glossary")

    def _certificate(self) -> Section:
        certificate, files = self.certificate, self.certificate.files
        rows = [
            ("method", certificate.method),
            ("tclose", certificate.version),
            ("digest of the certificate", certificate.digest),
            *((f"SHA-256 of {shown(file.name or 'the release')}", str(file.sha256)) for file in files[:MOST_FILES]),
        ]
        if len(files) > MOST_FILES:
            rows.append(("further files", f"{len(files) - MOST_FILES:,}, listed in the certificate"))
        if certificate.guard_formulas:
            rows.append(("formula guard", "text that a spreadsheet could run begins with an apostrophe"))
        if certificate.bound is not None:
            rows.append(
                ("lower bound on the detail lost (not verifiable from the release)", f"{certificate.bound.bound:.4f}")
            )
            rows.append(("SHA-256 of the proof of the lower bound", str(certificate.bound.proof_sha256)))
        command = f"tclose verify RELEASE --certificate CERTIFICATE --digest {certificate.digest}"
        coded = [(name, element("code", value)) for name, value in rows]
        table = listing("What is certified", ("what", "value"), coded, numbers=0)
        parts = [element("p", JUDGED), element("pre", command), table]
        return Section("certificate", "The certificate", parts, "Certificate")


def verdict(certificate: Certificate) -> str:
    """Say in a sentence whether the release meets its policy."""
    if certificate.claims.satisfied:
        limits = "" if certificate.claims.attributes else f" {NOTHING_LIMITS}"
        return f"This release meets every requirement of its policy.{limits}"
    return "This release does not meet its policy."


def summary(certificate: Certificate) -> str:
    """Say what that means, with the figures."""
    claims = certificate.claims
    published = f"{counted(claims.rows or 0, 'row')} published in {counted(claims.classes or 0, 'class')}"
    withheld = f"; {counted(certificate.withheld, 'row')} withheld" if certificate.withheld else ""
    least = counted(certificate.smallest, certificate.counted.removesuffix("s"))
    sentences = [f"{published}{withheld}.", f"Every class has at least {least}."]
    sentences += [*_within_limits(claims), *_near_supersets(claims)]
    others = [claim for claim in claims.models if claim.model not in ("t", "(n,t)", "k") and claim.satisfied]
    if titles := list(dict.fromkeys(requirement(str(claim.model)).title for claim in others)):
        sentences.append(f"The release also satisfies {_listed(titles)}.")
    return " ".join(sentences)


def _within_limits(claims: Claims) -> list[str]:
    """Say how far the classes are from the whole table, where the policy limits that for every class."""
    reached = {name: claims.attributes[name].closeness or 0.0 for name in claims.limits}
    spelled = {name: f"{shown(name)} {number(reached[name])} (limit {limit})" for name, limit in claims.limits.items()}
    if len(spelled) > MOST_LISTED:
        together = " (alone or together)" if claims.joint else ""
        tightest = max(spelled, key=lambda name: reached[name] / max(level(claims.limits[name]), 1e-9))
        return [
            f"In every class, {len(spelled)} sensitive attributes{together} are as close to the whole table as the "
            f"policy requires; nearest to its limit is {spelled[tightest]}."
        ]
    listed = _listed(list(spelled.values()))
    return [f"The largest distance between a class and the whole table: {listed}."] if spelled else []


def _near_supersets(claims: Claims) -> list[str]:
    """Say of which attributes (n,t)-closeness holds, and what that means."""
    levels = {name: claim.required for name, claim in claims.supersets.items() if claim.satisfied}
    return [f"The release satisfies {nt_closeness(levels)}."] if levels else []


def _required(attribute: str, models: Sequence[ModelClaim]) -> str:
    """Spell everything that is required of a sensitive attribute."""
    return ", ".join(_spelled(claim) for claim in models if claim.attribute == attribute)


def _spelled(claim: ModelClaim) -> str:
    if not isinstance(claim.required, Mapping):
        return f"{claim.model} = {required(claim.required)}"
    entry = requirement(str(claim.model))
    return required(claim.required) if entry.compared else f"{claim.model}: {entry.words(claim.required)}"


def _sizes_of_span(low: float, high: float) -> str:
    return f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"


def _listed(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), *parts[-1:]] if len(parts) > 1 else parts)
