"""weave's search: its own classes are formed and improved, pass by pass, and compared with all other candidates.

Own classes are formed in several ways, the best of which are improved, by one effort after the other. Every candidate
is finished (classes that the problem does not admit are merged until all are admitted) and measured in the same way.

A pilot chooses the share of t that the cells of a large table may use up: it is tried on samples, because forming
classes takes long. With one sensitive attribute, cells hardly need slack below t; with several, cells at t leave some
attribute none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

import numpy as np

from tclose.distance import Counts
from tclose.partition.problem import Finish, Problem, persons_per_class
from tclose.partition.shared.merge import merged, merged_alike, merged_with_care
from tclose.partition.weave.limits import Effort, Pass, worthwhile
from tclose.partition.weave.table import WeaveTable
from tclose.types import Beat, Bools, Ints, Progress, stretch

# How a partition is finished


def finisher(problem: Problem, beat: Beat) -> Finish:
    """Return what merges classes until the problem admits them.

    Where merging can break a model, a failing class joins a neighbour that mends it, or else one would break another.
    """
    if any(not model.merging_keeps for attribute in problem.sensitive for model in attribute.models):
        return lambda labels: merged_with_care(labels, problem.points, partial(_admitted, problem), beat)
    groups = np.zeros(problem.rows, dtype=np.int64)
    return lambda labels: merged(labels, groups, problem.points, lambda labels: ~problem.admitted(labels))


def _admitted(problem: Problem, classes: list[Ints]) -> Bools:
    """Judge classes, each given as its rows; they may share rows."""
    rows, labels = np.concatenate(classes), np.repeat(np.arange(len(classes)), [len(each) for each in classes])
    members = np.bincount(labels) if problem.persons is None else persons_per_class(labels, problem.persons[rows])
    admitted = members >= problem.k
    for attribute in problem.sensitive:
        admitted &= attribute.admits(Counts.from_codes(labels, attribute.codes[rows], len(attribute.reference)))
    return admitted


# The partitions between which weave chooses


OWN = "own"
FEW_ROWS = 200  # of a table on which refining costs almost nothing
REFINED = 3  # starts, on such a table
NEAR = 1.1  # times the least loss, up to which a start is refined


@dataclass(frozen=True, eq=False)
class Candidate:
    """A class label per row, where the classes come from, and their loss."""

    name: str
    labels: Ints
    loss: float
    is_start: bool  # whether another method made the classes


@dataclass(frozen=True, eq=False)
class Candidates:
    """All partitions that were considered for a problem."""

    problem: Problem
    table: WeaveTable
    finish: Finish
    all: dict[str, Candidate] = field(default_factory=dict)

    def add(self, name: str, labels: Ints, *, is_start: bool = False) -> None:
        """Consider a partition; of two with the same name, the better one is kept.

        Classes that publish the same text are merged after the partition is finished, as in a release, and before it,
        which sometimes spares a merge. A start of a large table that loses far more than the best is left out at once:
        finished, it loses more still.
        """
        if is_start and len(self.table) > FEW_ROWS and self._is_far(self.table.loss(labels)):
            return
        seen = merged_alike(self.problem.all_axes, labels)
        for each in (labels, seen) if seen.max() < labels.max() else (labels,):
            if (finished := self._finished(each)) is not None:
                candidate = Candidate(name, finished, self.table.loss(finished), is_start)
                self.all[name] = min(self.all.get(name, candidate), candidate, key=lambda each: each.loss)

    @property
    def best(self) -> Candidate | None:
        """The first of those that lose least."""
        return min(self.all.values(), key=lambda each: each.loss, default=None)

    @property
    def lose_nothing(self) -> bool:
        """Whether one of them cannot be improved."""
        return (best := self.best) is not None and best.loss == 0

    @property
    def worth_refining(self) -> list[Candidate]:
        """The best start if it comes near the best of all; on a small table, the best few starts."""
        best = self.best
        if best is None or self.table.wide:
            return []
        starts = sorted((each for each in self.all.values() if each.is_start), key=lambda each: each.loss)
        different = list({each.loss: each for each in reversed(starts)}.values())[::-1]
        if len(self.table) <= FEW_ROWS:
            return different[:REFINED]
        return [each for each in different[:1] if not self._is_far(each.loss)]

    def _is_far(self, loss: float) -> bool:
        """Tell whether a loss is too large for refining to pay."""
        return (best := self.best) is not None and loss > NEAR * best.loss

    def _finished(self, labels: Ints) -> Ints | None:
        """Merge classes that a model does not admit, then those that publish the same text, until both are done."""
        # either merge can undo the other: classes that show the same text may not be admitted as one
        while (finished := self.finish(labels)) is not None:
            labels = merged_alike(self.problem.all_axes, finished)
            if labels.max() == finished.max():
                return finished
        return None


# The share of t that cells may use up


SAMPLES, SAMPLE_ROWS = 2, 25_000
CLEARLY = 0.97  # times the loss of the first share, or less, is better: a sample has wider cells than the table


def chosen_share(table: WeaveTable, shares: Sequence[float], progress: Progress) -> float:
    """Return the share with which samples of the rows lose least when classes are formed; the first unless clearly."""
    random, losses = np.random.default_rng(len(table)), np.zeros(len(shares))
    steps = pairwise(np.linspace(0.0, 1.0, SAMPLES * len(shares) + 1).tolist())
    for _ in range(SAMPLES):
        part = table.part(np.sort(random.choice(len(table), min(SAMPLE_ROWS, len(table)), replace=False)))
        for number, share in enumerate(shares):
            losses[number] += part.loss(part.form_classes(share, stretch(progress, *next(steps))))
    best = int(losses.argmin())
    return shares[best if losses[best] < CLEARLY * losses[0] else 0]


# weave's own classes


TINY = 1e-9  # a loss
PILOTED = 0.2  # of the progress of choosing a start, when a share of t is chosen


@dataclass(eq=False)
class OwnClasses:
    """The best classes of a table so far; a larger effort goes on from them."""

    table: WeaveTable
    best: Ints | None = None
    used: set[float] = field(default_factory=set)  # losses of the formed classes that have been improved
    gained: float = 0.0  # share of the loss that the last pass over formed classes took away, by a step for each row

    def improved(self, effort: Effort, seed: int, progress: Progress) -> Iterator[Ints]:
        """Yield the improved classes of every start, then the best of them improved further."""
        if len(self.table) < 2 * self.table.k:
            yield np.zeros(len(self.table), dtype=np.int64)
        elif self.table.wide:
            yield self.table.form_classes(1.0, progress)
        else:
            yield from self._woven(effort, seed, progress)

    def _woven(self, effort: Effort, seed: int, progress: Progress) -> Iterator[Ints]:
        first = worthwhile(effort.passes[0], self.gained)
        starts = self._starts(effort, stretch(progress, 0.0, effort.formed, "choosing a start"))
        works = [first.steps] * len(starts) + [sum(plan.steps for plan in effort.passes[1:])]
        ends = effort.formed + (1.0 - effort.formed) * np.cumsum([0.0, *works]) / sum(works)
        parts = [stretch(progress, start, end) for start, end in pairwise(ends.tolist())]
        for number, start in enumerate(starts):
            labels = improved(self.table, start, effort, [first], seed + number, parts[number])
            # `balanced` takes all its steps only where a step for each row has paid (decision 101)
            self.gained = (1.0 - self.table.loss(labels) / max(self.table.loss(start), TINY)) / first.steps
            yield self._keep(labels)
        if effort.passes[1:] and self.best is not None:
            yield self._keep(improved(self.table, self.best, effort, effort.passes[1:], seed, parts[-1]))

    def _keep(self, labels: Ints) -> Ints:
        """Remember the classes if they are the best so far."""
        if self.best is None or self.table.loss(labels) < self.table.loss(self.best):
            self.best = labels
        return labels

    def _starts(self, effort: Effort, progress: Progress) -> list[Ints]:
        """Return the best classes so far, then the best of those that are only formed, up to so many in all."""
        starts = [] if self.best is None else [self.best]
        if len(starts) == effort.starts:
            return starts
        shares = effort.shares
        if effort.piloted:
            shares = (chosen_share(self.table, shares, stretch(progress, 0.0, PILOTED)),)
            progress = stretch(progress, PILOTED, 1.0)
        formed, bounds = {}, np.linspace(0.0, 1.0, len(shares) + 1).tolist()
        for share, part in zip(shares, pairwise(bounds), strict=True):
            labels = self.table.form_classes(share, stretch(progress, *part), effort.recuts)
            formed[self.table.loss(labels)] = labels
        chosen = sorted(formed.keys() - self.used)[: effort.starts - len(starts)]
        self.used.update(chosen)
        return starts + [formed[loss] for loss in chosen]


def improved(
    table: WeaveTable, labels: Ints, effort: Effort, passes: Sequence[Pass], seed: int, progress: Progress
) -> Ints:
    """Return the best classes after some passes."""
    best, least, bounds = labels, table.loss(labels), np.linspace(0.0, 1.0, len(passes) + 1)
    for number, (plan, part) in enumerate(zip(passes, pairwise(bounds.tolist()), strict=True)):
        # each pass goes on from the best so far, since a pass may end worse than it began
        labels = table.improve(best, effort, plan, _mixed(seed, number), stretch(progress, *part))
        if (loss := table.loss(labels)) < least:
            best, least = labels, loss
    return best


def _mixed(seed: int, number: int) -> int:
    """Return the seed of one pass."""
    return int(np.random.default_rng([seed, number]).integers(2**62))
