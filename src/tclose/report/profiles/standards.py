"""The standards that officers know, each as a profile: HIPAA, EMA Policy 0070, ISO/IEC 27559 and WP216.

- HIPAA, 45 CFR 164.514(b): the 18 identifiers of Safe Harbor, and figures for an Expert Determination.
- Policy 0070 of the European Medicines Agency: publication of anonymised clinical reports.
- ISO/IEC 27559:2022, a framework for de-identification: context, data, identifiability, governance.
- Opinion 05/2014 of the Article 29 Working Party (WP216): singling out, linkability, inference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tclose.policy import Policy
from tclose.report.profiles import requirements
from tclose.report.profiles.base import (
    JUDGE_SENTENCE,
    VERDICTS,
    ProfileRequirement,
    ReportProfile,
    Sentence,
    Step,
    Verdict,
    sentence_step,
)
from tclose.report.profiles.columns import PublishedColumn, is_understood, meaning_of
from tclose.report.profiles.evidence import Evidence, PolicyEvidence
from tclose.report.profiles.requirements import (
    adversarial_test,
    alone,
    criteria,
    evaluation,
    mitigation,
    review,
    roles,
    sign_off,
)
from tclose.report.profiles.safe_harbor import HarborFinding, findings_of
from tclose.types import Claim
from tclose.words import legible

# HIPAA


HARBOR, EXPERT, HOUSE = "Safe Harbor", "Expert Determination", "Release"
RULE = "45 CFR 164.514"
CHANCE = f"{RULE}(b)(1)(i)"
READ = "No published column holds it. Every cell was read; the list of columns above says what each shows."


def by_expert(policy: Policy) -> bool:
    """Whether the release rests on an expert's determination: then Safe Harbor need not hold."""
    return policy.context is not None and bool(policy.context.expert)


def _without_expert(policy: Policy) -> bool:
    return not by_expert(policy)


def hipaa_lead(evidence: Evidence) -> str:
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


def _columns(said: PolicyEvidence) -> ProfileRequirement:
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
    return ProfileRequirement("columns", HARBOR, title, verdict, claim, asks, needed=needed)


def _shown(said: PolicyEvidence) -> dict[str, tuple[str, bool]]:
    """Say what each column shows, and whether that is known; before the rows are split, by its name alone."""
    policy = said.policy
    if said.published is None:
        columns = dict.fromkeys((*policy.quasi, *policy.sensitive, *policy.keep, *policy.unlinkable))
        return {name: ("", is_understood(name)) for name in columns}
    return {column.name: _shows(column, said) for column in said.published}


def _shows(column: PublishedColumn, said: PolicyEvidence) -> tuple[str, bool]:
    found = findings_of(column, said.year).values()
    held = [finding.why for finding in found if finding.answer == "no"]
    unknown = [finding.why for finding in found if finding.answer == "undecided"]
    meaning = meaning_of(column)
    shows = [meaning.shows] if meaning is not None else []
    return "; ".join(dict.fromkeys([*shows, *held, *unknown])) or "nothing that identifies", not unknown


def _identifiers(evidence: Evidence) -> Iterator[ProfileRequirement]:
    for finding in evidence.harbor:
        yield _identifier(finding, evidence)


def _identifier(finding: HarborFinding, evidence: Evidence) -> ProfileRequirement:
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
    return ProfileRequirement(f"safe_harbor_{letter}", HARBOR, title, verdict, claim, asks, clause, needed=needed)


def _spelled(columns: Sequence[tuple[str, str]]) -> str:
    """Spell columns with the reason, those with one reason together."""
    by_reason: dict[str, list[str]] = {}
    for name, why in columns:
        by_reason.setdefault(why, []).append(legible(name))
    return "; ".join(f"{', '.join(names)} ({why})" for why, names in by_reason.items())


def _for_expert(step: Step) -> Step:
    """Return a step whose requirements are needed only where an expert determines the risk."""

    def needed_by_expert(evidence: Evidence) -> Iterator[ProfileRequirement]:
        return (replace(each, needed=by_expert(evidence.policy)) for each in step(evidence))

    return needed_by_expert


HIPAA_STEPS = (
    Sentence(_columns),
    _identifiers,
    sentence_step(
        "knowledge",
        "No actual knowledge that somebody in the release can be identified",
        part=HARBOR,
        clause=f"{RULE}(b)(2)(ii)",
        needed=_without_expert,
    ),
    sentence_step(
        "expert",
        "The expert, and the expert's knowledge and experience",
        part=EXPERT,
        clause=f"{RULE}(b)(1)",
        needed=by_expert,
    ),
    _for_expert(requirements.maximum(EXPERT, clause=CHANCE)),
    _for_expert(requirements.average(EXPERT, clause=CHANCE)),
    _for_expert(requirements.sample_based(EXPERT, clause=CHANCE)),
    _for_expert(alone(EXPERT, clause=CHANCE)),
    _for_expert(requirements.uniqueness(EXPERT, clause=CHANCE)),
    sentence_step(
        "threshold",
        "Why the risk is very small for the anticipated recipient",
        part=EXPERT,
        clause=f"{RULE}(b)(1)(i)",
        needed=by_expert,
    ),
    _for_expert(mitigation(EXPERT, clause=f"{RULE}(b)(1)(ii)")),
    sentence_step("recipient", "Who gets the release", part=HOUSE),
    sentence_step("purpose", "What the release is for", part=HOUSE),
    roles(HOUSE),
    sign_off(HOUSE),
    review(HOUSE),
)
HIPAA = ReportProfile(
    "hipaa",
    "HIPAA Privacy Rule, de-identification of protected health information (45 CFR 164.514)",
    "Written from copies of the text of 45 CFR 164.514(b). An identifier counts as absent only if every cell of every "
    "published column is understood or cannot hold it; a column that nothing explains is not decided, and the steward "
    "must say what it shows. The rule gives no number for a very small risk; the figures are for the expert.",
    HIPAA_STEPS,
    hipaa_lead,
)


