"""The cut of a table into parts: rules that tell the part of any row from the row itself, learned on a sample.

A rule is one cut of weave's bisection, written down: the order of the quasi-identifiers, how many strata of the
sensitive values it needed, and for every stratum the first row, in that order, that goes to the right. Rows that are
alike where the cut falls are divided by a random number of their own, and so are rows that share the sensitive value
at which a stratum ends. So a row's part depends on nothing but the row, in whatever order and place it is read.

Ties are what a rule and a bisection of rows in memory could decide differently: weave sends rows that are alike to the
left or to the right in the order in which they stand. So every row of the sample gets a random number, and the rows
stand in the order of these numbers. Then the first row that goes to the right, with its number, is the rule.

The counts of all parts add up over batches of rows; parts that are not admitted are joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Counts
from tclose.errors import InternalError
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared.axes import part_of
from tclose.partition.shared.kernels import array, kernel, kernel_struct, part
from tclose.partition.shared.workers import in_parallel
from tclose.partition.weave.bisection import DEPTH, Bisection, Sides, divide, orders_of, strata_of
from tclose.partition.weave.table import WeaveTable
from tclose.partition.weave.trees import DISTANCE, GUARDED, RULE, limit_trees, with_leeway
from tclose.types import Bools, Ints, Progress, SmallInts, silent, stretch

# The rules, and the part of a row


RandomNumbers = NDArray[np.uint64]
Codes = NDArray[np.signedinteger[Any]]

STRATA = (1 << DEPTH) - 1  # places at which strata are halved, all levels together
LOWEST, HIGHEST = -(2**62), 2**62  # below and above every code and every random number
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # of SplitMix64 (Steele, Lea and Flood 2014), as are the next two
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def random_of_rows(seed: int, first: int, rows: int) -> RandomNumbers:
    """Return a random number for each row from number `first` on; it depends on the seed and the row's number only."""
    return random_of_numbers(seed, np.arange(first, first + rows, dtype=np.uint64))


def random_of_numbers(seed: int, numbers: RandomNumbers) -> RandomNumbers:
    """Return a random number for each row, given the rows' own numbers."""
    start = np.random.default_rng(seed).integers(2**64, dtype=np.uint64)
    x = (numbers + np.uint64(1)) * GOLDEN + start
    x = (x ^ (x >> np.uint64(30))) * FIRST
    x = (x ^ (x >> np.uint64(27))) * SECOND
    return x ^ (x >> np.uint64(31))


def halves_of(random: RandomNumbers) -> tuple[Ints, Ints]:
    """Return two independent numbers per row: one divides sensitive values, the other rows with equal values."""
    return (random >> np.uint64(32)).astype(np.int64), (random & np.uint64(0xFFFFFFFF)).astype(np.int64)


@kernel_struct
class CutRules:
    """The arrays of a cut as the kernel reads them."""

    limit_attribute: Ints = array(np.int64)  # per limit: the sensitive attribute whose values it orders
    limit_start: Ints = array(np.int64)  # per limit: where the places of its values begin
    places: Ints = array(np.int64)  # per value of every limit: its place in the limit's order
    strata: Ints = array(np.int64, 2)  # per halving of a stratum: place and random number of the first row above
    children: Ints = array(np.int64, 2)  # per node: the nodes to the left and to the right, -1 for none
    axis: Ints = array(np.int64)  # per node: the first quasi-identifier of its order; the others follow cyclically
    bits: Ints = array(np.int64)  # per node: halvings of the sensitive values
    first: Ints = array(np.int64)  # per node: where its thresholds begin, one per stratum
    thresholds: Ints = array(np.int64, 2)  # codes in the node's order and random number of the first row to the right


