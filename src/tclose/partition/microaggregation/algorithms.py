"""The steps of microaggregation within t: MDAV, and the three algorithms of Soria-Comas et al. that follow it.

MDAV (Domingo-Ferrer & Torra, Data Mining and Knowledge Discovery 11, 2005) makes groups of k rows from the outside in:
the row farthest from the centre and the row farthest from that one each gather their k − 1 nearest, and so on with the
rows that are left; the last group has up to 2k − 1. Every group costs one pass over the rows left: n²/k in all.

Merge joins groups until they are within t, swap exchanges members of groups, and first deals rows out of strata.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from tclose.distance import Counts, Line, LineWithLeaf, Metric, Tree
from tclose.errors import Unsuited
from tclose.partition.problem import Attribute
from tclose.partition.shared.kernels import kernel, part
from tclose.types import Floats, Ints, Progress


def standardised(points: Floats) -> Floats:
    """Return every column with mean 0 and deviation 1; one that does not vary is 0."""
    deviation = points.std(axis=0) if len(points) else np.ones(points.shape[1])
    varies = deviation > 0
    return np.ascontiguousarray((points - points.mean(axis=0)) / np.where(varies, deviation, 1) * varies)


def mdav(points: Floats, k: int, progress: Progress) -> Ints:
    """Return groups of k to 2k − 1 rows that lie near each other."""
    rows = len(points)
    labels, alive = np.full(rows, -1, dtype=np.int64), np.arange(rows)
    group = 0
    while len(alive) >= 3 * k:
        progress(1 - len(alive) / rows)
        first = farthest(points, alive, centre(points, alive))
        second = farthest(points, alive, points[first])
        for seed in (first, second):
            alive = gather(points, alive, points[seed], k, labels, group)
            group += 1
    if len(alive) >= 2 * k:
        seed = farthest(points, alive, centre(points, alive))
        alive = gather(points, alive, points[seed], k, labels, group)
        group += 1
    labels[alive] = group
    return labels


@kernel
def centre(points: Floats, alive: Ints) -> Floats:
    """Return the mean of the rows that are left."""
    total = np.zeros(points.shape[1])
    for row in alive:
        for q in range(points.shape[1]):
            total[q] += points[row, q]
    return total / len(alive)


@kernel
def apart(points: Floats, row: int, origin: Floats) -> float:
    """Return the squared distance of a row from a place."""
    squares = 0.0
    for q in range(points.shape[1]):
        gap = points[row, q] - origin[q]
        squares += gap * gap
    return squares


@kernel
def distances(points: Floats, alive: Ints, origin: Floats) -> Floats:
    """Return the squared distance of every row that is left from a place."""
    gaps = np.empty(len(alive))
    for i in range(len(alive)):
        gaps[i] = apart(points, alive[i], origin)
    return gaps


@kernel
def farthest(points: Floats, alive: Ints, origin: Floats) -> int:
    """Return the row farthest from a place, the first of equals."""
    farthest_row, most = alive[0], -1.0
    for row in alive:
        gap = apart(points, row, origin)
        if gap > most:
            farthest_row, most = row, gap
    return int(farthest_row)


@kernel
def gather(points: Floats, alive: Ints, origin: Floats, k: int, labels: Ints, group: int) -> Ints:
    """Put the k rows nearest to a place into a group, and return those that are left."""
    gaps, nearest = np.full(k, np.inf), np.full(k, -1, dtype=np.int64)
    for row in alive:
        gap = apart(points, row, origin)
        if gap >= gaps[k - 1]:
            continue
        place = k - 1
        while place > 0 and gaps[place - 1] > gap:
            gaps[place], nearest[place] = gaps[place - 1], nearest[place - 1]
            place -= 1
        gaps[place], nearest[place] = gap, row
    for row in nearest:
        labels[row] = group
    return alive[labels[alive] < 0]


# Algorithm 1: merging


SAFE = 2**62  # below this, integers of 64 bits cannot overflow
DOUBTFUL = 1 + 1e-9  # floats added up in another order do not differ by this factor


def joined(points: Floats, labels: Ints, sensitive: tuple[Attribute, ...], progress: Progress) -> Ints:
    """Return the classes with those beyond some t merged into others; one class of all rows must be within every t."""
    beyond, judges = (
        excess(labels, sensitive),
        [judge_of(attribute) for attribute in sensitive if attribute.t is not None],
    )
    order, sizes = np.argsort(labels, kind="stable"), np.bincount(labels)
    members = np.split(order, np.cumsum(sizes)[:-1])
    centres = np.stack([np.bincount(labels, weights=column) for column in points.T], axis=1) / sizes[:, None]
    failing = max(int((beyond > 0).sum()), 1)
    while beyond[worst := int(beyond.argmax())] > 0:
        progress(max(1 - int(np.count_nonzero(beyond > 0)) / failing, 0.0))
        other = nearest(centres, worst)
        rows = members[other] = np.concatenate((members[other], members[worst]))
        centres[other] = np.add.reduce(points.take(rows, axis=0), axis=0) / len(rows)
        centres[worst], members[worst], beyond[worst] = np.inf, members[worst][:0], -np.inf
        beyond[other] = max((judge.excess(rows) for judge in judges), default=-1.0)
    numbers = np.empty(len(labels), dtype=np.int64)
    for number, rows in enumerate(rows for rows in members if len(rows)):
        numbers[rows] = number
    return numbers


def excess(labels: Ints, sensitive: tuple[Attribute, ...]) -> Floats:
    """Return by how much each class is beyond the t that it breaks most; what is within, exactly, is not above 0."""
    worst = np.full(int(labels.max()) + 1, -1.0)
    for attribute in sensitive:
        if attribute.t is not None:
            emd = attribute.distance.emd(
                Counts.from_codes(labels, attribute.codes, len(attribute.reference)), attribute.reference
            )
            beyond = np.maximum(emd.floats() - float(attribute.t), np.finfo(float).tiny)
            worst = np.maximum(worst, np.where(emd.at_most(attribute.t), -1.0, beyond))
    return worst


def nearest(centres: Floats, chosen: int) -> int:
    """Return the class whose centre is nearest to that of another class, the first of equals."""
    near = _near(centres, chosen)
    if len(near) == 1:
        return int(near[0])
    return int(near[((centres[near] - centres[chosen]) ** 2).sum(axis=1).argmin()])


@kernel
def _near(centres: Floats, chosen: int) -> Ints:
    """Return the classes whose centres are nearest to that of another class; further ones where floats may err."""
    gaps, least = np.full(len(centres), np.inf), np.inf
    for i in range(len(centres)):
        if i == chosen:
            continue
        gap, limit = 0.0, least * DOUBTFUL
        for q in range(centres.shape[1]):
            gap += (centres[i, q] - centres[chosen, q]) ** 2
            if gap > limit:
                break
        gaps[i] = gap
        least = min(least, gap)
    return np.flatnonzero(gaps <= least * DOUBTFUL)


# --- one class at a time ----------------------------------------------------------------------------------------------


def judge_of(attribute: Attribute) -> FastJudge | SlowJudge:
    """Return what tells of one class at a time by how much it is beyond an attribute's t."""
    return FastJudge.of(attribute) or SlowJudge(attribute)


