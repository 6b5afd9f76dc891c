"""Opinion 05/2014 of the Article 29 Working Party (WP216): singling out, linkability, inference."""

from __future__ import annotations

from tclose.report.profiles.base import Profile, sentence
from tclose.report.profiles.common import criteria, evaluation, review, roles, sign_off
from tclose.report.profiles.evidence import Evidence

CRITERIA, MEANS, AFTER = "The three criteria", "Means that are likely reasonably to be used", "After the release"
STEPS = (
    criteria(CRITERIA),
    evaluation(CRITERIA),
    sentence("other_releases", "Other data about the same people, which can be linked", part=CRITERIA),
    sentence("purpose", "What the release is for", part=MEANS),
    sentence("recipient", "Who gets the release", part=MEANS),
    sentence("threat_model", "Who could try to identify people, and with what knowledge", part=MEANS),
    sentence("controls", "What keeps the recipient from identifying people", part=MEANS),
    roles(MEANS),
    sign_off(AFTER),
    review(AFTER),
)


def lead(evidence: Evidence) -> str:
    """Say what the three answers are about."""
    return (
        "The three answers are about the published files alone. Whether they are personal data for a recipient also "
        "depends on what this recipient can combine them with (CJEU, C-413/23 P, EDPS v SRB, 4 September 2025)."
    )


PROFILE = Profile(
    "wp216",
    "Article 29 Working Party, Opinion 05/2014 on anonymisation techniques (WP216)",
    "Written from the opinion's executive summary and its definitions of singling out, linkability and inference. The "
    "rest of the opinion was not read, so no section is cited. The opinion sets no numeric limits: what counts as met "
    "here is said in each answer.",
    STEPS,
    lead,
)
