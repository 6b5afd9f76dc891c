"""Publish tables about people with a guarantee: (t₁,…,tₙ)-closeness, judged exactly."""

from tclose.compare.comparison import Comparison, compare
from tclose.engine.memory import anonymize, attack, check, explain
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
from tclose.measure.attack import Attacks
from tclose.policy import Policy, Quasi, Sensitive
from tclose.privacy.results import AttributeFinding, CheckResult, Explanation, ModelFinding
from tclose.release.certificate import Certificate
from tclose.release.release import Release
from tclose.release.verification import Verification
from tclose.release.verify import verify
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
