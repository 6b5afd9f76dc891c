"""Sensitive attributes as trees: every earth mover's distance is a sum over edges, Σ w·|N·C − s·R|.

C and R are the rows of the class and of the table beyond an edge. A line is a path (C the running sums), `equal` a
star, a hierarchy its own tree. What 64 bits cannot hold, or would take too long, is replaced by something that is never
less: a matrix by a star, a line of very many values by one of fewer. So what passes here passes there. Further models
stand beside them as rules on the counts of values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Equal, Hierarchical, Value
from tclose.partition.problem import Sensitive
from tclose.partition.weave.rules import Rules, Shares, asked, rules_of

Ints = NDArray[np.int64]
Small = NDArray[np.int32]
Floats = NDArray[np.float64]

SAFE = 2**61
PATH, BUSH, RULE = 0, 1, 2
LONGEST = 2048  # values of a line that are told apart, or that rules count


class Aims(NamedTuple):
    """All guarded attributes in flat arrays: their trees, the table's counts, and how much work is allowed."""

    kinds: Ints
    codes: Small  # rows × attributes
    edge: Ints  # where an attribute's edges begin; one more at the end
    value: Ints  # where its values begin; one more at the end
    up: Ints  # of a bush: where its values' edges begin in `above`
    depth: Ints
    above: Small  # the edges between a value and the root
    reference: Ints  # the table's rows beyond each edge
    weight: Ints
    total: Ints  # the table's rows
    allowed: Ints  # work per row of a class: allowed // per
    per: Ints
    scale: Floats  # work per row that would be a distance of 1
    rules: Rules


@dataclass(frozen=True, eq=False)
class _Tree:
    """One attribute; its distance is Σ weight·|…| / (unit·s·N), and it must not exceed t."""

    kind: int
    codes: Ints
    above: Small  # values × depth; of a path without columns
    reference: list[int]
    weight: list[int]
    unit: int
    total: int
    t: Fraction
    asked: Shares | None = None


class _Limit(NamedTuple):
    weight: list[int]
    level: Fraction  # work allowed per row of a class
    scale: float


def aims_of(sensitive: tuple[Sensitive, ...], rows: int) -> Aims:
    """Lay all that guards the attributes out in flat arrays; t = 1 guards nothing."""
    trees = [_tree(one, one.t) for one in sensitive if one.t is not None and one.t < 1]
    trees += [_rule(one) for one in sensitive if one.models and len(one.reference) <= LONGEST]
    limits = [_limit(tree, rows) for tree in trees]
    edge = _starts([len(tree.weight) for tree in trees])
    above = [(tree.above + first).ravel() for tree, first in zip(trees, edge, strict=False)]
    codes = np.empty((rows, len(trees)), dtype=np.int32)
    for a, tree in enumerate(trees):
        codes[:, a] = tree.codes
    return Aims(
        np.array([tree.kind for tree in trees], dtype=np.int64),
        codes,
        edge,
        _starts([len(tree.above) for tree in trees]),
        _starts([len(part) for part in above]),
        np.array([tree.above.shape[1] for tree in trees], dtype=np.int64),
        np.concatenate([np.zeros(0, np.int32), *above]).astype(np.int32),
        np.array([count for tree in trees for count in tree.reference], dtype=np.int64),
        np.array([weight for limit in limits for weight in limit.weight], dtype=np.int64),
        np.array([tree.total for tree in trees], dtype=np.int64),
        np.array([limit.level.numerator for limit in limits], dtype=np.int64),
        np.array([limit.level.denominator for limit in limits], dtype=np.int64),
        np.array([limit.scale for limit in limits], dtype=np.float64),
        rules_of([tree.asked for tree in trees], [len(tree.weight) for tree in trees], rows),
    )


def _starts(lengths: list[int]) -> Ints:
    return np.cumsum([0, *lengths]).astype(np.int64)


