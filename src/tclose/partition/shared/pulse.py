"""Long work that can be stopped: progress is called often, also where the share done does not change.

Whoever waits may raise `Cancelled` from a progress call. Loops call it at least about once a second; work that cannot
call back runs in a thread of its own, while the calling thread goes on calling.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import TypeVar

from tclose.types import Progress, silent

T = TypeVar("T")

EVERY = 0.2  # seconds between two calls while other work runs


class Pulse:
    """A progress that remembers the share done, so that any loop can repeat it."""

    def __init__(self, progress: Progress = silent) -> None:
        self._progress = progress
        self._share = 0.0

    def __call__(self, share: float, phase: str = "") -> None:
        """Take note of the share done, and pass it on."""
        self._share = share
        self._progress(share, phase)

    def beat(self) -> None:
        """Pass on the last share again: the work goes on, and may be stopped here."""
        self._progress(self._share)


QUIET = Pulse()  # tells nobody


def waited_for(work: Callable[[], T], pulse: Pulse) -> T:
    """Do work that cannot call back, such as a solver's, and beat until it ends.

    If a beat raises, the exception leaves at once. The work cannot be stopped: its thread ends by itself later, or with
    the process, and its outcome is dropped.
    """
    outcomes: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            outcomes.append(work())
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        pulse.beat()
        thread.join(EVERY)
    if errors:
        raise errors[0]
    return outcomes[0]