@dataclass(frozen=True, eq=False)
class SlowJudge:
    """Tells by how much one class is beyond an attribute's t, whatever the distance."""

    attribute: Attribute

    def excess(self, rows: Ints) -> float:
        """Return the excess of a class of these rows; -1 if it is within t."""
        some = Attribute(
            self.attribute.codes[rows], self.attribute.reference, self.attribute.distance, self.attribute.t
        )
        return float(excess(np.zeros(len(rows), dtype=np.int64), (some,))[0])


@dataclass(frozen=True, eq=False)
class FastJudge:
    """The same on a line or in a tree, where 64 bits hold the work of every class.

    On a line, `gaps` lie between the values, and `reference` counts the table's rows up to each value. In a tree,
    `nodes[h]` are the nodes above the values at height h, numbered apart, and `reference` counts the rows below each.
    """

    codes: Ints
    gaps: Ints
    nodes: Ints
    reference: Ints
    total: int
    unit: int
    t: Fraction

    @classmethod
    def of(cls, attribute: Attribute) -> FastJudge | None:
        """Lay an attribute's distance out for the loop; None where it is neither a line nor a tree, or too long."""
        geometry, reference, total, t = (
            attribute.geometry,
            attribute.reference,
            int(attribute.reference.sum()),
            attribute.t,
        )
        most_rows = max(total, len(attribute.codes))
        if t is None or not isinstance(geometry, Line | Tree):
            return None
        length = geometry.length if isinstance(geometry, Line) else max(geometry.height, 1)
        if 2 * length * total * most_rows >= SAFE:
            return None
        if isinstance(geometry, Line):
            gaps, nodes = np.diff(geometry.positions).astype(np.int64), np.zeros((0, 0), dtype=np.int64)
            return cls(attribute.codes, gaps, nodes, np.cumsum(reference), total, length * total, t)
        nodes = _numbered_apart(geometry)
        below = np.bincount(nodes.ravel(), weights=np.tile(reference, len(nodes))).astype(np.int64)
        return cls(attribute.codes, np.zeros(0, dtype=np.int64), nodes, below, total, length * total, t)

    def excess(self, rows: Ints) -> float:
        """Return the excess of a class of these rows; -1 if it is within t."""
        work = int(_work(self.codes, rows, self.gaps, self.nodes, self.reference, self.total))
        if work * self.t.denominator <= len(rows) * self.unit * self.t.numerator:
            return -1.0
        return max(work / (len(rows) * float(self.unit)) - float(self.t), sys.float_info.min)


