"""Relaxed sizing: the largest number of classes that some fragmentation admits (closes thesis 4.1.3).

The relaxed-conformance theorem says how far a class can be from the table before any row is chosen. Let a class take
e_f of its s rows from fragment f, w_f = e_f/s, p_f = N_f/N, and let M^w be the table with its fragments reweighted to
w. Then, whatever rows are taken, EMD(E, M) ≤ EMD(M^w, M) + Σ_f w_f·Δ(f)/p_f; w = p is the published theorem 20.
docs/method.md has the proof.

For c classes, N = c·s + r: the r most central rows are a fragment of their own (the spare rows), the others
are cut into layers of c rows. A class takes one row of every layer; r of them also take a spare row, where need be
after joining several classes into one. Then M^w − M = (b/size − r/N)·(spare − layers) for b spare rows, so its cost
is that multiple of one distance, and what is left of t is a budget for Σ_f Δ(f), in integers.

The published search cuts anywhere and then needs a common divisor of the fragments' sizes. Here the divisor comes
first: for c classes a fragment may be cut at multiples of c rows only (a cut may part rows that share a value: no
proof needs boxes), so every class can take the same number of rows from each fragment. As in the paper, the cut
that leaves the least Ψ (or the least sum of the bounds) is taken until every bound is within its budget.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import floor

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Counts
from tclose.partition.fragmentation import spread
from tclose.partition.fragmentation.classes import ClassPlan
from tclose.partition.fragmentation.printed import Strategy, finest
from tclose.partition.fragmentation.spread import LineSpread, SpreadAttribute, orders, spread_attributes
from tclose.partition.problem import Problem
from tclose.partition.shared.pulse import QUIET, Pulse
from tclose.types import Floats, Ints

# FIND-FRAGMENTATION for a wanted number of classes: every fragment is whole layers of one row per class


BATCH = 64  # with more fragments than this, the best 1/64 of them are cut at a time


@dataclass(frozen=True, eq=False)
class Layers:
    """A fragment of `len(rows)/c` layers: its rows in the order of each attribute."""

    orders: Ints  # attributes × rows
    worst: Floats  # of each attribute


@dataclass(frozen=True, eq=False)
class LayerCut:
    """A fragment in two: what each attribute's worst case is on either side."""

    attribute: int
    at: int  # rows to the left
    left: Floats
    right: Floats


class LayeredSearch:
    """The fragments of one search, and for each of them its best cut along each attribute."""

    def __init__(
        self, attributes: tuple[SpreadAttribute, ...], classes: int, budgets: Floats, strategy: Strategy
    ) -> None:
        self.attributes = attributes
        self.classes = classes
        self.scale = np.array([1 / (attribute.unit * len(attribute.codes)) for attribute in attributes])
        self.budgets = budgets
        self.strategy = strategy
        self.places = _places(attributes)
        self.side = np.zeros(len(attributes[0].codes), dtype=np.bool_)

    def top(self, orders: tuple[Ints, ...]) -> Layers:
        """Return the one fragment of all these rows."""
        label = np.zeros(len(orders[0]), dtype=np.int64)
        worst = [float(attribute.spread.worst(label, attribute.codes[orders[0]])[0]) for attribute in self.attributes]
        return Layers(np.array(orders), np.array(worst))

    def best_cuts(self, fragment: Layers, bounds: Floats) -> list[LayerCut]:
        """Return the best cut along each attribute that varies in the fragment, as the bounds stand now."""
        if len(fragment.orders[0]) <= self.classes:
            return []
        varying = [a for a, attribute in enumerate(self.attributes) if fragment.worst[a] > 0]
        if not varying:
            return []
        left, right = self._sides(fragment.orders[varying])
        after = bounds + (left + right - fragment.worst) * self.scale
        best = self.strategy(after, self.budgets).argmin(axis=1)
        chosen = np.arange(len(varying)), best
        cuts = zip(varying, ((best + 1) * self.classes).tolist(), left[chosen], right[chosen], strict=True)
        return [LayerCut(*cut) for cut in cuts]

    def split(self, fragment: Layers, cut: LayerCut) -> tuple[Layers, Layers]:
        """Carry out a cut, keeping every order."""
        chosen = fragment.orders[cut.attribute]
        self.side[chosen[: cut.at]] = False
        self.side[chosen[cut.at :]] = True
        goes_right, attributes = self.side[fragment.orders], len(fragment.orders)
        left, right = fragment.orders[~goes_right], fragment.orders[goes_right]
        return Layers(left.reshape(attributes, -1), cut.left), Layers(right.reshape(attributes, -1), cut.right)

    def _sides(self, orders: Ints) -> tuple[Floats, Floats]:
        """Return the worst case left and right of every cut through these orders: orders × cuts × attributes."""
        if self.places is not None:
            left, right = spread.all_line_cuts(self.places, orders, self.classes)
            return left, right
        sides = [[one.spread.cuts(one.codes[order], self.classes) for one in self.attributes] for order in orders]
        left, right = np.ascontiguousarray(np.array(sides).transpose(2, 0, 3, 1))
        return left, right


