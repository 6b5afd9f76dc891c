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

Every round of exchanges pairs each group that is not admitted with another, tries a few exchanges of one row against
one in every pair, and keeps the best of each pair where it lowers how far the two are from being admitted. Groups keep
their sizes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Counts, Metric
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared.merge import along_curve
from tclose.partition.shared.pulse import QUIET, Pulse
from tclose.privacy.kanonymity import Alpha
from tclose.privacy.ldiversity import DistinctL
from tclose.types import Floats, Ints, Progress, silent, stretch

# Exchange rows between groups of fixed sizes until the groups are admitted


Chance = np.random.Generator
TRIES = 6  # exchanges per pair and round
PATIENCE = 12  # rounds without a gain of 1 % of what is left
WORK = 150  # rows looked at, per row of the table
ROUNDED = 1e-9  # what floats may leave of nothing; the exact judgement comes later
LEAST_T = 1e-3  # t = 0 is as good as reached below


def strains(problem: Problem, rows: Ints, labels: Ints) -> Floats:
    """Return how far each group of these rows is from being admitted: by how much it exceeds t, and models it fails."""
    strain = np.zeros(int(labels[-1]) + 1)
    for attribute in problem.sensitive:
        strain += _strain(attribute, Counts.from_codes(labels, attribute.codes[rows], len(attribute.reference)))
    return np.where(strain < ROUNDED, 0.0, strain)


def _strain(attribute: Attribute, counts: Counts) -> Floats:
    strain = np.zeros(len(counts))
    if attribute.t is not None:
        strain = np.maximum(
            attribute.distance.emd(counts, attribute.reference).floats() / max(float(attribute.t), LEAST_T) - 1, 0
        )
        strain = strain if attribute.n is None else np.where(counts.sizes >= attribute.n, 0, strain)
    for model in attribute.models:
        strain = strain + ~model.judge(counts, attribute.reference).admitted
    return strain


