"""The table as weave's loops want it, and what is done to all of it: start somewhere, then refine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.partition.problem import Problem
from tclose.partition.weave.aims import Aims, aims_of
from tclose.partition.weave.anneal import anneal, weft
from tclose.partition.weave.cells import cells_of, views_of
from tclose.partition.weave.effort import Effort
from tclose.partition.weave.groups import groups_of
from tclose.partition.weave.grow import carve
from tclose.partition.weave.loss import Axes, flat_axes, total_loss
from tclose.partition.weave.recarve import recarve
from tclose.partition.weave.threads import in_threads
from tclose.partition.weave.work import smallest_class
from tclose.types import Ints, SmallInts

Rows = NDArray[np.signedinteger[Any]]
Progress = Callable[[float], None]

PARTED = 0.3  # of the time of a start, spent when the rows are in cells
WIDE = 4096  # values of an attribute that is no line
USUAL = 4  # times k
REACH = 16  # rows to either side in a view that count as near
STEPS_PER_ROUND = 10.0  # exchanges tried per row for each class carved anew


@dataclass(frozen=True, eq=False)
class Cloth:
    """Rows with their losses, their limits and the smallest class that there can be."""

    axes: Axes
    aims: Aims
    k: int
    usual: int  # rows of a class, to begin with

    @classmethod
    def of(cls, problem: Problem) -> Cloth:
        """Lay a problem out in flat arrays; where t is strict, small classes are ruled out at once."""
        aims = aims_of(problem.sensitive, problem.rows)
        k = smallest_class(aims, problem.k, max(problem.rows // 2 + 1, problem.k))
        return cls(flat_axes(problem.all_axes, problem.rows), aims, k, USUAL * problem.k)

    def __len__(self) -> int:
        return len(self.axes.codes)

    @property
    def wide(self) -> bool:
        """Whether some attribute has so many values that classes must be large and every look at one takes long."""
        return bool((np.diff(self.aims.edge) > WIDE).any())

    def only(self, rows: Rows) -> Cloth:
        """Return some of the rows, in this order."""
        axes = self.axes._replace(codes=np.ascontiguousarray(self.axes.codes[rows]))
        aims = self.aims._replace(codes=np.ascontiguousarray(self.aims.codes[rows]))
        return Cloth(axes, aims, self.k, self.usual)

    def loss(self, labels: Ints) -> float:
        """Return what the classes lose, summed over rows and axes."""
        return float(total_loss(self.axes, labels, int(labels.max()) + 1))

    def start(self, share: float, effort: Effort, progress: Progress) -> Ints:
        """Part the rows into cells that use up a share of t, and carve classes out of each."""
        views, most = views_of(self.axes), 2 * self.k if self.wide else max(effort.cell, 2 * self.k)
        cells = cells_of(self.axes, self.aims, views, self.k, most, share, lambda done: progress(PARTED * done))
        if self.wide:
            return _gathered(len(self), cells, (np.zeros(len(rows), dtype=np.int32) for rows in cells))

        def carved(rows: SmallInts) -> SmallInts:
            mine, labels = self.only(rows), np.zeros(len(rows), dtype=np.int32)
            carve(mine.axes, mine.aims, np.arange(len(rows)), self.k, self.usual, np.array(effort.prices), labels)
            return labels

        return _gathered(
            len(self), cells, in_threads(carved, cells, lambda done: progress(PARTED + (1 - PARTED) * done))
        )

    def refine(
        self, labels: Ints, effort: Effort, steps: float, heat: tuple[float, float], seed: int, progress: Progress
    ) -> Ints:
        """Let classes near each other exchange rows or be carved anew, group by group."""
        groups = groups_of(labels, self.axes, effort.group, np.random.default_rng([seed, 1]))
        seeds = np.random.default_rng([seed, 2]).integers(2**31, size=len(groups))

        def refined(job: tuple[Ints, int]) -> SmallInts:
            rows, chance = job
            mine = self.only(rows)
            known, named = np.unique(labels[rows], return_inverse=True)
            views = views_of(mine.axes)
            spare = len(known) // 2 + 8
            threads = weft(mine.axes, mine.aims, named.astype(np.int32), len(known) + spare)
            rounds = int(steps * len(known) / STEPS_PER_ROUND)
            recarve(mine.axes, mine.aims, threads, views, self.k, self.usual, rounds, effort.joined, chance)
            anneal(mine.axes, mine.aims, threads, views, self.k, int(steps * len(rows)), *heat, REACH, chance)
            return threads.label

        jobs = list(zip(groups, seeds.tolist(), strict=True))
        return _gathered(len(self), groups, in_threads(refined, jobs, progress))


def _gathered(rows: int, parts: Sequence[Rows], labels: Iterator[SmallInts]) -> Ints:
    """Give the classes of all parts numbers from 0 up."""
    found, first = np.empty(rows, dtype=np.int64), 0
    for part, mine in zip(parts, labels, strict=True):
        found[part] = first + mine
        first += int(mine.max()) + 1
    return np.unique(found, return_inverse=True)[1].astype(np.int64)
