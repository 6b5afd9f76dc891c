"""What every distance can do."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from tclose.distance.counts import Counts
from tclose.distance.geometry import Geometry
from tclose.distance.moves import Move
from tclose.distance.ratios import Ratios
from tclose.types import Ints


class Distance(Protocol):
    """A ground distance between the values of one attribute, scaled so that the farthest pair is 1 apart."""

    @property
    def name(self) -> str:
        """What a policy calls it."""

    def geometry(self, values: int) -> Geometry:
        """Return the shape of a domain of so many values: a line, a line with a leaf, a tree or any metric."""

    def between(self, i: int, j: int) -> Fraction:
        """Return the ground distance between two values."""

    def emd(self, counts: Counts, reference: Ints) -> Ratios:
        """Return each class's earth mover's distance from the reference counts, exactly."""

    def plan(self, row: Ints, reference: Ints) -> list[Move]:
        """Return the moves of earth that turn one class's distribution into the reference's at least cost."""
