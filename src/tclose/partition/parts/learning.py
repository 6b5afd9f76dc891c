"""Learn a cut: weave's own bisection of a sample, with every cut written down as a rule.

Ties are what a rule and a bisection of rows in memory could decide differently: weave sends rows that are alike to the
left or to the right in the order in which they stand. So every row of the sample gets a random number, and the rows
stand in the order of these numbers. Then the first row that goes to the right, with its number, is the rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tclose.errors import InternalError
from tclose.partition.parts.cut import HIGHEST, LOWEST, STRATA, Cut, RandomNumbers, halves_of
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared.axes import part_of
from tclose.partition.shared.workers import in_parallel
from tclose.partition.weave.bisection import DEPTH, Sides, cut_in_two, divide, orders_of, strata_of
from tclose.partition.weave.table import WeaveTable
from tclose.partition.weave.trees import DISTANCE, GUARDED, RULE, limit_trees
from tclose.partition.weave.tuples import with_leeway
from tclose.types import Bools, Ints, Progress, SmallInts, silent, stretch

SAMPLED = 4000  # rows of the sample in a part, at least
MARGIN = 0.97  # of the share of t that a part may use up: the table differs a little from its sample
ORDER_OF_LIMITS = (DISTANCE, GUARDED, RULE)  # as `limit_trees` has them


def sample_size(total_rows: int, part_rows: int, sampled: int = SAMPLED) -> int:
    """Return how many rows a sample needs for parts of at least so many rows."""
    return min(total_rows, -(-total_rows * sampled // part_rows))


def learn_cut(
    sample: Problem,
    *,
    total_rows: int,
    part_rows: int,
    share: float,
    seed: int = 0,
    sampled: int = SAMPLED,
    progress: Progress = silent,
) -> Cut:
    """Return rules that divide a table of `total_rows`, of which `sample` is a random sample, into parts.

    By the sample, every part has at least `part_rows` rows and is within `share` of every limit. It has `sampled` rows
    of the sample at least, so a sample that is too small makes larger parts. `sample.axes` must have the table's codes,
    and the attributes its reference counts.
    """
    if not sample.axes or not sample.rows:
        raise InternalError("a cut is learned from rows with quasi-identifiers")
    least = max(sampled, -(-part_rows * sample.rows // total_rows))
    learner = _Learner.of(sample, seed, progress)
    while learner.grow(MARGIN * share, least, progress):
        pass
    return learner.cut.numbered()


@dataclass(frozen=True, eq=False)
class _Leaf:
    """A node that may still be cut: its rows in every order, and the halvings that its parent's cut needed."""

    node: int
    orders: SmallInts
    bits: int


