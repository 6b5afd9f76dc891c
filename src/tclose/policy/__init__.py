"""What is asked: the policy, from TOML or from Python, validated once."""

from tclose.policy.context import PROFILES, Context, ProfileName, SignOff
from tclose.policy.distances import DISTANCES, DistanceSettings, implied_by_settings
from tclose.policy.joint import JOINT_DISTANCES, Joint
from tclose.policy.model import LEVELS, LOSSES, MODELS, Policy, PolicyLike, Quasi, Sensitive
from tclose.policy.parts import DATE_UNITS, Bins, Builder, ByGroup, CostTable, Presence, Recursive
from tclose.policy.pseudonym import Pseudonym
from tclose.policy.source import SourceSettings

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
