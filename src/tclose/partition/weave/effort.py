"""How much time weave spends: `fast`, `balanced` or `best`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

EffortName = Literal["fast", "balanced", "best"]


@dataclass(frozen=True)
class Effort:
    """How many starts are compared, and how long the best of them is improved.

    A step tries to exchange rows. `steps_per_row` limits the steps on small tables, `steps_in_all` on large ones.
    """

    shares: tuple[float, ...]  # of t that a cell may use up; each share is one start
    rates: tuple[float, ...]  # loss per row of excess work, at which classes are grown
    cell: int  # rows of a cell, out of which classes are carved
    group: int  # rows of a group, within which classes exchange rows
    passes: int  # each with other groups and a lower temperature
    steps_per_row: float
    steps_in_all: float
    hot: float = 0.3  # the first temperature, in loss
    cold: float = 0.003  # the last
    joined: int = 4  # classes carved again together
    sample: int = 20_000  # rows on which the starts of a larger table are compared
    chosen: float = 0.0  # progress when the start has been chosen
    started: float = 0.0  # progress when its classes have been formed
    large: int = 10**9  # rows beyond which steps grow only with the square root of the rows

    def steps(self, rows: int) -> float:
        """Return the steps to try per row and pass."""
        in_all = self.steps_in_all * math.sqrt(min(1.0, self.large / max(rows, 1)))
        return min(self.steps_per_row, in_all / max(rows, 1)) / self.passes


SHARES = (0.5, 0.7, 0.9, 1.0)
EFFORTS: dict[str, Effort] = {
    "fast": Effort(
        (0.7,),
        (1.0,),
        cell=100,
        group=1000,
        passes=1,
        steps_per_row=2.0,
        steps_in_all=1e6,
        hot=0.03,
        started=0.6,
    ),
    "balanced": Effort(
        SHARES,
        (1.0,),
        cell=100,
        group=4000,
        passes=4,
        steps_per_row=40.0,
        steps_in_all=3e5,
        sample=10_000,
        chosen=0.25,
        started=0.4,
        large=100_000,
    ),
    "best": Effort(
        SHARES,
        (0.5, 2.0),
        cell=200,
        group=8000,
        passes=12,
        steps_per_row=600.0,
        steps_in_all=2e6,
        chosen=0.1,
        started=0.2,
    ),
}
