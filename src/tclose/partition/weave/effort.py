"""How much time weave spends: `fast`, `balanced` or `best`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

EffortName = Literal["fast", "balanced", "best"]


@dataclass(frozen=True)
class Pass:
    """One pass over all groups of classes: some are carved again, then rows are exchanged."""

    steps: float  # per row
    heat: tuple[float, float] = (0.3, 0.003)  # the first and the last temperature, in loss
    price: tuple[float, float] = (3.0, 1000.0)  # of one row·distance beyond a limit, the first and the last
    candidates: int = 8  # classes that a row chooses from
    rounds: float = 2.0  # carvings for each class

    def scaled(self, share: float) -> Pass:
        """Return a pass with a share of the steps."""
        return replace(self, steps=share * self.steps, rounds=share * self.rounds)


@dataclass(frozen=True)
class Effort:
    """How many starts are compared, and how long the best of them is improved."""

    shares: tuple[float, ...]  # of t that a cell may use up; each share is one start
    rates: tuple[float, ...]  # loss per row of excess work, at which classes are grown
    cell: int  # rows of a cell, out of which classes are carved
    group: int  # rows of a group, within which classes exchange rows
    passes: tuple[Pass, ...]
    joined: int = 4  # classes carved again together
    sample: int = 20_000  # rows on which the starts of a larger table are compared
    trial: float = 6.0  # steps per row for which each start is improved before the starts are compared
    chosen: float = 0.0  # progress when the start has been chosen
    started: float = 0.0  # progress when its classes have been formed


SHARES = (0.5, 0.7, 0.9, 1.0)
AGAIN = Pass(0.0, heat=(0.1, 0.003), price=(10.0, 1000.0))
LAST = Pass(0.0)
EFFORTS: dict[str, Effort] = {
    "fast": Effort((0.9,), (1.0,), cell=100, group=4000, passes=(Pass(10.0), LAST), started=0.6),
    "balanced": Effort(
        SHARES,
        (1.0,),
        cell=100,
        group=8000,
        passes=(Pass(33.0), replace(AGAIN, steps=33.0), LAST),
        sample=10_000,
        chosen=0.25,
        started=0.4,
    ),
    "best": Effort(
        SHARES,
        (0.5, 2.0),
        cell=200,
        group=8000,
        passes=(Pass(150.0), replace(AGAIN, steps=150.0), LAST),
        chosen=0.1,
        started=0.2,
    ),
}