def _numbered_apart(tree: Tree) -> Ints:
    """Return the nodes above each value at every height below the root; no number occurs at two heights."""
    levels = tree.below_root
    first = np.cumsum([0, *(int(level[-1]) + 1 for level in levels)])[: len(levels)]
    return np.asarray(np.reshape(levels, (len(levels), -1)) + first[:, None], dtype=np.int64)


@kernel
def _work(codes: Ints, rows: Ints, gaps: Ints, nodes: Ints, reference: Ints, total: int) -> int:
    """Return the work of one class, an integer: its distance times its size times the unit."""
    counts, size, work = np.zeros(len(reference), dtype=np.int64), len(rows), 0
    for row in rows:
        if len(nodes) == 0:
            counts[codes[row]] += 1
        for h in range(len(nodes)):
            counts[nodes[h, codes[row]]] += 1
    running = 0
    for i in range(len(gaps)):
        running += counts[i]
        work += gaps[i] * abs(total * running - size * reference[i])
    for i in range(len(reference) if len(nodes) else 0):
        work += max(total * counts[i] - size * reference[i], 0)
    return work


# Algorithm 2: k-anonymity first, then swaps


FEW_VALUES = 64  # of which each is weighed once per swap; rows of more values are sorted instead, and weighed once
UNKNOWN = -2
LOOKS = 50_000_000  # rows looked at between two calls of progress


@dataclass(frozen=True, eq=False)
class FloatDistance:
    """The ground distance in floats, which propose only: classes are judged exactly afterwards.

    On a line, `gaps` lie between the values. In a tree, `nodes[h]` are the nodes above the values at height h,
    numbered apart; a table's `shares` are those of each node, or on a line those up to each value.
    """

    gaps: Floats
    nodes: Ints
    shares: Floats
    t: float

    @classmethod
    def of(cls, attribute: Attribute) -> FloatDistance:
        """Lay one attribute's distance out for the loop."""
        shares, t = attribute.reference / attribute.reference.sum(), float(1 if attribute.t is None else attribute.t)
        geometry = attribute.geometry
        if isinstance(geometry, Line):
            positions = geometry.rounded.positions.astype(np.float64)
            gaps = np.diff(positions) / max(float(positions[-1]), 1.0)
            return cls(gaps, np.zeros((0, 0), dtype=np.int64), np.cumsum(shares), t)
        if isinstance(geometry, Metric):
            raise Unsuited(
                "microaggregation by swaps has no way to weigh the distance '{name}'", name=attribute.distance.name
            )
        if isinstance(geometry, LineWithLeaf):
            raise Unsuited(
                "microaggregation by swaps cannot weigh missing values beside the distance '{name}'",
                name=attribute.distance.name,
            )
        tree = geometry.below_root
        apart = np.cumsum([0] + [int(level[-1]) + 1 for level in tree])
        nodes = np.array([level + first for level, first in zip(tree, apart[:-1], strict=True)], dtype=np.int64)
        nodes = nodes.reshape(len(tree), len(shares))
        below = np.bincount(nodes.ravel(), weights=np.tile(shares, len(nodes)), minlength=int(apart[-1]))
        return cls(np.zeros(0), nodes, np.asarray(below, dtype=np.float64), t)


