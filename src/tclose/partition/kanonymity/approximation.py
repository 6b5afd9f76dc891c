"""k-anonymity with at most m times the stars of the optimum, for m columns (Liang & Yuan 2013, theorem 10).

Rows that are alike in every column, and many enough, stay a class without a star. Every row that has fewer than k like
it costs a star at least, so putting all of these into one class, with whatever that class lacks, is within m of the
optimum.
"""

from __future__ import annotations

import numpy as np

from tclose.types import Ints


def approximate(columns: Ints, k: int) -> Ints:
    """Return a class per row, given rows × columns and at least k rows; the paper's three cases."""
    alike = np.unique(columns, axis=0, return_inverse=True)[1].reshape(-1) if columns.size else columns.sum(axis=1)
    sizes = np.bincount(alike)
    rare = sizes < k
    taken = np.where(rare, sizes, 0)
    if rare.any() and (lacking := k - int(taken.sum())) > 0:
        spare = np.where(rare, 0, sizes - k)
        if spare.sum() >= lacking:
            taken += np.clip(lacking - (np.cumsum(spare) - spare), 0, spare)
        else:
            smallest = int(np.argmin(np.where(rare, len(alike) + 1, sizes)))
            taken[smallest] = sizes[smallest]
    labels = np.where(_place_among(alike, sizes) < taken[alike], len(sizes), alike)
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _place_among(alike: Ints, sizes: Ints) -> Ints:
    """Return how many rows like it stand before each row."""
    order = np.argsort(alike, kind="stable")
    place = np.empty(len(alike), dtype=np.int64)
    place[order] = np.arange(len(alike)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return place