def _limit(tree: _Tree, rows: int) -> _Limit:
    """Return weights and the work allowed per row that 64 bits can hold, never more than t allows."""
    whole = tree.unit * tree.total
    shrink = -(-whole * (rows + tree.total) // SAFE)
    level = tree.t * Fraction(whole, shrink)
    if level.numerator * rows >= SAFE:
        finest = max(1, SAFE // (rows * (math.floor(level) + 1)))
        level = Fraction(math.floor(level * finest), finest)
    return _Limit([-(-weight // shrink) for weight in tree.weight], level, max(whole / shrink, 1.0))


def _tree(one: Sensitive, t: Fraction) -> _Tree:
    """Return the tree in which the attribute's distance is measured."""
    if isinstance(one.distance, Value):
        return _path(one, [int(gap) for gap in np.diff(one.distance.positions)], t)
    if isinstance(one.distance, Hierarchical):
        return _bush(one, one.distance.levels[:-1] or one.distance.levels, t)
    if isinstance(one.distance, Equal):
        return _bush(one, (np.arange(len(one.reference)),), t)
    return _star(one, t)


def _path(one: Sensitive, gaps: list[int], t: Fraction) -> _Tree:
    """Return the line; one of very many values with stretches of edges taken as one.

    Within a stretch, running sums differ from those at its first edge by no more than its rows; added up over all
    stretches that is at most the longest stretch for the class and again for the table, by which t shrinks.
    """
    length, edges = max(sum(gaps), 1), np.arange(len(gaps))
    if len(one.reference) > LONGEST:
        ends = np.cumsum(np.array(gaps, dtype=np.float64)) / length
        edges = np.unique(np.searchsorted(ends, np.arange(LONGEST) / LONGEST).clip(0, len(gaps) - 1))
        edges[0] = 0
    bounds = [*edges.tolist(), len(gaps)]
    weights = [sum(gaps[low:high]) for low, high in pairwise(bounds)]
    if len(edges) < len(gaps):
        t = max(t - Fraction(2 * max(weights), length), Fraction(0))
    codes = np.searchsorted(edges, one.codes)
    none = np.zeros((len(edges) + 1, 0), dtype=np.int32)
    below = np.cumsum(one.reference)
    return _Tree(PATH, codes, none, [int(below[e]) for e in edges], weights, length, int(below[-1]), t)


def _bush(one: Sensitive, levels: tuple[Ints, ...], t: Fraction) -> _Tree:
    """Return the tree with all edges alike: half the work that crosses them, over the height, is the distance."""
    above, counts, first = [], [], 0
    for level in levels:
        above.append(level + first)
        nodes = np.zeros(int(level[-1]) + 1, dtype=np.int64)
        np.add.at(nodes, level, one.reference)
        counts += nodes.tolist()
        first += len(nodes)
    up = np.stack(above, axis=1).astype(np.int32)
    total = int(one.reference.sum())
    return _Tree(BUSH, one.codes, up, counts, [1] * len(counts), 2 * len(levels), total, t)


def _star(one: Sensitive, t: Fraction) -> _Tree:
    """Return a star in which no two values are nearer than in the matrix: around a value, or with equal rays."""
    values = range(len(one.reference))
    between = [[one.distance.between(i, j) for j in values] for i in values]

    def mean(rays: list[Fraction]) -> Fraction:
        return sum((int(count) * ray for count, ray in zip(one.reference, rays, strict=True)), Fraction(0))

    around = min(([row[centre] for row in between] for centre in values), key=mean)
    rays = min(around, [max(map(max, between)) / 2] * len(between), key=mean)
    common = math.lcm(*(ray.denominator for ray in rays))
    up = np.arange(len(rays), dtype=np.int32).reshape(-1, 1)
    weights = [int(ray * common) for ray in rays]
    counts = [int(count) for count in one.reference]
    return _Tree(BUSH, one.codes, up, counts, weights, common, sum(counts), t)


def _rule(one: Sensitive) -> _Tree:
    """Return the values themselves, of whose counts no work beyond the rules is allowed."""
    values = len(one.reference)
    up = np.arange(values, dtype=np.int32).reshape(-1, 1)
    return _Tree(RULE, one.codes, up, [0] * values, [0] * values, 1, 1, Fraction(0), asked(one))
