"""What is asked: the policy, from TOML or from Python, validated once."""

from tclose.policy.distances import DISTANCES, DistanceSettings, implied_by_settings
from tclose.policy.model import LEVELS, LOSSES, MODELS, Policy, PolicyLike, Quasi, Sensitive
from tclose.policy.parts import DATE_UNITS, Bins, Builder, CostTable, Presence, Recursive

__all__ = [
    "DATE_UNITS",
    "DISTANCES",
    "LEVELS",
    "LOSSES",
    "MODELS",
    "Bins",
    "Builder",
    "CostTable",
    "DistanceSettings",
    "Policy",
    "PolicyLike",
    "Presence",
    "Quasi",
    "Recursive",
    "Sensitive",
    "implied_by_settings",
]
