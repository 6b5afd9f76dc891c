"""The lattice bound: all boxes of a table with hierarchies, for attributes whose values are equally far apart.

A box is a node on every axis, so a combination of heights splits the rows into boxes. On top of t, a class of s rows
gives each row the share 1/s, and s is at least `least_rows`; so no group has a larger share than its rows over that.

The kernels find, in integers, the highest mean price of a class within t for every box of a lattice. Shares are counted
in units of 1/(rows of the table × rows of the smallest class). A value's share up to the table's own is free, the
excess is limited by t, and no group has more than its rows over the rows of the smallest class.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, product
from math import prod

import numpy as np

from tclose.distance import Tree
from tclose.measure.bound.block import Evaluation
from tclose.measure.bound.problem import UNIT, AxisLosses, BoundProblem, least_rows
from tclose.partition.shared.kernels import kernel, part
from tclose.types import Beat, Bools, Floats, Ints, SmallInts

# Compiled kernels


NONE = -(2**62)  # the price of a value that a box does not show, and the value of a box that no class fits


@part
def _insert(best: Ints, prices: Ints, group: int) -> None:
    """Put a group into the list of the dearest groups of its value, by falling price."""
    j = len(best) - 1
    if best[j] >= 0 and prices[best[j]] >= prices[group]:
        return
    while j > 0 and (best[j - 1] < 0 or prices[best[j - 1]] < prices[group]):
        best[j] = best[j - 1]
        j -= 1
    best[j] = group


@part
def _sort(keys: Ints, others: Ints, groups: Ints, size: int) -> None:
    """Sort the first entries by rising key."""
    for i in range(1, size):
        key, other, group = keys[i], others[i], groups[i]
        j = i
        while j > 0 and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            others[j] = others[j - 1]
            groups[j] = groups[j - 1]
            j -= 1
        keys[j] = key
        others[j] = other
        groups[j] = group


@part
def _fill(best: Ints, prices: Ints, caps: Ints, shares: Ints, whole: int, base: Ints, excess: Ints) -> tuple[int, int]:
    """List the masses of the dearest groups: those within the table's share of their value, and those beyond it.

    Of a list that is full the last group counts as unlimited, so that the groups left out are not missed.
    """
    bases = extras = 0
    for v in range(best.shape[0]):
        free = shares[v]
        for j in range(best.shape[1]):
            g = best[v, j]
            if g < 0:
                break
            cap = caps[g] if j < best.shape[1] - 1 else whole
            inside = min(cap, free)
            if inside > 0:
                base[0, bases] = prices[g]
                base[1, bases] = inside
                base[2, bases] = g
                bases += 1
                free -= inside
            if cap > inside:
                excess[0, extras] = -prices[g]
                excess[1, extras] = cap - inside
                excess[2, extras] = g
                extras += 1
    return bases, extras


@part
def _highest(
    best: Ints,
    prices: Ints,
    caps: Ints,
    shares: Ints,
    whole: int,
    allowed: int,
    base: Ints,
    excess: Ints,
    masses: Ints,
    covered: Ints,
) -> int:
    """Return the highest Σ mass·price of a class, or NONE; with room for `masses`, set them and their groups."""
    bases, extras = _fill(best, prices, caps, shares, whole, base, excess)
    _sort(base[0], base[1], base[2], bases)
    _sort(excess[0], excess[1], excess[2], extras)
    total = value = 0
    for i in range(bases):
        total += base[1, i]
        value += base[1, i] * base[0, i]
    lacking = whole - total
    if lacking > allowed:
        return NONE
    left = allowed - lacking
    keep = len(masses) > 0
    used = i = 0
    taken = 0  # of the worst base, mass that was given up
    for k in range(extras):
        room = excess[1, k]
        moved = min(room, lacking)
        value -= moved * excess[0, k]
        lacking -= moved
        room -= moved
        while room > 0 and lacking == 0 and left > 0 and i < bases and -excess[0, k] > base[0, i]:
            swap = min(min(room, left), base[1, i] - taken)
            value += swap * (-excess[0, k] - base[0, i])
            moved += swap
            room -= swap
            left -= swap
            taken += swap
            if taken == base[1, i]:
                i += 1
                taken = 0
        if moved == 0:
            break
        if keep:
            masses[used] = moved
            covered[used] = excess[2, k]
            used += 1
    if lacking > 0:
        return NONE
    if keep:
        for k in range(i, bases):
            masses[used] = base[1, k] - (taken if k == i else 0)
            covered[used] = base[2, k]
            used += 1
        covered[used] = -1
    return value


@part
def _may_exceed(best: Ints, prices: Ints, shares: Ints, whole: int, allowed: int, loss: int) -> bool:
    """Tell quickly whether the mean price of a class in a box may exceed the box's loss; caps are left out."""
    total = value = 0
    top, low = NONE, -NONE
    for v in range(best.shape[0]):
        if best[v, 0] >= 0:
            price = prices[best[v, 0]]
            total += shares[v]
            value += shares[v] * price
            top = max(top, price)
            low = min(low, price)
    if top <= loss or whole - total > allowed:
        return False
    return value + (whole - total) * top + (allowed - whole + total) * (top - low) > loss * whole