@dataclass(frozen=True, eq=False)
class Cut:
    """A tree of rules over rows as codes; node 0 is the whole table, and `part` numbers the parts by their nodes.

    The arrays are those of `CutRules`. A cut is small and can be pickled; `to_dict` has plain integers only.
    """

    axes: int  # quasi-identifiers
    limit_attribute: Ints
    limit_start: Ints
    places: Ints
    strata: Ints
    children: Ints
    axis: Ints
    bits: Ints
    first: Ints
    thresholds: Ints
    part: Ints  # per node: the part of its rows; -1 where its children are different parts

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return int(self.part.max()) + 1

    def parts_of(self, axis_codes: Codes, sensitive_codes: Codes, random: RandomNumbers) -> Ints:
        """Return the part of each row, counted from 0.

        `axis_codes` are rows × quasi-identifiers, `sensitive_codes` rows × sensitive attributes, and `random` has one
        number per row (`random_of_rows`).
        """
        return self.part[self.placed(axis_codes, sensitive_codes, random)[0]]

    def placed(self, axis_codes: Codes, sensitive_codes: Codes, random: RandomNumbers) -> tuple[SmallInts, SmallInts]:
        """Return the last node that each row reaches, and its stratum."""
        rows = len(random)
        judged = int(self.limit_attribute.max(initial=-1)) + 1
        shape = (len(sensitive_codes), min(sensitive_codes.shape[1], judged))
        if axis_codes.shape != (rows, self.axes) or shape != (rows, judged):
            raise InternalError("a cut needs a code per row and quasi-identifier, and a random number per row")
        nodes, strata = np.empty(rows, dtype=np.int32), np.empty(rows, dtype=np.int32)
        rules = CutRules(*(getattr(self, member.name) for member in fields(CutRules)))
        axes, sensitive = (np.ascontiguousarray(each, dtype=np.int32) for each in (axis_codes, sensitive_codes))
        _place(rules, axes, sensitive, np.ascontiguousarray(random, dtype=np.uint64), nodes, strata)
        return nodes, strata

    @property
    def spans(self) -> Ints:
        """The first part of each node, and the part after its last one; the parts of a cut that is not joined."""
        spans = np.stack([self.part, self.part + 1], axis=1)
        for node in range(len(spans) - 1, -1, -1):
            left, right = self.children[node]
            if left >= 0:
                spans[node] = spans[left, 0], spans[right, 1]
        return spans

    def joined(self, admitted: Bools) -> Cut:
        """Return the cut in which every part that is not admitted, per node, has climbed to an ancestor that is.

        The parts below that ancestor are one part. At worst all rows are, whether they are admitted or not.
        """
        whole = np.zeros(len(self.part), dtype=np.bool_)
        parent = np.full(len(self.part), -1, dtype=np.int64)
        for node, children in enumerate(self.children.tolist()):
            parent[[child for child in children if child >= 0]] = node
        for node in np.flatnonzero(self.part >= 0).tolist():
            while not admitted[node] and parent[node] >= 0:
                node = int(parent[node])
            whole[node] = True
        return self._numbered(whole)

    def parts_in(self, joined: Cut) -> Ints:
        """Return, for each part, its part in a cut that was made by joining parts of this one."""
        leaves = np.flatnonzero(self.children[:, 0] < 0)
        parts = np.empty(self.parts, dtype=np.int64)
        parts[self.part[leaves]] = joined.part[leaves]
        return parts

    def numbered(self) -> Cut:
        """Return the cut with its leaves as parts, numbered from left to right."""
        return self._numbered(self.children[:, 0] < 0)

    def _numbered(self, whole: Bools) -> Cut:
        """Return the cut whose parts are the uppermost nodes that are whole."""
        part, parts, stack = np.full(len(self.part), -1, dtype=np.int64), 0, [(0, False)]
        while stack:
            node, inside = stack.pop()
            if not inside and whole[node]:
                parts += 1
            inside = inside or bool(whole[node])
            part[node] = parts - 1 if inside else -1
            left, right = self.children[node].tolist()
            if left >= 0:
                stack += [(right, inside), (left, inside)]
        return replace(self, part=part)

    def to_dict(self) -> dict[str, Any]:
        """Return the cut as plain integers, which any format can hold."""
        lists = {name: numbers.tolist() for name, numbers in self._arrays().items()}
        return {"axes": self.axes, **lists}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Cut:
        """Return the cut that `to_dict` has written down."""
        axes = int(plain["axes"])
        widths = {"strata": 2, "children": 2, "thresholds": axes + 1}
        arrays = [name for name in (member.name for member in fields(cls)) if name != "axes"]
        return cls(axes, *(_array(plain[name], widths.get(name)) for name in arrays))

    def _arrays(self) -> dict[str, Ints]:
        return {member.name: getattr(self, member.name) for member in fields(self) if member.name != "axes"}


def _array(numbers: Sequence[Any], width: int | None) -> Ints:
    made = np.array(numbers, dtype=np.int64)
    return made if width is None else made.reshape(-1, width)


@kernel
def _place(
    rules: CutRules, axes: SmallInts, sensitive: SmallInts, random: RandomNumbers, nodes: SmallInts, strata: SmallInts
) -> None:
    """Set the last node and the stratum of every row."""
    for row in range(len(random)):
        high, low = int(random[row] >> np.uint64(32)), int(random[row] & np.uint64(0xFFFFFFFF))
        stratum = _stratum(rules, sensitive, row, high)
        node = 0
        while rules.children[node, 0] >= 0:
            threshold = rules.first[node] + (stratum >> (DEPTH - rules.bits[node]))
            right = _is_right(rules, axes, row, low, rules.axis[node], threshold)
            node = rules.children[node, 1 if right else 0]
        nodes[row], strata[row] = node, stratum


