"""`df.tclose`: the functions of tclose as methods of polars and pandas frames.

`import tclose` sees to it that frames get the namespace when their library is loaded, before or afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tclose
from tclose.integrations.notebook import notebook_progress

if TYPE_CHECKING:
    from tclose.measure.attack import Attacks
    from tclose.policy import PolicyLike
    from tclose.privacy.results import CheckResult, Explanation
    from tclose.release.lower_bound import LowerBound
    from tclose.release.release import Release

NAME = "tclose"


class Namespace:
    """The functions of tclose on one frame; in a notebook, long work shows a progress bar."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def check(self, policy: PolicyLike, **options: Any) -> CheckResult:
        """Say whether the frame holds what a policy asks for; as `tclose.check`.

        >>> import polars as pl
        >>> table = pl.DataFrame({"zone": ["a", "a", "b", "b"], "salary": [3, 4, 3, 4]})
        >>> Namespace(table).check({"quasi": ["zone"], "sensitive": {"salary": {"t": 0.1}}, "k": 2}).satisfied
        True
        """
        return tclose.check(self._frame, policy, **_with_progress(options))

    def explain(self, policy: PolicyLike, *, attribute: str, class_number: int, **options: Any) -> Explanation:
        """Show why one class is so far from the whole frame; as `tclose.explain`."""
        given = _with_progress(options)
        return tclose.explain(self._frame, policy, attribute=attribute, class_number=class_number, **given)

    def anonymize(self, policy: PolicyLike, **options: Any) -> Release:
        """Publish the frame; as `tclose.anonymize`."""
        return tclose.anonymize(self._frame, policy, **_with_progress(options))

    def attack(self, release: Any, policy: PolicyLike, **options: Any) -> Attacks:
        """Measure what an adversary learns from a release of this frame; as `tclose.attack`."""
        return tclose.attack(release, original=self._frame, policy=policy, **_with_progress(options))

    def bound(self, policy: PolicyLike, **options: Any) -> LowerBound:
        """Search for the detail that every release of this frame loses at least; as `tclose.bound`."""
        return tclose.bound(self._frame, policy, **_with_progress(options))


def _with_progress(options: dict[str, Any]) -> dict[str, Any]:
    return {"progress": notebook_progress(), **options}


def register() -> None:
    """Give the namespace to the frames of polars."""
    import polars as pl

    if getattr(pl.DataFrame, NAME, None) is not Namespace:  # loaded again, polars would warn
        pl.api.register_dataframe_namespace(NAME)(Namespace)
        pl.api.register_lazyframe_namespace(NAME)(Namespace)


def register_pandas() -> None:
    """Give the namespace to the frames of pandas."""
    import pandas as pd

    if getattr(pd.DataFrame, NAME, None) is not Namespace:
        pd.api.extensions.register_dataframe_accessor(NAME)(Namespace)
