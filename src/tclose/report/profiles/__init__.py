"""Report profiles: the figures of a release and its steward's sentences, in the order of a text that officers know."""

from tclose.errors import InputError, did_you_mean
from tclose.report.profiles import standards
from tclose.report.profiles.base import FilledProfile, ReportProfile
from tclose.report.profiles.evidence import Evidence, PolicyEvidence, evidence_of, population_of, published_columns

BY_NAME: dict[str, ReportProfile] = {
    each.name: each for each in (standards.ISO27559, standards.WP216, standards.HIPAA, standards.EMA0070)
}

__all__ = [
    "BY_NAME",
    "Evidence",
    "FilledProfile",
    "PolicyEvidence",
    "ReportProfile",
    "evidence_of",
    "population_of",
    "profile_named",
    "published_columns",
]


def profile_named(name: str) -> ReportProfile:
    """Return a profile by its name."""
    if name not in BY_NAME:
        hint = did_you_mean(name, BY_NAME) or f"; known are {', '.join(BY_NAME)}"
        raise InputError("there is no profile '{name}'{hint}", name=name, hint=hint)
    return BY_NAME[name]
