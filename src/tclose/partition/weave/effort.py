"""How hard weave tries: `fast`, `balanced` or `best`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

EffortName = Literal["fast", "balanced", "best"]


@dataclass(frozen=True)
class Effort:
    """How many starts, and how long what is best among them is refined.

    Steps are exchanges tried; `per_row` bounds them for small tables and `in_all` for large ones.
    """

    shares: tuple[float, ...]  # of t that a cell may use up; each is a start
    prices: tuple[float, ...]  # of work in terms of loss, at which a class is grown
    cell: int  # rows from which classes are carved
    group: int  # rows among which classes exchange rows
    passes: int
    per_row: float
    in_all: float
    hot: float = 0.3
    cold: float = 0.003
    joined: int = 4  # classes carved anew together
    sample: int = 20_000  # rows on which starts are compared where there are more
    chosen: float = 0.0  # of the time, spent when the start is chosen
    started: float = 0.0  # of the time, spent when it is made
    large: int = 10**9  # rows beyond which exchanges grow with the root of the rows only

    def steps(self, rows: int) -> float:
        """Return the exchanges to try per row and pass."""
        in_all = self.in_all * math.sqrt(min(1.0, self.large / max(rows, 1)))
        return min(self.per_row, in_all / max(rows, 1)) / self.passes


SHARES = (0.5, 0.7, 0.9, 1.0)
EFFORTS: dict[str, Effort] = {
    "fast": Effort((0.7,), (1.0,), cell=100, group=1000, passes=1, per_row=2.0, in_all=1e6, hot=0.03, started=0.6),
    "balanced": Effort(
        SHARES,
        (1.0,),
        cell=100,
        group=4000,
        passes=4,
        per_row=40.0,
        in_all=3e5,
        sample=10_000,
        chosen=0.25,
        started=0.4,
        large=100_000,
    ),
    "best": Effort(
        SHARES, (0.5, 2.0), cell=200, group=8000, passes=12, per_row=600.0, in_all=2e6, chosen=0.1, started=0.2
    ),
}
