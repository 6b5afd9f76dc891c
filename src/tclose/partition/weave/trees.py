"""The tree in which weave measures an attribute's distance: the earth mover's distance is a sum over its edges.

A line is a path, a hierarchy its own tree, and the equal distance a star. A line with a missing value is a path with
one edge beside it. A matrix, and a line of very many values, are replaced by a tree in which no distance is smaller. So
a class within t by the tree is within t by the distance itself.

A threshold for a group of persons is the same tree with every value twice, once for the group: an edge without weight
counts the rows of the group, and a class that has none of them is not limited.

The tree of tuples of values is made of halves of halves of the tuples, as far apart as they are wide: two tuples are as
far apart as the widest two of the smallest part that holds both, so no distance is smaller than between the tuples
themselves. It is often several times larger. So weave lets classes go beyond t in this tree by a factor that random
classes show (`leeway`); the distance itself decides in the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Counts, Line, LineWithLeaf, Tree, TupleMetric
from tclose.partition.problem import Attribute
from tclose.privacy.base import Rule
from tclose.privacy.tcloseness import TClosenessByGroup
from tclose.types import Bools, Ints, SmallInts

# Tuples of values


SAMPLES, SIZE = 8, 16  # random classes, and their rows
SEED = 75
FINE = 20  # leeway is a multiple of 1 / FINE, so that it does not depend on the last digit of a float


@dataclass(frozen=True, eq=False)
class TupleTree:
    """The edges above each tuple, padded with an edge without length, and the length of every edge."""

    above: SmallInts  # tuples × depth
    lengths: Ints  # the last is 0
    unit: int

    @classmethod
    def of(cls, metric: TupleMetric, reference: Ints) -> TupleTree:
        """Halve the tuples, by the rows that show them, until each is alone."""
        above: list[list[int]] = [[] for _ in reference]
        lengths: list[int] = []
        everything = np.arange(len(reference))
        parts = [(everything, _width(metric.costs, everything))]
        while parts:
            part, width = parts.pop()
            for half in _halves(metric.costs, part, reference):
                narrower = _width(metric.costs, half)
                if width > narrower:
                    for value in half.tolist():
                        above[value].append(len(lengths))
                    lengths.append(width - narrower)
                parts.append((half, narrower))
        depth = max(map(len, above), default=0) or 1
        padded = [[*edges, *[len(lengths)] * (depth - len(edges))] for edges in above]
        return cls(np.array(padded, dtype=np.int32), np.array([*lengths, 0], dtype=np.int64), 2 * metric.farthest)

    def beyond(self, counts: Ints) -> Ints:
        """Return how many rows lie beyond each edge, given how many show each tuple."""
        weights = np.repeat(counts, self.above.shape[1])
        return np.bincount(self.above.ravel(), weights, minlength=len(self.lengths)).astype(np.int64)

    def distance(self, counts: Ints, reference: Ints) -> float:
        """Return the earth mover's distance in the tree, as a float."""
        extra = self.beyond(counts) / counts.sum() - self.beyond(reference) / reference.sum()
        return float(np.abs(extra) @ self.lengths / self.unit)


def _width(costs: Ints, part: Ints) -> int:
    return int(costs[np.ix_(part, part)].max())


def _halves(costs: Ints, part: Ints, reference: Ints) -> Iterator[Ints]:
    """Yield two parts of about equally many rows, one nearer to each of two far tuples; nothing of a single tuple."""
    if len(part) < 2:
        return
    first = part[costs[part[0], part].argmax()]
    last = part[costs[first, part].argmax()]
    order = part[np.argsort(costs[first, part] - costs[last, part], kind="stable")]
    below = np.cumsum(reference[order])
    cut = int(np.clip(np.searchsorted(2 * below, below[-1]) + 1, 1, len(part) - 1))
    yield order[:cut]
    yield order[cut:]


def are_tuples(attribute: Attribute) -> bool:
    """Tell whether an attribute's values are tuples that must be close."""
    return attribute.t is not None and isinstance(attribute.geometry, TupleMetric)


def with_leeway(attribute: Attribute) -> Attribute:
    """Return the attribute with its leeway, if its values are tuples."""
    return replace(attribute, leeway=leeway(attribute)) if are_tuples(attribute) else attribute