@part
def _stratum(rules: CutRules, sensitive: SmallInts, row: int, number: int) -> int:
    """Return the stratum of a row: at every halving, whether it is in the upper half."""
    stratum, limits = 0, len(rules.limit_attribute)
    if limits == 0:
        return 0
    # the halvings that weave made of the sample; the random number divides rows of the value at the border
    for level in range(DEPTH):
        limit, half = level % limits, (1 << level) - 1 + stratum
        place = rules.places[rules.limit_start[limit] + sensitive[row, rules.limit_attribute[limit]]]
        bound = rules.strata[half, 0]
        upper = place > bound or (place == bound and number >= rules.strata[half, 1])
        stratum = 2 * stratum + (1 if upper else 0)
    return stratum


@part
def _is_right(rules: CutRules, axes: SmallInts, row: int, number: int, axis: int, threshold: int) -> bool:
    """Tell whether a row does not come before a threshold, in the order that begins with an axis."""
    count = axes.shape[1]
    for step in range(count):
        code = axes[row, (axis + step) % count]
        bound = rules.thresholds[threshold, step]
        if code != bound:
            return bool(code > bound)
    return bool(number >= rules.thresholds[threshold, count])


# Learn a cut: weave's own bisection of a sample, with every cut written down as a rule


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
        # asked afterwards: a cut that had to keep its sides large would need more strata, and lose more (decision 094)
        chosen = [each for each in chosen if _smaller_side(each[0].orders, sides.chosen) >= least]
        first = len(self.cut.part)
        for leaf, bits, axis in chosen:
            self.cut = _with_rule(self.cut, leaf.node, axis, bits, self._thresholds(leaf, bits, axis, sides.chosen))
        self._leaves = list(self._halves(chosen, first)) if chosen else []
        return bool(chosen)

    def _cut_leaf(self, share: float, sides: Sides, leaf: _Leaf) -> tuple[int, int]:
        """Return the halvings and the order of weave's own cut; -1 halvings for none."""
        table = self._table
        bisection = Bisection(table.losses, table.limits, table.k, share, table.stop)
        return bisection.cut(leaf.orders, self._strata, leaf.bits, sides)

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


# Exact counts of all parts, and the repair of parts that are not admitted


FINEST = 1000  # a share of t is a multiple of 1 / FINEST at most


@dataclass(frozen=True, eq=False)
class PartCounts:
    """How many rows each part has, and how many with each value of each sensitive attribute."""

    rows: Ints
    values: tuple[Ints, ...]  # per attribute: parts × values

    @classmethod
    def of(cls, parts: Ints, count: int, sensitive_codes: Codes, domains: Sequence[int]) -> PartCounts:
        """Count the rows of one batch, given the part of each row, its codes and the number of each column's values."""
        counted = [
            np.bincount(parts * domain + column, minlength=count * domain).reshape(count, domain)
            for column, domain in zip(sensitive_codes.T, domains, strict=True)
        ]
        return cls(np.bincount(parts, minlength=count).astype(np.int64), tuple(counted))

    def __add__(self, other: PartCounts) -> PartCounts:
        """Return the counts of both batches."""
        pairs = zip(self.values, other.values, strict=True)
        return PartCounts(self.rows + other.rows, tuple(mine + others for mine, others in pairs))

    def within(self, spans: Ints) -> PartCounts:
        """Return the counts of unions of neighbouring parts, each from a first part to the part after its last."""
        return PartCounts(_sums(self.rows, spans), tuple(_sums(values, spans) for values in self.values))

    def admitted(self, sensitive: Sequence[Attribute], k: int) -> Bools:
        """Tell, per part, whether it has k rows and every attribute admits it, exactly; the codes are not looked at."""
        admitted = self.rows >= k
        for attribute, values in zip(sensitive, self.values, strict=True):
            judged = np.flatnonzero(admitted)
            if len(judged):
                admitted[judged] = attribute.admits(Counts.from_dense(values[judged]))
        return admitted


def repaired(
    cut: Cut, counts: PartCounts, sensitive: Sequence[Attribute], k: int, share: float = 1.0, also: Bools | None = None
) -> Cut:
    """Return the cut in which every part that is not admitted has climbed to its parent until it is.

    A part is admitted if it has k rows and is within `share` of every t and every further model, judged exactly. weave
    cannot divide a part into cells that use up less of t than the part does, so it is the share of its cells. `also`
    tells, per node, what else is asked for.
    """
    # floats would round a t that is at the line
    shared = Fraction(share).limit_denominator(FINEST)
    limited = [replace(each, t=None if each.t is None else each.t * shared) for each in sensitive]
    admitted = counts.within(cut.spans).admitted(limited, k)
    return cut.joined(admitted if also is None else admitted & also)


def _sums(counts: Ints, spans: Ints) -> Ints:
    total = np.concatenate([np.zeros_like(counts[:1]), np.cumsum(counts, axis=0)])
    return np.asarray(total[spans[:, 1]] - total[spans[:, 0]])
