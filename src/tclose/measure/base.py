"""What every measure declares about its figure, so that terminal, page and JSON need no code per measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tclose.words import direction

DIGITS = 4  # a longer figure could be solved for cells that are not published
Direction = Literal["lower", "higher"]


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """A figure's name in JSON, its words for people, its range, and which direction is better."""

    name: str
    title: str
    short: str  # heads a narrow column
    meaning: str  # one sentence
    better: Direction
    low: float
    high: float | None

    @property
    def scale(self) -> str:
        """The range and the better direction, in words."""
        return direction(self.better, self.low, self.high)


def rounded(figure: float | None) -> float | None:
    """Return a figure as it is written; None where a table has nothing to measure it on."""
    return None if figure is None else round(figure, DIGITS)
