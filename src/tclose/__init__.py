"""Publish tables about people with a guarantee: (t₁,…,tₙ)-closeness, judged exactly."""

from tclose.attacking import Attacks, attack
from tclose.certificate import Certificate, Verification, verify
from tclose.comparing import Comparison, compare
from tclose.errors import (
    Infeasible,
    InputError,
    InternalError,
    LeakWarning,
    MissingExtra,
    PolicyError,
    TcloseError,
    Unsuited,
)
from tclose.findings import AttributeFinding, CheckResult, Explanation, ModelFinding
from tclose.policy import Policy, Quasi, Sensitive
from tclose.publication import Release
from tclose.release import anonymize, check, explain
from tclose.table import read

__all__ = [
    "Attacks",
    "AttributeFinding",
    "Certificate",
    "CheckResult",
    "Comparison",
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
    "Release",
    "Sensitive",
    "TcloseError",
    "Unsuited",
    "Verification",
    "anonymize",
    "attack",
    "check",
    "compare",
    "explain",
    "read",
    "verify",
]
