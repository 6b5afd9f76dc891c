"""Groups that show the table's own shares: buckets of neighbouring values, and rows dealt out of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tclose.distance import Line, LineWithLeaf, Metric, Tree
from tclose.errors import PolicyError, did_you_mean
from tclose.messages import say
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared.kernels import kernel, part
from tclose.partition.shared.loss import loss_table, total_loss
from tclose.partition.shared.merge import ROUNDS, Verdicts, merged
from tclose.types import Bools, Floats, Ints, Progress, silent, stretch

# Sensitive values as points


LANDMARKS = 256
DIMENSIONS = 16  # per attribute
NOUGHT = 1e-9  # of the largest eigenvalue


@dataclass(frozen=True, eq=False)
class Embedding:
    """The different combinations of sensitive values: their places, how many rows show each, and which a row shows."""

    points: Floats
    counts: Ints
    of_row: Ints

    @classmethod
    def of(cls, problem: Problem) -> Embedding:
        """Place all rows of a problem."""
        example, of_row = np.zeros(min(problem.rows, 1), dtype=np.int64), np.zeros(problem.rows, dtype=np.int64)
        for attribute in problem.sensitive:
            _, example, of_row = np.unique(
                of_row * len(attribute.reference) + attribute.codes, return_index=True, return_inverse=True
            )
        places = [placed(attribute)[attribute.codes[example]] for attribute in problem.sensitive]
        points = np.concatenate([*places, np.zeros((len(example), 1))], axis=1)
        return cls(points, np.bincount(of_row).astype(np.int64), of_row)

    def order(self) -> Ints:
        """Return the combinations along their first principal component, from one end to the other."""
        centred = self.points - np.average(self.points, axis=0, weights=self.counts)
        _, axes = np.linalg.eigh(centred.T * self.counts @ centred)
        first = axes[:, -1] * np.sign(axes[np.abs(axes[:, -1]).argmax(), -1])  # of two directions always the same
        return np.argsort(np.round(centred @ first, 12), kind="stable")


def placed(attribute: Attribute) -> Floats:
    """Return the places of all values of an attribute: values × dimensions."""
    geometry = attribute.geometry
    if isinstance(geometry, Line):
        positions = geometry.rounded.positions.astype(np.float64)
        return np.asarray(positions / max(float(positions[-1]), 1.0))[:, None]
    landmarks = np.sort(np.argsort(-attribute.reference, kind="stable")[:LANDMARKS])
    weights = attribute.reference[landmarks] / max(int(attribute.reference[landmarks].sum()), 1)
    return _principal_coordinates(_distances(geometry, len(attribute.reference), landmarks) ** 2, landmarks, weights)


def _distances(geometry: LineWithLeaf | Tree | Metric, values: int, landmarks: Ints) -> Floats:
    """Return the ground distance of every value from each landmark."""
    if isinstance(geometry, Metric):
        return np.asarray(geometry.costs[:, landmarks] / geometry.farthest)
    if isinstance(geometry, LineWithLeaf):
        return _from_landmarks(geometry, landmarks)
    apart = [level[:, None] != level[landmarks] for level in geometry.below_root]
    return np.asarray(np.sum(apart, axis=0) / max(geometry.height, 1) + np.zeros((values, len(landmarks))))


def _from_landmarks(geometry: LineWithLeaf, landmarks: Ints) -> Floats:
    places = np.append(geometry.positions, geometry.middle).astype(np.float64)
    distances = np.abs(places[:, None] - places[landmarks])
    is_leaf = np.arange(len(places)) == geometry.leaf
    distances[is_leaf[:, None] != is_leaf[landmarks]] += geometry.middle
    return np.asarray(distances / geometry.unit)


def _principal_coordinates(squares: Floats, landmarks: Ints, weights: Floats) -> Floats:
    """Return places whose squared distances from the landmarks are as given; squares that fit nowhere are dropped."""
    mean = squares[landmarks] @ weights
    products = (squares @ weights)[:, None] + mean - squares - weights @ mean  # twice the scalar products
    root = np.sqrt(weights)
    eigenvalues, axes = np.linalg.eigh(root[:, None] * products[landmarks] / 2 * root)
    kept = np.flatnonzero(eigenvalues > max(eigenvalues.max(initial=0.0), 0.0) * NOUGHT)[::-1][:DIMENSIONS]
    return np.asarray(products / 2 @ (root[:, None] * axes[:, kept]) / np.sqrt(eigenvalues[kept]))


ROWS_PER_CALL = 1_000_000  # bisected between two reports of progress, or one larger part


def bisect(points: Floats, orders: Ints, layers: Ints, cells: int, shares: Floats, progress: Progress = silent) -> Ints:
    """Return members[cell, place]; `orders[q]` holds the rows by stratum, then by coordinate q, and is overwritten.

    A cell takes `layers[s]` rows of stratum s, whose places follow each other. `shares` are the shares of the cells
    that a cut may send to the left.
    """
    side, spare = np.zeros(len(points), dtype=np.bool_), np.empty(orders.shape[1], dtype=np.int64)
    parts, waiting, done = np.zeros((cells + 1, 2), dtype=np.int64), 1, 0
    parts[0] = 0, cells
    while waiting:
        progress(done / cells)
        waiting = int(_bisect_some(points, orders, layers, shares, side, spare, parts, waiting))
        done = cells - int(parts[:waiting, 1].sum())
    members: Ints = orders[0].copy().reshape(cells, int(layers.sum()))
    return members


@kernel
def _bisect_some(
    points: Floats, orders: Ints, layers: Ints, shares: Floats, side: Bools, spare: Ints, parts: Ints, waiting: int
) -> int:
    """Bisect the parts that wait, the last first, for so many rows; return how many parts wait then."""
    size = 0
    for s in range(len(layers)):
        size += layers[s]
    rows, sums = 0, np.empty((3, points.shape[1]))
    while waiting > 0 and rows < ROWS_PER_CALL:
        waiting -= 1
        first, count = parts[waiting, 0], parts[waiting, 1]
        if count == 1:
            continue
        rows += count * size
        low = first * size
        axis, left = _best_cut(points, orders, low, count, layers, shares, sums)
        _mark(orders, axis, low, layers, count, left, side)
        for q in range(len(orders)):
            _divide(orders, q, low, low + count * size, side, spare)
        parts[waiting, 0] = first
        parts[waiting, 1] = left
        parts[waiting + 1, 0] = first + left
        parts[waiting + 1, 1] = count - left
        waiting += 2
    return waiting


@part
def _best_cut(
    points: Floats, orders: Ints, low: int, count: int, layers: Ints, shares: Floats, sums: Floats
) -> tuple[int, int]:
    """Return the coordinate along which to cut the cells from a place on, and how many go left, for least scatter."""
    axis, best_left, least = 0, 1, np.inf
    for i in range(len(shares)):
        left = int(count * shares[i])
        if left < 1:
            left = 1
        for q in range(len(orders)):
            scatter = _scatter(points, orders, q, low, layers, count, left, sums)
            if scatter < least:
                axis, best_left, least = q, left, scatter
    return axis, best_left


@part
def _scatter(
    points: Floats, orders: Ints, q: int, low: int, layers: Ints, count: int, left: int, sums: Floats
) -> float:
    """Return the squared distances from the means of the two sides, added up.

    The first left/count of every stratum's rows in the order go left. `sums` are those of either side's coordinates
    and those of all squares.
    """
    sums[:] = 0.0
    begin, left_rows = low, 0
    for s in range(len(layers)):
        turn, end = begin + layers[s] * left, begin + layers[s] * count
        _add_up(points, orders, q, begin, turn, sums, 0)
        _add_up(points, orders, q, turn, end, sums, 1)
        begin, left_rows = end, left_rows + layers[s] * left
    right_rows, scatter = begin - low - left_rows, 0.0
    for p in range(points.shape[1]):
        scatter += sums[2, p] - sums[0, p] * sums[0, p] / left_rows - sums[1, p] * sums[1, p] / right_rows
    return scatter


@part
def _add_up(points: Floats, orders: Ints, q: int, begin: int, end: int, sums: Floats, side: int) -> None:
    for i in range(begin, end):
        row = orders[q, i]
        for p in range(points.shape[1]):
            x = points[row, p]
            sums[side, p] += x
            sums[2, p] += x * x


@part
def _mark(orders: Ints, q: int, low: int, layers: Ints, count: int, left: int, side: Bools) -> None:
    """Mark the rows that go right when the first left/count of every stratum's rows in an order go left."""
    place = low
    for s in range(len(layers)):
        for i in range(layers[s] * count):
            side[orders[q, place]] = i >= layers[s] * left
            place += 1


