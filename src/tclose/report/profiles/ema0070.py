"""Policy 0070 of the European Medicines Agency: publication of anonymised clinical reports."""

from __future__ import annotations

from collections.abc import Iterator

from tclose.report.profiles import risks
from tclose.report.profiles.base import Profile, Requirement, stated
from tclose.report.profiles.common import adversarial_test, criteria, mitigation, review, roles, sign_off
from tclose.report.profiles.evidence import Evidence

THRESHOLD = 0.09
LIMIT = "Limit: 0.09, compared exactly, so a class needs 12: 1/11 is 0.0909, which others may round to 0.09."
PROCESS, RISK, REPORT = "Process", "Risk of re-identification", "Report"


def require(evidence: Evidence) -> Iterator[Requirement]:
    """Yield the steps of the process, the risk with the threshold, and the three criteria."""
    yield roles(evidence, PROCESS)
    yield stated(evidence, "threat_model", "Possible adversaries and plausible attacks", part=PROCESS)
    yield stated(evidence, "utility", "Which detail stays useful, and for what", part=PROCESS)
    yield stated(evidence, "threshold", "The threshold of the risk, and why", part=PROCESS)
    yield risks.maximum(evidence, RISK, limit=THRESHOLD, limit_words=LIMIT)
    yield risks.average(evidence, RISK)
    yield risks.sample_based(evidence, RISK)
    yield from risks.uniqueness(evidence, RISK)
    yield adversarial_test(evidence, RISK)
    yield from criteria(evidence, RISK)
    yield mitigation(evidence, REPORT)
    yield stated(evidence, "other_releases", "Other publications about the same trial participants", part=REPORT)
    yield sign_off(evidence, REPORT)
    yield review(evidence, REPORT)


PROFILE = Profile(
    "ema0070",
    "European Medicines Agency, Policy 0070 on publication of clinical data",
    "Written from summaries of the agency's external guidance (EMA/90915/2016) that name the steps of its process. The "
    "guidance itself was not read, so no section is cited; the threshold of 0.09 is what others report of it. The "
    "guidance is about clinical reports, this page about a table.",
    require,
)
