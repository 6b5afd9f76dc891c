"""The beginning of the page: what remains exposed, each with its cure, and whether the release lost everything."""

from __future__ import annotations

from collections.abc import Sequence

from tclose.measure.attack import K_ANONYMOUS, RELEASE, AttackResult, Attacks
from tclose.measure.exposure import Exposed
from tclose.measure.lost import LostDetail
from tclose.measure.remaining import Figure
from tclose.report.markup import Html, element
from tclose.report.page import tag
from tclose.words import worse_attack

TITLE = "What remains exposed"


def exposed_part(exposed: Exposed, attacks: Attacks | None) -> list[Html]:
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
