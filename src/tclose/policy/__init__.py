"""What is asked: the policy, from TOML or from Python, validated once."""

from tclose.policy.column_settings import (
    DATE_UNITS,
    DISTANCES,
    Bins,
    Builder,
    ByGroup,
    CostTable,
    DistanceSettings,
    Presence,
    Recursive,
    implied_by_settings,
)
from tclose.policy.model import LEVELS, LOSSES, MODELS, Policy, PolicyLike, Quasi, Sensitive
from tclose.policy.source import SourceSettings
from tclose.policy.tables import JOINT_DISTANCES, PROFILES, Context, Joint, ProfileName, Pseudonym, SignOff

__all__ = [
    "DATE_UNITS",
    "DISTANCES",
    "JOINT_DISTANCES",
    "LEVELS",
    "LOSSES",
    "MODELS",
    "PROFILES",
    "Bins",
    "Builder",
    "ByGroup",
    "Context",
    "CostTable",
    "DistanceSettings",
    "Joint",
    "Policy",
    "PolicyLike",
    "Presence",
    "ProfileName",
    "Pseudonym",
    "Quasi",
    "Recursive",
    "Sensitive",
    "SignOff",
    "SourceSettings",
    "implied_by_settings",
]
