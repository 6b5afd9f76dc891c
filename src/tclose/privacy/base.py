"""What every privacy model can do: judge all classes of a table at once."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Counts
from tclose.types import Ints

Level = int | float | Fraction


@dataclass(frozen=True, eq=False)
class Judgement:
    """What a model found: which classes it admits, the level that the table reaches, and the class that sets it."""

    admitted: NDArray[np.bool_]
    reached: Level  # exact where it can be; math.inf where no level would do
    worst_class: int

    @property
    def satisfied(self) -> bool:
        """Whether every class is admitted."""
        return bool(self.admitted.all())


class Model(Protocol):
    """A privacy model at its required level."""

    @property
    def name(self) -> str:
        """What a policy calls it."""

    @property
    def required(self) -> Level | dict[str, Level]:
        """The level that a policy asks for."""

    def judge(self, counts: Counts, reference: Ints) -> Judgement:
        """Judge every class against the reference counts of the whole table."""
