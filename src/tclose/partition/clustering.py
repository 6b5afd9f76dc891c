"""Clusters (Wang, Zhu, Chen & Chang, Journal of Computer Science and Technology 33, 2018: algorithm 1).

Rows are clustered by their sensitive values, all attributes together, into fuzzy clusters of equal size. A class takes
one row of each cluster, rows with near quasi-identifiers, and classes that are not within every t are joined.

Fuzzy c-means (Bezdek 1981) gives a point to all clusters, to near ones more: u_ij ∝ 1/d_ij^(2/(m−1)). Here each cluster
has a weight as well, u_ij ∝ w_j/d_ij^(2/(m−1)), and the weights are such that all clusters receive equally much
(iterative proportional fitting). In the end each row goes to one cluster that has room, the surest rows first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tclose.partition.problem import Problem
from tclose.partition.shared.buckets import Embedding, Size, spread
from tclose.partition.shared.kernels import kernel
from tclose.partition.shared.pulse import QUIET, Pulse
from tclose.types import Floats, Ints, Progress, silent

# Fuzzy clusters of equal size


FUZZINESS = 1.5  # m; with 2, as usual, the means flow together where attributes are several
POWER = 1 / (FUZZINESS - 1)  # of the squared distance
NEAREST = 1e-9  # squared distance below which a point is at a mean
ROUNDS = 15
SWEEPS = 4  # of fitting, per round
ENOUGH = 1e-3  # that no mean moves further
LOOKS = 10_000_000  # points × clusters between two calls of progress
ENTRIES = 2_000_000  # points × clusters that means are learned from


@dataclass(frozen=True, eq=False)
class Clusters:
    """The means of fuzzy clusters, and the weights that make them equally large."""

    means: Floats
    weights: Floats

    @classmethod
    def of(cls, embedding: Embedding, count: int, pulse: Pulse = QUIET) -> Clusters:
        """Find so many clusters, beginning at even places along the first principal component."""
        order = embedding.order()
        reached = np.cumsum(embedding.counts[order])
        total = int(reached[-1])
        first = order[np.searchsorted(reached, (np.arange(count) + 0.5) * total / count)]
        means, weights = embedding.points[first], np.ones(count)
        points, shares = _sampled(embedding, order, max(ENTRIES // count, 4 * count))
        nearness = _Nearness.of(points)
        for _ in range(ROUNDS):
            pulse.beat()
            near = nearness(means)
            weights = _fitted(near, shares, weights)
            before, means = means, _moved(near * weights, points, shares, means)
            if np.abs(means - before).max() <= ENOUGH:
                break
        return cls(means, _fitted(nearness(means), shares, weights))

    def shared_out(self, embedding: Embedding, pulse: Pulse = QUIET) -> Ints:
        """Return the cluster of every row, all of equal size; the least sure rows are left over, in one more."""
        points, blocks = embedding.points, _blocks(len(embedding.points), len(self.means), pulse)
        sure = np.concatenate([_surest(points[block], self.means, self.weights) for block in blocks])
        order = np.argsort(-sure, kind="stable")
        rows = np.argsort(_rank(order)[embedding.of_row], kind="stable")
        room = np.full(len(self.means), len(rows) // len(self.means))
        points, counts, of_row = points[order], embedding.counts[order], np.empty(len(rows), dtype=np.int64)
        blocks = _blocks(len(points), len(self.means), pulse)
        of_row[rows] = np.concatenate(
            [_filled(points[block], counts[block], self.means, self.weights, room) for block in blocks]
        )
        return of_row


def _blocks(points: int, clusters: int, pulse: Pulse) -> Iterator[slice]:
    """Yield the points in blocks that are looked at within a fraction of a second each."""
    size = max(1, LOOKS // clusters)
    for first in range(0, points, size):
        pulse.beat()
        yield slice(first, first + size)


def _rank(order: Ints) -> Ints:
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank


def _sampled(embedding: Embedding, order: Ints, most: int) -> tuple[Floats, Floats]:
    """Return some points, evenly along an order, and the share of all rows that each stands for."""
    if len(order) <= most:
        return embedding.points, embedding.counts / embedding.counts.sum()
    reached = np.cumsum(embedding.counts[order])
    chosen = order[np.searchsorted(reached, (np.arange(most) + 0.5) * int(reached[-1]) / most)]
    return embedding.points[chosen], np.full(most, 1 / most)


@dataclass(frozen=True, eq=False)
class _Nearness:
    """1/d^(2/(m−1)) of every point and mean, scaled per point so that the nearest mean is 1."""

    doubled: Floats
    squares: Floats

    @classmethod
    def of(cls, points: Floats) -> _Nearness:
        """Work out what does not depend on the means."""
        return cls(2 * points, (points**2).sum(axis=1))

    def __call__(self, means: Floats) -> Floats:
        """Return points × means. In between it is means × points, as numpy is slow along short rows."""
        products = np.ascontiguousarray((self.doubled @ means.T).T)
        squares = self.squares + (means**2).sum(axis=1)[:, None] - products
        np.maximum(squares, NEAREST, out=squares)
        near = np.divide(squares.min(axis=0), squares, out=squares) ** POWER
        return np.ascontiguousarray(near.T)


def _fitted(near: Floats, shares: Floats, weights: Floats) -> Floats:
    """Return weights with which all clusters receive about the same."""
    for _ in range(SWEEPS):
        received = (shares / (near @ weights)) @ near * weights
        weights = weights / np.maximum(received, 1e-12)
        weights = weights / weights.sum()
    return weights


def _moved(held: Floats, points: Floats, shares: Floats, means: Floats) -> Floats:
    """Return the means of the clusters' points, by their memberships to the power of m."""
    member = (held / held.sum(axis=1, keepdims=True)) ** FUZZINESS * shares[:, None]
    mass = member.sum(axis=0)[:, None]
    return np.where(mass > 0, member.T @ points / np.where(mass > 0, mass, 1), means)


