"""k-anonymity first (algorithm 2 of Soria-Comas et al. 2015): groups as MDAV makes them, then corrected row by row.

A group takes the k rows nearest to its seed. While it is beyond t, the next nearest row takes the place of that
member whose leaving brings the group nearest to the table, if it does bring it nearer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from tclose.distance import Line, LineWithLeaf, Metric
from tclose.errors import Unsuited
from tclose.partition.microaggregation.mdav import centre, distances, farthest, gather
from tclose.partition.problem import Attribute
from tclose.partition.shared.kernels import kernel, part
from tclose.types import Floats, Ints, Progress

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
            raise Unsuited(f"microaggregation by swaps has no way to weigh the distance '{attribute.distance.name}'")
        if isinstance(geometry, LineWithLeaf):
            raise Unsuited(
                f"microaggregation by swaps cannot weigh missing values beside the distance '{attribute.distance.name}'"
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
