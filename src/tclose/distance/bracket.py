"""Two integers between which the work of a transportation problem lies, long before it is solved.

Sinkhorn's scaling of a smoothed problem (Cuturi 2013) gives potentials in floats. Rounded to integers, potentials that
no cost contradicts give a lower bound on the work, and the flow that fills the arcs of least reduced cost first gives
an upper bound. Whatever the floats were, both bounds hold exactly. The same potentials choose the few arcs that the
solver has to look at; the proof that its flow is the cheapest looks at all arcs (`transport.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tclose.distance.moves import in_order
from tclose.types import Bools, Floats, Ints

SMOOTHING = 0.01  # in units of the ground distance
ROUNDS = 200  # of scaling
FINE = 2**20  # potentials are multiples of the largest cost over this, about
ARCS = 6  # of each end that the solver is given first
MOST_FILLED = 3  # times the ends: arcs that are filled in order of their reduced cost
SOLVED = 8  # programmes, each with the arcs that the one before lacked
NEAR = 1e-9


@dataclass(frozen=True, eq=False)
class Bracket:
    """A transportation problem: integer costs from sources to targets, what each has and what each lacks."""

    costs: Ints  # sources × targets
    supply: list[int]
    demand: list[int]

    @cached_property
    def _scale(self) -> int:
        return max(1, FINE // max(int(self.costs.max()), 1))

    @cached_property
    def _potentials(self) -> tuple[Ints, Ints]:
        """Potentials u and v with u_i + v_j at most the cost from i to j, in fractions of a unit."""
        fine = self.costs * self._scale
        rough = np.floor(self._smoothed() * max(int(fine.max()), 1)).astype(np.int64)
        targets = (fine - rough[:, None]).min(axis=0)
        return (fine - targets).min(axis=1), targets

    def _smoothed(self) -> Floats:
        """Return potentials of the sources, as shares of the largest cost, by Sinkhorn's scaling."""
        kernel = np.exp(self.costs / (-SMOOTHING * max(int(self.costs.max()), 1)))
        whole = float(sum(self.supply))
        supply, demand = (np.array([amount / whole for amount in ends]) for ends in (self.supply, self.demand))
        sources = np.ones(len(supply))
        with np.errstate(all="ignore"):
            for _ in range(ROUNDS):
                sources = supply / (kernel @ (demand / (sources @ kernel)))
            potentials = SMOOTHING * np.log(sources)
        return potentials if np.isfinite(potentials).all() else np.zeros(len(supply))  # which give a bound, too

    @cached_property
    def _reduced(self) -> Ints:
        sources, targets = self._potentials
        return self.costs * self._scale - sources[:, None] - targets

    @cached_property
    def low(self) -> int:
        """No flow takes less work."""
        sources, targets = (ends.tolist() for ends in self._potentials)
        fine = sum(map(_times, self.supply, sources)) + sum(map(_times, self.demand, targets))
        return -(-fine // self._scale)

    @cached_property
    def high(self) -> int:
        """Some flow takes no more work."""
        return sum(int(self.costs[i, j]) * amount for i, j, amount in self._filled)

    @cached_property
    def _filled(self) -> list[tuple[int, int, int]]:
        """A flow: arcs are filled in the order of their reduced costs, and what is left is moved in order."""
        left, lacking, flow = list(self.supply), list(self.demand), []
        chosen = np.argsort(self._reduced, axis=None, kind="stable")[: MOST_FILLED * (len(left) + len(lacking))]
        for i, j in (divmod(arc, len(lacking)) for arc in chosen.tolist()):
            if left[i] and lacking[j]:
                amount = min(left[i], lacking[j])
                left[i] -= amount
                lacking[j] -= amount
                flow.append((i, j, amount))
        rest = in_order([*left, *(-lack for lack in lacking)])
        return [*flow, *((i, j - len(left), amount) for i, j, amount in rest)]

    def proposal(self) -> Floats:
        """Return a flow that is optimal up to floating point, or nearly so: the proof mends it."""
        given = np.zeros(self.costs.shape, dtype=bool)
        given[tuple(np.array([arc[:2] for arc in self._filled]).T)] = True
        few = min(ARCS, len(self.supply))
        given[np.argpartition(self._reduced, few - 1, axis=0)[:few], np.arange(len(self.demand))] = True
        for _ in range(SOLVED):
            flow, reduced = self._solved(given)
            lacking = (reduced < -NEAR) & ~given
            if not lacking.any():
                break
            targets = np.flatnonzero(lacking.any(axis=0))
            given[np.where(lacking, reduced, 1.0).argmin(axis=0)[targets], targets] = True
        return flow

    def _solved(self, given: Bools) -> tuple[Floats, Floats]:
        """Return the cheapest flow on some arcs, and the reduced costs of all arcs."""
        from scipy.optimize import linprog
        from scipy.sparse import coo_array

        (rows, _), (sources, targets) = self.costs.shape, np.nonzero(given)
        arcs, whole, largest = np.arange(len(sources)), float(sum(self.supply)), max(int(self.costs.max()), 1)
        ends = np.concatenate((sources, rows + targets))
        balance = coo_array((np.ones(2 * len(arcs)), (ends, np.tile(arcs, 2)))).tocsr()
        amounts = [amount / whole for amount in self.supply + self.demand]
        amounts[-1] = sum(amounts[:rows]) - sum(amounts[rows:-1])  # level in floats, too
        costs = self.costs / largest
        answer = linprog(costs[sources, targets], A_eq=balance, b_eq=amounts, method="highs")
        flow = np.zeros(self.costs.shape)
        if answer.x is None:
            return flow, flow  # no proposal: cancelling alone will find the optimum, only later
        flow[sources, targets] = answer.x * whole
        duals = answer.eqlin.marginals
        return flow, np.asarray(costs - duals[:rows, None] - duals[rows:])


def _times(amount: int, potential: int) -> int:
    return amount * potential
