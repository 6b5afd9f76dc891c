"""One group of neighbouring classes, and what is done to it: classes are carved again, rows are exchanged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tclose.partition.shared.loss import LossTable
from tclose.partition.shared.workers import Flag
from tclose.partition.weave.bisection import orders_of, ranks_of
from tclose.partition.weave.exchange import Schedule, anneal, mend, sampled_costs, schedule, step_room
from tclose.partition.weave.limits import Limits
from tclose.partition.weave.recarving import recarve, recarving_room
from tclose.partition.weave.splitmix import seeded
from tclose.partition.weave.state import ClassState, state_of
from tclose.types import Floats, Ints, SmallInts

SAMPLED_SWAPS = 512  # whose costs tell where to begin the temperature
MENDING = 20  # steps per row that are tried at most to mend classes beyond a limit
MENDING_PRICE = (1e3, 1e6)  # the first and the last


@dataclass(frozen=True, eq=False)
class Group:
    """Classes as kernels see and change them: what they lose, their limits, and the rows in every order."""

    losses: LossTable
    limits: Limits
    state: ClassState
    orders: SmallInts
    ranks: SmallInts  # the place of each row in each order
    k: int
    stop: Flag

    @classmethod
    def of(cls, losses: LossTable, limits: Limits, labels: Ints, k: int, stop: Flag) -> Group:
        """Gather the classes of some rows; their labels need not be consecutive."""
        numbers, labels = np.unique(labels, return_inverse=True)
        orders, state = orders_of(losses), state_of(losses, limits, labels, len(numbers) // 2 + 8)
        return cls(losses, limits, state, orders, ranks_of(orders), k, stop)

    def recarve(self, rounds: float, joined: int, usual_size: int, seed: int) -> None:
        """Join a few classes at a time and carve them again, so many rounds for each class."""
        classes = int(np.count_nonzero(self.state.size))
        room = recarving_room(self.losses, self.limits, joined, len(self.state.size))
        recarve(*self._arguments, usual_size, int(rounds * classes), room, seeded(seed), self.stop)

    def anneal(self, steps_per_row: float, course: Schedule, seed: int) -> None:
        """Exchange rows; classes may end beyond a limit."""
        steps, room = int(steps_per_row * len(self.state.label)), step_room(self.limits, len(self.state.size))
        anneal(*self._arguments, steps, course, room, seeded(seed), self.stop)

    def mend(self, heat: float, seed: int) -> None:
        """Exchange rows of classes that are beyond a limit, until none is or it takes too long."""
        steps, room = MENDING * len(self.state.label), step_room(self.limits, len(self.state.size))
        mend(*self._arguments, steps, schedule((heat, heat), MENDING_PRICE, 1), room, seeded(seed), self.stop)

    def swap_costs(self, candidates: int, seed: int) -> Floats:
        """Return what some random swaps would add to the loss."""
        costs = np.empty(SAMPLED_SWAPS)
        count = sampled_costs(self.losses, self.state, self.orders, self.ranks, candidates, costs, seeded(seed))
        return costs[:count]

    @property
    def _arguments(self) -> tuple[LossTable, Limits, ClassState, SmallInts, SmallInts, int]:
        return self.losses, self.limits, self.state, self.orders, self.ranks, self.k
