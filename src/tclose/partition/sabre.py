"""SABRE (Cao, Karras, Kalnis & Tan, The VLDB Journal 20, 2011): buckets of sensitive values, shared out evenly.

Bucketisation splits the sensitive values greedily until a class that takes its share of every bucket must be within
t. The ECTree halves the table as long as the slack allows what halving odd numbers costs. Redistribution fills each
class with near rows of each bucket, by a Hilbert curve (the paper's SABRE-AK) or by distance (its SABRE-KNN).
As printed, the first buckets within t are taken, which may leave the tree no slack; `slack` keeps a share of t for it.

A class that takes its share of every bucket is at most Σ Δ(bucket) from the table, whatever rows it takes. Δ is the
work of moving a bucket's mass onto the worst of its values; all figures here are integers, Δ in units of one row moved
by the longest distance / `unit`.

What a class may take off the table's shares is the slack. Let a class take e_f of its s rows from bucket f, w_f =
e_f/s, p_f the bucket's share of the table. Whatever its rows, it is at most Σ w_f·Δ(f)/p_f from the table with its
buckets reweighted to w, which itself is some computable way from the table. With w = p this is Σ Δ(f), which the
buckets keep within t; what they leave of t is the slack.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import count, pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Distance, Line, LineWithLeaf, Metric
from tclose.distance.counts import widened
from tclose.errors import PolicyError, Unsuited
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared.pulse import QUIET, Pulse
from tclose.partition.shared.redistribution import Near, check_near, filled, leaves, within
from tclose.types import Bools, Ints, Progress, silent

# Bucketisation: one bucket of all values is split where that helps most, until the bound is within t


Integers = NDArray[Any]


class BucketGround(Protocol):
    """How values of one kind of distance gather in buckets."""

    @property
    def unit(self) -> int:
        """The ground distance that counts as 1."""

    def whole(self) -> Ints:
        """Return the values that occur, in the order in which buckets hold them."""

    def worst(self, values: Ints) -> int:
        """Return Δ of a bucket."""

    def split(self, values: Ints) -> list[Ints]:
        """Return the buckets that this one is best split into; it has two values or more."""

    def reshaping(self, extras: Ints, buckets: list[Ints]) -> Iterator[tuple[Integers, Any]]:
        """Yield, for nodes × buckets of surplus rows, parts of the work that evens them out.

        Each part is magnitudes, nodes × terms, and what one unit of each term costs as exact fractions of 1.
        """


@dataclass(frozen=True, eq=False)
class LineGround:
    """Values at integer positions: max(S, mass·width − S), S the first moment about the lower end."""

    counts: Ints
    positions: Integers

    @property
    def unit(self) -> int:
        """The length of the line."""
        return max(int(self.positions[-1]), 1)

    def whole(self) -> Ints:
        """Return the values in their order."""
        return np.flatnonzero(self.counts)

    def worst(self, values: Ints) -> int:
        """Return the work of moving all mass to the farther end."""
        x, n = self.places[values], self.rows[values]
        return int(max(((x - x[0]) * n).sum(), ((x[-1] - x) * n).sum()))

    def split(self, values: Ints) -> list[Ints]:
        """Cut in two where the worst cases of both sides add up to least."""
        x, n = self.places[values], self.rows[values]
        mass, moment = np.cumsum(n), np.cumsum(x * n)
        left = np.maximum(moment - mass * x[0], mass * x - moment)[:-1]
        mass, moment = mass[-1] - mass[:-1], moment[-1] - moment[:-1]
        right = np.maximum(moment - mass * x[1:], mass * x[-1] - moment)
        cut = int(np.argmin(left + right)) + 1
        return [values[:cut], values[cut:]]

    def reshaping(self, extras: Ints, buckets: list[Ints]) -> Iterator[tuple[Integers, Any]]:
        """Carry surplus from bucket to bucket, which are as far apart as their means."""
        means = [self.mean(values) for values in buckets]
        steps = [(after - before) / self.unit for before, after in pairwise(means)]
        yield np.abs(np.cumsum(extras, axis=1)[:, :-1]), steps

    def mean(self, values: Ints) -> Fraction:
        """Return where the rows of a bucket lie on average."""
        return Fraction(int((self.places[values] * self.rows[values]).sum()), int(self.counts[values].sum()))

    @cached_property
    def places(self) -> Integers:
        """The positions, as integers that are wide enough for all sums."""
        return widened(self.positions, self.unit * int(self.counts.sum()) * 2)

    @cached_property
    def rows(self) -> Integers:
        """How many rows show each value, as integers that are as wide as the positions."""
        return self.counts.astype(self.places.dtype)


@dataclass(frozen=True, eq=False)
class LeafGround:
    """Values on a line and a missing value beside it, which is the first to get a bucket of its own."""

    counts: Ints
    geometry: LineWithLeaf

    @property
    def unit(self) -> int:
        """The distance that counts as 1."""
        return self.geometry.unit

    def whole(self) -> Ints:
        """Return the values in their order, the missing value last."""
        return np.flatnonzero(self.counts)

    def worst(self, values: Ints) -> int:
        """Return the work of moving all mass to the farther end, or to the missing value."""
        numbers, missing = self._parted(values)
        rows, middle = int(self.counts[missing].sum()), self.geometry.middle
        if not len(numbers) or not len(missing):
            return self._line.worst(numbers) if len(numbers) else 0
        x, n = self._line.places[numbers], self._line.rows[numbers]
        ends = (int((abs(x - end) * n).sum()) + rows * (abs(int(end) - middle) + middle) for end in (x[0], x[-1]))
        return max(*ends, int(((abs(x - middle) + middle) * n).sum()))

    def split(self, values: Ints) -> list[Ints]:
        """Split the missing value off, then cut the line."""
        numbers, missing = self._parted(values)
        return [numbers, missing] if len(numbers) and len(missing) else self._line.split(values)

    def reshaping(self, extras: Ints, buckets: list[Ints]) -> Iterator[tuple[Integers, Any]]:
        """Carry surplus along the line, where the missing value's comes in at the middle from an edge of its own."""
        if len(buckets) == 1:
            return
        places = [self._line.mean(values) for values in buckets]
        if int(buckets[-1][0]) == self.geometry.leaf:
            places[-1] = Fraction(self.geometry.middle)
            detour = max(self._detour(values) for values in buckets[:-1])
            yield np.abs(extras[:, -1:]), [(self.geometry.middle + detour) / self.unit]
        order = sorted(range(len(places)), key=lambda bucket: places[bucket])
        steps = [(places[after] - places[before]) / self.unit for before, after in pairwise(order)]
        yield np.abs(np.cumsum(extras[:, order], axis=1)[:, :-1]), steps

    def _detour(self, values: Ints) -> Fraction:
        """Return how much farther a bucket's values are from the middle than their mean: 0 unless they surround it."""
        away = abs(self._line.places[values] - self.geometry.middle)
        rows = self._line.rows[values]
        mean_away = Fraction(int((away * rows).sum()), int(rows.sum()))
        return mean_away - abs(self._line.mean(values) - self.geometry.middle)

    def _parted(self, values: Ints) -> tuple[Ints, Ints]:
        return values[values != self.geometry.leaf], values[values == self.geometry.leaf]

    @cached_property
    def _line(self) -> LineGround:
        return LineGround(self.counts, np.append(self.geometry.positions, self.geometry.unit))


