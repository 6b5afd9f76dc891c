"""A progress bar for notebooks, made of plain HTML: nothing is loaded, and no further package is needed."""

from __future__ import annotations

import html
import sys
import time
from typing import Any

from tclose.types import Progress
from tclose.words import percent, plain

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
    return f'<progress value="{done:.3f}" max="1"></progress> {percent(done)} {html.escape(plain(phase))}'


def notebook_progress() -> Progress | None:
    """Return a bar if this process is the kernel of a notebook, else None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return NotebookProgress() if shell is not None and hasattr(shell, "kernel") else None
