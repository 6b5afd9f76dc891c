"""How much time a search has left, and how it reports the bound that it has found so far."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tclose.types import Progress

Clock = Callable[[], float]
GoesOn = Callable[[], bool]

OFTEN = 0.1  # seconds between two reports


@dataclass
class Budget:
    """The seconds of a search; whatever a report raises stops the search."""

    seconds: float
    progress: Progress
    clock: Clock = time.monotonic
    best: float = 0.0  # the best bound on GCP so far
    _started: float = field(init=False)
    _reported: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self._started = self.clock()

    @property
    def used(self) -> float:
        """The seconds that have passed."""
        return self.clock() - self._started

    def beat(self) -> None:
        """Report the share of the time that has passed, and the best bound so far; often enough to be stopped."""
        now = time.monotonic()
        if now - self._reported >= OFTEN:
            self._reported = now
            self.report(min(self.used / self.seconds, 1.0) if self.seconds else 1.0)

    def report(self, share: float) -> None:
        """Report a share of the time, and the best bound so far."""
        self.progress(share, f"searching, lower bound {self.best:.4f} so far")

    def until(self, share: float) -> GoesOn:
        """Return a function that tells whether this share of the whole time is still ahead."""
        return lambda: self.used < share * self.seconds

    def rise(self, bound: float) -> None:
        """Take note of a bound; the best one counts."""
        self.best = max(self.best, bound)
        self.beat()
