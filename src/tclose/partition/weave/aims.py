"""Sensitive attributes as trees: every earth mover's distance is a sum over edges, Σ w·|N·C − s·R|.

C and R are the rows of the class and of the table beyond an edge. A line is a path (C the running sums), `equal` a
star, a hierarchy its own tree. What 64 bits cannot hold, or would take too long, is replaced by something that is never
less: a matrix by a tree, a line of very many values by one of fewer. So what passes here passes there. Further models
stand beside them as rules on the counts of values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tclose.distance import Line, Tree
from tclose.partition.problem import Sensitive
from tclose.partition.weave.rules import Rules, rules_of
from tclose.privacy.rule import Rule
from tclose.types import Floats, Ints, SmallInts

SAFE = 2**61
PATH, BUSH, RULE = 0, 1, 2
LONGEST = 2048  # values of a line that are told apart
RULED = 256  # values of an attribute with rules: each look counts them all


class Aims(NamedTuple):
    """All guarded attributes in flat arrays: their trees, the table's counts, and how much work is allowed."""

    kinds: Ints
    codes: SmallInts  # rows × attributes
    edge: Ints  # where an attribute's edges begin; one more at the end
    value: Ints  # where its values begin; one more at the end
    up: Ints  # of a bush: where its values' edges begin in `above`
    depth: Ints
    above: SmallInts  # the edges between a value and the root
    reference: Ints  # the table's rows beyond each edge
    weight: Ints
    total: Ints  # the table's rows
    allowed: Ints  # work per row of a class: allowed // per
    per: Ints
    scale: Floats  # work per row that would be a distance of 1
    free: Ints  # rows from which on a class need not be within t: n of (n,t)
    rules: Rules


@dataclass(frozen=True, eq=False)
class _Tree:
    """One attribute; its distance is Σ weight·|…| / (unit·s·N), and it must not exceed t."""

    kind: int
    codes: Ints
    above: SmallInts  # values × depth; of a path without columns
    reference: list[int]
    weight: list[int]
    unit: int
    total: int
    t: Fraction
    rule: Rule | None = None
    free: int = SAFE


class _Limit(NamedTuple):
    weight: list[int]
    level: Fraction  # work allowed per row of a class
    scale: float


def aims_of(sensitive: tuple[Sensitive, ...], rows: int) -> Aims:
    """Lay all that guards the attributes out in flat arrays; t = 1 guards nothing."""
    trees = [replace(_tree(one, one.t), free=one.n or SAFE) for one in sensitive if one.t is not None and one.t < 1]
    small = [one for one in sensitive if one.models and len(one.reference) <= RULED]
    trees += [_ruled(one, rule) for one in small if (rule := one.rule) is not None]
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
        np.array([tree.free for tree in trees], dtype=np.int64),
        rules_of([tree.rule for tree in trees], [len(tree.weight) for tree in trees], rows),
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
    geometry = one.geometry
    if isinstance(geometry, Line):
        return _path(one, [int(gap) for gap in np.diff(geometry.positions)], t)
    if isinstance(geometry, Tree):
        return _bush(one, geometry.below_root or geometry.levels, t)
    return _around(one, t)


def _path(one: Sensitive, gaps: list[int], t: Fraction) -> _Tree:
    """Return the line; one of very many values with stretches of edges taken as one.

    Within a stretch, running sums differ from those at its first edge by no more than its rows; added up over all
    stretches of several edges that is at most the longest of them for the class and again for the table, by which t
    shrinks.
    """
    length, edges = max(sum(gaps), 1), np.arange(len(gaps))
    if len(one.reference) > LONGEST:
        edges = _stretches(gaps, length)
    bounds = [*edges.tolist(), len(gaps)]
    weights = [sum(gaps[low:high]) for low, high in pairwise(bounds)]
    joined = [weight for weight, (low, high) in zip(weights, pairwise(bounds), strict=True) if high - low > 1]
    t = max(t - Fraction(2 * max(joined, default=0), length), Fraction(0))
    codes = np.searchsorted(edges, one.codes)
    none = np.zeros((len(edges) + 1, 0), dtype=np.int32)
    below = np.cumsum(one.reference)
    return _Tree(PATH, codes, none, [int(below[e]) for e in edges], weights, length, int(below[-1]), t)


