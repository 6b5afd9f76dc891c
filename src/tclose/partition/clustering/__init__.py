"""Clusters (Wang, Zhu, Chen & Chang, Journal of Computer Science and Technology 33, 2018: algorithm 1).

Rows are clustered by their sensitive values, all attributes together, into fuzzy clusters of equal size. A class takes
one row of each cluster, rows with near quasi-identifiers, and classes that are not within every t are joined.
"""

from __future__ import annotations

from tclose.partition.clustering.clusters import Clusters
from tclose.partition.problem import Problem
from tclose.partition.shared.buckets import Size, spread
from tclose.partition.shared.embedding import Embedding
from tclose.partition.shared.pulse import Pulse
from tclose.types import Ints, Progress, silent

__all__ = ["partition"]


def partition(problem: Problem, *, size: Size = "searched", seed: int = 0, progress: Progress = silent) -> Ints:
    """Return a class label per row: 0, 1, 2, …; every class holds all that is asked for. Chance plays no part.

    A class takes k rows as in the paper, or as many as lose least where the size is searched for.
    """
    embedding, pulse = Embedding.of(problem), Pulse(progress)

    def clustered(count: int) -> Ints:
        return Clusters.of(embedding, count, pulse).shared_out(embedding, pulse)

    return spread(problem, clustered, size, pulse)