# EMA Policy 0070


THRESHOLD = 0.09
LIMIT = "Limit: 0.09, compared exactly, so a class needs 12: 1/11 is 0.0909, which others may round to 0.09."
PROCESS, RISK, REPORT = "Process", "Risk of re-identification", "Report"
EMA0070_STEPS = (
    roles(PROCESS),
    sentence_step("threat_model", "Possible adversaries and plausible attacks", part=PROCESS),
    sentence_step("utility", "Which detail stays useful, and for what", part=PROCESS),
    sentence_step("threshold", "The threshold of the risk, and why", part=PROCESS),
    requirements.maximum(RISK, limit=THRESHOLD, limit_words=LIMIT),
    requirements.average(RISK),
    requirements.sample_based(RISK),
    alone(RISK),
    requirements.uniqueness(RISK),
    adversarial_test(RISK),
    criteria(RISK),
    evaluation(RISK),
    mitigation(REPORT),
    sentence_step("other_releases", "Other publications about the same trial participants", part=REPORT),
    sign_off(REPORT),
    review(REPORT),
)


EMA0070 = ReportProfile(
    "ema0070",
    "European Medicines Agency, Policy 0070 on publication of clinical data",
    "Written from summaries of older versions of the agency's external guidance (EMA/90915/2016) that name the steps "
    "of its process. The guidance itself was not read, so no section is cited; version 1.5 of 2025 is said to make "
    "templates mandatory, and none is filled here. The threshold of 0.09 is what others report. The guidance is about "
    "clinical reports, this page about a table.",
    EMA0070_STEPS,
)


# ISO/IEC 27559


CONTEXT, DATA = "Context assessment", "Data assessment"
IDENTIFIABILITY, GOVERNANCE = "Identifiability assessment and mitigation", "Governance"
ISO27559_STEPS = (
    sentence_step("purpose", "What the release is for", part=CONTEXT),
    sentence_step("recipient", "Who gets the release", part=CONTEXT),
    sentence_step("controls", "Security and privacy practices of the recipient", part=CONTEXT),
    sentence_step("threat_model", "Who could try to identify people: motives and capacity", part=CONTEXT),
    sentence_step("transparency", "What people and the public are told", part=CONTEXT),
    sentence_step("harm", "What identification would mean for the people", part=CONTEXT),
    sentence_step("data_subjects", "Whom the data are about", part=DATA),
    roles(DATA),
    requirements.maximum(IDENTIFIABILITY),
    requirements.average(IDENTIFIABILITY),
    requirements.sample_based(IDENTIFIABILITY),
    alone(IDENTIFIABILITY),
    requirements.uniqueness(IDENTIFIABILITY),
    adversarial_test(IDENTIFIABILITY),
    mitigation(IDENTIFIABILITY),
    sentence_step("threshold", "Why this risk is acceptable", part=IDENTIFIABILITY),
    sentence_step("other_releases", "Other releases of the same data", part=GOVERNANCE),
    sentence_step("incidents", "What happens if somebody is identified", part=GOVERNANCE),
    sign_off(GOVERNANCE),
    review(GOVERNANCE),
)


ISO27559 = ReportProfile(
    "iso27559",
    "ISO/IEC 27559:2022, privacy enhancing data de-identification framework",
    "Written from the standard's published scope and table of contents. Its clauses were not read, so none is cited: "
    "compare this list with your copy of the standard.",
    ISO27559_STEPS,
)


# WP216


CRITERIA, MEANS, AFTER = "The three criteria", "Means that are likely reasonably to be used", "After the release"
WP216_STEPS = (
    criteria(CRITERIA),
    evaluation(CRITERIA),
    sentence_step("other_releases", "Other data about the same people, which can be linked", part=CRITERIA),
    sentence_step("purpose", "What the release is for", part=MEANS),
    sentence_step("recipient", "Who gets the release", part=MEANS),
    sentence_step("threat_model", "Who could try to identify people, and with what knowledge", part=MEANS),
    sentence_step("controls", "What keeps the recipient from identifying people", part=MEANS),
    roles(MEANS),
    sign_off(AFTER),
    review(AFTER),
)


def wp216_lead(evidence: Evidence) -> str:
    """Say what the three answers are about."""
    return (
        "The three answers are about the published files alone. Whether they are personal data for a recipient also "
        "depends on what this recipient can combine them with (CJEU, C-413/23 P, EDPS v SRB, 4 September 2025)."
    )


WP216 = ReportProfile(
    "wp216",
    "Article 29 Working Party, Opinion 05/2014 on anonymisation techniques (WP216)",
    "Written from the opinion's executive summary and its definitions of singling out, linkability and inference. The "
    "rest of the opinion was not read, so no section is cited. The opinion sets no numeric limits: what counts as met "
    "here is said in each answer.",
    WP216_STEPS,
    wp216_lead,
)
