"""Anatomy with t-closeness as its model: groups for two tables, one of quasi-identifiers, one of sensitive values.

Xiao, X., Tao, Y.: Anatomy: simple and effective privacy preservation. VLDB 2006, 139-150. Their model is l-diversity;
Li, Li & Venkatasubramanian (ICDE 2007, section 7) suggest t-closeness in its place.

Quasi-identifiers are published as they are, so no group costs detail and the smallest groups are best. Rows of equal
sensitive value make a bucket. The paper draws each group from different buckets until fewer than l are left and gives
the residue to groups that lack its value. Dealing the buckets out, one after the other, round and round to G groups
does the same at once: of a bucket of at most G rows no two meet in a group. Where t is asked for, the buckets lie
along a line (or a curve, for several attributes), so that each round spreads over all groups what is alike. Then
rows are exchanged between groups until all are admitted, and the most groups are sought for which that works; should
a few still fail, they are joined to others. Every group is judged exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Metric
from tclose.partition.problem import Problem, Sensitive
from tclose.partition.shared.exchanging import Exchange, strains
from tclose.partition.shared.merging import along_curve
from tclose.privacy.alpha import Alpha
from tclose.privacy.ldiversity import DistinctL
from tclose.types import Floats, Ints

Chance = np.random.Generator
MOST_FAILING = 0.5  # with a larger share of failing groups, joining them is worse than starting with fewer
HOPELESS = 0.8  # by how much groups may fail, on average, for exchanges to mend them
BLOCK = 8000  # rows, from twice as many on: exchanges take as long as they do in small tables
NEARLY = 0.95
BISECTIONS = 6  # between a number of groups that all pass and twice as many


def partition(problem: Problem, *, seed: int = 0, progress: Callable[[float], None] | None = None) -> Ints:
    """Return the group of every row."""
    problem.check_feasible()
    tell, search = progress or (lambda share: None), Search(problem, np.random.default_rng(seed))
    if not search.dealt_at_once():
        if problem.rows < 2 * BLOCK:
            search.run(tell)
        else:
            search.keep(_in_blocks(search, tell))
    tell(1.0)
    return search.best


def _in_blocks(whole: Search, tell: Callable[[float], None]) -> Ints:
    """Deal a large table out to blocks, each much like the whole; the first shows how large groups have to be."""
    problem, labels, size, groups = whole.problem, np.empty(whole.problem.rows, dtype=np.int64), 0.0, 0
    blocks = problem.rows // BLOCK
    for block in range(blocks):
        rows = np.sort(whole.order[block::blocks])
        search = Search(problem.part(rows), whole.chance)
        if block:
            search.run_from(int(len(rows) / size))
        else:
            search.run(lambda share: tell(share / blocks))
            size = len(rows) / search.many
        labels[rows] = groups + search.best
        groups += search.many
        tell((block + 1) / blocks)
    return mended(problem, labels, problem.admitted(labels), whole.places)


class Search:
    """Deals rows out to groups, and keeps the outcome with the most groups."""

    def __init__(self, problem: Problem, chance: Chance) -> None:
        self.problem, self.chance = problem, chance
        self.places = _places(problem)
        self.diverse = _diversity(problem)
        self.most = most_groups(problem, self.diverse)
        self.exchangeable = not any(isinstance(one.geometry, Metric) for one in problem.sensitive)  # which is costly
        self.best = np.zeros(problem.rows, dtype=np.int64)
        self.many = 1
        line = self.places[:, 0] if self.places.shape[1] == 1 else along_curve(self.places)
        codes = [one.codes for one in problem.sensitive]
        self.order = np.lexsort((chance.random(problem.rows), *codes, line))
        self.even = _even_groups([column[self.order] for column in (line, *codes)], self.most)

    def dealt_at_once(self) -> bool:
        """Tell whether as many groups as there can be are admitted as they are dealt."""
        if self.even > 1:
            self.passes(self.even)
        return self.most < 2 or any(self._mend(labels) for labels in self._deals(self.most))

    def run(self, tell: Callable[[float], None]) -> None:
        """Look for the most groups: halve until all are admitted, then search between that and twice as many."""
        steps, groups, expected = 0, self.most, BISECTIONS + math.log2(self.most) + 1
        while not self.passes(groups):
            steps, groups = steps + 1, groups // 2
            tell(min(steps / expected, 1.0))
        low, high = groups, min(2 * groups, self.most)
        while high - low > 1 and steps < expected:
            middle = (low + high) // 2
            low, high = (middle, high) if self.passes(middle) else (low, middle)
            steps += 1
            tell(min(steps / expected, 1.0))

    def run_from(self, groups: int) -> None:
        """Look for about as many groups as elsewhere, and fewer while too many of them fail."""
        groups = min(groups, self.most)
        while not self.passes(groups) and self.many < NEARLY * groups:
            groups = int(NEARLY * groups)

    def passes(self, groups: int) -> bool:
        """Tell whether rows can be dealt and exchanged so that all groups are admitted; what comes of it is kept."""
        if groups <= 1:
            return True
        deals = list(self._deals(groups))
        if any(self._mend(labels) for labels in deals):
            return True
        if not self.exchangeable:
            return False
        strained = [self._strain(labels) for labels in deals]
        if min(strained) > HOPELESS:
            return False
        exchange = Exchange(self.problem, deals[int(np.argmin(strained))], self.chance)
        exchange.run()
        return self._mend(exchange.labels)

    def _mend(self, labels: Ints) -> bool:
        """Tell whether all groups are admitted; where only some are not, join those and keep the outcome."""
        admitted = self.problem.admitted(labels)
        if np.count_nonzero(~admitted) <= MOST_FAILING * len(admitted):
            self.keep(mended(self.problem, labels, admitted, self.places))
        return bool(admitted.all())

    def _strain(self, labels: Ints) -> float:
        """Return how far groups are from being admitted, on average."""
        order = np.argsort(labels, kind="stable")
        return float(strains(self.problem, order, labels[order]).mean())

    def keep(self, labels: Ints) -> None:
        """Keep what has more groups than anything before."""
        if labels.max() + 1 > self.many:
            self.best, self.many = labels, int(labels.max()) + 1

    def _deals(self, groups: int) -> Iterator[Ints]:
        """Yield ways to deal: as the paper for l, straight, to and fro, each round in an order of its own."""
        if self.diverse > 1:
            yield _dealt(_surplus_last(self.order, self.problem.sensitive[0].codes, groups), groups)
        yield _dealt(self.order, groups)
        turns, seats = np.divmod(np.arange(len(self.order)), groups)
        yield _seated(self.order, np.where(turns % 2, groups - 1 - seats, seats))
        yield _dealt(self.order[np.lexsort((self.chance.random(len(turns)), turns))], groups)


def most_groups(problem: Problem, diverse: int) -> int:
    """Return how many groups there can be, by k and by how many different values each must show."""
    most = problem.rows // problem.k
    if diverse < 2:
        return most
    counts = problem.sensitive[0].here
    low, high = 1, max(most, 1)
    while low < high:  # a group takes a value once: G groups can show min(count, G) of it
        middle = (low + high + 1) // 2
        low, high = (middle, high) if np.minimum(counts, middle).sum() >= diverse * middle else (low, middle - 1)
    return low


def _even_groups(columns: Sequence[NDArray[Any]], most: int) -> int:
    """Return how many groups, of those there can be, get the same from every bucket: then each is as the table is."""
    new = np.any([np.append(True, column[1:] != column[:-1]) for column in columns], axis=0)
    common = int(np.gcd.reduce(np.diff(np.flatnonzero(new), append=len(new))))
    numbers = np.arange(1, min(common, most) + 1)
    return int(numbers[common % numbers == 0].max())


def _diversity(problem: Problem) -> int:
    """Return the paper's l: asked for as l, or as at most 1/l of a group; 1 with several attributes, as it has one."""
    if len(problem.sensitive) != 1:
        return 1
    found = 1
    for model in problem.sensitive[0].models:
        if isinstance(model, DistinctL):
            found = max(found, model.required)
        elif isinstance(model, Alpha) and model.required:
            found = max(found, math.ceil(1 / model.required))
    return found