@dataclass(frozen=True, eq=False)
class TreeGround:
    """Leaves under the nodes of `levels`, the root left out: buckets are subtrees, split into their children."""

    counts: Ints
    levels: tuple[Ints, ...]

    @property
    def unit(self) -> int:
        """The height of the tree."""
        return max(len(self.levels), 1)

    def whole(self) -> Ints:
        """Return the leaves in the order of the tree."""
        return np.flatnonzero(self.counts)

    def worst(self, values: Ints) -> int:
        """Return the work of moving all mass to that leaf which shares nodes with the least of it."""
        n = self.counts[values]
        shared = np.zeros(len(values), dtype=np.int64)
        for level in self.levels:
            _, node = np.unique(level[values], return_inverse=True)
            shared += np.bincount(node, weights=n).astype(np.int64)[node]
        return int(len(self.levels) * n.sum() - shared.min())

    def split(self, values: Ints) -> list[Ints]:
        """Return the highest nodes that part the leaves."""
        level = next(level for level in self.levels[::-1] if level[values[0]] != level[values[-1]])
        return np.split(values, np.flatnonzero(np.diff(level[values])) + 1)

    def reshaping(self, extras: Ints, buckets: list[Ints]) -> Iterator[tuple[Integers, Any]]:
        """Even surplus out level by level: within a bucket all leaves have the same sign, so each level is exact."""
        low, high = np.array([values[0] for values in buckets]), np.array([values[-1] for values in buckets])
        cost = Fraction(1, 2 * self.unit)
        for level in self.levels:
            apart = level[high[:-1]] != level[low[1:]]
            groups = np.concatenate(([0], np.flatnonzero(apart) + 1))
            surplus = np.abs(np.add.reduceat(extras, groups, axis=1))
            yield surplus, [cost] * len(groups)


