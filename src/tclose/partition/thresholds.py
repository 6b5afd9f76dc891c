"""Thresholds that most methods do not know (`t_by`, `average_t`), turned into a t for every class, which they know.

Thresholds for groups of persons (`t_by`): a method that only knows t is given the smallest t of all rows, and so is
weave as a start: it is never worse than that. More detail is kept where only a zone obeys the smallest t: the rows of
named groups and those around them. The others are split apart from them, by their own t. A class of the zone and one
outside it may publish the same text: they are one class to a reader, and where it does not obey the smallest t, its
rows are split once more, by this t. Zones of several sizes are tried with the least effort, the best one also with the
effort asked for.

Classes whose average distance is within a limit (`average_t`) have the largest t at which the average holds. No class
breaks `average_t` alone, so a method is given a threshold for every class, as for t, and the average of what it
returns is judged exactly. The thresholds are the policy's limits times a factor, which is searched for: with the
factor 1, the average holds wherever every group of kept rows is within the limit as one class. Classes of a group that
is farther may be as far as the group; with the factor 0 they are exactly as far, which the average allows, or else the
table could not be published.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tclose.errors import Infeasible
from tclose.partition.problem import Problem, Split, Start
from tclose.partition.shared.merge import along_curve, merged_alike
from tclose.policy import Policy
from tclose.privacy.judge import codes_by_group, counts_of, distance_of
from tclose.privacy.tcloseness import TClosenessByGroup, average
from tclose.table import CodedTable
from tclose.table.classes import Classes
from tclose.types import Bools, Ints, Progress, stretch

# Thresholds for groups of persons


ZONES = (2, 4, 8)  # times the rows of named groups; and all rows
ROUNDS = 8  # of mending classes that look alike
GUARDED = "zone of groups"

Partitioned = Callable[[Problem, bool, Progress], Split | None]  # (problem, with the least effort, progress)


@dataclass(frozen=True, eq=False)
class GroupThresholds:
    """Whose t is smaller than the column's: the place of each row's t among the levels; after them, the column's."""

    place: Ints
    levels: tuple[Fraction, ...]

    @property
    def named(self) -> Bools:
        """Which rows are of a named group."""
        return self.place < len(self.levels)


ThresholdsByAttribute = Mapping[int, GroupThresholds]  # by the number of the sensitive attribute


def group_thresholds_of(table: CodedTable, policy: Policy) -> dict[int, GroupThresholds]:
    """Return the thresholds for groups of every sensitive attribute that has any."""
    guards = {}
    for number, (name, column) in enumerate(table.sensitive.items()):
        if (asked := policy.sensitive[name].t_by) is not None:
            model = TClosenessByGroup(asked, distance_of(column))
            guards[number] = GroupThresholds(codes_by_group(column, model, table)[0] % model.groups, asked.levels)
    return guards


def thresholds_of_rows(guards: ThresholdsByAttribute, rows: Ints) -> dict[int, GroupThresholds]:
    """Return the thresholds of some rows only."""
    return {number: GroupThresholds(guard.place[rows], guard.levels) for number, guard in guards.items()}


def with_smallest_t(problem: Problem, guards: ThresholdsByAttribute) -> Problem:
    """Return the problem with the smallest t of all its rows; every partition of it obeys the groups' thresholds."""
    sensitive = [attribute for attribute in problem.sensitive if not _is_by_group(attribute.models)]
    for number, guard in guards.items():
        own, strictest = sensitive[number].t, int(guard.place.min())
        if own is not None and strictest < len(guard.levels):
            sensitive[number] = replace(sensitive[number], t=min(own, guard.levels[strictest]))
    return replace(problem, sensitive=tuple(sensitive))


def _is_by_group(models: tuple[object, ...]) -> bool:
    return any(isinstance(model, TClosenessByGroup) for model in models)


def starts_by_zone(
    problem: Problem, guards: ThresholdsByAttribute, make: Partitioned, progress: Progress
) -> list[Start]:
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
    guards: ThresholdsByAttribute
    make: Partitioned
    progress: Progress
    runs: int
    done: int = 0

    def apart(self, zone: Bools, *, fast: bool) -> Ints | None:
        """Split the rows of a zone and the others apart from each other; None where either cannot be split."""
        part = stretch(self.progress, self.done / self.runs, (self.done + 1) / self.runs)
        self.done += 1
        labels, classes = np.empty(self.problem.rows, dtype=np.int64), 0
        # only the rows of the zone are with named groups, so only they obey the smallest t
        for rows in (np.flatnonzero(zone), np.flatnonzero(~zone)):
            if not len(rows):
                continue
            asked = with_smallest_t(self.problem.part(rows), thresholds_of_rows(self.guards, rows))
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
                made = self.make(
                    with_smallest_t(self.problem.part(rows), thresholds_of_rows(self.guards, rows)), True, progress
                )
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


