"""weave's own classes: formed in several ways, the best of which are improved, by one effort after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from tclose.partition.weave.effort import Effort, Pass, worthwhile
from tclose.partition.weave.pilot import chosen_share
from tclose.partition.weave.table import WeaveTable
from tclose.types import Ints, Progress, stretch

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
        labels = table.improve(best, effort, plan, _mixed(seed, number), stretch(progress, *part))
        if (loss := table.loss(labels)) < least:
            best, least = labels, loss
    return best


def _mixed(seed: int, number: int) -> int:
    """Return the seed of one pass."""
    return int(np.random.default_rng([seed, number]).integers(2**62))
