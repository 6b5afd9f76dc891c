"""Incognito (LeFevre et al. 2005) with t-closeness as its model (Li et al. 2007): full-domain generalisation.

Every quasi-identifier is generalised to one height of its hierarchy in the whole table. What is admitted at some
heights is admitted at greater ones (generalisation property), and with fewer quasi-identifiers (subset property), as
classes only merge; so ever larger sets of quasi-identifiers are searched from the bottom up, and only where all their
subsets passed. Classes of a generalisation are rolled up from those of a more special one; rows are read only once.
Numbers without a hierarchy are put into intervals, of equal width or of equally many rows: the better of the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Literal

import numpy as np

from tclose.distance import Counts
from tclose.errors import Infeasible, Unsuited
from tclose.partition.problem import Problem
from tclose.partition.shared.axes import Axis, LabelAxis, NumberAxis, SetAxis
from tclose.partition.shared.loss import loss_table, total_loss
from tclose.types import Bools, Floats, Ints, Progress, silent, stretch

# The levels of a quasi-identifier, from its exact values to one group of all


Intervals = Literal["width", "quantiles"]  # of numbers without a hierarchy: equally wide, or of equally many rows

HALVINGS = 5  # of a number's range, or of its rows: 32, 16, 8, 4 and 2 intervals


@dataclass(frozen=True, eq=False)
class Ladder:
    """A value per row, and `levels[h][value]`, the group of a value at height h; groups of a height join at the next.

    A missing value is a group of its own up to the last height, at which all values are one group.
    """

    codes: Ints
    levels: tuple[Ints, ...]

    @classmethod
    def of(cls, axis: Axis, intervals: Intervals = "width") -> Ladder:
        """Take a hierarchy's own levels; intervals that double for numbers; all or nothing for sets."""
        if isinstance(axis, SetAxis):
            alone = np.arange(axis.domain_size)
            return cls(axis.codes, _climbing([alone, np.zeros_like(alone)]))
        if isinstance(axis, LabelAxis):
            return _with_missing(axis.codes, [*axis.levels])
        return _with_missing(axis.codes, [*_climbing([*_levels(axis, intervals)])])

    def groups_as(self, other: Ladder) -> bool:
        """Tell whether another ladder of the same values has the same levels."""
        return len(self.levels) == len(other.levels) and all(map(np.array_equal, self.levels, other.levels))

    @property
    def top(self) -> int:
        """The height at which all values are one group."""
        return len(self.levels) - 1


def _with_missing(codes: Ints, levels: list[Ints]) -> Ladder:
    """Put missing values behind all others: apart, and together with them at the top."""
    missing = len(levels[0])
    if len(levels) == 1 and missing and (codes < 0).any():
        levels = [*levels, levels[0]]
    lower = [np.append(level, level.max(initial=-1) + 1) for level in levels[:-1]]
    return Ladder(np.where(codes < 0, missing, codes), (*lower, np.zeros(missing + 1, dtype=np.int64)))


def _levels(axis: NumberAxis, intervals: Intervals) -> Iterator[Ints]:
    """Yield the published values, then ever wider intervals, then everything."""
    changes = (np.diff(axis.low) != 0) | (np.diff(axis.high) != 0)
    published = np.concatenate(([0], np.cumsum(changes))).astype(np.int64)[: len(axis.low)]
    yield published
    places = axis.low if intervals == "width" else _middles(axis, published)
    for halvings in range(HALVINGS, -1, -1):
        parts = 2**halvings
        yield np.minimum(np.floor(places * parts), parts - 1).astype(np.int64)


def _middles(axis: NumberAxis, published: Ints) -> Floats:
    """Return the share of rows before the middle row of each published value."""
    rows = np.bincount(published[axis.codes[axis.codes >= 0]], minlength=published.max(initial=-1) + 1)
    return ((np.cumsum(rows) - rows / 2) / max(int(rows.sum()), 1))[published]


def _climbing(levels: list[Ints]) -> tuple[Ints, ...]:
    """Leave out levels that the next one groups no more."""
    groups = [len(np.unique(level)) for level in levels]
    return tuple(level for level, here, above in zip(levels, groups, [*groups[1:], -1], strict=True) if here > above)


# Frequency sets: the classes of a generalisation, without their rows


Generalised = Sequence[tuple[int, int]]  # quasi-identifiers, each with its height; those not named are left out