def swapped(points: Floats, k: int, attribute: Attribute, progress: Progress) -> Ints:
    """Return groups of k rows, or up to 2k − 1 at the end; some may be beyond t still."""
    ground, rows = FloatDistance.of(attribute), len(points)
    in_order = len(attribute.reference) > FEW_VALUES
    labels, alive, group = np.full(rows, -1, dtype=np.int64), np.arange(rows), 0
    origin = points[0]
    while len(alive) >= 2 * k:
        progress(1 - len(alive) / rows)
        if group % 2 == 0:
            origin = centre(points, alive)
        origin = points[farthest(points, alive, origin)]
        others = gather(points, alive, origin, k, labels, group)
        members = alive[labels[alive] == group]
        labels[members] = -1
        gaps = distances(points, others, origin)
        state, some = np.array([-1.0, -1.0]), max(1, LOOKS // len(others))
        if in_order:
            order = np.argsort(gaps, kind="stable")
            others, gaps = others[order], gaps[order]
        distance = ground.gaps, ground.nodes, ground.shares, ground.t
        while partial(_mend, members, others, gaps, in_order, attribute.codes)(*distance, state, some):
            progress(1 - len(alive) / rows)
        labels[members] = group
        alive, group = alive[labels[alive] < 0], group + 1
    labels[alive] = group
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


@kernel
def _mend(
    members: Ints,
    others: Ints,
    away: Floats,
    in_order: bool,
    codes: Ints,
    gaps: Floats,
    nodes: Ints,
    shares: Floats,
    t: float,
    state: Floats,
    most: int,
) -> bool:
    """Let other rows, the nearest first, take the place of members as long as that helps and is needed.

    A row helps or not by its value alone, so what is next is the nearest, of those not passed yet, whose value helps.
    `state` holds how far away the last such row was, and its place. Return whether more may follow after `most` swaps.
    """
    values = len(gaps) + 1 if len(nodes) == 0 else nodes.shape[1]
    group, sums = np.zeros(len(shares)), np.zeros((4, len(gaps) + 1))
    unchanged = 0  # values of a line before the first whose count has changed
    for _ in range(most):
        passed, place = state[0], int(state[1])
        member_codes = codes[members]
        cost = _line_cost(member_codes, gaps, shares, unchanged, group, sums)
        if len(nodes):
            cost = _tree_cost(member_codes, nodes, shares, group)
        if cost <= t:
            return False
        leaves = np.full(values, UNKNOWN)  # which member leaves for a value, found out when it matters
        nearest, least = -1, np.inf
        for i in range(place + 1 if in_order else 0, len(others)):
            if away[i] >= least or away[i] < passed or (away[i] == passed and i <= place):
                continue
            value = codes[others[i]]
            if leaves[value] == UNKNOWN:
                leaves[value] = _best_out(member_codes, value, group, sums, nodes)
            if leaves[value] >= 0:
                nearest, least = i, away[i]
                if in_order:
                    break
        if nearest < 0:
            return False
        state[0], state[1] = least, nearest
        value = codes[others[nearest]]
        unchanged = min(value, member_codes[leaves[value]])
        members[leaves[value]] = others[nearest]
    return True


@part
def _best_out(members: Ints, new: int, extra: Floats, sums: Floats, nodes: Ints) -> int:
    """Return the member that should leave for a value to join; -1 if that brings the group no nearer."""
    best, least = -1, -1e-12
    for i in range(len(members)):
        change = _change(members[i], new, extra, sums, nodes, 1.0 / len(members))
        if change < least:
            best, least = i, change
    return best


@part
def _line_cost(codes: Ints, gaps: Floats, shares: Floats, first: int, group: Floats, sums: Floats) -> float:
    """Return the earth mover's distance of a group from the table on a line; 0 where there is no line.

    `sums` become running sums: what the line costs more when every extra rises, and when it falls, by the share of one
    row; what it costs now; the group's share. Those up to the value `first` hold already. `group` is 0 when it returns.
    """
    if len(gaps) == 0:
        return 0.0
    step = 1.0 / len(codes)
    for code in codes:
        group[code] += step
    rise, fall, cost, share = sums[0, first], sums[1, first], sums[2, first], sums[3, first]
    for i in range(first, len(gaps)):
        share += group[i]
        extra = share - shares[i]
        rise += gaps[i] * (abs(extra + step) - abs(extra))
        fall += gaps[i] * (abs(extra - step) - abs(extra))
        cost += abs(extra) * gaps[i]
        sums[0, i + 1], sums[1, i + 1], sums[2, i + 1], sums[3, i + 1] = rise, fall, cost, share
    for code in codes:
        group[code] = 0.0
    return float(cost)


@part
def _tree_cost(codes: Ints, nodes: Ints, shares: Floats, extra: Floats) -> float:
    """Return the same in a tree; `extra` becomes the group's share less the table's, of each node."""
    extra[:] = 0.0
    for code in codes:
        for h in range(len(nodes)):
            extra[nodes[h, code]] += 1.0 / len(codes)
    cost = 0.0
    for node in range(len(extra)):
        extra[node] -= shares[node]
        cost += abs(extra[node])
    return cost / (2 * len(nodes))


@part
def _change(out: int, new: int, extra: Floats, sums: Floats, nodes: Ints, step: float) -> float:
    """Return by how much the cost changes when one value leaves and another joins."""
    if len(nodes) == 0:
        return float(sums[0, out] - sums[0, new] if new < out else sums[1, new] - sums[1, out])
    change = 0.0
    for h in range(len(nodes)):
        a, b = nodes[h, out], nodes[h, new]
        if a != b:
            change += abs(extra[a] - step) - abs(extra[a]) + abs(extra[b] + step) - abs(extra[b])
    return change / (2 * len(nodes))


# Algorithm 3: t-closeness first


def strata_needed(rows: int, k: int, t: Fraction) -> int:
    """Return how many strata keep n different values within t: (n − k)/(2(n − 1)k) ≤ t, at least k of them.

    Where more rows are left over than there are classes, every class takes one more.

    >>> [strata_needed(1080, 2, Fraction(t)) for t in ("0.05", "0.25", "0")]
    [10, 2, 1080]
    """
    needed = -(-rows // (2 * (rows - 1) * t + 1))
    strata = min(max(k, int(needed)), rows)
    return strata + rows % strata // (rows // strata)


def strata_of(codes: Ints, strata: int) -> Ints:
    """Return the stratum of every row; leftover rows, fewer than there are classes, lie in the middle."""
    sizes = np.full(strata, len(codes) // strata)
    left = len(codes) - strata * int(sizes[0])
    sizes[(strata - 1) // 2] += left - left // 2
    sizes[strata // 2] += left // 2
    stratum = np.empty(len(codes), dtype=np.int64)
    stratum[np.argsort(codes, kind="stable")] = np.repeat(np.arange(strata), sizes)
    return stratum


def stratified(points: Floats, stratum: Ints, progress: Progress) -> Ints:
    """Return classes with one row of every stratum, two where rows would be left over, from the outside in."""
    rows, sizes = len(points), np.bincount(stratum)
    classes = int(sizes.min())
    spare = sizes - classes
    labels, alive = np.full(rows, -1, dtype=np.int64), np.arange(rows)
    origin = np.zeros(points.shape[1])
    for number in range(classes):
        progress(1 - len(alive) / rows)
        if number % 2 == 0:
            origin = centre(points, alive)
        origin = points[farthest(points, alive, origin)]
        takes = np.ones(len(sizes), dtype=np.int64)
        if spare.any():
            takes[spare.argmax()] += 1
            spare[spare.argmax()] -= 1
        alive = _one_of_each(points, alive, origin, stratum, takes, labels, number)
    return labels


@kernel
def _one_of_each(
    points: Floats, alive: Ints, origin: Floats, stratum: Ints, takes: Ints, labels: Ints, number: int
) -> Ints:
    """Put the nearest row of each stratum (or the nearest two) into a class, and return those that are left."""
    strata = len(takes)
    gaps, nearest = np.full((strata, 2), np.inf), np.full((strata, 2), -1, dtype=np.int64)
    for row in alive:
        f, gap = stratum[row], apart(points, row, origin)
        if gap < gaps[f, 0]:
            gaps[f, 1], nearest[f, 1] = gaps[f, 0], nearest[f, 0]
            gaps[f, 0], nearest[f, 0] = gap, row
        elif gap < gaps[f, 1]:
            gaps[f, 1], nearest[f, 1] = gap, row
    for f in range(strata):
        for i in range(takes[f]):
            labels[nearest[f, i]] = number
    return alive[labels[alive] < 0]
