"""HIPAA, 45 CFR 164.514(b): the 18 identifiers of Safe Harbor, and figures for an Expert Determination."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tclose.policy import Policy
from tclose.report.profiles import risks
from tclose.report.profiles.base import (
    JUDGE_SENTENCE,
    VERDICTS,
    Profile,
    Requirement,
    Sentence,
    Step,
    Verdict,
    sentence,
)
from tclose.report.profiles.cells import PublishedColumn
from tclose.report.profiles.common import alone, mitigation, review, roles, sign_off
from tclose.report.profiles.evidence import Evidence, Said
from tclose.report.profiles.harbor import HarborFinding, findings_of
from tclose.report.profiles.meanings import is_understood, meaning_of
from tclose.types import Claim
from tclose.words import legible

HARBOR, EXPERT, HOUSE = "Safe Harbor", "Expert Determination", "Release"
RULE = "45 CFR 164.514"
CHANCE = f"{RULE}(b)(1)(i)"
READ = "No published column holds it. Every cell was read; the list of columns above says what each shows."


def by_expert(policy: Policy) -> bool:
    """Whether the release rests on an expert's determination: then Safe Harbor need not hold."""
    return policy.context is not None and bool(policy.context.expert)


def _without_expert(policy: Policy) -> bool:
    return not by_expert(policy)


def lead(evidence: Evidence) -> str:
    """Say which of the two ways the page follows."""
    if by_expert(evidence.policy):
        return (
            "[context] names an expert, so this page is about an Expert Determination; Safe Harbor is shown for "
            "comparison and need not be filled."
        )
    return (
        "[context] names no expert, so this page is about Safe Harbor; the figures for an Expert Determination are "
        "shown for comparison and need not be filled."
    )


def _columns(said: Said) -> Requirement:
    """Say what each published column shows, and ask about those of which neither name nor cells say it."""
    given, shown = said.context.safe_harbor, _shown(said)
    lines = [
        f"{legible(name)}: {f'the steward says: {given[name]}' if given.get(name) else shows}"
        for name, (shows, known) in shown.items()
    ]
    unknown = [name for name, (_, known) in shown.items() if not known]
    asks = tuple(f"[context.safe_harbor] {legible(name)}" for name in unknown if not given.get(name))
    verdict: Verdict = "empty" if asks else "stated" if unknown else "met"
    needs = f"the steward's words: is it one of the 18 identifiers, or a part of one? {', '.join(asks)}"
    claim = Claim(
        answer="undecided" if unknown else "yes",
        says="\n".join(lines),
        needs=needs if asks else JUDGE_SENTENCE if unknown else "",
    )
    title, needed = "It is known what each published column shows", _without_expert(said.policy)
    return Requirement("columns", HARBOR, title, verdict, claim, asks, needed=needed)


def _shown(said: Said) -> dict[str, tuple[str, bool]]:
    """Say what each column shows, and whether that is known; before the rows are split, by its name alone."""
    policy = said.policy
    if said.published is None:
        columns = dict.fromkeys((*policy.quasi, *policy.sensitive, *policy.keep, *policy.unlinkable))
        return {name: ("", is_understood(name)) for name in columns}
    return {column.name: _shows(column, said) for column in said.published}


def _shows(column: PublishedColumn, said: Said) -> tuple[str, bool]:
    found = findings_of(column, said.year).values()
    held = [finding.why for finding in found if finding.answer == "no"]
    unknown = [finding.why for finding in found if finding.answer == "undecided"]
    meaning = meaning_of(column)
    shows = [meaning.shows] if meaning is not None else []
    return "; ".join(dict.fromkeys([*shows, *held, *unknown])) or "nothing that identifies", not unknown


def _identifiers(evidence: Evidence) -> Iterator[Requirement]:
    for finding in evidence.harbor:
        yield _identifier(finding, evidence)