class StarGround(TreeGround):
    """Any two values 1 apart; buckets hold values of near frequency, and the most frequent one is split off."""

    def whole(self) -> Ints:
        """Return the values from the rarest to the most frequent."""
        order = np.argsort(self.counts, kind="stable")
        return order[self.counts[order] > 0]

    def split(self, values: Ints) -> list[Ints]:
        """Split the most frequent value off, which no other cut betters: Δ is the mass less the rarest value's."""
        return [values[:-1], values[-1:]]

    def reshaping(self, extras: Ints, buckets: list[Ints]) -> Iterator[tuple[Integers, Any]]:
        """Carry every surplus to any lack."""
        yield np.abs(extras), [Fraction(1, 2)] * len(buckets)


def ground_of(distance: Distance, counts: Ints) -> BucketGround:
    """Return how values gather under a distance."""
    geometry = distance.geometry(len(counts))
    if isinstance(geometry, Line):
        return LineGround(counts, geometry.positions)
    if isinstance(geometry, LineWithLeaf):
        return LeafGround(counts, geometry)
    if isinstance(geometry, Metric):
        raise Unsuited(
            "sabre has no buckets for the distance '{name}', which is neither a line nor a tree", name=distance.name
        )
    return (StarGround if geometry.is_star else TreeGround)(counts, geometry.below_root)


def bucketize(ground: BucketGround, rows: int, room: Fraction, pulse: Pulse = QUIET) -> list[Ints]:
    """Return buckets of values whose Σ Δ is at most `room`, by greedy splits, in the order of their values."""
    place = count()

    def entry(values: Ints) -> tuple[int, int, Ints, list[Ints], int]:
        """Put first what a split gains most."""
        worst = ground.worst(values)
        parts = ground.split(values) if worst else []
        return sum(map(ground.worst, parts)) - worst, next(place), values, parts, worst

    heap = [entry(ground.whole())]
    total, limit = heap[0][4], room * ground.unit * rows
    while total > limit:
        pulse.beat()
        gain, _, _, parts, _ = heapq.heappop(heap)
        total += gain
        for part in parts:
            heapq.heappush(heap, entry(part))
    position = {int(value): i for i, value in enumerate(ground.whole().tolist())}
    return sorted((entry[2] for entry in heap), key=lambda values: position[int(values[0])])


# The slack: how far a class may be off the table's shares


