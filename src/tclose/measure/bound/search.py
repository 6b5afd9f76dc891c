"""The search for a good bound within some seconds: several plans are tried, and the best one gets the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tclose.measure.bound.budget import Budget, GoesOn
from tclose.measure.bound.lattice import lattice_of
from tclose.measure.bound.parts import CELLS, Part, Priced, PricedBlock, PricedLattice, ball, block_of
from tclose.measure.bound.problem import BoundProblem

PROVEN = 0.88  # share of the time after which the search ends and the exact proof begins
BALLS = 0.15  # share of the time that the balls may take
TRIAL = 0.15  # share of the time after which a plan is compared with the others


@dataclass(eq=False)
class Plan:
    """Prices that add up, on blocks of different quasi-identifiers; per block there may be rivals, the best counts."""

    name: str
    blocks: Sequence[Sequence[Priced]]

    @property
    def bound(self) -> float:
        """The sum of the best prices of each block."""
        return sum(max(priced.bound for priced in rivals) for rivals in self.blocks)

    def improve(self, budget: Budget, axes: int, goes_on: GoesOn) -> None:
        """Improve prices while there is time; most of it goes where the bound is highest."""
        while goes_on() and (open_blocks := self._open()):
            chosen = min(open_blocks, key=lambda priced: priced.spent / (priced.bound + 1e-6))
            before = budget.used
            chosen.step()
            chosen.spent += budget.used - before
            budget.rise(self.bound / axes)

    def _open(self) -> list[Priced]:
        """Return the blocks that can still improve; a rival far behind the best of its block is given up."""
        return [
            priced
            for rivals in self.blocks
            for priced in rivals
            if not priced.done and (priced.bound >= 0.7 * max(other.bound for other in rivals) or priced.spent < 1)
        ]

    def parts(self) -> list[Part]:
        """Prove the best of every block."""
        chosen = [max(rivals, key=lambda priced: priced.bound) for rivals in self.blocks]
        return [priced.part() for priced in chosen if priced.bound > 0]


def best_parts(problem: BoundProblem, budget: Budget) -> tuple[str, list[Part]]:
    """Return the parts of the best bound that was found, and the name of the plan that found them."""
    balls = ball(problem, budget, budget.until(BALLS * PROVEN))
    plans = _plans(problem, budget)
    axes = len(problem.axes)
    for plan in plans:
        share = min(budget.used / budget.seconds + TRIAL, PROVEN) if budget.seconds else 0.0
        plan.improve(budget, axes, budget.until(share))
    for plan in sorted(plans, key=lambda plan: -plan.bound):
        plan.improve(budget, axes, budget.until(PROVEN))
    best = max(plans, key=lambda plan: plan.bound, default=None)
    if best is None or best.bound <= balls.value:
        return "balls around each row", [balls]
    parts = best.parts()
    proven = sum(part.value for part in parts)
    return (best.name, parts) if proven > balls.value else ("balls around each row", [balls])


def _plans(problem: BoundProblem, budget: Budget) -> list[Plan]:
    plans = [_single_axes(problem, budget), _all_axes(problem, budget), _lattice(problem, budget)]
    return [plan for plan in plans if plan.blocks]


def _single_axes(problem: BoundProblem, budget: Budget) -> Plan:
    """Every quasi-identifier by itself, with the attribute that bounds it best."""
    blocks = [_rivals(problem, (axis,), CELLS, budget) for axis in range(len(problem.axes))]
    return Plan("prices on each quasi-identifier", [rivals for rivals in blocks if rivals])


def _all_axes(problem: BoundProblem, budget: Budget) -> Plan:
    """All quasi-identifiers together, if the boxes of cells that are fine enough can be listed."""
    axes = tuple(range(len(problem.axes)))
    rivals = _rivals(problem, axes, CELLS, budget) if len(axes) > 1 else []
    return Plan("prices on all quasi-identifiers together", [rivals] if rivals else [])


def _lattice(problem: BoundProblem, budget: Budget) -> Plan:
    attributes = range(len(problem.attributes))
    lattices = [lattice for a in attributes if (lattice := lattice_of(problem, a, budget.beat)) is not None]
    rivals = [PricedLattice(lattice) for lattice in lattices]
    return Plan("prices on all boxes of the hierarchies", [rivals] if rivals else [])


def _rivals(problem: BoundProblem, axes: tuple[int, ...], cells: int, budget: Budget) -> list[PricedBlock]:
    """Return a block per attribute."""
    blocks = (block_of(problem, axes, attribute, cells, budget) for attribute in range(len(problem.attributes)))
    return [PricedBlock(block) for block in blocks if block is not None]