def leeway(attribute: Attribute) -> Fraction:
    """Return how many times its distance a class has in the tree, at most, by some random classes.

    The ratio hardly depends on the size of a class. The seed is fixed, so a table has one leeway.
    """
    assert isinstance(attribute.geometry, TupleMetric)
    tree, random = TupleTree.of(attribute.geometry, attribute.reference), np.random.default_rng(SEED)
    size = min(SIZE, len(attribute.codes))
    drawn = [random.choice(attribute.codes, size, replace=False) for _ in range(SAMPLES)]
    counts = [np.bincount(codes, minlength=len(attribute.reference)).astype(np.int64) for codes in drawn]
    near = attribute.distance.emd(Counts.from_dense(counts), attribute.reference)
    far = [tree.distance(each, attribute.reference) for each in counts]
    ratios = [distance / float(near[j]) for j, distance in enumerate(far) if near[j] > 0]
    return max(Fraction(1), Fraction(round(max(ratios, default=1.0) * FINE), FINE))


# The trees of all distances


NEVER = 2**61  # as a number of rows: more than any class has
DISTANCE, RULE, GUARDED = 0, 1, 2
LONGEST_PATH = 2048  # values; of a longer line, neighbouring edges are joined
MOST_RULE_VALUES = 256  # of an attribute with rules: every test of a class looks at all values


@dataclass(frozen=True, eq=False)
class LimitTree:
    """One limit of an attribute: t on a tree of distances, or the rule of its further models.

    The distance of a class is Σ weight·|N·C − s·R| / (unit·s·N) over all edges: C and R are the rows of the class and
    of the table beyond an edge, s and N the rows of the class and of the table. The first edges are a path along the
    values: edge i lies between the values i and i + 1. `above` lists the other edges that lead to a value.
    """

    kind: int
    codes: Ints
    path: int  # how many of the edges are the path
    above: SmallInts  # values × depth: the edges between a value and the root, or beside the path
    reference: list[int]  # per edge: the rows of the table beyond it
    weight: list[int]  # per edge
    unit: int
    total: int  # the rows of the table
    t: Fraction
    rule: Rule | None = None
    free_size: int = NEVER  # rows from which on a class is admitted whatever its distance: n of (n,t)
    guard: int = -1  # the edge beyond which the rows of a group are that the limit is for


def limit_trees(sensitive: tuple[Attribute, ...]) -> list[LimitTree]:
    """Return every limit on the classes; t = 1 limits nothing, and rules on very many values are left to merging."""
    distances = [
        replace(_distance_tree(attribute, attribute.t), free_size=attribute.n or NEVER)
        for attribute in sensitive
        if attribute.t is not None and attribute.t < 1
    ]
    guarded = [tree for attribute in sensitive for tree in _trees_by_group(attribute)]
    few_values = [a for a in sensitive if a.models and len(a.reference) <= MOST_RULE_VALUES]
    return distances + guarded + [_rule_tree(a, rule) for a in few_values if (rule := a.rule) is not None]


def _trees_by_group(attribute: Attribute) -> Iterator[LimitTree]:
    """Yield the limit of each threshold for groups: it is for the rows that have it, or a smaller one, to obey."""
    for model in attribute.models:
        if isinstance(model, TClosenessByGroup):
            values, groups = np.divmod(attribute.codes, model.groups)
            plain = Attribute(values, model.values_of(attribute.reference), model.distance, None)
            for group, t in enumerate(model.asked.levels):
                yield _guarded(_distance_tree(plain, t), groups <= group)


def _guarded(tree: LimitTree, guarded: Bools) -> LimitTree:
    """Return a tree in which guarded rows have values of their own, at the same places, and an edge that counts them.

    Values 2v and 2v + 1 stand for v, the second one for guarded rows. An edge without weight lies between them.
    """
    path = 2 * tree.path + 1 if tree.path else 0
    reference, weight = [0] * path, [0] * path
    reference[1::2], weight[1::2] = tree.reference[: tree.path], tree.weight[: tree.path]
    reference += [*tree.reference[tree.path :], 0, 0]
    weight += [*tree.weight[tree.path :], 0, 0]
    guard, nowhere = len(weight) - 2, len(weight) - 1
    above = np.repeat(tree.above + (path - tree.path), 2, axis=0)
    counted = np.tile(np.array([nowhere, guard], dtype=np.int32), len(tree.above))
    return replace(
        tree,
        kind=GUARDED,
        codes=2 * tree.codes + guarded,
        path=path,
        above=np.column_stack([above, counted]).astype(np.int32),
        reference=reference,
        weight=weight,
        guard=guard,
    )


