"""A filled profile on the page: whether it is complete at the top, and every requirement in a section of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import groupby

from tclose.report.markup import Html, element, joined
from tclose.report.page import Section, tag
from tclose.report.profiles.base import FilledProfile, Requirement

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


def _questions(missing: Sequence[Requirement]) -> Iterator[tuple[str, list[str]]]:
    """Yield what empty requirements ask for, each key once: several can wait for the same words."""
    seen: set[str] = set()
    for each in missing:
        asks = [ask for ask in each.asks if ask not in seen]
        seen.update(asks)
        if asks:
            yield each.title, asks


def _failed(failed: Sequence[Requirement]) -> str:
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


def _table(part: str, requirements: Sequence[Requirement], *, public: bool) -> Html:
    """Return the requirements of one part as a list of terms: titles are short, answers may be long."""
    return element("dl", *(_row(each, public=public) for each in requirements), class_="requirements", aria_label=part)


def _row(requirement: Requirement, *, public: bool) -> Html:
    hidden = public and requirement.about_raw
    verdict = "not needed" if requirement.verdict == "empty" and not requirement.needed else requirement.verdict
    mark = element("span", WORDS[verdict], class_=f"mark {verdict.replace(' ', '-')}")
    internal = [" ", tag()] if requirement.about_raw and not hidden else []
    clause = [element("span", requirement.clause, class_="clause")] if requirement.clause else []
    title = element("dt", requirement.title, " ", mark, *internal, *clause)
    return element("div", title, *_answer(requirement, hidden=hidden), class_="requirement")


def _answer(requirement: Requirement, *, hidden: bool) -> list[Html]:
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
