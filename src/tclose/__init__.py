"""Publish tables about people with a guarantee: (t₁,…,tₙ)-closeness, judged exactly."""

from __future__ import annotations

from tclose.lazy_imports import attribute, when_imported

TYPE_CHECKING = False  # `typing` is loaded later as well
if TYPE_CHECKING:
    from typing import Any

    from tclose.analysis.estimates import Estimate
    from tclose.analysis.loaded_release import LoadedRelease, load
    from tclose.analysis.regression import Regression
    from tclose.comparison.comparison import Comparison, compare
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
    from tclose.integrations.namespace import NotebookProgress
    from tclose.measure.attack import Attacks
    from tclose.measure.detail_kept import DetailKept
    from tclose.policy import Policy, Quasi, Sensitive
    from tclose.privacy.results import AttributeFinding, CheckResult, Explanation, ModelFinding
    from tclose.release.certificate import Certificate
    from tclose.release.lower_bound import LowerBound
    from tclose.release.release import Release
    from tclose.release.verification import Verification
    from tclose.release.verify import verify
    from tclose.run.anonymization import anonymize, attack, bound
    from tclose.run.evaluation import detail
    from tclose.run.study import check, explain
    from tclose.sql import sql_check
    from tclose.table import read
    from tclose.types import Progress

    __version__: str

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

_HOMES = {  # the module that has each name, which is loaded when the name is asked for
    "Attacks": "tclose.measure.attack",
    "AttributeFinding": "tclose.privacy.results",
    "Cancelled": "tclose.errors",
    "Certificate": "tclose.release.certificate",
    "CheckResult": "tclose.privacy.results",
    "Comparison": "tclose.comparison.comparison",
    "DetailKept": "tclose.measure.detail_kept",
    "Estimate": "tclose.analysis.estimates",
    "Explanation": "tclose.privacy.results",
    "Infeasible": "tclose.errors",
    "InputError": "tclose.errors",
    "InternalError": "tclose.errors",
    "LeakWarning": "tclose.errors",
    "LoadedRelease": "tclose.analysis.loaded_release",
    "LowerBound": "tclose.release.lower_bound",
    "MissingExtra": "tclose.errors",
    "ModelFinding": "tclose.privacy.results",
    "NotebookProgress": "tclose.integrations.namespace",
    "Policy": "tclose.policy",
    "PolicyError": "tclose.errors",
    "Progress": "tclose.types",
    "Quasi": "tclose.policy",
    "Regression": "tclose.analysis.regression",
    "Release": "tclose.release.release",
    "Sensitive": "tclose.policy",
    "TcloseError": "tclose.errors",
    "Unsuited": "tclose.errors",
    "Verification": "tclose.release.verification",
    "anonymize": "tclose.run.anonymization",
    "attack": "tclose.run.anonymization",
    "bound": "tclose.run.anonymization",
    "check": "tclose.run.study",
    "compare": "tclose.comparison.comparison",
    "detail": "tclose.run.evaluation",
    "explain": "tclose.run.study",
    "load": "tclose.analysis.loaded_release",
    "read": "tclose.table",
    "sql_check": "tclose.sql",
    "verify": "tclose.release.verify",
}


def __dir__() -> list[str]:
    return [*globals(), *__all__]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("tclose")
        return attribute(__name__, _HOMES, name)


def _name_frames() -> None:
    from tclose.integrations.namespace import register

    register()


def _name_frames_of_pandas() -> None:
    from tclose.integrations.namespace import register_pandas

    register_pandas()


when_imported("polars", _name_frames)
when_imported("pandas", _name_frames_of_pandas)
