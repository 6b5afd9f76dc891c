"""ISO/IEC 27559:2022, a framework for de-identification: context, data, identifiability, governance."""

from __future__ import annotations

from collections.abc import Iterator

from tclose.report.profiles import risks
from tclose.report.profiles.base import Profile, Requirement, stated
from tclose.report.profiles.common import adversarial_test, mitigation, review, roles, sign_off
from tclose.report.profiles.evidence import Evidence

CONTEXT, DATA = "Context assessment", "Data assessment"
IDENTIFIABILITY, GOVERNANCE = "Identifiability assessment and mitigation", "Governance"


def require(evidence: Evidence) -> Iterator[Requirement]:
    """Yield the requirements of the four assessments."""
    yield stated(evidence, "purpose", "What the release is for", part=CONTEXT)
    yield stated(evidence, "recipient", "Who gets the release", part=CONTEXT)
    yield stated(evidence, "controls", "Security and privacy practices of the recipient", part=CONTEXT)
    yield stated(evidence, "threat_model", "Who could try to identify people: motives and capacity", part=CONTEXT)
    yield stated(evidence, "transparency", "What people and the public are told", part=CONTEXT)
    yield stated(evidence, "harm", "What identification would mean for the people", part=CONTEXT)
    yield stated(evidence, "data_subjects", "Whom the data are about", part=DATA)
    yield roles(evidence, DATA)
    yield risks.maximum(evidence, IDENTIFIABILITY)
    yield risks.average(evidence, IDENTIFIABILITY)
    yield risks.sample_based(evidence, IDENTIFIABILITY)
    yield from risks.uniqueness(evidence, IDENTIFIABILITY)
    yield adversarial_test(evidence, IDENTIFIABILITY)
    yield mitigation(evidence, IDENTIFIABILITY)
    yield stated(evidence, "threshold", "Why this risk is acceptable", part=IDENTIFIABILITY)
    yield stated(evidence, "other_releases", "Other releases of the same data", part=GOVERNANCE)
    yield stated(evidence, "incidents", "What happens if somebody is identified", part=GOVERNANCE)
    yield sign_off(evidence, GOVERNANCE)
    yield review(evidence, GOVERNANCE)


PROFILE = Profile(
    "iso27559",
    "ISO/IEC 27559:2022, privacy enhancing data de-identification framework",
    "Written from the standard's published scope and table of contents. Its clauses were not read, so none is cited: "
    "compare this list with your copy of the standard.",
    require,
)
