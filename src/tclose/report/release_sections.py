"""The sections of a release's page: what remains exposed, closeness, detail, attacks and a profile.

- What remains exposed, each with its cure, and whether the release lost everything.
- Closeness: how far every class is from the whole table, attribute by attribute.
- Detail: how exact the quasi-identifiers still are, what that costs, and what analysts still see.
- Attacks: what an adversary learns from the release, beside the raw and the k-anonymous table.
- Profile: whether it is complete at the top, and every requirement in a section of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import groupby
from typing import Any

from tclose.distance import DISTANCES, JOINT_NEAR
from tclose.measure.attack import K_ANONYMOUS, RAW, RELEASE, AttackResult, Attacks, ExposedClass
from tclose.measure.detail_kept import DETAIL_MEASURES
from tclose.measure.exposure import ReleaseExposure
from tclose.measure.exposure_claims import Figure
from tclose.measure.information_loss import MEASURES, LostDetail, rounded
from tclose.measure.pair import DetailMeasure, TablePair, detail_of
from tclose.privacy import requirement
from tclose.privacy.allowance import Allowance
from tclose.release.certificate import Certificate
from tclose.release.claims import Claims, ModelClaim, Number
from tclose.release.lower_bound import BoundClaim
from tclose.report import charts
from tclose.report.charts import Html, element, joined, shown
from tclose.report.figures import MOST_PAIRS, AttributeFigures, BeforeAfter, TableFigures
from tclose.report.page import Canvas, Section, key, listing, tag
from tclose.report.profiles.base import FilledProfile, ProfileRequirement
from tclose.types import Progress, silent
from tclose.words import counted, level, lowered_loss, nt_closeness, number, percent, worse_attack

# What remains exposed


TITLE = "What remains exposed"


def exposed_part(exposed: ReleaseExposure, attacks: Attacks | None) -> list[Html]:
    """List the four lines of what remains exposed; with attacks, those on which the release does worse than k."""
    items = [_line(figure) for figure in exposed.figures]
    parts = [element("h1", TITLE), element("ul", *items, class_="exposed")]
    worse = () if attacks is None else attacks.worse_than_k_anonymous
    if attacks is not None and worse:
        lead = f"The release does worse than a table that is only {attacks.k}-anonymous on these attacks. "
        more = (element("a", "All attacks", href="#attacks"), ".")
        parts.append(element("p", tag(), " ", lead, *more))
        parts.append(element("ul", *(_worse(result, attacks.k) for result in worse), class_="exposed"))
    return parts


def _line(figure: Figure) -> Html:
    """Return one line: its name, its answer, its sentence, and what decides or cures it."""
    parts: list[str] = [element("strong", f"{figure.title}, {figure.verdict}. "), f"{figure.claim.says} "]
    if figure.claim.needs:
        needs = element("strong", "To decide it: "), f"{figure.claim.needs}."
        parts.append(element("span", *needs, class_="cure"))
    parts += (element("span", element("strong", "Cure: "), f"{cure}.", class_="cure") for cure in figure.remedies)
    return element("li", *parts, class_="none" if figure.answer == "yes" else None)


def _item(sentence: str, cure: str) -> Html:
    return element("li", f"{sentence} ", element("span", element("strong", "Cure: "), f"{cure}.", class_="cure"))


def _worse(result: AttackResult, k: int) -> Html:
    release, other = (result.findings[table] for table in (RELEASE, K_ANONYMOUS))
    figures = result.spelled(RELEASE), result.spelled(K_ANONYMOUS)
    attack = result.attack
    sentence = worse_attack(attack.title, (release.share, other.share), figures, attack.figure, k=k)
    return _item(sentence, attack.cure)


def lost_part(lost: Sequence[LostDetail], *, public: bool) -> list[Html]:
    """Say loudly which tables lost everything; which t would keep detail is estimated from the raw table."""
    return [_lost(loss, public=public) for loss in lost]


def _lost(loss: LostDetail, *, public: bool) -> Html:
    parts: list[str] = [element("strong", loss.sentence)]
    if not public:
        estimated = () if loss.estimate is None else (tag(), " ")
        parts += [" ", *estimated, loss.advice]
    return element("p", *parts, class_="alarm", role="alert")


# Closeness


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
        for name, of_group in zip(charts.distinct_names(attribute.groups), shares, strict=True)
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
        charts.distinct_names(attribute.groups),
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


# Detail


MOST_SECONDS = 20.0  # that one measure of detail kept may take before a page leaves it out
NO_CHART = "The release shows nothing of them, or publishes means, or they have too many different values."
UNVERIFIABLE = (
    "Only the steward can check this, with the original table and the proof: it is not verifiable from the release."
)
READER = (
    "How much of the raw table an analyst can still see in the release. The analyst shares each published value out "
    "evenly among the values that it may stand for."
)


@dataclass(frozen=True)
class DetailFigure:
    """A measure of detail kept: its figure, or why there is none."""

    measure: DetailMeasure
    figure: float | None
    why_not: str

    @property
    def words(self) -> str:
        """The figure as people read it."""
        return self.why_not if self.figure is None else number(self.figure)


def detail_figures(beside: TablePair, progress: Progress = silent) -> list[DetailFigure]:
    """Measure how much detail a release keeps; leave out what would take too long or too much memory."""
    if sum(column.covers.size for column in beside.columns) > MOST_PAIRS:
        return [DetailFigure(measure, None, "not measured: too many different values") for measure in DETAIL_MEASURES]
    detail = detail_of(beside)
    figures = []
    for done, measure in enumerate(DETAIL_MEASURES):
        progress(done / len(DETAIL_MEASURES), measure.title)
        seconds = measure.seconds(detail)
        if seconds > MOST_SECONDS:
            figures.append(DetailFigure(measure, None, f"not measured: it would take about {seconds:,.0f} seconds"))
        else:
            figures.append(DetailFigure(measure, rounded(measure.compute(detail)), measure.why_none))
    return figures


@dataclass(frozen=True, eq=False)
class DetailSection:
    """What the section shows; the last two compare with the raw table and are empty on a page for the public."""

    losses: Sequence[Mapping[str, float]]  # per table, the mean NCP of each quasi-identifier
    measures: Mapping[str, Any]  # of the certificate
    loss: Mapping[str, Any] | None  # that the method lowered, as the certificate says
    bound: BoundClaim | None  # on the detail lost, if it was searched for
    before_after: Sequence[BeforeAfter] | None
    kept: Sequence[DetailFigure]

    def section(self, canvas: Canvas) -> Section:
        """Return the section."""
        shares = self._shares_kept()
        parts = [self._shares(shares, canvas)] if shares else []
        parts += [element("p", sentence) for sentence in self._lowered()]
        parts.append(self._costs())
        if self.bound is not None:
            sentence = f"{self.bound.about_release(self.measures['gcp'])} {UNVERIFIABLE}"
            parts.append(element("p", element("strong", "Lower bound. "), sentence))
        if self.kept:
            parts.append(self._kept())
        if self.before_after is not None:
            parts += [_before_after(column, canvas) for column in self.before_after]
            compared = {column.name for column in self.before_after}
            if without := [shown(name) for name in shares if name not in compared]:
                parts.append(element("p", f"Without a chart, before and after: {', '.join(without)}. {NO_CHART}"))
        return Section("detail", "What happened to the quasi-identifiers", parts, "Detail")

    def _shares_kept(self) -> dict[str, float]:
        """Return the share of detail that each quasi-identifier keeps, on average over tables."""
        return {name: 1 - sum(losses[name] for losses in self.losses) / len(self.losses) for name in self.losses[0]}

    def _shares(self, shares: Mapping[str, float], canvas: Canvas) -> Html:
        label = "the share of detail that each quasi-identifier keeps"
        rows = [(shown(name), percent(share), number(round(1 - share, 4))) for name, share in shares.items()]
        figures = listing(label, ("quasi-identifier", "kept", "lost (NCP)"), rows, numbers=2)
        caption = ["How exact each quasi-identifier still is: 100 % means unchanged, 0 % means that nothing is left."]
        spec = charts.shares(list(shares.items()), title="share of detail kept")
        return canvas.figure(spec, label=label, caption=caption, rows=figures)

    def _lowered(self) -> list[str]:
        """Say which loss was lowered, and how low it is."""
        if self.loss is None:
            return []
        value = self.loss.get("value")
        reached = "" if value is None else f" It is {number(value)}; lower is better."
        return [f"The rows were split so as to lower this loss: {lowered_loss(self.loss)}.{reached}"]

    def _costs(self) -> Html:
        rows = [
            (measure.title, number(self.measures[measure.name]), measure.scale, measure.meaning)
            for measure in MEASURES
            if self.measures.get(measure.name) is not None
        ]
        return listing("What the release costs", ("measure", "figure", "scale", "meaning"), rows, numbers=0)

    def _kept(self) -> Html:
        rows = [
            (figure.measure.title, figure.words, figure.measure.scale, figure.measure.meaning) for figure in self.kept
        ]
        table = listing("Measures of detail kept", ("measure", "figure", "scale", "meaning"), rows, numbers=0)
        return element("div", element("h3", "Detail kept for analysts"), element("p", tag(), " ", READER), table)


def _before_after(column: BeforeAfter, canvas: Canvas) -> Html:
    label = f"{shown(column.name)} before and after"
    raw = [None if count is None else count / column.rows for count in column.before]
    spec = charts.shares(list(zip(column.bins, raw, strict=True)), title="share of rows", marks=column.after.tolist())
    rows = [
        (shown(name), "hidden" if before is None else percent(before), percent(float(after)))
        for name, before, after in zip(column.bins, raw, column.after, strict=True)
    ]
    figures = listing(label, ("published bin", "raw table", "release"), rows, numbers=2)
    words = f" {shown(column.name)} in the raw table, and as a reader of the release sees it."
    words += f" {counted(column.hidden, 'bin')} of the raw table too small to show." if column.hidden else ""
    words += f" Counts of the raw table are rounded to multiples of {column.unit:,} rows."
    marks = key(("bar", "pale", "raw table"), ("dot", "accent", "release"))
    figure = canvas.figure(spec, label=label, caption=(tag(), words), rows=figures, key=marks)
    return element("div", element("h3", shown(column.name)), figure)


# Attacks


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
    spec = charts.attack_chart(points, tables=list(headings))
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


# A filled profile


NO_ADVICE = (
    "This page is no legal advice, and no certification. Figures are computed from the release and, where marked, from "
    'the original table; sentences are the steward\'s own. Only "met" and "not met" are answers of tclose: figures '
    "and sentences must be judged by a person."
)
LEFT_OUT = "Left out: this is about the original table."
WORDS = {
    "met": "met",
    "not met": "not met",
    "not decided": "not decided",
    "figure": "figure",
    "stated": "steward's sentence",
    "empty": "empty, not decided",
    "not needed": "not needed here",
}


def style() -> str:
    """Return the style of a page with a profile, also for paper."""
    return (files("tclose.report.profiles") / "profile.css").read_text(encoding="utf-8")


def status(profile: FilledProfile) -> Html:
    """Say at the top of the page whether the profile is complete, and what is missing."""
    title = f"Profile: {profile.profile.title}."
    says = f"{profile.claim.says}."
    if profile.complete:
        failed, fails = _failed(profile.failed), " fails" if profile.failed else ""
        return element(
            "p",
            element("strong", "Complete. "),
            f"{title} Every requirement is filled. {says} {failed}",
            class_=f"status{fails}",
        )
    lead = f"{title} {profile.empty[:1].upper()}{profile.empty[1:]}. Add to the policy:"
    items = (
        element("li", f"{title}: ", element("code", ", ".join(asks))) for title, asks in _questions(profile.missing)
    )
    parts = (element("p", element("strong", "Incomplete. "), lead), element("ul", *items))
    return element("div", *parts, element("p", f"{says} {_failed(profile.failed)}"), class_="alarm", role="alert")


def _questions(missing: Sequence[ProfileRequirement]) -> Iterator[tuple[str, list[str]]]:
    """Yield what empty requirements ask for, each key once: several can wait for the same words."""
    seen: set[str] = set()
    for each in missing:
        asks = [ask for ask in each.asks if ask not in seen]
        seen.update(asks)
        if asks:
            yield each.title, asks


def _failed(failed: Sequence[ProfileRequirement]) -> str:
    if not failed:
        return "None of them was found not to be met."
    return f"Not met: {'; '.join(each.title.partition(':')[0] for each in failed)}."


def section(profile: FilledProfile, *, public: bool) -> Section:
    """Show every requirement with what fills it, part by part, and a line to sign."""
    about = profile.profile
    parts = [element("p", f"{about.read} {NO_ADVICE}")]
    parts += [element("p", profile.lead)] if profile.lead else []
    for part, requirements in groupby(profile.requirements, key=lambda each: each.part):
        parts += [element("h3", part), _table(part, list(requirements), public=public)]
    return Section("profile", about.title, [*parts, _signature(profile)], "Profile")


def _table(part: str, requirements: Sequence[ProfileRequirement], *, public: bool) -> Html:
    """Return the requirements of one part as a list of terms: titles are short, answers may be long."""
    return element("dl", *(_row(each, public=public) for each in requirements), class_="requirements", aria_label=part)


def _row(requirement: ProfileRequirement, *, public: bool) -> Html:
    hidden = public and requirement.about_raw
    verdict = "not needed" if requirement.verdict == "empty" and not requirement.needed else requirement.verdict
    mark = element("span", WORDS[verdict], class_=f"mark {verdict.replace(' ', '-')}")
    internal = [" ", tag()] if requirement.about_raw and not hidden else []
    clause = [element("span", requirement.clause, class_="clause")] if requirement.clause else []
    title = element("dt", requirement.title, " ", mark, *internal, *clause)
    return element("div", title, *_answer(requirement, hidden=hidden), class_="requirement")


def _answer(requirement: ProfileRequirement, *, hidden: bool) -> list[Html]:
    if hidden:
        return [element("dd", LEFT_OUT)]
    claim = requirement.claim
    lines = [element("dd", _lines(claim.says))] if claim.says else []
    if requirement.verdict == "not decided":
        return [*lines, element("dd", f"Not decided. It needs {claim.needs}.")]
    if requirement.verdict != "empty":
        return lines
    return [*lines, element("dd", "Empty. Add to the policy: ", element("code", ", ".join(requirement.asks)))]


def _lines(text: str) -> Html:
    """Return text with its line breaks; everything else in it is escaped."""
    pieces = [piece for line in text.splitlines() for piece in (element("br"), line)]
    return joined(pieces[1:])


def _signature(profile: FilledProfile) -> Html:
    signed, day = profile.evidence.context.sign_off, profile.evidence.context.review_date
    name, date = ("", "") if signed is None else (signed.name, signed.date.isoformat())
    review = "" if day is None else day.isoformat()
    boxes = (("Name", name), ("Date", date), ("Review", review), ("Signature", ""))
    return element(
        "dl",
        *(element("div", element("dt", title), element("dd", value)) for title, value in boxes),
        class_="signature",
    )
