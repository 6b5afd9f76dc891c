"""Thresholds for groups of persons (`t_by`), for methods that do not know them, and as starts for weave.

A method that only knows t is given the smallest t of all rows, and so is weave as a start: it is never worse than that.
More detail is kept where only a zone obeys the smallest t: the rows of named groups and those around them. The others
are split apart from them, by their own t. A class of the zone and one outside it may publish the same text: they are
one class to a reader, and where it does not obey the smallest t, its rows are split once more, by this t. Zones of
several sizes are tried with the least effort, the best one also with the effort asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tclose.errors import Infeasible
from tclose.partition.problem import Problem
from tclose.partition.shared.alike import merged_alike
from tclose.partition.shared.merging import along_curve
from tclose.partition.shared.start import Split, Start
from tclose.policy import Policy
from tclose.privacy.bygroup import TClosenessByGroup
from tclose.privacy.judge import codes_by_group, distance_of
from tclose.table import CodedTable
from tclose.types import Bools, Ints, Progress, stretch

ZONES = (2, 4, 8)  # times the rows of named groups; and all rows
ROUNDS = 8  # of mending classes that look alike
GUARDED = "zone of groups"

Partitioned = Callable[[Problem, bool, Progress], Split | None]  # (problem, with the least effort, progress)


@dataclass(frozen=True, eq=False)
class Guard:
    """Whose t is smaller than the column's: the place of each row's t among the levels; after them, the column's."""

    place: Ints
    levels: tuple[Fraction, ...]

    @property
    def named(self) -> Bools:
        """Which rows are of a named group."""
        return self.place < len(self.levels)


Guards = Mapping[int, Guard]  # by the number of the sensitive attribute


def guards_of(table: CodedTable, policy: Policy) -> dict[int, Guard]:
    """Return the thresholds for groups of every sensitive attribute that has any."""
    guards = {}
    for number, (name, column) in enumerate(table.sensitive.items()):
        if (asked := policy.sensitive[name].t_by) is not None:
            model = TClosenessByGroup(asked, distance_of(column))
            guards[number] = Guard(codes_by_group(column, model, table)[0] % model.groups, asked.levels)
    return guards


def part_of_guards(guards: Guards, rows: Ints) -> dict[int, Guard]:
    """Return the thresholds of some rows only."""
    return {number: Guard(guard.place[rows], guard.levels) for number, guard in guards.items()}


def obeying(problem: Problem, guards: Guards) -> Problem:
    """Return the problem with the smallest t of all its rows; every partition of it obeys the groups' thresholds."""
    sensitive = [attribute for attribute in problem.sensitive if not _is_by_group(attribute.models)]
    for number, guard in guards.items():
        own, strictest = sensitive[number].t, int(guard.place.min())
        if own is not None and strictest < len(guard.levels):
            sensitive[number] = replace(sensitive[number], t=min(own, guard.levels[strictest]))
    return replace(problem, sensitive=tuple(sensitive))


def _is_by_group(models: tuple[object, ...]) -> bool:
    return any(isinstance(model, TClosenessByGroup) for model in models)


def guarded_starts(problem: Problem, guards: Guards, make: Partitioned, progress: Progress) -> list[Start]:
    """Return the partitions of all zones, with the least effort, and of the best zone and of one t for all rows."""
    named = np.any([guard.named for guard in guards.values()], axis=0)
    if not named.any():
        return []
    zones = list(_zones(problem, named))
    work = _Work(problem, guards, make, progress, len(zones) + 2)
    tried = [work.apart(zone, fast=True) for zone in zones]
    starts = [Start(GUARDED, labels, fast=True) for labels in tried if labels is not None]
    losses = {i: _loss(problem, labels) for i, labels in enumerate(tried) if labels is not None}
    chosen = dict.fromkeys([*sorted(losses, key=lambda i: losses[i])[:1], len(zones) - 1])
    improved = (work.apart(zones[i], fast=False) for i in chosen)
    return starts + [Start(GUARDED, labels) for labels in improved if labels is not None]


def _zones(problem: Problem, named: Bools) -> Iterator[Bools]:
    """Yield which rows are in a zone: those of named groups, and their neighbours along a curve through all rows."""
    order = np.argsort(along_curve(problem.points), kind="stable")
    places = np.flatnonzero(named[order])
    after = np.searchsorted(places, np.arange(len(order)))
    nearest = np.minimum(
        np.abs(np.arange(len(order)) - places[np.maximum(after - 1, 0)]),
        np.abs(places[np.minimum(after, len(places) - 1)] - np.arange(len(order))),
    )
    by_gap = order[np.argsort(nearest, kind="stable")]
    for times in ZONES:
        if times * len(places) < len(named):
            zone = named.copy()
            zone[by_gap[: times * len(places)]] = True
            yield zone
    yield np.ones(len(named), dtype=bool)


@dataclass(eq=False)
class _Work:
    """Splits zones one after the other, and says how much of the work is done."""

    problem: Problem
    guards: Guards
    make: Partitioned
    progress: Progress
    runs: int
    done: int = 0

    def apart(self, zone: Bools, *, fast: bool) -> Ints | None:
        """Split the rows of a zone and the others apart from each other; None where either cannot be split."""
        part = stretch(self.progress, self.done / self.runs, (self.done + 1) / self.runs)
        self.done += 1
        labels, classes = np.empty(self.problem.rows, dtype=np.int64), 0
        for rows in (np.flatnonzero(zone), np.flatnonzero(~zone)):
            if not len(rows):
                continue
            asked = obeying(self.problem.part(rows), part_of_guards(self.guards, rows))
            try:
                made = self.make(asked, fast, part)
            except Infeasible:
                return None
            if made is None:
                return None
            labels[rows] = classes + made.labels
            classes += int(made.labels.max()) + 1
        return self._mended(labels, part)

    def _mended(self, labels: Ints, progress: Progress) -> Ints:
        """Split the rows of classes that look alike and fail together once more, by the smallest t of them all."""
        for _ in range(ROUNDS):
            seen = merged_alike(self.problem.all_axes, labels)
            rows = np.flatnonzero(~self.problem.admitted(seen)[seen])
            if not len(rows):
                break
            try:
                made = self.make(obeying(self.problem.part(rows), part_of_guards(self.guards, rows)), True, progress)
            except Infeasible:
                break
            if made is None:
                break
            labels[rows] = labels.max() + 1 + made.labels
            labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        return labels


def _loss(problem: Problem, labels: Ints) -> float:
    """Return the loss as a reader sees the classes; infinite where he sees one that is not admitted."""
    from tclose.partition.shared.loss import loss_table, total_loss  # loads the compiler

    seen = merged_alike(problem.all_axes, labels)
    if not problem.admitted(seen).all():
        return math.inf
    return float(total_loss(loss_table(problem.all_axes, problem.rows, float(problem.by_size)), seen))