# A limit of the average distance


TRIALS = 6  # times that a method is run, at most
CLOSE = Fraction(99, 100)  # of the limit; an average from here up to the limit is good enough
NARROW = Fraction(2, 100)  # between a factor that holds and one that does not, of the latter
MARGIN = Fraction(1, 10)  # of what lies between two factors, by which a new one stays away from both
LARGEST_STEP = 3  # times the factor before

Thresholds = Mapping[int, Fraction]  # a further threshold of some sensitive attributes, by their number


def limited(problem: Problem, limits: Thresholds) -> Problem:
    """Return the problem with further thresholds; a class may be as far as all rows together in any case."""
    if not limits:
        return problem
    sensitive = list(problem.sensitive)
    for number, limit in limits.items():
        attribute = sensitive[number]
        t = max(limit, attribute.emd_of(attribute.codes, attribute.reference))
        sensitive[number] = replace(attribute, t=t if attribute.t is None else min(t, attribute.t))
    return replace(problem, sensitive=tuple(sensitive))


def split_by_average(
    split: Callable[[Thresholds, Progress], Split], table: CodedTable, policy: Policy, progress: Progress
) -> Split:
    """Return classes whose averages hold, by the largest factor that was found; `split` makes classes within limits."""
    averages = {
        number: limit
        for number, name in enumerate(table.sensitive)
        if (limit := policy.sensitive[name].average_t) is not None
    }
    if not averages:
        return split({}, progress)
    search, best = _Search.begun(averages), None
    for trial in range(TRIALS):
        part = stretch(progress, trial / TRIALS, (trial + 1) / TRIALS)
        last = best is None and trial == TRIALS - 1
        factor = Fraction(0) if last else search.factor
        made = split({number: min(factor * limit, Fraction(1)) for number, limit in averages.items()}, part)
        # the largest factor that holds wins: larger limits for single classes lose less
        strain = _strain(made.labels, averages, table)
        best = made if strain is not None and strain <= 1 else best
        search = search.after(strain)
        if search.done:
            break
    if best is None:
        names = [f"'{name}'" for number, name in enumerate(table.sensitive) if number in averages]
        raise Infeasible("no partition was found for average_t of {names}", names=", ".join(names))
    return best


def _strain(labels: Ints, averages: Thresholds, table: CodedTable) -> Fraction | None:
    """Return the largest average distance as a multiple of its limit, exactly; None where a limit of 0 is passed."""
    classes, strains, columns = Classes.from_labels(labels), [Fraction(0)], list(table.sensitive.values())
    for number, limit in averages.items():
        column = columns[number]
        reached = average(distance_of(column).emd(counts_of(column, classes), column.reference))
        if limit == 0 and reached > 0:
            return None
        strains.append(reached / limit if limit else Fraction(0))
    return max(strains)


@dataclass(frozen=True)
class _Search:
    """The factor to try next, between one that holds and one that does not, as far as they are known."""

    factor: Fraction
    most: Fraction  # the factor from which on no class is limited
    low: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))  # a factor that holds, and its strain
    high: tuple[Fraction, Fraction] | None = None  # a factor that does not hold, and its strain
    done: bool = False

    @classmethod
    def begun(cls, averages: Thresholds) -> _Search:
        """Begin with the limits themselves, where nothing lies between them and t = 1."""
        smallest = min((limit for limit in averages.values() if limit), default=Fraction(1))
        return cls(Fraction(1), 1 / smallest)

    def after(self, strain: Fraction | None) -> _Search:
        """Return the search after the factor was tried; a strain of 1 is on the line."""
        if strain is not None and strain <= 1:
            found = replace(self, low=(self.factor, strain))
            return replace(found, factor=found.next_factor(), done=strain >= CLOSE or found.is_narrow)
        found = replace(self, high=(self.factor, strain or Fraction(2)))
        return replace(found, factor=found.next_factor(), done=found.is_narrow)

    @property
    def is_narrow(self) -> bool:
        """Whether no factor is left that is worth trying."""
        if self.high is None:
            return self.low[0] >= self.most
        return self.high[0] - self.low[0] <= NARROW * self.high[0]

    def next_factor(self) -> Fraction:
        """Return a factor between the middle and the one at which the strain would be 1 if it grew evenly.

        It is kept away from those that were tried.
        """
        (low, below) = self.low
        if self.high is None:
            guess = low / below if below * LARGEST_STEP > 1 else LARGEST_STEP * low
            return min(_rounded(max(guess, low * (1 + MARGIN))), self.most)
        (high, above) = self.high
        guess = low + (high - low) * (Fraction(1, 2) + (1 - below) / (above - below)) / 2
        margin = MARGIN * (high - low)
        return _rounded(min(max(guess, low + margin), high - margin))


def _rounded(factor: Fraction) -> Fraction:
    return Fraction(round(factor * 10_000), 10_000)
