"""Publish tables about people with a guarantee: (t₁,…,tₙ)-closeness, judged exactly."""

from importlib.metadata import version

from tclose.analysis.estimates import Estimate
from tclose.analysis.loaded import LoadedRelease
from tclose.analysis.loading import load
from tclose.analysis.regression import Regression
from tclose.compare.comparison import Comparison, compare
from tclose.engine.memory import anonymize, attack, bound, check, explain
from tclose.errors import (
    Cancelled,
    Infeasible,
    InputError,
    InternalError,
    LeakWarning,
    MissingExtra,
    PolicyError,
    TcloseError,
    Unsuited,
)
from tclose.integrations.namespace import register
from tclose.integrations.notebook import NotebookProgress
from tclose.measure.attack import Attacks
from tclose.policy import Policy, Quasi, Sensitive
from tclose.privacy.results import AttributeFinding, CheckResult, Explanation, ModelFinding
from tclose.release.certificate import Certificate
from tclose.release.lower_bound import LowerBound
from tclose.release.release import Release
from tclose.release.verification import Verification
from tclose.release.verify import verify
from tclose.sql import sql_check
from tclose.steps import DetailKept, detail
from tclose.table import read
from tclose.types import Progress

__version__ = version("tclose")
register()

__all__ = [
    "Attacks",
    "AttributeFinding",
    "Cancelled",
    "Certificate",
    "CheckResult",
    "Comparison",
    "DetailKept",
    "Estimate",
    "Explanation",
    "Infeasible",
    "InputError",
    "InternalError",
    "LeakWarning",
    "LoadedRelease",
    "LowerBound",
    "MissingExtra",
    "ModelFinding",
    "NotebookProgress",
    "Policy",
    "PolicyError",
    "Progress",
    "Quasi",
    "Regression",
    "Release",
    "Sensitive",
    "TcloseError",
    "Unsuited",
    "Verification",
    "__version__",
    "anonymize",
    "attack",
    "bound",
    "check",
    "compare",
    "detail",
    "explain",
    "load",
    "read",
    "sql_check",
    "verify",
]
