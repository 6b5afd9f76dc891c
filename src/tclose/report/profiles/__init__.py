"""Report profiles: the figures of a release and its steward's sentences, in the order of a text that officers know."""

from tclose.errors import InputError, did_you_mean
from tclose.report.profiles import ema0070, hipaa, iso27559, wp216
from tclose.report.profiles.base import FilledProfile, Profile, Requirement
from tclose.report.profiles.evidence import Evidence, Said, gathered, population_of, published_columns

BY_NAME: dict[str, Profile] = {
    each.name: each for each in (iso27559.PROFILE, wp216.PROFILE, hipaa.PROFILE, ema0070.PROFILE)
}

__all__ = [
    "BY_NAME",
    "Evidence",
    "FilledProfile",
    "Profile",
    "Requirement",
    "Said",
    "gathered",
    "population_of",
    "profile_named",
    "published_columns",
]


def profile_named(name: str) -> Profile:
    """Return a profile by its name."""
    if name not in BY_NAME:
        hint = did_you_mean(name, BY_NAME) or f"; known are {', '.join(BY_NAME)}"
        raise InputError(f"there is no profile '{name}'{hint}")
    return BY_NAME[name]
