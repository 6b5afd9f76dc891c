"""Types that travel between folders: arrays, and the one way to report progress and to be cancelled."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
SmallInts = NDArray[np.int32]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Progress(Protocol):
    """Called during long work with the share done, from 0 to 1, and the name of the current phase.

    An empty phase means that the phase has not changed. Raising `Cancelled` (or any other exception) from it stops the
    work within a second: nothing is written, nothing is left behind.
    """

    def __call__(self, share: float, phase: str = "") -> None:
        """Take note of how far the work is."""


def silent(share: float, phase: str = "") -> None:
    """Report progress to nobody."""


def stretch(progress: Progress, low: float, high: float, phase: str = "") -> Progress:
    """Return the progress of one part of the work, which takes the whole from share `low` to share `high`.

    `phase` names the part wherever the part itself names no phase.

    >>> stretch(lambda share, phase: print(share, phase), 0.5, 1.0, "judging")(0.5)
    0.75 judging
    """
    name = phase

    def report(share: float, phase: str = "") -> None:
        progress(low + (high - low) * share, phase or name)

    return report
