"""Principal components (Wang, Zhu, Chen & Chang, Journal of Computer Science and Technology 33, 2018: algorithm 2).

The sensitive values of a row, all attributes together, are a point; the first principal component of these points puts
the rows in one order, which is cut into buckets of equal size. A class takes one row of each bucket, rows with near
quasi-identifiers, and classes that are not within every t are joined. How the paper turns categories into numbers is
not clear from its review (Weber's thesis, section 2.4.2); see `embedding`.
"""

from __future__ import annotations

import numpy as np

from tclose.partition.problem import Problem
from tclose.partition.shared.buckets import Embedding, Size, spread
from tclose.types import Ints, Progress, silent


def partition(problem: Problem, *, size: Size = "searched", seed: int = 0, progress: Progress = silent) -> Ints:
    """Return a class label per row: 0, 1, 2, …; every class holds all that is asked for. Chance plays no part.

    A class takes k rows as in the paper, or as many as lose least where the size is searched for.
    """
    embedding = Embedding.of(problem)
    rank = np.empty(len(embedding.counts), dtype=np.int64)
    rank[embedding.order()] = np.arange(len(rank))
    order = np.argsort(rank[embedding.of_row], kind="stable")
    return spread(problem, lambda buckets: cut(order, buckets), size, progress)


def cut(order: Ints, buckets: int) -> Ints:
    """Cut an order of rows into buckets of equal size; the rows left over are those in the middle.

    >>> cut(np.arange(8), 3).tolist()
    [0, 0, 1, 3, 3, 1, 2, 2]
    """
    size, left_over = divmod(len(order), buckets)
    middle = (len(order) - left_over) // 2
    of_row = np.empty(len(order), dtype=np.int64)
    of_row[order[middle : middle + left_over]] = buckets
    of_row[np.delete(order, np.s_[middle : middle + left_over])] = np.repeat(np.arange(buckets), size)
    return of_row