@dataclass(frozen=True, eq=False)
class Slack:
    """The bound on how far a class can be from the rows at hand, and the `room` that it has."""

    ground: BucketGround
    buckets: list[Ints]
    sizes: Ints  # rows of each bucket
    room: Fraction

    def admits(self, nodes: Ints) -> Bools:
        """Tell which classes (classes × buckets: how many rows they take) are within t, whichever rows they take."""
        if not len(nodes):
            return np.zeros(0, dtype=bool)
        sizes, total = nodes.sum(axis=1), int(self.sizes.sum())
        moved = nodes @ np.array([float(worst) for worst in self._worst_per_row])
        for surplus, costs in self.ground.reshaping(self._extras(nodes), self.buckets):
            moved += surplus @ np.array([float(cost) for cost in costs]) / total
        return within(moved / sizes - float(self.room), nodes, self.excess)

    def excess(self, node: list[int]) -> Fraction:
        """Return by how much one class may exceed the room, exactly; it is within it when that is at most 0."""
        size, total = sum(node), int(self.sizes.sum())
        moved = sum((e * worst for e, worst in zip(node, self._worst_per_row, strict=True)), Fraction(0))
        for surplus, costs in self.ground.reshaping(self._extras(np.array([node])), self.buckets):
            carried = (int(s) * cost for s, cost in zip(surplus[0], costs, strict=True))
            moved += sum(carried, Fraction(0)) / total
        return moved / size - self.room

    def _extras(self, nodes: Ints) -> Ints:
        """Return N·e_f − s·N_f, which is N·s times the surplus of each bucket's share."""
        return np.asarray(nodes * int(self.sizes.sum()) - nodes.sum(axis=1, keepdims=True) * self.sizes)

    @cached_property
    def _worst_per_row(self) -> list[Fraction]:
        """Return Δ(f)/p_f: how far a row of each bucket has to be moved at worst, on average."""
        return [
            Fraction(self.ground.worst(values), self.ground.unit * int(size))
            for values, size in zip(self.buckets, self.sizes, strict=True)
        ]


# The method


__all__ = ["partition"]

NO_SLACK = Fraction(0)


def partition(
    problem: Problem, *, near: Near = "hilbert", slack: Fraction = NO_SLACK, seed: int = 0, progress: Progress = silent
) -> Ints:
    """Return a class label per row: 0, 1, 2, …; every class is within t and has at least k rows.

    Buckets are split until they use at most 1 − `slack` of t. The paper has no such share: its slack is what is left.
    """
    check_near(near)
    if not 0 <= slack < 1:
        raise PolicyError("slack is the share of t that buckets leave: a number from 0 to below 1")
    if len(problem.sensitive) != 1:
        raise Unsuited("sabre serves one sensitive attribute, not {count}", count=len(problem.sensitive))
    problem.check_feasible()
    attribute = problem.sensitive[0]
    pulse = Pulse(progress)
    allowed = bound(attribute, slack, pulse)
    takes = leaves(allowed.sizes, allowed.admits, problem.k, pulse)
    return filled(problem.points, bucket_of_row(attribute.codes, allowed.buckets), takes, near, seed, pulse)


def bound(attribute: Attribute, slack: Fraction = NO_SLACK, pulse: Pulse = QUIET) -> Slack:
    """Return the buckets, and what a class may take from them."""
    counts, room = attribute.row_counts, _room(attribute)
    ground = ground_of(attribute.distance, counts)
    buckets = bucketize(ground, len(attribute.codes), room * (1 - Fraction(slack)), pulse)
    return Slack(ground, buckets, np.array([counts[values].sum() for values in buckets]), room)


def bucket_of_row(codes: Ints, buckets: list[Ints]) -> Ints:
    """Return the bucket that holds each row's value."""
    bucket = np.zeros(max(int(values.max()) for values in buckets) + 1, dtype=np.int64)
    for number, values in enumerate(buckets):
        bucket[values] = number
    return bucket[codes]


def _room(attribute: Attribute) -> Fraction:
    """Return how far a class may be from the rows at hand, which may be some way from the table themselves."""
    if attribute.t is None or attribute.t == 1:
        return Fraction(1)
    return attribute.t - attribute.emd_of(attribute.codes, attribute.reference)