def _distance_tree(attribute: Attribute, t: Fraction) -> LimitTree:
    geometry = attribute.geometry
    if isinstance(geometry, Line):
        return _path(attribute, geometry.positions, t)
    if isinstance(geometry, LineWithLeaf):
        return _path_with_leaf(attribute, geometry, t)
    if isinstance(geometry, Tree):
        return _bush(attribute, geometry.below_root or geometry.levels, t)
    if isinstance(geometry, TupleMetric):
        return _tree_of_tuples(attribute, geometry, t)
    return _tree_of_matrix(attribute, t)


def _path(attribute: Attribute, positions: NDArray[Any], t: Fraction) -> LimitTree:
    """Return the line; where it has very many values, with runs of edges joined to one edge each."""
    edges, weights, t = _joined_edges(positions, t)
    below = np.cumsum(attribute.reference)
    beyond = [int(below[e]) for e in edges]
    codes, no_edges = np.searchsorted(edges, attribute.codes), np.zeros((len(edges) + 1, 0), dtype=np.int32)
    length = max(int(positions[-1]), 1)
    return LimitTree(DISTANCE, codes, len(edges), no_edges, beyond, weights, length, int(below[-1]), t)


def _path_with_leaf(attribute: Attribute, geometry: LineWithLeaf, t: Fraction) -> LimitTree:
    """Return the line with the missing value at its middle, and the edge on which the missing value hangs beside it.

    The other values have an edge without weight in its place.
    """
    order = geometry.order
    place_of = np.argsort(order)
    missing = int(place_of[geometry.leaf])
    edges, weights, t = _joined_edges(geometry.places, t, apart=missing)
    below = np.cumsum(attribute.reference[order])
    beside, nowhere = len(edges), len(edges) + 1
    above = np.full((len(edges) + 1, 1), nowhere, dtype=np.int32)
    above[np.searchsorted(edges, missing)] = beside
    return LimitTree(
        DISTANCE,
        np.searchsorted(edges, place_of[attribute.codes]),
        len(edges),
        above,
        [*(int(below[e]) for e in edges), int(attribute.reference[geometry.leaf]), 0],
        [*weights, geometry.middle, 0],
        geometry.unit,
        int(below[-1]),
        t,
    )


def _joined_edges(positions: NDArray[Any], t: Fraction, apart: int | None = None) -> tuple[Ints, list[int], Fraction]:
    """Return the edges of a line that stay, the weight of each, and what is left of t.

    Of very many edges, runs are joined to their first edge. Within a run, running sums differ from those at its first
    edge by no more than the rows in the run. Over all runs of several edges that adds up to at most the longest of
    them, once for the class and once for the table; t shrinks by as much. The value `apart` shares its place with none.
    """
    gaps, length = [int(gap) for gap in np.diff(positions)], max(int(positions[-1]), 1)
    edges = np.arange(len(gaps))
    if len(positions) > LONGEST_PATH:
        both_sides = [] if apart is None else [e for e in (apart - 1, apart) if 0 <= e < len(gaps)]
        edges = np.union1d(_runs(gaps, length), np.array(both_sides, dtype=np.int64))
    bounds = [*edges.tolist(), len(gaps)]
    weights = [sum(gaps[low:high]) for low, high in pairwise(bounds)]
    joined = [weight for weight, (low, high) in zip(weights, pairwise(bounds), strict=True) if high - low > 1]
    return edges, weights, max(t - Fraction(2 * max(joined, default=0), length), Fraction(0))


def _runs(gaps: list[int], length: int) -> Ints:
    """Return where runs of edges begin: each is a single edge of any length, or short compared with the line."""
    firsts, reached, longest = [0], gaps[0], 2 * length // LONGEST_PATH
    for e in range(1, len(gaps)):
        reached += gaps[e]
        if reached > longest:
            firsts.append(e)
            reached = gaps[e]
    return np.array(firsts, dtype=np.int64)


