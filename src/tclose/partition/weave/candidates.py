"""The partitions between which weave chooses, each finished and measured in the same way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tclose.partition.problem import Problem
from tclose.partition.shared.alike import merged_alike
from tclose.partition.shared.start import Finish
from tclose.partition.weave.table import WeaveTable
from tclose.types import Ints

OWN = "own"
FEW_ROWS = 100  # of a table on which refining costs almost nothing
NEAR = 1.1  # times the least loss, up to which a start is refined


@dataclass(frozen=True, eq=False)
class Candidate:
    """A class label per row, where the classes come from, and their loss."""

    name: str
    labels: Ints
    loss: float


@dataclass(frozen=True, eq=False)
class Candidates:
    """All partitions that were considered for a problem."""

    problem: Problem
    table: WeaveTable
    finish: Finish
    all: dict[str, Candidate] = field(default_factory=dict)

    def add(self, name: str, labels: Ints) -> None:
        """Consider a partition; of two with the same name, the better one is kept."""
        finished = self._finished(labels)
        if finished is not None:
            candidate = Candidate(name, finished, self.table.loss(finished))
            self.all[name] = min(self.all.get(name, candidate), candidate, key=lambda each: each.loss)

    @property
    def best(self) -> Candidate | None:
        """The first of those that lose least."""
        return min(self.all.values(), key=lambda each: each.loss, default=None)

    @property
    def lose_nothing(self) -> bool:
        """Whether one of them cannot be improved."""
        return (best := self.best) is not None and best.loss == 0

    def best_of(self, names: Iterable[str]) -> Candidate | None:
        """Return the best of some candidates; nothing where none of them could be finished."""
        named = (self.all[name] for name in names if name in self.all)
        return min(named, key=lambda each: each.loss, default=None)

    def comes_near(self, candidate: Candidate) -> bool:
        """Tell whether a candidate is worth refining: little work on a small table, or a loss near the least."""
        best = self.best
        return len(self.table) <= FEW_ROWS or (best is not None and candidate.loss <= NEAR * best.loss)

    def _finished(self, labels: Ints) -> Ints | None:
        """Merge classes that publish the same text, then those that a model does not admit, until both are done."""
        while True:
            seen = merged_alike(self.problem.all_axes, labels)
            finished = self.finish(seen)
            if finished is None or finished.max() == seen.max():
                return finished
            labels = finished
