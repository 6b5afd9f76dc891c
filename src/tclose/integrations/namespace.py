"""`df.tclose`: the functions of tclose as methods of polars and pandas frames, with a progress bar in notebooks.

`import tclose` sees to it that frames get the namespace when their library is loaded, before or afterwards. The bar is
made of plain HTML: nothing is loaded, and no further package is needed.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import tclose
from tclose.types import Progress
from tclose.words import percent, plain

if TYPE_CHECKING:
    from tclose.measure.attack import Attacks
    from tclose.policy import PolicyLike
    from tclose.privacy.results import CheckResult, Explanation
    from tclose.release.lower_bound import LowerBound
    from tclose.release.release import Release

# The progress bar for notebooks


SECONDS_BETWEEN = 0.2  # updates


class NotebookProgress:
    """A `Progress` that Jupyter shows as a bar below the cell.

    Functions of `tclose` take it as `progress=`; the methods of `df.tclose` use it by themselves.
    """

    def __init__(self) -> None:
        self._handle: Any = None
        self._phase, self._drawn = "", 0.0

    def __call__(self, share: float, phase: str = "") -> None:
        """Take note of how far the work is, and draw it a few times a second at most."""
        changed, self._phase = bool(phase) and phase != self._phase, phase or self._phase
        if share < 1 and not changed and time.monotonic() - self._drawn < SECONDS_BETWEEN:
            return
        self._drawn = time.monotonic()
        self._draw(bar(share, self._phase))

    def _draw(self, markup: str) -> None:
        from IPython import display

        shown: Any = display  # which has no types
        if self._handle is None:
            self._handle = shown.display(shown.HTML(markup), display_id=True)
        else:
            self._handle.update(shown.HTML(markup))


def bar(share: float, phase: str) -> str:
    """Return a bar as HTML.

    >>> bar(0.5, "<splitting>")
    '<progress value="0.500" max="1"></progress> 50.0 % &lt;splitting&gt;'
    """
    done = min(max(share, 0.0), 1.0)
    from html import escape  # and its long list of names, which only notebooks need

    return f'<progress value="{done:.3f}" max="1"></progress> {percent(done)} {escape(plain(phase))}'


def notebook_progress() -> Progress | None:
    """Return a bar if this process is the kernel of a notebook, else None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return NotebookProgress() if shell is not None and hasattr(shell, "kernel") else None


# The namespace


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
