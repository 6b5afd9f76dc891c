"""ISO/IEC 27559:2022, a framework for de-identification: context, data, identifiability, governance."""

from __future__ import annotations

from tclose.report.profiles import risks
from tclose.report.profiles.base import Profile, sentence
from tclose.report.profiles.common import adversarial_test, alone, mitigation, review, roles, sign_off

CONTEXT, DATA = "Context assessment", "Data assessment"
IDENTIFIABILITY, GOVERNANCE = "Identifiability assessment and mitigation", "Governance"
STEPS = (
    sentence("purpose", "What the release is for", part=CONTEXT),
    sentence("recipient", "Who gets the release", part=CONTEXT),
    sentence("controls", "Security and privacy practices of the recipient", part=CONTEXT),
    sentence("threat_model", "Who could try to identify people: motives and capacity", part=CONTEXT),
    sentence("transparency", "What people and the public are told", part=CONTEXT),
    sentence("harm", "What identification would mean for the people", part=CONTEXT),
    sentence("data_subjects", "Whom the data are about", part=DATA),
    roles(DATA),
    risks.maximum(IDENTIFIABILITY),
    risks.average(IDENTIFIABILITY),
    risks.sample_based(IDENTIFIABILITY),
    alone(IDENTIFIABILITY),
    risks.uniqueness(IDENTIFIABILITY),
    adversarial_test(IDENTIFIABILITY),
    mitigation(IDENTIFIABILITY),
    sentence("threshold", "Why this risk is acceptable", part=IDENTIFIABILITY),
    sentence("other_releases", "Other releases of the same data", part=GOVERNANCE),
    sentence("incidents", "What happens if somebody is identified", part=GOVERNANCE),
    sign_off(GOVERNANCE),
    review(GOVERNANCE),
)


PROFILE = Profile(
    "iso27559",
    "ISO/IEC 27559:2022, privacy enhancing data de-identification framework",
    "Written from the standard's published scope and table of contents. Its clauses were not read, so none is cited: "
    "compare this list with your copy of the standard.",
    STEPS,
)
