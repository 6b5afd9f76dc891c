"""Progress bars on stderr, shown once the work takes longer than a second and somebody is looking."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import Progress, TaskID

PATIENCE_SECONDS = 1.0


class _Patient:
    """Bars that appear after a while, and go when the work is done."""

    def __init__(self) -> None:
        self._progress = Progress(console=Console(stderr=True), transient=True)
        self._timer = threading.Timer(PATIENCE_SECONDS, self._progress.start)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        if self._timer.is_alive():
            self._timer.join()  # it may be starting the bars right now
        if self._progress.live.is_started:
            self._progress.stop()


class Bar(_Patient):
    """Call it with the share done and what is being done."""

    def __init__(self) -> None:
        super().__init__()
        self._task = self._progress.add_task("", total=1.0)

    def __call__(self, share: float, phase: str = "") -> None:
        """Take note of how far the work is."""
        self._progress.update(self._task, completed=share, description=phase or None)


class Bars(_Patient):
    """One bar for each of several things; call it with what is being done and the share of it."""

    def __init__(self) -> None:
        super().__init__()
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, what: str, share: float) -> None:
        """Take note of how far one of them is."""
        if what not in self._tasks:
            self._tasks[what] = self._progress.add_task(what, total=1.0)
        self._progress.update(self._tasks[what], completed=share)
