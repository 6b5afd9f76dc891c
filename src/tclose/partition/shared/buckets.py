"""Equal buckets of rows with similar sensitive values; each class takes one row of every bucket, near each other.

This is what the two methods of Wang et al. (2018) share, and what t-closeness-first microaggregation does for one
attribute: a class that takes a row of every bucket spreads over the table's sensitive values as the table does. Nothing
proves that it is within t, so classes are judged, and those that fail are joined with a neighbour.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np

from tclose.errors import PolicyError, did_you_mean
from tclose.partition.problem import Problem
from tclose.partition.shared.loss import loss_table, total_loss
from tclose.partition.shared.merging import merged
from tclose.partition.shared.stratified import bisect
from tclose.partition.shared.verdicts import ROUNDS, Verdicts
from tclose.types import Bools, Floats, Ints, Progress, silent, stretch

Size = Literal["searched", "k"]
Bucketing = Callable[[int], Ints]  # number of buckets → bucket of every row; left-over rows get one more bucket

SIZES = ("searched", "k")
PATIENCE = 2  # sizes in a row that lose more than the best before them
MOST_BUCKETS = 1024  # that are tried; joining makes larger classes where they are needed


def spread(problem: Problem, bucketing: Bucketing, size: Size, progress: Progress) -> Ints:
    """Return the classes over the number of buckets that loses least, or over k buckets as in the paper."""
    if size not in SIZES:
        raise PolicyError(f"there is no size '{size}'{did_you_mean(size, SIZES) or f'; known are {SIZES}'}")
    problem.check_feasible()
    best = np.zeros(problem.rows, dtype=np.int64)
    if not problem.rows:
        return best
    axes, least, worse = loss_table(problem.all_axes, problem.rows), np.inf, 0
    tries = list(_sizes(problem, size))
    for number, buckets in enumerate(tries):
        beat = stretch(progress, number / len(tries), number / len(tries))
        beat(0.0)
        labels = _joined(
            problem, one_of_each(problem.points, problem.axis_orders, bucketing(buckets), buckets, beat), beat
        )
        loss = total_loss(axes, labels)
        worse = worse + 1 if loss > least else 0
        best, least = (labels, loss) if loss < least else (best, least)
        progress((number + 1) / len(tries))
        if worse == PATIENCE:
            break
    progress(1.0)
    return best


def _sizes(problem: Problem, size: Size) -> Iterator[int]:
    """Yield k, 2k, 4k, … while that allows two classes."""
    buckets = problem.k
    yield buckets
    while size == "searched" and 2 * buckets <= min(MOST_BUCKETS, problem.rows // 2):
        buckets *= 2
        yield buckets


def one_of_each(points: Floats, orders: Ints, of_row: Ints, buckets: int, progress: Progress = silent) -> Ints:
    """Return classes that take one row of each bucket from one neighbourhood; left-over rows join the nearest class.

    The paper grows each class by the nearest rows, in O(n²/k), and its last classes get the rows that no other
    class took. Here the rows of all buckets are bisected alike, in O(n log n). `orders` are those of `axis_orders`.
    """
    points = points if points.shape[1] else np.zeros((len(points), 1))
    count = int(np.count_nonzero(of_row < buckets)) // buckets
    sorted_rows = np.array([_by_bucket(order, of_row, buckets) for order in orders])
    members = bisect(points, sorted_rows, np.ones(buckets, dtype=np.int64), count, np.array([0.5]), progress)
    labels = np.empty(len(points), dtype=np.int64)
    labels[members.ravel()] = np.repeat(np.arange(count), buckets)
    _place_left_over(points, labels, np.flatnonzero(of_row == buckets), points[members].mean(axis=1))
    return labels


def _by_bucket(order: Ints, of_row: Ints, buckets: int) -> Ints:
    """Return the rows of an order bucket by bucket, without those left over."""
    bucket = of_row[order]
    kept = bucket < buckets
    small = bucket[kept].astype(np.min_scalar_type(buckets))  # numpy sorts integers of 16 bits in linear time
    return order[kept][np.argsort(small, kind="stable")]


def _place_left_over(points: Floats, labels: Ints, rows: Ints, centres: Floats) -> None:
    """Give each row to the nearest class; no class gets a second row before every class has one."""
    taken = np.zeros(len(centres))
    for row in rows.tolist():
        apart = np.abs(centres - points[row]).sum(axis=1) + taken * (points.shape[1] + 1)
        nearest = int(apart.argmin())
        labels[row] = nearest
        taken[nearest] += 1


def _joined(problem: Problem, labels: Ints, progress: Progress) -> Ints:
    """Join failing classes with a neighbour until none fails, or until only stubborn classes are left."""
    verdicts = Verdicts(problem, ROUNDS, progress)
    labels = merged(labels, np.zeros(problem.rows, dtype=np.int64), problem.points, verdicts.failing)
    return _united(problem, labels, verdicts.judged(labels), progress)


def _united(problem: Problem, labels: Ints, bad: Bools, progress: Progress) -> Ints:
    """Join all stubborn classes, and as many of the nearest other classes as are needed, into one class.

    Each stubborn class alone could take half of the table; together they often balance each other.
    """
    if not bad.any():
        return labels
    sizes = np.bincount(labels)
    centres = np.stack([np.bincount(labels, weights=axis) / sizes for axis in problem.points.T], axis=1)
    apart = np.abs(centres - centres[bad].mean(axis=0)).sum(axis=1)
    order, more = np.lexsort((apart, ~bad)), 0
    while True:
        progress(0.0)
        united = np.zeros(len(sizes), dtype=bool)
        united[order[: int(bad.sum()) + more]] = True
        rows = np.flatnonzero(united[labels])
        if problem.part(rows).admitted(np.zeros(len(rows), dtype=np.int64)).all():
            break
        more = max(1, 2 * more)
    return np.unique(np.where(united, order[0], np.arange(len(sizes)))[labels], return_inverse=True)[1].astype(np.int64)