def _places(problem: Problem) -> Floats:
    """Return where each row's values lie between 0 and 1: the share of rows below, where neighbours are alike."""
    if not problem.sensitive:
        return np.zeros((problem.rows, 1))
    return np.stack([_middles(one)[one.codes] for one in problem.sensitive], axis=1)


def _middles(one: Sensitive) -> Floats:
    counts = one.reference  # whose values stand in order, those of a hierarchy in the order of the tree
    return (np.cumsum(counts) - counts / 2) / max(int(counts.sum()), 1)


def _dealt(order: Ints, groups: int) -> Ints:
    return _seated(order, np.arange(len(order)) % groups)


def _seated(order: Ints, groups: Ints) -> Ints:
    labels = np.empty(len(order), dtype=np.int64)
    labels[order] = groups
    return labels


def _surplus_last(order: Ints, codes: Ints, groups: int) -> Ints:
    """Move what a bucket has beyond one row per group behind all buckets, which then spread over all groups."""
    sorting = np.argsort(codes[order], kind="stable")
    mine = codes[order][sorting]
    nth = np.arange(len(mine)) - np.searchsorted(mine, mine)
    return order[sorting][np.argsort(nth >= groups, kind="stable")]


def mended(problem: Problem, labels: Ints, admitted: NDArray[np.bool_], places: Floats) -> Ints:
    """Join groups that are not admitted, those that lean to opposite sides first, until all are."""
    turn = 0
    while not admitted.all() and len(admitted) > 1:
        into = _partners(labels, ~admitted, places[:, turn % places.shape[1]])
        changed = np.zeros(len(into), dtype=bool)
        changed[into[into != np.arange(len(into))]] = True
        kept, renumbered = np.unique(into, return_inverse=True)
        labels, admitted, changed = renumbered[labels], admitted[kept], changed[kept]
        rows = np.flatnonzero(changed[labels])
        admitted[changed] = problem.part(rows).admitted(np.unique(labels[rows], return_inverse=True)[1])
        turn += 1
    return labels


def _partners(labels: Ints, bad: NDArray[np.bool_], places: Floats) -> Ints:
    """Return for each group the one that it becomes part of: the leftmost with the rightmost, and so on inwards."""
    leaning = np.bincount(labels, weights=places) / np.bincount(labels) - places.mean()
    into, failing = np.arange(len(bad)), np.flatnonzero(bad)
    failing = failing[np.argsort(leaning[failing], kind="stable")]
    pairs = len(failing) // 2
    into[failing[:pairs]] = failing[::-1][:pairs]
    if len(failing) % 2:
        alone = failing[pairs]
        others = np.flatnonzero(~bad) if not bad.all() else into[failing[:1]]
        into[alone] = others[np.argmin(np.sign(leaning[alone]) * leaning[others])]
    return into