class Exchange:
    """Groups as stretches of one array of rows: an exchange swaps two places, so that no size changes."""

    def __init__(self, problem: Problem, labels: Ints, chance: Chance) -> None:
        self.problem, self.chance = problem, chance
        self.order = np.argsort(labels, kind="stable")
        self.sizes = np.bincount(labels)
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.strain = strains(problem, self.order, labels[self.order])

    @property
    def labels(self) -> Ints:
        """The group of every row."""
        labels = np.empty(len(self.order), dtype=np.int64)
        labels[self.order] = np.repeat(np.arange(len(self.sizes)), self.sizes)
        return labels

    def run(self, pulse: Pulse = QUIET) -> None:
        """Exchange rows while it helps."""
        left, waited, seen = float(self.strain.sum()), 0, 0
        while left and waited < PATIENCE and seen < WORK * len(self.order) and len(self.sizes) > 1:
            pulse.beat()
            seen += self._round()
            now = float(self.strain.sum())
            waited, left = (0, now) if now < 0.99 * left else (waited + 1, left)
            left = left if now else 0.0

    def _round(self) -> int:
        """Try exchanges in pairs of groups; return how many rows were looked at."""
        ones, others = self._pairs()
        places, other_places = (self._some_places(groups) for groups in (ones, others))
        both = np.concatenate([np.repeat(ones, TRIES), np.repeat(others, TRIES)])
        sizes = self.sizes[both]
        begins = np.cumsum(sizes) - sizes
        labels = np.repeat(np.arange(len(both)), sizes)
        rows = self.order[np.arange(len(labels)) + np.repeat(self.starts[both] - begins, sizes)]
        out, into = np.concatenate([places, other_places]), np.concatenate([other_places, places])
        rows[begins + out - self.starts[both]] = self.order[into]
        after = strains(self.problem, rows, labels).reshape(2, len(ones), TRIES)
        best = after.sum(axis=0).argmin(axis=1)
        pair = np.arange(len(ones))
        new = after[:, pair, best]
        better = new.sum(axis=0) < self.strain[ones] + self.strain[others] - ROUNDED
        chosen = (pair * TRIES + best)[better]
        first, second = places[chosen], other_places[chosen]
        self.order[first], self.order[second] = self.order[second], self.order[first]
        self.strain[ones[better]], self.strain[others[better]] = new[:, better]
        return len(rows)

    def _pairs(self) -> tuple[Ints, Ints]:
        """Pair every group that fails with another, no group twice."""
        groups = self.chance.permutation(len(self.sizes))
        groups = groups[np.argsort(self.strain[groups] == 0, kind="stable")]
        pairs = min(np.count_nonzero(self.strain), len(groups) // 2)
        return groups[:pairs], groups[::-1][:pairs]

    def _some_places(self, groups: Ints) -> Ints:
        groups = np.repeat(groups, TRIES)
        return self.starts[groups] + (self.chance.random(len(groups)) * self.sizes[groups]).astype(np.int64)


# Deal rows into groups


MOST_FAILING = 0.5  # with a larger share of failing groups, joining them is worse than starting with fewer
HOPELESS = 0.8  # with a larger average distance beyond t, exchanges do not help
BLOCK = 8000  # rows, from twice as many on: exchanges take as long as they do in small tables
NEARLY = 0.95
BISECTIONS = 6  # between a number of groups that all pass and twice as many


def partition(problem: Problem, *, seed: int = 0, progress: Progress = silent) -> Ints:
    """Return the group of every row."""
    problem.check_feasible()
    pulse = Pulse(progress)
    search = Search(problem, np.random.default_rng(seed), pulse)
    if not search.dealt_at_once():
        if problem.rows < 2 * BLOCK:
            search.run(pulse)
        else:
            search.keep(_in_blocks(search, pulse))
    pulse(1.0)
    return search.best


def _in_blocks(whole: Search, pulse: Pulse) -> Ints:
    """Deal a large table to blocks that resemble the whole; the first block shows how large groups have to be."""
    problem, labels, size, groups = whole.problem, np.empty(whole.problem.rows, dtype=np.int64), 0.0, 0
    blocks = problem.rows // BLOCK
    for block in range(blocks):
        rows = np.sort(whole.order[block::blocks])
        search = Search(problem.part(rows), whole.chance, pulse)
        if block:
            search.run_from(int(len(rows) / size))
        else:
            search.run(stretch(pulse, 0.0, 1 / blocks))
            size = len(rows) / search.many
        labels[rows] = groups + search.best
        groups += search.many
        pulse((block + 1) / blocks)
    return mended(problem, labels, problem.admitted(labels), whole.places, pulse)


class Search:
    """Deals rows out to groups, and keeps the outcome with the most groups."""

    def __init__(self, problem: Problem, chance: Chance, pulse: Pulse) -> None:
        self.problem, self.chance, self.pulse = problem, chance, pulse
        self.places = _places(problem)
        self.diverse = _diversity(problem)
        self.most = most_groups(problem, self.diverse)
        self.exchangeable = not any(
            isinstance(attribute.geometry, Metric) for attribute in problem.sensitive
        )  # which is costly
        self.best = np.zeros(problem.rows, dtype=np.int64)
        self.many = 1
        line = self.places[:, 0] if self.places.shape[1] == 1 else along_curve(self.places)
        codes = [attribute.codes for attribute in problem.sensitive]
        self.order = np.lexsort((chance.random(problem.rows), *codes, line))
        self.even = _even_groups([column[self.order] for column in (line, *codes)], self.most)

    def dealt_at_once(self) -> bool:
        """Try the maximum number of groups without exchanges; tell whether all groups are admitted."""
        if self.even > 1:
            self.passes(self.even)
        return self.most < 2 or any(self._mend(labels) for labels in self._deals(self.most))

    def run(self, progress: Progress) -> None:
        """Look for the most groups: halve until all are admitted, then search between that and twice as many."""
        steps, groups, expected = 0, self.most, BISECTIONS + math.log2(self.most) + 1
        while not self.passes(groups):
            steps, groups = steps + 1, groups // 2
            progress(min(steps / expected, 1.0))
        low, high = groups, min(2 * groups, self.most)
        while high - low > 1 and steps < expected:
            middle = (low + high) // 2
            low, high = (middle, high) if self.passes(middle) else (low, middle)
            steps += 1
            progress(min(steps / expected, 1.0))

    def run_from(self, groups: int) -> None:
        """Try about as many groups as the first block has, and fewer while too many of them fail."""
        groups = min(groups, self.most)
        while not self.passes(groups) and self.many < NEARLY * groups:
            groups = int(NEARLY * groups)

    def passes(self, groups: int) -> bool:
        """Deal and exchange rows so that there are this many groups; tell whether all of them are admitted."""
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
        exchange.run(self.pulse)
        return self._mend(exchange.labels)

    def _mend(self, labels: Ints) -> bool:
        """Tell whether all groups are admitted; if only some fail, join those and keep the outcome."""
        admitted = self.problem.admitted(labels)
        if np.count_nonzero(~admitted) <= MOST_FAILING * len(admitted):
            self.keep(mended(self.problem, labels, admitted, self.places, self.pulse))
        return bool(admitted.all())

    def _strain(self, labels: Ints) -> float:
        """Return how far groups are from being admitted, on average."""
        order = np.argsort(labels, kind="stable")
        return float(strains(self.problem, order, labels[order]).mean())

    def keep(self, labels: Ints) -> None:
        """Keep an outcome that has more groups than every one before."""
        if labels.max() + 1 > self.many:
            self.best, self.many = labels, int(labels.max()) + 1

    def _deals(self, groups: int) -> Iterator[Ints]:
        """Yield several ways to deal: the paper's for l, straight, back and forth, and each round in random order."""
        if self.diverse > 1:
            yield _dealt(_surplus_last(self.order, self.problem.sensitive[0].codes, groups), groups)
        yield _dealt(self.order, groups)
        turns, seats = np.divmod(np.arange(len(self.order)), groups)
        yield _seated(self.order, np.where(turns % 2, groups - 1 - seats, seats))
        yield _dealt(self.order[np.lexsort((self.chance.random(len(turns)), turns))], groups)


def most_groups(problem: Problem, diverse: int) -> int:
    """Return the largest possible number of groups, given k and the number of different values each must show."""
    most = problem.rows // problem.k
    if diverse < 2:
        return most
    counts = problem.sensitive[0].row_counts
    low, high = 1, max(most, 1)
    while low < high:  # a group takes a value once: G groups can show min(count, G) of it
        middle = (low + high + 1) // 2
        low, high = (middle, high) if np.minimum(counts, middle).sum() >= diverse * middle else (low, middle - 1)
    return low


def _even_groups(columns: Sequence[NDArray[Any]], most: int) -> int:
    """Return the largest number of groups that divides every bucket evenly: each group is then like the table."""
    new = np.any([np.append(True, column[1:] != column[:-1]) for column in columns], axis=0)
    common = int(np.gcd.reduce(np.diff(np.flatnonzero(new), append=len(new))))
    numbers = np.arange(1, min(common, most) + 1)
    return int(numbers[common % numbers == 0].max())


def _diversity(problem: Problem) -> int:
    """Return the paper's l, from l or from alpha = 1/l; 1 where there are several attributes, as the paper has one."""
    if len(problem.sensitive) != 1:
        return 1
    least = 1
    for model in problem.sensitive[0].models:
        if isinstance(model, DistinctL):
            least = max(least, model.required)
        elif isinstance(model, Alpha) and model.required:
            least = max(least, math.ceil(1 / model.required))
    return least


def _places(problem: Problem) -> Floats:
    """Return the place of each row's values between 0 and 1: the share of rows with smaller values."""
    if not problem.sensitive:
        return np.zeros((problem.rows, 1))
    return np.stack([_middles(attribute)[attribute.codes] for attribute in problem.sensitive], axis=1)


def _middles(attribute: Attribute) -> Floats:
    counts = attribute.reference  # whose values stand in order, those of a hierarchy in the order of the tree
    return (np.cumsum(counts) - counts / 2) / max(int(counts.sum()), 1)


def _dealt(order: Ints, groups: int) -> Ints:
    return _seated(order, np.arange(len(order)) % groups)


def _seated(order: Ints, groups: Ints) -> Ints:
    labels = np.empty(len(order), dtype=np.int64)
    labels[order] = groups
    return labels


def _surplus_last(order: Ints, codes: Ints, groups: int) -> Ints:
    """Move the rows that a bucket has beyond one per group to the end, where they spread over all groups."""
    sorting = np.argsort(codes[order], kind="stable")
    bucket = codes[order][sorting]
    nth = np.arange(len(bucket)) - np.searchsorted(bucket, bucket)
    return order[sorting][np.argsort(nth >= groups, kind="stable")]


def mended(problem: Problem, labels: Ints, admitted: NDArray[np.bool_], places: Floats, pulse: Pulse) -> Ints:
    """Join groups that are not admitted, those on opposite sides of the mean first, until all are admitted."""
    turn = 0
    while not admitted.all() and len(admitted) > 1:
        pulse.beat()
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
    """Return for each group the group that it joins: the leftmost joins the rightmost, and so on inwards."""
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
