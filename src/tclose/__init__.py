"""Publish tables about people with a guarantee: (t₁,…,tₙ)-closeness, judged exactly."""

from __future__ import annotations

from tclose.lazy_imports import attribute, homes, when_imported

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

_HOMES = homes(  # the names of each module, which is loaded when one of them is asked for
    {
        "tclose.analysis.estimates": "Estimate",
        "tclose.analysis.loaded_release": "LoadedRelease load",
        "tclose.analysis.regression": "Regression",
        "tclose.comparison.comparison": "Comparison compare",
        "tclose.errors": "Cancelled Infeasible InputError InternalError LeakWarning MissingExtra PolicyError "
        "TcloseError Unsuited",
        "tclose.integrations.namespace": "NotebookProgress",
        "tclose.measure.attack": "Attacks",
        "tclose.measure.detail_kept": "DetailKept",
        "tclose.policy": "Policy Quasi Sensitive",
        "tclose.privacy.results": "AttributeFinding CheckResult Explanation ModelFinding",
        "tclose.release.certificate": "Certificate",
        "tclose.release.lower_bound": "LowerBound",
        "tclose.release.release": "Release",
        "tclose.release.verification": "Verification",
        "tclose.release.verify": "verify",
        "tclose.run.anonymization": "anonymize attack bound",
        "tclose.run.evaluation": "detail",
        "tclose.run.study": "check explain",
        "tclose.sql": "sql_check",
        "tclose.table": "read",
        "tclose.types": "Progress",
    }
)


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