def _bush(attribute: Attribute, levels: tuple[Ints, ...], t: Fraction) -> LimitTree:
    """Return a tree of edges of length 1: half the work that crosses them, over the height, is the distance."""
    above, counts, first = [], [], 0
    for level in levels:
        above.append(level + first)
        nodes = np.zeros(int(level[-1]) + 1, dtype=np.int64)
        np.add.at(nodes, level, attribute.reference)
        counts += nodes.tolist()
        first += len(nodes)
    edges_above = np.stack(above, axis=1).astype(np.int32)
    total = int(attribute.reference.sum())
    return LimitTree(DISTANCE, attribute.codes, 0, edges_above, counts, [1] * len(counts), 2 * len(levels), total, t)


def _tree_of_tuples(attribute: Attribute, geometry: TupleMetric, t: Fraction) -> LimitTree:
    """Return the tree of halves; with leeway, t in it is larger."""
    tree, reference = TupleTree.of(geometry, attribute.reference), attribute.reference
    beyond = [*tree.beyond(reference)[:-1].tolist(), 0]
    limit = t * attribute.leeway
    lengths, total = tree.lengths.tolist(), int(reference.sum())
    return LimitTree(DISTANCE, attribute.codes, 0, tree.above, beyond, lengths, tree.unit, total, limit)


def _tree_of_matrix(attribute: Attribute, t: Fraction) -> LimitTree:
    """Return a tree in which no two values are nearer than in the matrix: a star, or the shortest spanning tree.

    Costs are a metric, so a path along edges that are costs is never shorter than the cost between its ends. Of the
    trees, the one in which two random rows of the table are nearest is the least strict.
    """
    values = range(len(attribute.reference))
    between = [[attribute.distance.between(i, j) for j in values] for i in values]
    counts = [int(count) for count in attribute.reference]
    trees = [*_stars(between, counts), _spanning_tree(between)]
    above, weights = min(trees, key=lambda tree: _mean_distance(tree, counts))
    common = math.lcm(*(weight.denominator for weight in weights))
    depth = max(map(len, above), default=0) or 1
    padding = len(weights)  # an edge of no length, for values that are nearer to the root than others
    edges_above = np.array([[padding] * (depth - len(edges)) + edges for edges in above], dtype=np.int32)
    beyond = [sum(counts[v] for v in values if e in above[v]) for e in range(padding)]
    whole = [int(weight * common) for weight in weights]
    return LimitTree(
        DISTANCE, attribute.codes, 0, edges_above.reshape(-1, depth), [*beyond, 0], [*whole, 0], common, sum(counts), t
    )


_Edges = tuple[list[list[int]], list[Fraction]]  # the edges between each value and the root; the lengths of all edges


def _stars(between: list[list[Fraction]], counts: list[int]) -> list[_Edges]:
    """Return a star around the value that is nearest to all rows, and one with rays of equal length."""
    centre = min(between, key=lambda row: sum((n * cost for n, cost in zip(counts, row, strict=True)), Fraction(0)))
    edges = [[v] for v in range(len(between))]
    return [(edges, centre), (edges, [max(map(max, between)) / 2] * len(between))]


def _spanning_tree(between: list[list[Fraction]]) -> _Edges:
    """Return the shortest spanning tree (Prim 1957), with the value that is least far from any other as its root."""
    root = min(range(len(between)), key=lambda v: max(between[v]))
    above: list[list[int]] = [[] for _ in between]
    weights: list[Fraction] = []
    nearest = dict.fromkeys(set(range(len(between))) - {root}, root)
    while nearest:
        value = min(nearest, key=lambda v: (between[v][nearest[v]], v))
        parent = nearest.pop(value)
        above[value] = [len(weights), *above[parent]]
        weights.append(between[value][parent])
        nearest = {v: value if between[v][value] < between[v][other] else other for v, other in nearest.items()}
    return above, weights


def _mean_distance(tree: _Edges, counts: list[int]) -> Fraction:
    """Return the mean distance of two random rows in a tree, times the square of the rows."""
    above, weights = tree
    total, beyond = sum(counts), [0] * len(weights)
    for edges, count in zip(above, counts, strict=True):
        for e in edges:
            beyond[e] += count
    return sum((2 * n * (total - n) * weight for n, weight in zip(beyond, weights, strict=True)), Fraction(0))


def _rule_tree(attribute: Attribute, rule: Rule) -> LimitTree:
    """Return one edge per value; a class may not break the rule by a single row."""
    values = len(attribute.reference)
    edges_above = np.arange(values, dtype=np.int32).reshape(-1, 1)
    return LimitTree(RULE, attribute.codes, 0, edges_above, [0] * values, [0] * values, 1, 1, Fraction(0), rule)
