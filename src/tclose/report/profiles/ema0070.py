"""Policy 0070 of the European Medicines Agency: publication of anonymised clinical reports."""

from __future__ import annotations

from tclose.report.profiles import risks
from tclose.report.profiles.base import Profile, sentence
from tclose.report.profiles.common import (
    adversarial_test,
    alone,
    criteria,
    evaluation,
    mitigation,
    review,
    roles,
    sign_off,
)

THRESHOLD = 0.09
LIMIT = "Limit: 0.09, compared exactly, so a class needs 12: 1/11 is 0.0909, which others may round to 0.09."
PROCESS, RISK, REPORT = "Process", "Risk of re-identification", "Report"
STEPS = (
    roles(PROCESS),
    sentence("threat_model", "Possible adversaries and plausible attacks", part=PROCESS),
    sentence("utility", "Which detail stays useful, and for what", part=PROCESS),
    sentence("threshold", "The threshold of the risk, and why", part=PROCESS),
    risks.maximum(RISK, limit=THRESHOLD, limit_words=LIMIT),
    risks.average(RISK),
    risks.sample_based(RISK),
    alone(RISK),
    risks.uniqueness(RISK),
    adversarial_test(RISK),
    criteria(RISK),
    evaluation(RISK),
    mitigation(REPORT),
    sentence("other_releases", "Other publications about the same trial participants", part=REPORT),
    sign_off(REPORT),
    review(REPORT),
)


PROFILE = Profile(
    "ema0070",
    "European Medicines Agency, Policy 0070 on publication of clinical data",
    "Written from summaries of older versions of the agency's external guidance (EMA/90915/2016) that name the steps "
    "of its process. The guidance itself was not read, so no section is cited; version 1.5 of 2025 is said to make "
    "templates mandatory, and none is filled here. The threshold of 0.09 is what others report. The guidance is about "
    "clinical reports, this page about a table.",
    STEPS,
)