@kernel
def _held(point: Floats, means: Floats, weights: Floats, held: Floats) -> None:
    """Note w_j/d_j^(2/(m−1)) of one point for every cluster."""
    for j in range(len(means)):
        square = 0.0
        for axis in range(len(point)):
            square += (point[axis] - means[j, axis]) ** 2
        held[j] = weights[j] / max(square, NEAREST) ** POWER


@kernel
def _surest(points: Floats, means: Floats, weights: Floats) -> Floats:
    """Return the largest membership of every point."""
    sure, held = np.empty(len(points)), np.empty(len(means))
    for i in range(len(points)):
        _held(points[i], means, weights, held)
        sure[i] = held.max() / held.sum()
    return sure


@kernel
def _filled(points: Floats, counts: Ints, means: Floats, weights: Floats, room: Ints) -> Ints:
    """Give each point's rows to the cluster that holds it most and has room; what finds none is left over."""
    clusters = np.full(counts.sum(), len(means))
    held = np.empty(len(means))
    row = 0
    for i in range(len(points)):
        _held(points[i], means, weights, held)
        left = counts[i]
        while left:
            best = -1
            for j in range(len(means)):
                if room[j] > 0 and (best < 0 or held[j] > held[best]):
                    best = j
            if best < 0:
                break
            taken = min(left, room[best])
            clusters[row + counts[i] - left : row + counts[i] - left + taken] = best
            room[best] -= taken
            left -= taken
        row += counts[i]
    return clusters


# The method


__all__ = ["partition"]


def partition(problem: Problem, *, size: Size = "searched", seed: int = 0, progress: Progress = silent) -> Ints:
    """Return a class label per row: 0, 1, 2, …; every class holds all that is asked for. Chance plays no part.

    A class takes k rows as in the paper, or as many as lose least where the size is searched for.
    """
    embedding, pulse = Embedding.of(problem), Pulse(progress)

    def clustered(count: int) -> Ints:
        return Clusters.of(embedding, count, pulse).shared_out(embedding, pulse)

    return spread(problem, clustered, size, pulse)
