"""Requirements that several profiles share: reasons for roles, the criteria of identification, sign-off and review."""

from __future__ import annotations

from collections.abc import Iterator

from tclose.measure.attack import RELEASE, skewness
from tclose.measure.attack.linkage import MARKETER, UNIQUENESS
from tclose.release.claims import Claims
from tclose.report.profiles.base import Requirement, judged, reported
from tclose.report.profiles.evidence import Evidence
from tclose.words import columns, counted, legible, number, percent, rows_of, some_columns


def roles(evidence: Evidence, part: str, clause: str = "") -> Requirement:
    """Return why every published column has its role; identifiers, which are never published, need no reason."""
    policy, given = evidence.policy, evidence.context.roles
    title = "Why each column is a quasi-identifier, sensitive, or kept"
    published = dict.fromkeys((*policy.quasi, *policy.sensitive, *policy.keep, *policy.unlinkable))
    without = [name for name in published if not given.get(name)]
    if without:
        asks = (f"[context.roles] {some_columns(without)}",)
        return Requirement("roles", part, title, "empty", asks=asks, clause=clause)
    answer = "\n".join(f"{legible(name)}: {given[name]}" for name in published)
    return Requirement("roles", part, title, "stated", answer, clause=clause)


def sign_off(evidence: Evidence, part: str, title: str = "Who signs off the release") -> Requirement:
    """Return who takes the responsibility."""
    signed = evidence.context.sign_off
    if signed is None:
        return Requirement("sign_off", part, title, "empty", asks=("[context] sign_off",))
    return Requirement("sign_off", part, title, "stated", f"{signed.name}, {signed.date.isoformat()}")


def review(evidence: Evidence, part: str) -> Requirement:
    """Return when the risk is looked at again."""
    day, title = evidence.context.review_date, "When the risk is assessed again"
    if day is None:
        return Requirement("review_date", part, title, "empty", asks=("[context] review_date",))
    return Requirement("review_date", part, title, "stated", day.isoformat())


def mitigation(evidence: Evidence, part: str, clause: str = "") -> Requirement:
    """Return how the table was transformed."""
    certificate, policy = evidence.certificate, evidence.policy
    lost = certificate.measures.get("gcp")
    kept = "" if lost is None else f" {percent(1 - lost)} of the detail of the quasi-identifiers is kept."
    answer = (
        f"Published less exactly by the method {certificate.method}: "
        f"{columns(list(policy.quasi)) if policy.quasi else 'no column'}. Every class has at least k = {policy.k} "
        f"{certificate.counted}; {counted(certificate.withheld, 'row')} withheld. No identifier is published as it is."
        f"{kept}"
    )
    return reported("mitigation", part, "How the data were transformed", answer, clause=clause)


def adversarial_test(evidence: Evidence, part: str) -> Requirement:
    """Return what attacks find in the release."""
    title = "What attacks on the release find"
    if evidence.attacks is None:
        answer = "No attacks were made: they need a release of one table, and a k-anonymous table to compare with."
        return reported("attacks", part, title, answer)
    findings = [(result.attack.label, result.findings[RELEASE]) for result in evidence.attacks.results]
    made = [f"{label}: {rows_of(found.rows, found.of)}" for label, found in findings if found.figure is not None]
    answer = f"Rows affected, by attack; the section Attacks explains each. {'; '.join(made)}. Lower is better."
    return reported("attacks", part, title, answer)


def criteria(evidence: Evidence, part: str) -> Iterator[Requirement]:
    """Yield a verdict on each of singling out, linkability and inference."""
    yield _singling_out(evidence, part)
    yield _linkability(evidence, part)
    yield _inference(evidence, part)


def _singling_out(evidence: Evidence, part: str) -> Requirement:
    alone = max(int((sizes == 1).sum()) for sizes in evidence.sizes)
    rare, rows = evidence.exposed_rows("rare_value"), int(evidence.certificate.claims.rows or 0)
    answer = (
        f"The smallest class has {counted(evidence.smallest, evidence.noun)}; {counted(alone, evidence.noun)} alone in "
        f"a class. {rows_of(rare, rows)} show a sensitive value that fewer than {evidence.exposed.crowd} "
        f"{evidence.exposed.counted} share: anyone who knows the value finds the row.{_not_judged(evidence)} Met if "
        "nobody is alone, no value is rare, and every published column is judged."
    )
    title = "Singling out: can the records of one person be isolated?"
    return judged("singling_out", part, title, not (alone or rare or evidence.policy.unlinkable), answer)


def _not_judged(evidence: Evidence) -> str:
    names = evidence.policy.unlinkable
    return f" Published exactly and not judged (unlinkable): {columns(names)}." if names else ""


def _linkability(evidence: Evidence, part: str) -> Requirement:
    shown = [name for name in evidence.published if name in (*evidence.policy.identifiers, evidence.policy.person)]
    pseudonyms = (
        f"Pseudonyms link releases that share a key: {columns(shown)}." if shown else "No pseudonym is published."
    )
    single, sentence = evidence.smallest == 1, f"Every row hides among at least {evidence.smallest:,} {evidence.noun}s."
    if (
        evidence.attacks is not None
        and (found := evidence.attacks[UNIQUENESS.name].findings[RELEASE]).figure is not None
    ):
        marketer = evidence.attacks[MARKETER.name].findings[RELEASE].sentence
        single, sentence = found.rows > 0, f"Linkage with the original people as register: {found.sentence} {marketer}"
    answer = (
        f"{sentence} {pseudonyms} Met if no row is linked to exactly one person and no pseudonym is published. A class "
        "can still be linked to the group of people who fit it."
    )
    title = "Linkability: can two records about the same person be linked?"
    return judged("linkability", part, title, not single and not shown, answer)


def _inference(evidence: Evidence, part: str) -> Requirement:
    title = "Inference: can a sensitive value be deduced with significant probability?"
    claims = evidence.certificate.claims
    if not claims.attributes:
        return Requirement("inference", part, title, "empty", asks=("[sensitive.COLUMN] t",))
    same, known = evidence.exposed_rows("same_value"), evidence.exposed_rows("known_value")
    rows = int(claims.rows or 0)
    answer = (
        f"{_closeness(claims)} {rows_of(same, rows)} are in a class with one value only (homogeneity); "
        f"{rows_of(known, rows)} let anyone who knows one sensitive value deduce another.{_skewness(evidence)} Met if "
        "the policy limits the distance of every class for every attribute, the release holds this, and no row is "
        "deduced."
    )
    limited = set(claims.limits) >= set(claims.sensitive)
    return judged("inference", part, title, bool(claims.satisfied) and limited and not same and not known, answer)


def _closeness(claims: Claims) -> str:
    reached = (
        f"{legible(name)} {number(claim.closeness or 0)}"
        + (f" (limit {claims.limits[name]})" if name in claims.limits else "")
        for name, claim in claims.attributes.items()
    )
    return f"Largest distance of a class from the whole table (t-closeness): {', '.join(reached)}."


def _skewness(evidence: Evidence) -> str:
    if evidence.attacks is None:
        return ""
    finding = evidence.attacks[skewness.ATTACK.name].findings[RELEASE]
    return "" if finding.figure is None else f" Skewness attack: {finding.sentence}"
