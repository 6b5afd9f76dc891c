"""What is asked: the policy, from TOML or from Python, validated once."""

from tclose.policy.model import (
    DATE_UNITS,
    MODELS,
    Bins,
    Builder,
    CostTable,
    Policy,
    PolicyLike,
    Quasi,
    Sensitive,
)

__all__ = ["DATE_UNITS", "MODELS", "Bins", "Builder", "CostTable", "Policy", "PolicyLike", "Quasi", "Sensitive"]