def _stretches(gaps: list[int], length: int) -> Ints:
    """Return where stretches of edges begin: each is one edge, however long, or short against the whole line."""
    firsts, reached, most = [0], gaps[0], 2 * length // LONGEST
    for e in range(1, len(gaps)):
        reached += gaps[e]
        if reached > most:
            firsts.append(e)
            reached = gaps[e]
    return np.array(firsts, dtype=np.int64)


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


def _around(one: Sensitive, t: Fraction) -> _Tree:
    """Return a tree in which no two values are nearer than in the matrix: a star, or the shortest spanning tree.

    Going along a tree whose edges are costs of the matrix is never shorter than going straight: it is a metric. Of
    the trees, take the one in which two random rows of the table are nearest.
    """
    values = range(len(one.reference))
    between = [[one.distance.between(i, j) for j in values] for i in values]
    share = [int(count) for count in one.reference]
    trees = [*_stars(between, share), _spanning(between)]
    above, weights = min(trees, key=lambda tree: _apart(tree, share))
    common = math.lcm(*(weight.denominator for weight in weights))
    depth = max(map(len, above), default=0) or 1
    none = len(weights)  # an edge of no length, for values nearer to the root than others
    up = np.array([[none] * (depth - len(edges)) + edges for edges in above], dtype=np.int32).reshape(-1, depth)
    counts = [sum(share[v] for v in values if e in above[v]) for e in range(none)]
    whole = [int(weight * common) for weight in weights]
    return _Tree(BUSH, one.codes, up, [*counts, 0], [*whole, 0], common, sum(share), t)


_Paths = tuple[list[list[int]], list[Fraction]]  # the edges between each value and the root; the lengths of all edges


def _stars(between: list[list[Fraction]], share: list[int]) -> list[_Paths]:
    """Return a star around the value that is nearest to all rows, and one with equal rays."""
    centre = min(between, key=lambda row: sum((n * cost for n, cost in zip(share, row, strict=True)), Fraction(0)))
    edges = [[v] for v in range(len(between))]
    return [(edges, centre), (edges, [max(map(max, between)) / 2] * len(between))]


def _spanning(between: list[list[Fraction]]) -> _Paths:
    """Return the shortest spanning tree (Prim 1957) from the value that is least far from any other."""
    root = min(range(len(between)), key=lambda v: max(between[v]))
    above: list[list[int]] = [[] for _ in between]
    weights: list[Fraction] = []
    near = dict.fromkeys(set(range(len(between))) - {root}, root)
    while near:
        value = min(near, key=lambda v: (between[v][near[v]], v))
        parent = near.pop(value)
        above[value] = [len(weights), *above[parent]]
        weights.append(between[value][parent])
        near = {v: value if between[v][value] < between[v][other] else other for v, other in near.items()}
    return above, weights


def _apart(tree: _Paths, share: list[int]) -> Fraction:
    """Return how far two random rows are from each other in a tree, times the square of the rows."""
    above, weights = tree
    total, beyond = sum(share), [0] * len(weights)
    for edges, count in zip(above, share, strict=True):
        for e in edges:
            beyond[e] += count
    return sum((2 * n * (total - n) * weight for n, weight in zip(beyond, weights, strict=True)), Fraction(0))


def _ruled(one: Sensitive, rule: Rule) -> _Tree:
    """Return the values themselves, of whose counts no work beyond the rules is allowed."""
    values = len(one.reference)
    up = np.arange(values, dtype=np.int32).reshape(-1, 1)
    return _Tree(RULE, one.codes, up, [0] * values, [0] * values, 1, 1, Fraction(0), rule)
