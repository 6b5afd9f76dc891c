"""How far rows are from each other by their quasi-identifiers, which GENERATE-CLASSES leaves to its user."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tclose.types import Floats

RowDistance = Callable[[Floats, Floats], Floats]  # (points, one point) → the distance of each of them from it


def euclidean(points: Floats, point: Floats) -> Floats:
    """Return the Euclidean distance of each point from one."""
    return np.asarray(np.sqrt(((points - point) ** 2).sum(axis=1)))