class _Learner:
    """A cut that grows level by level, and the sample that it is learned from, in the order of random numbers."""

    def __init__(self, table: WeaveTable, axes: Ints, sensitive: Ints, random: RandomNumbers, cut: Cut) -> None:
        self.cut = cut
        self._table, self._rows = table, (axes, sensitive, random)
        self._numbers = halves_of(random)[1]
        _, self._strata = cut.placed(axes, sensitive, random)
        codes = np.ascontiguousarray(axes, dtype=np.int32)  # weave has other codes for missing numbers, sometimes
        self._leaves = [_Leaf(0, orders_of(replace(table.losses, codes=codes)), 0)]

    @classmethod
    def of(cls, sample: Problem, seed: int, progress: Progress) -> _Learner:
        random = np.random.default_rng(seed).integers(2**64, size=sample.rows, dtype=np.uint64)
        order = np.argsort(halves_of(random)[1], kind="stable")
        sample, random = _in_order(sample, order), random[order]
        table = WeaveTable.of(sample, stretch(progress, 0.0, 0.0))
        axes = np.stack([axis.codes for axis in sample.axes], axis=1)
        codes = sensitive_codes(sample)
        return cls(table, axes, codes, random, _cut_into_strata(table, sample, axes.shape[1], halves_of(random)[0]))

    def grow(self, share: float, least: int, progress: Progress) -> bool:
        """Cut every part that is large enough; tell whether there was one that could be cut."""
        sides = Sides(*np.zeros((2, len(self._table)), dtype=np.bool_))
        done = 1.0 - max(leaf.orders.shape[1] for leaf in self._leaves) / len(self._table)
        leaves = [leaf for leaf in self._leaves if leaf.orders.shape[1] >= 2 * least]
        cut, still = partial(self._cut_leaf, share, sides), stretch(progress, done, done)
        found = in_parallel(cut, leaves, still, self._table.stop)
        chosen = [(leaf, *how) for leaf, how in zip(leaves, found, strict=True) if how[0] >= 0]
        chosen = [each for each in chosen if _smaller_side(each[0].orders, sides.chosen) >= least]
        first = len(self.cut.part)
        for leaf, bits, axis in chosen:
            self.cut = _with_rule(self.cut, leaf.node, axis, bits, self._thresholds(leaf, bits, axis, sides.chosen))
        self._leaves = list(self._halves(chosen, first)) if chosen else []
        return bool(chosen)

    def _cut_leaf(self, share: float, sides: Sides, leaf: _Leaf) -> tuple[int, int]:
        """Return the halvings and the order of weave's own cut; -1 halvings for none."""
        table = self._table
        common = (table.losses, table.limits, leaf.orders, self._strata, leaf.bits)
        return cut_in_two(*common, table.k, share, sides, table.stop)

    def _thresholds(self, leaf: _Leaf, bits: int, axis: int, right: Bools) -> Ints:
        """Return the first row to the right of every stratum, as the rule has it."""
        rows, axes = leaf.orders[axis], self._rows[0]
        in_order = [axes[rows, (axis + step) % axes.shape[1]] for step in range(axes.shape[1])]
        keys = np.stack([*in_order, self._numbers[rows]], axis=1)
        strata = (self._strata[rows] >> (DEPTH - bits)).astype(np.int64)
        return separators(keys, strata, right[rows], 1 << bits)

    def _halves(self, chosen: list[tuple[_Leaf, int, int]], first: int) -> Iterator[_Leaf]:
        """Yield both sides of every new cut, as the rules divide the sample."""
        nodes, _ = self.cut.placed(*self._rows)
        right = (nodes - first) % 2 == 1  # new nodes come in pairs
        for number, (leaf, bits, _) in enumerate(chosen):
            for side, orders in enumerate(divide(leaf.orders, right)):
                yield _Leaf(first + 2 * number + side, orders, bits)


def _in_order(sample: Problem, order: Ints) -> Problem:
    """Return the sample in this order, as the cut sees it: without persons, and with leeway for tuples."""
    sensitive = (replace(with_leeway(each), codes=each.codes[order]) for each in sample.sensitive)
    axes = tuple(part_of(axis, order) for axis in sample.axes)
    return replace(sample, points=sample.points[order], sensitive=tuple(sensitive), axes=axes, persons=None)


def _smaller_side(orders: SmallInts, right: Bools) -> int:
    count = int(np.count_nonzero(right[orders[0]]))
    return min(count, int(orders.shape[1]) - count)


def sensitive_codes(problem: Problem) -> Ints:
    """Return the sensitive codes, rows × attributes."""
    columns = [attribute.codes for attribute in problem.sensitive]
    return np.stack(columns, axis=1) if columns else np.zeros((problem.rows, 0), dtype=np.int64)


def _cut_into_strata(table: WeaveTable, sample: Problem, axes: int, numbers: Ints) -> Cut:
    """Return a cut of one part that knows where every stratum of the sensitive values ends."""
    limits = _limits(sample.sensitive)
    starts = np.cumsum([0, *(len(places) for _, places in limits)])[:-1]
    empty = np.zeros(0, dtype=np.int64)
    return Cut(
        axes=axes,
        limit_attribute=np.array([number for number, _ in limits], dtype=np.int64),
        limit_start=starts.astype(np.int64),
        places=np.concatenate([empty, *(places for _, places in limits)]),
        strata=_strata_ends(table, numbers),
        children=np.full((1, 2), -1, dtype=np.int64),
        axis=np.zeros(1, dtype=np.int64),
        bits=np.zeros(1, dtype=np.int64),
        first=np.zeros(1, dtype=np.int64),
        thresholds=np.zeros((0, axes + 1), dtype=np.int64),
        part=np.zeros(1, dtype=np.int64),
    )


