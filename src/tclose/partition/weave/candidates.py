"""The partitions between which weave chooses, each finished and measured in the same way."""

from __future__ import annotations

from dataclasses import dataclass, field

from tclose.partition.problem import Problem
from tclose.partition.shared.alike import merged_alike
from tclose.partition.shared.start import Finish
from tclose.partition.weave.table import WeaveTable
from tclose.types import Ints

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
        while (finished := self.finish(labels)) is not None:
            labels = merged_alike(self.problem.all_axes, finished)
            if labels.max() == finished.max():
                return finished
        return None
