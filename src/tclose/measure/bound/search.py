"""The search for a good bound within some seconds: several plans are tried, and the best one gets the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tclose.measure.bound.block import Block
from tclose.measure.bound.budget import Budget, GoesOn
from tclose.measure.bound.lattice import lattice_of
from tclose.measure.bound.parts import CELLS, Part, Priced, PricedBlock, PricedLattice, ball, block_of
from tclose.measure.bound.problem import BoundProblem

PROVEN = 0.94  # share of the time after which the search ends and the exact proof begins
BALLS = 0.08  # share of the time that the balls may take
TRIAL = 0.07  # share of the time after which a plan is compared with the others
TOGETHER = 3  # quasi-identifiers in one block, at most


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
            least = 0.3 * max(priced.bound for priced in open_blocks) + 1e-6
            chosen = min(open_blocks, key=lambda priced: priced.spent / (priced.bound + least))
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
        chosen = [_best(rivals) for rivals in self.blocks]
        return [priced.part() for priced in chosen if priced.bound > 0]


def best_parts(problem: BoundProblem, budget: Budget) -> tuple[str, list[Part]]:
    """Return the parts of the best bound that was found, and the name of the plan that found them."""
    balls = ball(problem, budget, budget.until(BALLS * PROVEN))
    plans: list[Plan] = []
    axes = len(problem.axes)
    for make in (_single_axes, _together, _lattice):
        plan = make(problem, budget, plans)
        if plan is not None:
            share = min(budget.used / budget.seconds + TRIAL, PROVEN) if budget.seconds else 0.0
            plan.improve(budget, axes, budget.until(share))
            plans.append(plan)
    for plan in sorted(plans, key=lambda plan: -plan.bound):
        plan.improve(budget, axes, budget.until(PROVEN))
    best = max(plans, key=lambda plan: plan.bound, default=None)
    if best is None or best.bound <= balls.value:
        return "balls around each row", [balls]
    parts = best.parts()
    proven = sum(part.value for part in parts)
    return (best.name, parts) if proven > balls.value else ("balls around each row", [balls])


def _single_axes(problem: BoundProblem, budget: Budget, plans: list[Plan]) -> Plan | None:
    """Every quasi-identifier by itself, with the attribute that bounds it best."""
    attributes = range(len(problem.attributes))
    blocks = [_rivals(problem, (axis,), attributes, budget) for axis in range(len(problem.axes))]
    blocks = [rivals for rivals in blocks if rivals]
    return Plan("prices on each quasi-identifier", blocks) if blocks else None


def _together(problem: BoundProblem, budget: Budget, plans: list[Plan]) -> Plan | None:
    """Put the quasi-identifiers with the highest bounds into one block; the others stay by themselves."""
    singles = sorted(plans[0].blocks, key=lambda rivals: -_best(rivals).bound) if plans else []
    chosen = [_best(rivals) for rivals in singles[:TOGETHER]]
    if len(chosen) < 2:
        return None
    axes = tuple(sorted(axis for priced in chosen for axis in _block(priced).axes))
    rivals = _rivals(problem, axes, sorted({_block(priced).attribute for priced in chosen}), budget)
    return Plan("prices on several quasi-identifiers together", [rivals, *singles[TOGETHER:]]) if rivals else None


def _lattice(problem: BoundProblem, budget: Budget, plans: list[Plan]) -> Plan | None:
    """All boxes of quasi-identifiers with hierarchies."""
    attributes = range(len(problem.attributes))
    lattices = [lattice for a in attributes if (lattice := lattice_of(problem, a, budget.beat)) is not None]
    return Plan("prices on all boxes of the hierarchies", [list(map(PricedLattice, lattices))]) if lattices else None


def _rivals(problem: BoundProblem, axes: tuple[int, ...], attributes: Iterable[int], budget: Budget) -> list[Priced]:
    """Return a block per attribute, where it is not too large."""
    blocks = (block_of(problem, axes, attribute, CELLS, budget) for attribute in attributes)
    return [PricedBlock(block) for block in blocks if block is not None]


def _best(rivals: Sequence[Priced]) -> Priced:
    return max(rivals, key=lambda priced: priced.bound)


def _block(priced: Priced) -> Block:
    assert isinstance(priced, PricedBlock)
    return priced.block
