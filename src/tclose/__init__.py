"""Publish tables about people with a guarantee: (t₁,…,tₙ)-closeness, judged exactly."""

from tclose.errors import (
    Infeasible,
    InputError,
    InternalError,
    LeakWarning,
    MissingExtra,
    PolicyError,
    TcloseError,
)
from tclose.findings import AttributeFinding, CheckResult, Explanation, ModelFinding
from tclose.policy import Policy, Quasi, Sensitive
from tclose.release import check, explain
from tclose.table import read

__all__ = [
    "AttributeFinding",
    "CheckResult",
    "Explanation",
    "Infeasible",
    "InputError",
    "InternalError",
    "LeakWarning",
    "MissingExtra",
    "ModelFinding",
    "Policy",
    "PolicyError",
    "Quasi",
    "Sensitive",
    "TcloseError",
    "check",
    "explain",
    "read",
]
