"""Star costs: what suppression costs in the model of Meyerson & Williams 2004, as Liang & Yuan 2013 use it.

Within a class, every cell whose column shows more than one value there is replaced by a star; the cost of a partition
is its number of stars. A column is whatever may be starred by itself: a quasi-identifier, or one digit of it.
"""

from __future__ import annotations

import numpy as np

from tclose.partition.problem import Problem
from tclose.types import Ints


def star_cost(codes: Ints, labels: Ints) -> int:
    """Return how many cells are starred; `codes` is rows × columns, `labels` holds 0, 1, 2, … with none left out.

    >>> star_cost(np.array([[1, 5], [1, 6], [2, 7]]), np.array([0, 0, 1]))
    2
    """
    if not codes.size:
        return 0
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    grouped = codes[order]
    differs = np.minimum.reduceat(grouped, starts) != np.maximum.reduceat(grouped, starts)
    return int(np.diff(starts, append=len(labels)) @ differs.sum(axis=1))


def columns_of(problem: Problem) -> Ints:
    """Return the rows × columns that suppression stars: a code per quasi-identifier, a missing cell being one too."""
    return np.array([axis.codes for axis in problem.all_axes], dtype=np.int64).reshape(-1, problem.rows).T
