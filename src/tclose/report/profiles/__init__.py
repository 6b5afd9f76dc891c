"""Report profiles: the figures of a release and its steward's sentences, in the order of a text that officers know."""

from tclose.report.profiles import ema0070, hipaa, iso27559, wp216
from tclose.report.profiles.base import FilledProfile, Profile, Requirement
from tclose.report.profiles.evidence import Evidence, gathered, population_of

BY_NAME: dict[str, Profile] = {
    each.name: each for each in (iso27559.PROFILE, wp216.PROFILE, hipaa.PROFILE, ema0070.PROFILE)
}

__all__ = ["BY_NAME", "Evidence", "FilledProfile", "Profile", "Requirement", "gathered", "population_of"]