LARGEST_KEY = 2**62
DENSE = 4  # times as many cells as entries are laid out in an array; more are sorted


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Of each class: a value per quasi-identifier that stands for it, its rows, and its counts per attribute."""

    values: Ints  # classes × quasi-identifiers
    sizes: Ints
    counts: tuple[Counts, ...]

    @classmethod
    def of(cls, problem: Problem, ladders: Sequence[Ladder]) -> Frequencies:
        """Scan the rows, once."""
        labels, first = numbered([ladder.codes for ladder in ladders], problem.rows)
        counts = [
            Counts.from_codes(labels, attribute.codes, len(attribute.reference)) for attribute in problem.sensitive
        ]
        values = np.array([ladder.codes[first] for ladder in ladders], dtype=np.int64).reshape(-1, len(first)).T
        return cls(values, np.bincount(labels), tuple(counts))

    def __len__(self) -> int:
        return len(self.sizes)

    def rolled_up(self, ladders: Sequence[Ladder], node: Generalised) -> Frequencies:
        """Return the classes of a coarser generalisation."""
        columns = [ladders[axis].levels[height][self.values[:, axis]] for axis, height in node]
        labels, first = numbered(columns, len(self))
        sizes = np.bincount(labels, weights=self.sizes).astype(np.int64)
        return Frequencies(self.values[first], sizes, tuple(_joined(counts, labels) for counts in self.counts))

    def admitted(self, problem: Problem) -> bool:
        """Tell whether every class is admitted."""
        if self.sizes.min() < problem.k:
            return False
        return all(
            attribute.admits(counts).all() for attribute, counts in zip(problem.sensitive, self.counts, strict=True)
        )


def numbered(columns: Sequence[Ints], rows: int) -> tuple[Ints, Ints]:
    """Give rows that agree on all columns the same number, from 0 up; return also where each number occurs first."""
    key, largest = np.zeros(rows, dtype=np.int64), 1
    for column in columns:
        groups = int(column.max()) + 1
        if largest * groups > LARGEST_KEY:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            largest = int(key.max()) + 1
        key, largest = key * groups + column, largest * groups
    if largest > DENSE * rows or key.min() < 0:  # intervals of numbers below 0 count down from -1
        _, first, labels = np.unique(key, return_index=True, return_inverse=True)
        return labels.astype(np.int64), first
    present = np.bincount(key, minlength=largest) > 0
    labels = (np.cumsum(present) - 1)[key]
    first = np.empty(int(np.count_nonzero(present)), dtype=np.int64)
    first[labels[::-1]] = np.arange(rows)[::-1]
    return labels, first


def _joined(counts: Counts, labels: Ints) -> Counts:
    """Add up the counts of the classes that get the same label."""
    key = counts.per_entry(labels) * counts.domain_size + counts.codes
    cells = (int(labels.max()) + 1) * counts.domain_size
    if cells <= DENSE * len(key):
        sums = np.bincount(key, weights=counts.counts, minlength=cells).astype(np.int64)
        present = np.flatnonzero(sums)
        return _of_keys(present, sums[present], counts.domain_size)
    order = np.argsort(key.astype(np.min_scalar_type(cells)), kind="stable")  # fast in 16 bits
    key = key[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    return _of_keys(key[first], np.add.reduceat(counts.counts[order], first), counts.domain_size)


def _of_keys(keys: Ints, counts: Ints, domain_size: int) -> Counts:
    """Return the counts of rising keys, class · domain + value."""
    classes, codes = np.divmod(keys, domain_size)
    return Counts(np.flatnonzero(np.diff(classes, prepend=-1)), codes, counts, domain_size)


# The search


__all__ = ["labels_at", "minimal_solutions", "partition"]

Heights = tuple[int, ...]

MOST_NODES = 200_000  # generalisations, of all sets of quasi-identifiers together
MOST_CLASSES = 2_000_000  # kept in memory for rolling up, about 100 bytes each


def partition(
    problem: Problem,
    *,
    intervals: Literal["better", "width", "quantiles"] = "better",
    seed: int = 0,
    progress: Progress = silent,
) -> Ints:
    """Return a class label per row: those of the minimal solution that loses least; the seed changes nothing."""
    tried = _differing(problem) if intervals == "better" else (intervals,)
    losses, best, least = loss_table(problem.all_axes, problem.rows), np.zeros(problem.rows, dtype=np.int64), np.inf
    for number, kind in enumerate(tried):
        part = stretch(progress, number / len(tried), (number + 1) / len(tried))
        for heights in minimal_solutions(problem, intervals=kind, progress=part):
            labels = labels_at(problem, heights, kind)
            if (loss := total_loss(losses, labels)) < least:
                best, least = labels, loss
    return best


def minimal_solutions(
    problem: Problem, *, intervals: Intervals = "width", progress: Progress = silent
) -> list[Heights]:
    """Return the heights of every admitted generalisation of which no direct specialisation is admitted.

    A height counts a hierarchy's own levels. Of a number, 0 is its values, and further up come 32, 16, 8, 4 and 2
    intervals, where they differ, and everything; of a set, 0 is its values and 1 everything.
    """
    problem.check_feasible()
    ladders = _ladders(problem, intervals)
    nodes = prod(ladder.top + 2 for ladder in ladders)
    if nodes > MOST_NODES:
        raise Unsuited(
            "incognito would have to search {nodes:,} generalisations and stops at {most_nodes:,}: name fewer "
            "quasi-identifiers, or give them lower hierarchies",
            nodes=nodes,
            most_nodes=MOST_NODES,
        )
    admitted = _admitted(problem, ladders, progress)
    minimal = admitted & ~_above(admitted)
    if not minimal.any():
        raise Infeasible("no full-domain generalisation satisfies the policy, not even the coarsest one")
    return [tuple(heights) for heights in np.argwhere(minimal).tolist()]


def labels_at(problem: Problem, heights: Heights, intervals: Intervals = "width") -> Ints:
    """Return the classes when every quasi-identifier is generalised to its height."""
    ladders = zip(_ladders(problem, intervals), heights, strict=True)
    return numbered([ladder.levels[height][ladder.codes] for ladder, height in ladders], problem.rows)[0]


def _ladders(problem: Problem, intervals: Intervals) -> list[Ladder]:
    return [Ladder.of(axis, intervals) for axis in problem.all_axes]


def _differing(problem: Problem) -> Sequence[Intervals]:
    """Return both kinds of intervals, or one of them where both give the same levels."""
    widths, quantiles = _ladders(problem, "width"), _ladders(problem, "quantiles")
    same = all(one.groups_as(other) for one, other in zip(widths, quantiles, strict=True))
    return ("width",) if same else ("width", "quantiles")


def _admitted(problem: Problem, ladders: list[Ladder], progress: Progress) -> Bools:
    """Tell of all heights of all quasi-identifiers which are admitted, by way of all their subsets."""
    base = Frequencies.of(problem, ladders)
    known: dict[tuple[int, ...], Bools] = {(): np.array(True)}
    subsets = [chosen for size in range(1, len(ladders) + 1) for chosen in combinations(range(len(ladders)), size)]
    for done, chosen in enumerate(subsets):
        candidates = _candidates(chosen, [ladders[axis].top + 1 for axis in chosen], known)
        beat = stretch(progress, done / len(subsets), done / len(subsets))
        known[chosen] = _searched(problem, ladders, chosen, candidates, base, beat)
        progress((done + 1) / len(subsets))
    return known[tuple(range(len(ladders)))]


def _candidates(chosen: tuple[int, ...], shape: list[int], known: dict[tuple[int, ...], Bools]) -> Bools:
    """Keep the heights that pass with any one quasi-identifier left out."""
    possible = np.ones(shape, dtype=bool)
    for place in range(len(chosen)):
        possible &= np.expand_dims(known[chosen[:place] + chosen[place + 1 :]], place)
    return possible


def _searched(
    problem: Problem,
    ladders: list[Ladder],
    chosen: tuple[int, ...],
    candidates: Bools,
    base: Frequencies,
    beat: Progress,
) -> Bools:
    """Judge the candidates from the bottom up; what lies above an admitted one is admitted, and not judged."""
    admitted = np.zeros_like(candidates)
    nodes = np.argwhere(candidates)
    if not len(nodes):
        return admitted
    root = base.rolled_up(ladders, list(zip(chosen, nodes.min(axis=0).tolist(), strict=True)))
    below: dict[Heights, Frequencies] = {}
    for total in range(int(nodes.sum(axis=1).max()) + 1):
        judged: dict[Heights, Frequencies] = {}
        admitted |= candidates & _above(admitted)
        for heights in map(tuple, nodes[nodes.sum(axis=1) == total].tolist()):
            if not admitted[heights]:
                beat(0.0)
                nearest = min((below[low] for low in _specialised(heights) if low in below), key=len, default=root)
                rolled = nearest.rolled_up(ladders, list(zip(chosen, heights, strict=True)))
                admitted[heights] = rolled.admitted(problem)
                if not admitted[heights]:
                    judged[heights] = rolled
        below = _fewest_classes(judged)
    return admitted


def _fewest_classes(rolled: dict[Heights, Frequencies]) -> dict[Heights, Frequencies]:
    """Keep as many as memory should hold, those with the fewest classes first; the rest can be rolled up again."""
    order = sorted(rolled, key=lambda heights: len(rolled[heights]))
    kept = np.cumsum([len(rolled[heights]) for heights in order]) <= MOST_CLASSES
    return {heights: rolled[heights] for heights, keep in zip(order, kept.tolist(), strict=True) if keep}


def _specialised(heights: Heights) -> list[Heights]:
    """Return the direct specialisations: one quasi-identifier a level lower."""
    return [(*heights[:i], height - 1, *heights[i + 1 :]) for i, height in enumerate(heights) if height]


def _above(admitted: Bools) -> Bools:
    """Mark what lies directly above something found."""
    above = np.zeros_like(admitted)
    for axis in range(admitted.ndim):
        before = (slice(None),) * axis
        above[(*before, slice(1, None))] |= admitted[(*before, slice(None, -1))]
    return above