@part
def _divide(orders: Ints, q: int, low: int, high: int, side: Bools, spare: Ints) -> None:
    """Move the left rows to the front, and keep the order within both sides.

    Every row is written to both places, of which one is then overwritten: no processor can guess sides.
    """
    front, back = low, 0
    for i in range(low, high):
        row = orders[q, i]
        orders[q, front] = row
        spare[back] = row
        goes_right = int(side[row])
        back += goes_right
        front += 1 - goes_right
    for i in range(back):
        orders[q, front + i] = spare[i]


# One row of every bucket for each class


Size = Literal["searched", "k"]
Bucketing = Callable[[int], Ints]  # number of buckets → bucket of every row; left-over rows get one more bucket

SIZES = ("searched", "k")
PATIENCE = 2  # sizes in a row that lose more than the best before them
MOST_BUCKETS = 1024  # that are tried; joining makes larger classes where they are needed


def spread(problem: Problem, bucketing: Bucketing, size: Size, progress: Progress) -> Ints:
    """Return the classes over the number of buckets that loses least, or over k buckets as in the paper."""
    if size not in SIZES:
        hint = did_you_mean(size, SIZES) or say("; known are {known}", known=str(SIZES))
        raise PolicyError("there is no size '{size}'{hint}", size=size, hint=hint)
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