def _places(attributes: tuple[SpreadAttribute, ...]) -> Floats | None:
    """Return where each attribute's rows lie on its line; None where one of them has no line, or a printed bound."""
    lines = [attribute.spread for attribute in attributes if type(attribute.spread) is LineSpread]
    if len(lines) < len(attributes):
        return None
    return np.array([line.places(one.codes) for line, one in zip(lines, attributes, strict=True)])


def find_fragmentation(
    search: LayeredSearch, orders: tuple[Ints, ...], accepts: Callable[[Ints], bool], pulse: Pulse = QUIET
) -> Ints | None:
    """Cut until the fragmentation is accepted; return a fragment label per row of `orders`, or None."""
    fragments = [search.top(orders)]
    bounds = fragments[0].worst * search.scale
    cuts = _Cuts(search)
    cuts.add(fragments[0], 0, bounds)
    while True:
        pulse.beat()
        if np.all(bounds <= search.budgets * (1 + 1e-9) + 1e-12) and accepts(labels := _labels(fragments, search)):
            return labels
        chosen = cuts.take(bounds, max(1, len(fragments) // BATCH))
        if not chosen:
            return None
        for index, cut in chosen:
            left, right = search.split(fragments[index], cut)
            bounds = bounds + (left.worst + right.worst - fragments[index].worst) * search.scale
            fragments[index] = left
            fragments.append(right)
            cuts.add(left, index, bounds)
            cuts.add(right, len(fragments) - 1, bounds)


class _Cuts:
    """The cuts to choose from: what each changes, as rows of an array that grows by doubling."""

    def __init__(self, search: LayeredSearch) -> None:
        self.search = search
        self.change = np.zeros((64, len(search.attributes)))
        self.open: dict[int, tuple[int, LayerCut]] = {}  # by row of `change`: the fragment and its cut
        self.rows_of: dict[int, list[int]] = {}
        self.used = 0

    def add(self, fragment: Layers, index: int, bounds: Floats) -> None:
        """Offer the best cuts of a fragment."""
        self.rows_of[index] = []
        for cut in self.search.best_cuts(fragment, bounds):
            if self.used == len(self.change):
                self.change = np.concatenate((self.change, np.zeros_like(self.change)))
            self.change[self.used] = (cut.left + cut.right - fragment.worst) * self.search.scale
            self.open[self.used] = index, cut
            self.rows_of[index].append(self.used)
            self.used += 1

    def take(self, bounds: Floats, most: int) -> list[tuple[int, LayerCut]]:
        """Remove and return the best cuts of the `most` best fragments."""
        rows = np.fromiter(self.open, dtype=np.int64, count=len(self.open))
        score = self.search.strategy(bounds + self.change[rows], self.search.budgets)
        chosen: dict[int, LayerCut] = {}
        for row in rows[np.argsort(score, kind="stable")]:
            index, cut = self.open[int(row)]
            chosen.setdefault(index, cut)
            if len(chosen) == most:
                break
        for index in chosen:
            for row in self.rows_of[index]:
                del self.open[row]
        return list(chosen.items())


def _labels(fragments: list[Layers], search: LayeredSearch) -> Ints:
    labels = np.full(len(search.side), -1, dtype=np.int64)
    for index, fragment in enumerate(fragments):
        labels[fragment.orders[0]] = index
    return labels


# The largest number of classes


JOINED = (1, 2, 3, 4, 6, 8, 12, 16)  # how many classes may be joined to take in one spare row
NEARLY = Fraction(9, 10)  # joining more classes is not worth it once this much of the budget is left
FURTHER = 3  # the search is not monotone: try so many larger numbers of classes beyond the last that failed
MOST_TRIED = 10**7


@dataclass(frozen=True, eq=False)
class LayerSplit:
    """N = c·s + r: `classes` layers-wide, `size` rows each, and the spare rows."""

    classes: int
    size: int
    spare: Ints

    def budget(self, attribute: SpreadAttribute, joined: int, spares: int) -> int:
        """Return the largest Σ_f worst(f) at which `joined` classes with so many spare rows are within t."""
        rows = self.classes * self.size + len(self.spare)
        size = joined * self.size + spares
        fixed = attribute.apart
        if len(self.spare):
            off_centre = attribute.sensitive.emd_of(attribute.codes[self.spare], attribute.row_counts) * Fraction(
                rows, rows - len(self.spare)
            )
            fixed += abs(Fraction(spares, size) - Fraction(len(self.spare), rows)) * off_centre
            fixed += Fraction(spares * self._worst_spare(attribute), size * len(self.spare) * attribute.unit)
        return floor((attribute.t - fixed) * self.classes * size * attribute.unit / joined)

    def _worst_spare(self, attribute: SpreadAttribute) -> int:
        return attribute.worst(np.zeros(len(self.spare), dtype=np.int64), self.spare)


class Sizing:
    """What all numbers of classes share: the orders of the rows, and which rows are central."""

    def __init__(self, problem: Problem, bound: str, strategy: Strategy, pulse: Pulse) -> None:
        self.rows, self.pulse = problem.rows, pulse
        self.strategy = strategy
        self.judged = spread_attributes(problem, bound)
        self.orders = orders(self.judged)
        self.central = self._central()
        self.equals, self.among_equals = self._equals()

    def attempt(self, classes: int) -> ClassPlan | None:
        """Return a plan for about so many classes, or None when no fragmentation is found for it."""
        split = LayerSplit(classes, self.rows // classes, self._spare(classes))
        if not self.judged:
            return self._plan(split, np.where(self._is_spare(split), -1, 0), 1)
        plain = [split.budget(attribute, 1, 0) for attribute in self.judged]
        most = classes // len(split.spare) if len(split.spare) else 1
        budgets = plain
        for joined in (j for j in JOINED if j <= most) if len(split.spare) else ():
            budgets = [
                min(p, split.budget(attribute, joined, 1)) for p, attribute in zip(plain, self.judged, strict=True)
            ]
            if all(b >= NEARLY * p for b, p in zip(budgets, plain, strict=True)):
                break
        if any(
            b < 0 or (b == 0 and not self._pure(attribute, split))
            for b, attribute in zip(budgets, self.judged, strict=True)
        ):
            return None
        labels = self._find(split, budgets)
        return None if labels is None else self._plan(split, labels, self._fewest_joined(split, labels))

    def lucky(self, numbers: list[int]) -> list[int]:
        """Return the numbers of classes for which all layers can be of equal rows, with no more over than must be."""
        counts = self.equals[self.among_equals == 0]
        if len(counts) * len(numbers) > MOST_TRIED:
            return []
        return [classes for classes in numbers if int((counts % classes).sum()) == self.rows % classes]

    def _find(self, split: LayerSplit, budgets: list[int]) -> Ints | None:
        def accepts(labels: Ints) -> bool:
            return all(self._total(attribute, labels) <= b for attribute, b in zip(self.judged, budgets, strict=True))

        limits = np.array([b / (attribute.unit * self.rows) for attribute, b in zip(self.judged, budgets, strict=True)])
        search = LayeredSearch(self.judged, split.classes, limits, self.strategy)
        layered = ~self._is_spare(split)
        return find_fragmentation(search, tuple(order[layered[order]] for order in self.orders), accepts, self.pulse)

    def _pure(self, attribute: SpreadAttribute, split: LayerSplit) -> bool:
        """Tell whether every value fills whole layers, as a budget of 0 needs."""
        return not np.any(
            (attribute.row_counts - np.bincount(attribute.codes[split.spare], minlength=len(attribute.row_counts)))
            % split.classes
        )

    def _fewest_joined(self, split: LayerSplit, labels: Ints) -> int:
        totals = [self._total(attribute, labels) for attribute in self.judged]
        admitted = (
            joined
            for joined in range(1, split.classes + 1)
            if all(
                split.budget(attribute, joined, 1) >= total
                for attribute, total in zip(self.judged, totals, strict=True)
            )
        )
        return next(admitted) if len(split.spare) else 1

    def _total(self, attribute: SpreadAttribute, labels: Ints) -> int:
        layered = np.flatnonzero(labels >= 0)
        return attribute.worst(labels[layered], layered)

    def _plan(self, split: LayerSplit, labels: Ints, joined: int) -> ClassPlan:
        fragments = np.where(labels < 0, labels.max() + 1, labels)
        layers = np.bincount(labels[labels >= 0]) // split.classes
        return ClassPlan(fragments, layers, split.classes, len(split.spare), joined)

    def _spare(self, classes: int) -> Ints:
        """Return the rows over: what no whole layer of equal rows holds, if that is all, or else the most central."""
        over = self.among_equals >= self.equals // classes * classes
        spare = self.rows % classes
        return np.flatnonzero(over) if np.count_nonzero(over) == spare else self.central[:spare]

    def _is_spare(self, split: LayerSplit) -> NDArray[np.bool_]:
        spare = np.zeros(self.rows, dtype=np.bool_)
        spare[split.spare] = True
        return spare

    def _central(self) -> Ints:
        """Return the rows from the most central to the least: by their own distance from the table, over t."""
        off_centre = np.zeros(self.rows)
        for attribute in self.judged:
            alone = attribute.sensitive.distance.emd(
                _one_each(len(attribute.row_counts)), attribute.row_counts
            ).floats()
            off_centre = np.maximum(off_centre, alone[attribute.codes] / max(float(attribute.t), 1e-9))
        return np.argsort(off_centre, kind="stable")

    def _equals(self) -> tuple[Ints, Ints]:
        """Return for each row how many rows share all its values, and its number among them."""
        equals, among_equals = np.full(self.rows, self.rows), np.arange(self.rows)
        if self.judged:
            order = self.orders[0]
            new = np.any([np.diff(attribute.codes[order], prepend=-1) != 0 for attribute in self.judged], axis=0)
            starts, group = np.flatnonzero(new), np.cumsum(new) - 1
            equals[order] = np.diff(starts, append=self.rows)[group]
            among_equals[order] = np.arange(self.rows) - starts[group]
        return equals, among_equals


def most_classes(problem: Problem, bound: str, strategy: Strategy, pulse: Pulse) -> ClassPlan | None:
    """Return the plan with the most classes that the search finds, or None for fewer than two."""
    sizing = Sizing(problem, bound, strategy, pulse)
    numbers = _numbers(problem.rows, problem.k)
    best = finest(problem, sizing.judged) if sizing.judged else None
    below, above, step = -1, len(numbers), 1
    while above - below > 1:
        middle = min(below + step, (below + above) // 2 if above < len(numbers) else len(numbers) - 1)
        plan = sizing.attempt(numbers[middle])
        if plan is None:
            below, step = middle, step * 2
        else:
            above, best = middle, _better(best, plan)
        pulse(1 - (above - below) / (len(numbers) + 1))
    for classes in (*sizing.lucky(numbers)[:FURTHER], *numbers[max(below - FURTHER, 0) : max(below, 0)]):
        if (best is None or classes > best.count) and (plan := sizing.attempt(classes)):
            best = _better(best, plan)
    return best


def _better(one: ClassPlan | None, other: ClassPlan) -> ClassPlan:
    return other if one is None or other.count > one.count else one


def _numbers(rows: int, k: int) -> list[int]:
    """Return every ⌊rows/s⌋ for s ≥ k, from the largest down to 2: in between, only more rows would be spare."""
    numbers: list[int] = []
    size = k
    while (classes := rows // size) >= 2:
        numbers.append(classes)
        size = rows // classes + 1
    return numbers


def _one_each(values: int) -> Counts:
    """Return one class per value that shows nothing else."""
    each = np.arange(values)
    return Counts(each, each, np.ones(values, dtype=np.int64), values)
