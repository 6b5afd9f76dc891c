"""One group of neighbouring classes, and what is done to it: classes are carved again, rows are exchanged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tclose.partition.shared.loss import LossTable
from tclose.partition.shared.workers import Flag
from tclose.partition.weave.bisection import ranks_of
from tclose.partition.weave.exchange import (
    MANY_TRIES,
    Neighbours,
    Schedule,
    anneal,
    mend,
    sampled_costs,
    schedule,
    step_room,
)
from tclose.partition.weave.limits import Limits
from tclose.partition.weave.nearest import nearest_rows, no_nearest_rows
from tclose.partition.weave.recarving import recarve, recarving_room
from tclose.partition.weave.splitmix import seeded
from tclose.partition.weave.state import ClassState, state_of
from tclose.table.classes import ranked
from tclose.types import Floats, Ints, SmallInts

SAMPLED_SWAPS = 512  # whose costs tell where to begin the temperature
MENDING = 20  # steps per row that are tried at most to mend classes beyond a limit
MENDING_RISE = 1e3  # of the price, while classes are mended


@dataclass(frozen=True, eq=False)
class Group:
    """Classes as kernels see and change them: what they lose, their limits, and the rows in every order."""

    losses: LossTable
    limits: Limits
    state: ClassState
    near: Neighbours
    k: int
    stop: Flag

    @classmethod
    def of(
        cls, losses: LossTable, limits: Limits, points: Floats, orders: SmallInts, labels: Ints, k: int, stop: Flag
    ) -> Group:
        """Gather the classes of some rows; their labels need not be consecutive."""
        labels, classes = ranked(labels)
        state = state_of(losses, limits, labels, classes // 2 + 8)
        nearest = nearest_rows(points) if losses.squared else no_nearest_rows(len(labels))
        return cls(losses, limits, state, Neighbours(orders, ranks_of(orders), nearest), k, stop)

    def recarve(self, rounds: float, joined: int, usual_size: int, seed: int) -> None:
        """Join a few classes at a time and carve them again, so many rounds for each class."""
        classes = int(np.count_nonzero(self.state.size))
        room = recarving_room(self.losses, self.limits, joined, len(self.state.size))
        common = (self.losses, self.limits, self.state, self.near.orders, self.near.ranks, self.k)
        recarve(*common, usual_size, int(rounds * classes), room, seeded(seed), self.stop)

    def anneal(self, steps_per_row: float, course: Schedule, seed: int) -> None:
        """Exchange rows; classes may end beyond a limit."""
        steps, room = int(steps_per_row * len(self.state.label)), step_room(self.limits, self.state)
        anneal(*self._arguments, steps, course, room, seeded(seed), self.stop)

    def mend(self, heat: float, price: float, seed: int) -> None:
        """Exchange rows of classes that are beyond a limit, at a rising price, until none is or it takes too long."""
        steps, room = MENDING * len(self.state.label), step_room(self.limits, self.state)
        course = schedule((heat, heat), (price, MENDING_RISE * price), 1, tries=MANY_TRIES)
        mend(*self._arguments, steps, course, room, seeded(seed), self.stop)

    def swap_costs(self, candidates: int, seed: int) -> Floats:
        """Return what some random swaps would add to the loss."""
        costs = np.empty(SAMPLED_SWAPS)
        count = sampled_costs(self.losses, self.state, self.near, candidates, costs, seeded(seed))
        return costs[:count]

    @property
    def _arguments(self) -> tuple[LossTable, Limits, ClassState, Neighbours, int]:
        return self.losses, self.limits, self.state, self.near, self.k