def _identifier(finding: HarborFinding, evidence: Evidence) -> Requirement:
    """Say whether an identifier is in the release, by which columns, and what the steward says about them."""
    letter, title, given = finding.identifier.letter, finding.identifier.title, evidence.context.safe_harbor
    doubtful = (*finding.present, *finding.unclear)
    says = [f"In the release: {_spelled(finding.present)}."] if finding.present else []
    says += [f"Not decided: {_spelled(finding.unclear)}."] if finding.unclear else []
    says += [f"The steward says about {legible(name)}: {given[name]}" for name, _ in doubtful if given.get(name)]
    without = [name for name, _ in finding.unclear if not given.get(name)]
    asks = tuple(f"[context.safe_harbor] {legible(name)}" for name in without)
    asks = asks if finding.answer == "undecided" else ()
    verdict: Verdict = VERDICTS[finding.answer] if finding.answer != "undecided" else "empty" if asks else "stated"
    needs = f"the steward's words about each of these columns: {', '.join(asks)}" if asks else JUDGE_SENTENCE
    needs = needs if finding.answer == "undecided" else ""
    claim = Claim(answer=finding.answer, says="\n".join(says) or READ, needs=needs)
    clause, needed = f"{RULE}(b)(2)(i)({letter})", _without_expert(evidence.policy)
    return Requirement(f"safe_harbor_{letter}", HARBOR, title, verdict, claim, asks, clause, needed=needed)


def _spelled(columns: Sequence[tuple[str, str]]) -> str:
    """Spell columns with the reason, those with one reason together."""
    by_reason: dict[str, list[str]] = {}
    for name, why in columns:
        by_reason.setdefault(why, []).append(legible(name))
    return "; ".join(f"{', '.join(names)} ({why})" for why, names in by_reason.items())


def _for_expert(step: Step) -> Step:
    """Return a step whose requirements are needed only where an expert determines the risk."""

    def needed_by_expert(evidence: Evidence) -> Iterator[Requirement]:
        return (replace(each, needed=by_expert(evidence.policy)) for each in step(evidence))

    return needed_by_expert


STEPS = (
    Sentence(_columns),
    _identifiers,
    sentence(
        "knowledge",
        "No actual knowledge that somebody in the release can be identified",
        part=HARBOR,
        clause=f"{RULE}(b)(2)(ii)",
        needed=_without_expert,
    ),
    sentence(
        "expert",
        "The expert, and the expert's knowledge and experience",
        part=EXPERT,
        clause=f"{RULE}(b)(1)",
        needed=by_expert,
    ),
    _for_expert(risks.maximum(EXPERT, clause=CHANCE)),
    _for_expert(risks.average(EXPERT, clause=CHANCE)),
    _for_expert(risks.sample_based(EXPERT, clause=CHANCE)),
    _for_expert(alone(EXPERT, clause=CHANCE)),
    _for_expert(risks.uniqueness(EXPERT, clause=CHANCE)),
    sentence(
        "threshold",
        "Why the risk is very small for the anticipated recipient",
        part=EXPERT,
        clause=f"{RULE}(b)(1)(i)",
        needed=by_expert,
    ),
    _for_expert(mitigation(EXPERT, clause=f"{RULE}(b)(1)(ii)")),
    sentence("recipient", "Who gets the release", part=HOUSE),
    sentence("purpose", "What the release is for", part=HOUSE),
    roles(HOUSE),
    sign_off(HOUSE),
    review(HOUSE),
)
PROFILE = Profile(
    "hipaa",
    "HIPAA Privacy Rule, de-identification of protected health information (45 CFR 164.514)",
    "Written from copies of the text of 45 CFR 164.514(b). An identifier counts as absent only if every cell of every "
    "published column is understood or cannot hold it; a column that nothing explains is not decided, and the steward "
    "must say what it shows. The rule gives no number for a very small risk; the figures are for the expert.",
    STEPS,
    lead,
)
