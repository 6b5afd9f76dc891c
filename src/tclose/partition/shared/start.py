"""Partitions that weave considers besides its own, and the partition that a method returns with its origin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tclose.types import Ints

STARTED = 0.1  # progress of a method when all starts are known
Finish = Callable[[Ints], Ints | None]  # merges classes until every model admits them; None where that is impossible


@dataclass(frozen=True, eq=False)
class Start:
    """Classes within every t, with at least k rows each; other models may still ask for merging."""

    name: str
    labels: Ints
    fast: bool = False  # whether the effort `fast` considers it, too
    optimal: bool = False  # whether no partition within every t and k loses less


@dataclass(frozen=True, eq=False)
class Split:
    """A class label per row, and where the classes come from: the name of a start; nothing but for weave."""

    labels: Ints
    start: str | None = None