@part
def _ceiling(value: int, whole: int) -> int:
    return -((-value) // whole)


@part
def _losses_of_boxes(losses: Ints, levels: Ints, boxes: SmallInts, delta: Ints, loss: Ints, limit: Ints) -> int:
    """Set the loss of every box of a combination, and the mean price above which it raises δ of one of its cells.

    Return the least of these.
    """
    least = -NONE
    for b in range(len(limit)):
        limit[b] = -NONE
    for c in range(len(boxes)):
        total = 0
        for q in range(len(levels)):
            total += losses[q, levels[q], c]
        b = boxes[c]
        loss[b] = total
        limit[b] = min(limit[b], total + delta[c])
        least = min(least, limit[b])
    return least


@kernel
def sweep(
    boxes: SmallInts,
    sizes: Ints,
    levels: Ints,
    losses: Ints,
    cells: Ints,
    values: Ints,
    prices: Ints,
    caps: Ints,
    shares: Ints,
    whole: int,
    allowed: int,
    order: Ints,
    first: int,
    last: int,
    dearest: Ints,
    lists: Ints,
    loss: Ints,
    place: Ints,
    limit: Ints,
    base: Ints,
    excess: Ints,
    delta: Ints,
    worst: Ints,
) -> None:
    """Raise `delta`, per cell, to the largest violation of a box of some combinations.

    A box that cannot raise δ of any of its cells is passed over, so combinations that are violated most come first.
    """
    highest_price = prices.max()
    none = np.empty(0, dtype=np.int64)
    # `delta` only rises, so a combination that cannot raise it now never can
    for z in order[first:last]:
        size = sizes[z]
        if _losses_of_boxes(losses, levels[z], boxes[z], delta, loss, limit[:size]) >= highest_price:
            continue
        for b in range(size):
            place[b] = -1
            dearest[b, :, 0] = -1
        for g in range(len(cells)):
            b = boxes[z, cells[g]]
            top = dearest[b, values[g], 0]
            if top < 0 or prices[g] > prices[top]:
                dearest[b, values[g], 0] = g
        bad = 0
        for b in range(size):
            # a quick bound first; the exact value is computed of few boxes
            if not _may_exceed(dearest[b], prices, shares, whole, allowed, limit[b]):
                continue
            value = _highest(dearest[b], prices, caps, shares, whole, allowed, base, excess, none, none)
            if value > limit[b] * whole:
                place[b] = bad
                lists[bad] = -1
                bad += 1
        if not bad:
            continue
        for g in range(len(cells)):
            b = place[boxes[z, cells[g]]]
            if b >= 0:
                _insert(lists[b, values[g]], prices, g)
        for b in range(size):
            if place[b] >= 0:
                value = _highest(lists[place[b]], prices, caps, shares, whole, allowed, base, excess, none, none)
                over = _ceiling(value, whole) - loss[b] if value > NONE else 0
                loss[b] = max(over, 0)
            else:
                loss[b] = 0
        for c in range(boxes.shape[1]):
            if loss[boxes[z, c]] > delta[c]:
                delta[c] = loss[boxes[z, c]]
                worst[c] = z * np.int64(2**32) + boxes[z, c]


@kernel
def dearest_classes(
    boxes: SmallInts,
    sizes: Ints,
    cells: Ints,
    values: Ints,
    prices: Ints,
    caps: Ints,
    shares: Ints,
    whole: int,
    allowed: int,
    active: Ints,
    lists: Ints,
    place: Ints,
    base: Ints,
    excess: Ints,
    masses: Ints,
    groups: Ints,
) -> None:
    """Set the groups and masses of the dearest class in each active box; a group of −1 ends the list of a box.

    `active` holds pairs of a combination and a box, sorted.
    """
    i = 0
    while i < len(active):
        z = active[i, 0]
        last = i
        for b in range(sizes[z]):
            place[b] = -1
        while last < len(active) and active[last, 0] == z:
            place[active[last, 1]] = last - i
            lists[last - i] = -1
            last += 1
        for g in range(len(cells)):
            b = place[boxes[z, cells[g]]]
            if b >= 0:
                _insert(lists[b, values[g]], prices, g)
        for k in range(i, last):
            groups[k, 0] = -1
            _highest(lists[k - i], prices, caps, shares, whole, allowed, base, excess, masses[k], groups[k])
        i = last


# The lattice and its bound


LISTED = 4  # groups of each value in a box that are looked at one by one
MOST_BOXES = 60_000_000  # combinations × cells
MOST_LISTED = 12_000_000  # numbers in the lists of one combination
PER_CALL = 1_500_000  # groups × combinations in one call of a kernel


@dataclass(frozen=True, eq=False)
class LatticeAxis:
    """The nodes of one axis: per height, the node of every row, and the loss of each node."""

    axis: int
    lowest: int  # the height of the cells
    nodes: tuple[Ints, ...]
    losses: tuple[Ints, ...]

    @classmethod
    def of(cls, axis: int, losses: AxisLosses, lowest: int = 0) -> LatticeAxis | None:
        """Return the nodes of a hierarchy; a set has its values and "more than one value". None for other axes."""
        if losses.is_number or (losses.codes < 0).any():
            return None
        codes = losses.codes
        if not losses.is_label:
            several = np.array([UNIT // losses.steps])
            nodes, costs = [codes, np.zeros_like(codes)], [np.zeros(int(codes.max()) + 1, dtype=np.int64), several]
        else:
            nodes = [level[codes] for level in losses.levels]
            costs = [losses.shares(height) for height in range(len(losses.levels))]
        costs[lowest] = np.zeros_like(costs[lowest])
        return cls(axis, lowest, tuple(nodes[lowest:]), tuple(costs[lowest:]))


@dataclass(frozen=True, eq=False)
class Lattice:
    """All boxes, and the groups of rows that share a cell and a value; prices are whole millionths."""

    problem: BoundProblem
    attribute: int
    axes: tuple[LatticeAxis, ...]
    beat: Beat
    least: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "least", least_rows(self.problem))

    @cached_property
    def _cells(self) -> tuple[Ints, Ints]:
        """The first row of each cell, and the cell of every row."""
        keys = np.stack([self.problem.groups, *(axis.nodes[0] for axis in self.axes)], axis=1)
        _, first, cell = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        return first, cell.reshape(-1)

    @cached_property
    def levels(self) -> Ints:
        """Each combination of heights."""
        return np.array(list(product(*(range(len(axis.nodes)) for axis in self.axes))), dtype=np.int64)

    @cached_property
    def _boxes(self) -> tuple[SmallInts, Ints]:
        """The box of each cell in every combination, and how many boxes each combination has."""
        first, kept = self._cells[0], self.problem.groups[self._cells[0]]
        boxes, sizes = np.empty((len(self.levels), len(first)), dtype=np.int32), []
        for z, heights in enumerate(self.levels.tolist()):
            self.beat()
            key = kept
            for axis, height in zip(self.axes, heights, strict=True):
                nodes = axis.nodes[height][first]
                key = key * (int(nodes.max()) + 1) + nodes
                if key.max() > 2**40:  # before it overflows
                    key = np.unique(key, return_inverse=True)[1]
            different, boxes[z] = np.unique(key, return_inverse=True)
            sizes.append(len(different))
        return boxes, np.array(sizes, dtype=np.int64)

    @cached_property
    def _losses(self) -> Ints:
        """Axes × heights × cells: the loss of the cell's node."""
        first = self._cells[0]
        losses = np.zeros((len(self.axes), max(len(axis.nodes) for axis in self.axes), len(first)), dtype=np.int64)
        for q, axis in enumerate(self.axes):
            for height, (nodes, loss) in enumerate(zip(axis.nodes, axis.losses, strict=True)):
                losses[q, height] = loss[nodes[first]]
        return losses

    @cached_property
    def _groups(self) -> tuple[Ints, Ints, Ints]:
        attribute = self.problem.attributes[self.attribute]
        values = len(attribute.reference)
        key, counts = np.unique(self._cells[1] * values + attribute.codes, return_counts=True)
        return key // values, key % values, counts.astype(np.int64)

    @property
    def counts(self) -> Ints:
        """The rows of each group."""
        return self._groups[2]

    @cached_property
    def weights(self) -> Floats:
        """The share of each group in the table."""
        return self.counts / self.problem.rows

    @cached_property
    def _shares(self) -> tuple[Ints, Ints, int, int]:
        """The largest share of each group and the table's share of each value, the whole, and what t allows."""
        attribute = self.problem.attributes[self.attribute]
        assert attribute.t is not None
        total = int(attribute.reference.sum())
        whole = total * self.least
        return self.counts * total, attribute.reference * self.least, whole, -int(-attribute.t * whole // 1)

    @cached_property
    def _order(self) -> Ints:
        """All combinations, those first that lowered most prices the last time."""
        return np.arange(len(self.levels))

    @cached_property
    def _lowering(self) -> Bools:
        """Which combinations have ever lowered a price."""
        return np.zeros(len(self.levels), dtype=bool)

    @cached_property
    def _room(self) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints]:
        values, boxes = len(self._shares[1]), int(self._boxes[1].max())
        lists = np.empty((boxes, values, LISTED), dtype=np.int64)
        base, excess = np.empty((2, 3, values * LISTED + 1), dtype=np.int64)
        dearest = np.empty((boxes, values, 1), dtype=np.int64)
        return dearest, lists, *np.empty((3, boxes), dtype=np.int64), base, excess

    def _swept(self, prices: Ints, combinations: Ints) -> tuple[Ints, Ints]:
        """Return δ and the worst box of each cell, over some combinations."""
        (boxes, sizes), (cells, values, _) = self._boxes, self._groups
        delta, worst = np.zeros(boxes.shape[1], dtype=np.int64), np.zeros(boxes.shape[1], dtype=np.int64)
        table = (boxes, sizes, self.levels, self._losses, cells, values, prices, *self._shares)
        for first, last in pairwise([*range(0, len(combinations), max(1, PER_CALL // len(cells))), len(combinations)]):
            self.beat()
            sweep(*table, combinations, first, last, *self._room, delta, worst)
        return delta, worst

    def total(self, prices: Ints) -> int:
        """Return Σ over rows of u − δ in millionths, exactly."""
        delta, _ = self._swept(prices, self._order)
        return int(((prices - delta[self._groups[0]]) * self.counts).sum())

    def evaluate(self, prices: Floats) -> Evaluation:
        """Return the bound of prices, one per group."""
        evaluation = self._evaluated(prices, self._order)
        lowered = np.bincount(evaluation.worst_box[evaluation.delta > 0] >> 32, minlength=len(self.levels))
        self._order[:] = np.argsort(-lowered, kind="stable")
        self._lowering[lowered > 0] = True
        return evaluation

    def _evaluated(self, prices: Floats, combinations: Ints) -> Evaluation:
        whole = np.rint(prices * UNIT).astype(np.int64)
        delta, worst = self._swept(whole, combinations)
        lowered, per_group = (whole - delta[self._groups[0]]) / UNIT, delta[self._groups[0]] / UNIT
        none = np.zeros(0)
        return Evaluation(float(self.weights @ lowered), lowered, none, worst[self._groups[0]], per_group)

    def _dearest(self, prices: Floats, boxes: Ints) -> tuple[Ints, Floats]:
        """Return, per box, the groups of its dearest class (−1 after the last) and their shares."""
        active = np.stack([boxes >> 32, boxes & (2**32 - 1)], axis=1)
        cells, values, _ = self._groups
        _, lists, _, room, _, base, excess = self._room
        masses, groups = np.zeros((2, len(active), 2 * base.shape[1]), dtype=np.int64)
        table = (*self._boxes, cells, values, np.rint(prices * UNIT).astype(np.int64), *self._shares)
        self.beat()
        dearest_classes(*table, active, lists, room, base, excess, masses, groups)
        ended = np.logical_or.accumulate(groups < 0, axis=1)
        return np.where(ended, -1, groups), np.where(ended, 0, masses) / self._shares[2]

    def gradient(self, prices: Floats) -> tuple[Evaluation, Floats]:
        """Return the bound, and how it changes with each price, per row of the group.

        Only combinations that `evaluate` has seen to lower a price are looked at, so the bound may be too high.
        """
        evaluation = self._evaluated(prices, self._order[self._lowering[self._order]])
        lowered = evaluation.delta > 0
        boxes, place = np.unique(evaluation.worst_box[lowered], return_inverse=True)
        rows = np.bincount(place, weights=self.counts[lowered], minlength=len(boxes))
        groups, shares = self._dearest(prices, boxes)
        inside = groups >= 0
        weights = (shares * rows[:, None])[inside]
        return evaluation, 1.0 - np.bincount(groups[inside], weights, minlength=len(prices)) / self.counts


def _is_star(problem: BoundProblem, attribute: int) -> bool:
    geometry = problem.attributes[attribute].geometry
    return isinstance(geometry, Tree) and geometry.is_star


def lattice_of(problem: BoundProblem, attribute: int, beat: Beat) -> Lattice | None:
    """Return the lattice of all axes with hierarchies or sets; None where no axis has a hierarchy."""
    axes = [made for q, losses in enumerate(problem.losses) if (made := LatticeAxis.of(q, losses)) is not None]
    if not _is_star(problem, attribute) or not any(problem.losses[made.axis].is_label for made in axes):
        return None
    values = len(problem.attributes[attribute].reference)
    while axes:
        cells = len(np.unique(np.stack([problem.groups, *(axis.nodes[0] for axis in axes)], axis=1), axis=0))
        if prod(len(axis.nodes) for axis in axes) * cells <= MOST_BOXES and cells * values * LISTED <= MOST_LISTED:
            return Lattice(problem, attribute, tuple(axes), beat)
        axes = _coarser(axes, problem)
    return None


def _coarser(axes: list[LatticeAxis], problem: BoundProblem) -> list[LatticeAxis]:
    """Give the axis of most heights coarser cells; where all have two heights, leave the last axis out."""
    highest = max(axes, key=lambda axis: (len(axis.nodes), int(axis.nodes[0].max())))
    if len(highest.nodes) <= 2:
        return axes[:-1]
    coarser = LatticeAxis.of(highest.axis, problem.losses[highest.axis], highest.lowest + 1)
    return [coarser if axis is highest and coarser is not None else axis for axis in axes]