def _limits(sensitive: tuple[Attribute, ...]) -> list[tuple[int, Ints]]:
    """Return, for every limit in weave's order, its attribute and the place of each of the attribute's values."""
    domains = [replace(each, codes=np.arange(len(each.reference), dtype=np.int64)) for each in sensitive]
    trees = [(number, tree) for number, domain in enumerate(domains) for tree in limit_trees((domain,))]
    trees.sort(key=lambda pair: ORDER_OF_LIMITS.index(pair[1].kind))
    return [(number, tree.codes.astype(np.int64)) for number, tree in trees]


def _strata_ends(table: WeaveTable, numbers: Ints) -> Ints:
    """Return, per halving of a stratum, the place and the random number of the first row of its upper half."""
    order = np.argsort(numbers, kind="stable")
    limits = table.limits.part(order)
    strata, codes = strata_of(limits).astype(np.int64), limits.codes.astype(np.int64)
    ends = np.full((STRATA, 2), HIGHEST, dtype=np.int64)
    for level in range(DEPTH if codes.shape[1] else 0):
        places = codes[:, level % codes.shape[1]]
        sorted_rows = np.argsort(places, kind="stable")
        keys = np.stack([places, numbers[order]], axis=1)[sorted_rows]
        here = strata[sorted_rows]
        upper = (here >> (DEPTH - level - 1) & 1).astype(np.bool_)
        first = (1 << level) - 1
        ends[first : 2 * first + 1] = separators(keys, here >> (DEPTH - level), upper, 1 << level)
    return ends


def separators(keys: Ints, groups: Ints, right: Bools, count: int) -> Ints:
    """Return, per group, the key from which on rows are on the right; keys stand in order, within each group, too.

    It says no more than it must: behind the first difference to the last row on the left it has the lowest numbers, so
    that a cut at a change of value is one for the rows that are not in the sample, too. A group without rows takes the
    key of the nearest group before it that has any.
    """
    rows = np.arange(len(keys))
    first, last = np.full(count, len(keys)), np.full(count, -1)
    np.minimum.at(first, groups[right], rows[right])
    np.maximum.at(last, groups[~right], rows[~right])
    is_right, is_left = first < len(keys), last >= 0
    found = np.where(is_right[:, None], keys[np.minimum(first, len(keys) - 1)], HIGHEST)
    same = (found == keys[last]) & is_left[:, None]
    beyond = np.cumsum(~same, axis=1) - ~same > 0  # columns after the first difference
    found[beyond | (is_right & ~is_left)[:, None]] = LOWEST
    seen = is_right | is_left
    nearest = np.maximum.accumulate(np.where(seen, np.arange(count), seen.argmax()))
    return found[nearest]


def _with_rule(cut: Cut, node: int, axis: int, bits: int, thresholds: Ints) -> Cut:
    """Return the cut with two nodes more, below one that had none."""
    children, axes = np.concatenate([cut.children, np.full((2, 2), -1, dtype=np.int64)]), _longer(cut.axis)
    all_bits, first, nodes = _longer(cut.bits), _longer(cut.first), len(cut.part)
    children[node] = nodes, nodes + 1
    axes[node], all_bits[node], first[node] = axis, bits, len(cut.thresholds)
    return replace(
        cut,
        children=children,
        axis=axes,
        bits=all_bits,
        first=first,
        thresholds=np.concatenate([cut.thresholds, thresholds]),
        part=_longer(cut.part),
    )


def _longer(numbers: Ints) -> Ints:
    return np.concatenate([numbers, np.zeros(2, dtype=np.int64)])
