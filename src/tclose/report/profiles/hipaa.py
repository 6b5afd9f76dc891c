"""HIPAA, 45 CFR 164.514(b): the 18 identifiers of Safe Harbor, and figures for an Expert Determination."""

from __future__ import annotations

from collections.abc import Iterator

from tclose.report.profiles import risks
from tclose.report.profiles.base import Profile, Requirement, judged, stated
from tclose.report.profiles.common import mitigation, review, roles, sign_off
from tclose.report.profiles.evidence import Evidence
from tclose.report.profiles.identifiers import HarborFinding
from tclose.words import legible

HARBOR, EXPERT, HOUSE = "Safe Harbor", "Expert Determination", "Release"
RULE = "45 CFR 164.514"
NOT_IN_RELEASE = "Not in the release: no published column looks like it."


def by_expert(evidence: Evidence) -> bool:
    """Whether the release rests on an expert's determination: then Safe Harbor need not hold."""
    return bool(evidence.context.expert)


def lead(evidence: Evidence) -> str:
    """Say which of the two ways the page follows."""
    if by_expert(evidence):
        return (
            "[context] names an expert, so this page is about an Expert Determination; Safe Harbor is shown for "
            "comparison and need not be filled."
        )
    return (
        "[context] names no expert, so this page is about Safe Harbor; the figures for an Expert Determination are "
        "shown for comparison and need not be filled."
    )


def require(evidence: Evidence) -> Iterator[Requirement]:
    """Yield the 18 identifiers and actual knowledge, then what an expert needs, then what the house says."""
    expert = by_expert(evidence)
    for finding in evidence.harbor:
        yield _identifier(finding, evidence, needed=not expert)
    title = "No actual knowledge that somebody in the release can be identified"
    yield stated(evidence, "knowledge", title, part=HARBOR, clause=f"{RULE}(b)(2)(ii)", needed=not expert)
    who = "The expert, and the expert's knowledge and experience"
    yield stated(evidence, "expert", who, part=EXPERT, clause=f"{RULE}(b)(1)", needed=expert)
    yield from _risks(evidence)
    why = "Why the risk is very small for the anticipated recipient"
    yield stated(evidence, "threshold", why, part=EXPERT, clause=f"{RULE}(b)(1)(i)", needed=expert)
    yield mitigation(evidence, EXPERT, clause=f"{RULE}(b)(1)(ii)")
    yield stated(evidence, "recipient", "Who gets the release", part=HOUSE)
    yield stated(evidence, "purpose", "What the release is for", part=HOUSE)
    yield roles(evidence, HOUSE)
    yield sign_off(evidence, HOUSE)
    yield review(evidence, HOUSE)


def _risks(evidence: Evidence) -> Iterator[Requirement]:
    clause = f"{RULE}(b)(1)(i)"
    yield risks.maximum(evidence, EXPERT, clause=clause)
    yield risks.average(evidence, EXPERT, clause=clause)
    yield risks.sample_based(evidence, EXPERT, clause=clause)
    yield from risks.uniqueness(evidence, EXPERT, clause=clause)


def _identifier(finding: HarborFinding, evidence: Evidence, *, needed: bool) -> Requirement:
    """Say whether an identifier is in the release, by which columns, and what the steward says about them."""
    letter, title = finding.identifier.letter, finding.identifier.title
    given = evidence.context.safe_harbor
    name, clause = f"safe_harbor_{letter}", f"{RULE}(b)(2)(i)({letter})"
    explained = [
        f"{legible(column)}: {given[column]}" for column, _ in (*finding.present, *finding.unclear) if given.get(column)
    ]
    present = [(column, why) for column, why in finding.present if not given.get(column)]
    unclear = [(column, why) for column, why in finding.unclear if not given.get(column)]
    if present:
        columns = "; ".join(f"column {legible(column)} ({why})" for column, why in present)
        answer = "\n".join([f"In the release: {columns}.", *explained])
        return judged(name, HARBOR, title, False, answer, clause=clause, needed=needed)
    if unclear:
        why = "; ".join(f"column {legible(column)} ({why})" for column, why in unclear)
        asks = tuple(f"[context.safe_harbor] {legible(column)}" for column, _ in unclear)
        return Requirement(
            name, HARBOR, title, "empty", f"Steward's sentence needed: {why}.", asks, clause, needed=needed
        )
    if explained:
        return Requirement(name, HARBOR, title, "stated", "\n".join(explained), clause=clause, needed=needed)
    return judged(name, HARBOR, title, True, NOT_IN_RELEASE, clause=clause, needed=needed)


PROFILE = Profile(
    "hipaa",
    "HIPAA Privacy Rule, de-identification of protected health information (45 CFR 164.514)",
    "Written from copies of the text of 45 CFR 164.514(b). Columns are recognised by their names and values, with "
    "patterns that can miss some and take others wrongly: a person must read the list of columns. The rule gives no "
    "number for a very small risk; the figures are for the expert.",
    require,
    lead,
)
