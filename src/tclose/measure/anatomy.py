"""What it costs to part sensitive values from quasi-identifiers (Xiao & Tao 2006, section 5)."""

from __future__ import annotations

import numpy as np

from tclose.types import Ints


def reconstruction_error(labels: Ints, codes: Ints) -> float:
    """Return the paper's reconstruction error per row: 0 where every row's value is known, below 1 always.

    A reader gives a row each value of its group with the share p that the value has there. The squared error,
    (1 − p)² for the true value and p² for each other, adds up to s·(1 − Σp²) over a group of s rows.

    >>> reconstruction_error(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 0]))
    0.25
    """
    width = int(codes.max()) + 1
    cells, counts = np.unique(labels * width + codes, return_counts=True)
    sizes = np.bincount(labels)
    return 1 - float((counts**2 / sizes[cells // width]).sum()) / len(labels)
