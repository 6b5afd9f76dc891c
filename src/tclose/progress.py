"""A progress bar on stderr, shown once the work takes longer than a second and somebody is looking."""

from __future__ import annotations

import sys
import threading
from types import TracebackType

from rich.console import Console
from rich.progress import Progress

PATIENCE_SECONDS = 1.0


class Bar:
    """Call it with the share done and what is being done."""

    def __init__(self) -> None:
        self._progress = Progress(console=Console(stderr=True), transient=True)
        self._task = self._progress.add_task("", total=1.0)
        self._timer = threading.Timer(PATIENCE_SECONDS, self._progress.start)
        self._timer.daemon = True

    def __enter__(self) -> Bar:
        if sys.stderr.isatty():
            self._timer.start()
        return self

    def __call__(self, share: float, what: str) -> None:
        """Take note of how far the work is."""
        self._progress.update(self._task, completed=share, description=what)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        if self._timer.is_alive():
            self._timer.join()  # it may be starting the bar right now
        if self._progress.live.is_started:
            self._progress.stop()
