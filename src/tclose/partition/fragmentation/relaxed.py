"""Relaxed sizing: the largest number of classes that some fragmentation admits (closes thesis 4.1.3).

A class that takes e_f of its s rows from fragment f has, whatever rows it takes,
EMD ≤ EMD(M, M^w) + Σ_f w_f·Δ(f)/p_f with w_f = e_f/s, p_f = N_f/N and M^w the table with its fragments reweighted
to w. For c classes, N = c·s + r: the r most central rows are a fragment of their own (the spare rows), the others
are cut into layers of c rows. A class takes one row of every layer; r of them also take a spare row, where need be
after joining several classes into one. Then M^w − M = (b/size − r/N)·(spare − layers) for b spare rows, so its cost
is that multiple of one distance, and what is left of t is a budget for Σ_f Δ(f), in integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Counts
from tclose.partition.fragmentation.attribute import SpreadAttribute, judged, orders
from tclose.partition.fragmentation.layered import LayeredSearch, find_fragmentation
from tclose.partition.fragmentation.plan import Plan
from tclose.partition.fragmentation.printed import finest
from tclose.partition.fragmentation.strategy import Strategy
from tclose.partition.problem import Problem
from tclose.partition.shared.pulse import Pulse
from tclose.types import Ints

JOINED = (1, 2, 3, 4, 6, 8, 12, 16)  # how many classes may be joined to take in one spare row
NEARLY = Fraction(9, 10)  # joining more classes is not worth it once this much of the budget is left
FURTHER = 3  # the search is not monotone: try so many larger numbers of classes beyond the last that failed
MOST_TRIED = 10**7


@dataclass(frozen=True, eq=False)
class Split:
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
        self.judged = judged(problem, bound)
        self.orders = orders(self.judged)
        self.central = self._central()
        self.equals, self.among_equals = self._equals()

    def attempt(self, classes: int) -> Plan | None:
        """Return a plan for about so many classes, or None when no fragmentation is found for it."""
        split = Split(classes, self.rows // classes, self._spare(classes))
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

    def _find(self, split: Split, budgets: list[int]) -> Ints | None:
        def accepts(labels: Ints) -> bool:
            return all(self._total(attribute, labels) <= b for attribute, b in zip(self.judged, budgets, strict=True))

        limits = np.array([b / (attribute.unit * self.rows) for attribute, b in zip(self.judged, budgets, strict=True)])
        search = LayeredSearch(self.judged, split.classes, limits, self.strategy)
        layered = ~self._is_spare(split)
        return find_fragmentation(search, tuple(order[layered[order]] for order in self.orders), accepts, self.pulse)

    def _pure(self, attribute: SpreadAttribute, split: Split) -> bool:
        """Tell whether every value fills whole layers, as a budget of 0 needs."""
        return not np.any(
            (attribute.row_counts - np.bincount(attribute.codes[split.spare], minlength=len(attribute.row_counts)))
            % split.classes
        )

    def _fewest_joined(self, split: Split, labels: Ints) -> int:
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

    def _plan(self, split: Split, labels: Ints, joined: int) -> Plan:
        fragments = np.where(labels < 0, labels.max() + 1, labels)
        layers = np.bincount(labels[labels >= 0]) // split.classes
        return Plan(fragments, layers, split.classes, len(split.spare), joined)

    def _spare(self, classes: int) -> Ints:
        """Return the rows over: what no whole layer of equal rows holds, if that is all, or else the most central."""
        over = self.among_equals >= self.equals // classes * classes
        spare = self.rows % classes
        return np.flatnonzero(over) if np.count_nonzero(over) == spare else self.central[:spare]

    def _is_spare(self, split: Split) -> NDArray[np.bool_]:
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


def most_classes(problem: Problem, bound: str, strategy: Strategy, pulse: Pulse) -> Plan | None:
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


def _better(one: Plan | None, other: Plan) -> Plan:
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
