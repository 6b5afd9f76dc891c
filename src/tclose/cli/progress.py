"""Progress bars on stderr, shown once the work takes longer than a second and somebody is looking.

They show the share done and the time that has passed, never a time that remains: it could only be made up.
"""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TaskProgressColumn, TimeElapsedColumn

from tclose.cli.endings import check_ended
from tclose.cli.terminal import Console, Text

PATIENCE_SECONDS = 1.0


class _PhaseColumn(ProgressColumn):
    """The current phase, as text."""

    def render(self, task: Task) -> Text:
        """Show a task's phase."""
        return Text(task.description)


class _Patient:
    """Bars that appear after a while, and go when the work is done."""

    def __init__(self) -> None:
        columns = (_PhaseColumn(), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
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
    """A progress that one bar shows: the share done, and the current phase."""

    def __init__(self) -> None:
        super().__init__()
        self._task = self._progress.add_task("", total=1.0)

    def __call__(self, share: float, phase: str = "") -> None:
        """Take note of how far the work is."""
        check_ended()
        self._progress.update(self._task, completed=share, description=phase or None)


class Bars(_Patient):
    """A progress that shows one bar for each phase; what follows a comma in a phase is about the same bar."""

    def __init__(self) -> None:
        super().__init__()
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, share: float, phase: str = "") -> None:
        """Take note of how far one of them is."""
        check_ended()
        name = phase.partition(",")[0]
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=1.0)
        self._progress.update(self._tasks[name], completed=share, description=phase)
