"""What every privacy model can do: judge all classes of a table at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Counts
from tclose.privacy.levels import Level
from tclose.privacy.rule import Rule
from tclose.types import Ints

Sign = Literal["≥", "≤", "<"]  # how the level that is reached compares with the level that is required


@dataclass(frozen=True, eq=False)
class Judgement:
    """Which classes a model admits, the level that the table reaches, and the class that sets this level."""

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
        """The key in a policy, in JSON and in a certificate."""

    @property
    def title(self) -> str:
        """What people call it: one title for terminal and page."""

    @property
    def sign(self) -> Sign:
        """How the level that a class reaches must compare with the required level."""

    @property
    def counts_persons(self) -> bool:
        """Whether it counts persons, not rows, where the policy names persons."""

    @property
    def alone(self) -> bool:
        """Whether a class is judged without the rest of the table."""

    @property
    def persons_imply_rows(self) -> bool:
        """Whether a class that is admitted by its persons is admitted by its rows, too."""

    @property
    def merging_keeps(self) -> bool:
        """Whether a class that is merged from two admitted classes is admitted."""

    @property
    def required(self) -> Level | Mapping[str, Level]:
        """The level that a policy asks for."""

    def rule(self, shares: Sequence[Fraction]) -> Rule | None:
        """Return the limits on one class's counts; nothing where a method has to leave the model to merging.

        `shares` holds the share of each value in the whole table.
        """

    def judge(self, counts: Counts, reference: Ints) -> Judgement:
        """Judge every class against the reference counts of the whole table."""

    def attainable(self, reached: Level, counts: Counts, reference: Ints) -> str:
        """Say, as the end of a sentence, which level these classes can be asked for; they reach `reached`."""
