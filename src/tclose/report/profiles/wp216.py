"""Opinion 05/2014 of the Article 29 Working Party (WP216): singling out, linkability, inference."""

from __future__ import annotations

from collections.abc import Iterator

from tclose.report.profiles.base import Profile, Requirement, stated
from tclose.report.profiles.common import criteria, review, roles, sign_off
from tclose.report.profiles.evidence import Evidence

CRITERIA, MEANS, AFTER = "The three criteria", "Means that are likely reasonably to be used", "After the release"


def require(evidence: Evidence) -> Iterator[Requirement]:
    """Yield the three verdicts, and what they rest on."""
    yield from criteria(evidence, CRITERIA)
    yield stated(evidence, "other_releases", "Other data about the same people, which can be linked", part=CRITERIA)
    yield stated(evidence, "purpose", "What the release is for", part=MEANS)
    yield stated(evidence, "recipient", "Who gets the release", part=MEANS)
    yield stated(evidence, "threat_model", "Who could try to identify people, and with what knowledge", part=MEANS)
    yield stated(evidence, "controls", "What keeps the recipient from identifying people", part=MEANS)
    yield roles(evidence, MEANS)
    yield sign_off(evidence, AFTER)
    yield review(evidence, AFTER)


PROFILE = Profile(
    "wp216",
    "Article 29 Working Party, Opinion 05/2014 on anonymisation techniques (WP216)",
    "Written from the opinion's executive summary and its definitions of singling out, linkability and inference. The "
    "rest of the opinion was not read, so no section is cited. The opinion sets no numeric limits: what counts as met "
    "here is said in each answer.",
    require,
)
