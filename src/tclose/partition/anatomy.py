"""Anatomy with t-closeness as its model: groups for two tables, one of quasi-identifiers, one of sensitive values.

Xiao, X., Tao, Y.: Anatomy: simple and effective privacy preservation. VLDB 2006, 139-150. Their model is l-diversity;
Li, Li & Venkatasubramanian (ICDE 2007, section 7) suggest t-closeness in its place.

Quasi-identifiers are published as they are, so no group costs detail and the smallest groups are best. Rows of equal
sensitive value make a bucket. The paper draws each group from different buckets until fewer than l are left and gives
the residue to groups that lack its value. Dealing the buckets out, one after the other, round and round to G groups
does the same at once: of a bucket of at most G rows no two meet in a group. Where t is asked for, the buckets lie
along a line (or a curve, for several attributes), so that each round spreads over all groups what is alike; the most
groups are sought for which all are admitted, exactly, when the few that are not have been joined to others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.partition.merging import along_curve
from tclose.partition.problem import Problem, Sensitive
from tclose.privacy.alpha import Alpha
from tclose.privacy.ldiversity import DistinctL

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Chance = np.random.Generator
MOST_FAILING = 0.5  # with a larger share of failing groups, joining them is worse than starting with fewer
BISECTIONS = 6  # between a number of groups that all pass and twice as many


def partition(problem: Problem, *, seed: int = 0, progress: Callable[[float], None] | None = None) -> Ints:
    """Return the group of every row."""
    problem.check_feasible()
    tell, search = progress or (lambda share: None), Search(problem, np.random.default_rng(seed))
    search.passes(search.even)
    steps, groups = 0, search.most
    expected = BISECTIONS + math.log2(search.most) + 1
    while not search.passes(groups):
        steps, groups = steps + 1, groups // 2
        tell(min(steps / expected, 1.0))
    low, high = groups, min(2 * groups, search.most)
    for _ in range(BISECTIONS):
        if high - low < 2:
            break
        middle = (low + high) // 2
        low, high = (middle, high) if search.passes(middle) else (low, middle)
        steps += 1
        tell(min(steps / expected, 1.0))
    tell(1.0)
    return search.best


class Search:
    """Deals rows out to groups, and keeps the outcome with the most groups."""

    def __init__(self, problem: Problem, chance: Chance) -> None:
        self.problem, self.chance = problem, chance
        self.places = _places(problem)
        self.diverse = _diversity(problem)
        self.most = most_groups(problem, self.diverse)
        self.best = np.zeros(problem.rows, dtype=np.int64)
        self.many = 1
        line = self.places[:, 0] if self.places.shape[1] == 1 else along_curve(self.places)
        codes = [one.codes for one in problem.sensitive]
        self._order = np.lexsort((chance.random(problem.rows), *codes, line))
        self.even = _even_groups([column[self._order] for column in (line, *codes)], self.most)

    def passes(self, groups: int) -> bool:
        """Tell whether some deal to this many groups needs no mending; the best outcome is kept either way."""
        if groups <= 1:
            return True
        for labels in self._deals(groups):
            admitted = self.problem.admitted(labels)
            if np.count_nonzero(~admitted) <= MOST_FAILING * groups:
                self._keep(mended(self.problem, labels, admitted, self.places))
            if admitted.all():
                return True
        return False

    def _keep(self, labels: Ints) -> None:
        if labels.max() + 1 > self.many:
            self.best, self.many = labels, int(labels.max()) + 1

    def _deals(self, groups: int) -> Iterator[Ints]:
        """Yield ways to deal: as the paper for l, straight, to and fro, each round in an order of its own."""
        if self.diverse > 1:
            yield _dealt(_surplus_last(self._order, self.problem.sensitive[0].codes, groups), groups)
        yield _dealt(self._order, groups)
        turns, seats = np.divmod(np.arange(len(self._order)), groups)
        yield _seated(self._order, np.where(turns % 2, groups - 1 - seats, seats))
        yield _dealt(self._order[np.lexsort((self.chance.random(len(turns)), turns))], groups)


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
