"""The search for a good bound within some seconds: several plans are tried, and the best one gets the rest.

A bound is added up of parts: prices on a block of quasi-identifiers, prices on a lattice, or balls. The budget says how
much time is left, and reports the bound that was found so far.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from importlib.util import find_spec
from typing import Any

import numpy as np

from tclose.measure.bound.ball import BallTable
from tclose.measure.bound.block import AxisBoxes, Block, PricedClass, axis_boxes, group_boxes
from tclose.measure.bound.lattice import Lattice, lattice_of
from tclose.measure.bound.prices import FINEST, Basis, ascend, generate, starting_prices
from tclose.measure.bound.problem import UNIT, BoundProblem, GroundDistance
from tclose.measure.bound.verifier import part_value
from tclose.messages import say
from tclose.types import Floats, Progress

# The time that is left


Clock = Callable[[], float]
GoesOn = Callable[[], bool]

OFTEN = 0.1  # seconds between two reports


@dataclass
class Budget:
    """The seconds of a search; whatever a report raises stops the search."""

    seconds: float
    progress: Progress
    clock: Clock = time.monotonic
    best: float = 0.0  # the best bound on GCP so far
    _started: float = field(init=False)
    _reported: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self._started = self.clock()

    @property
    def used(self) -> float:
        """The seconds that have passed."""
        return self.clock() - self._started

    def beat(self) -> None:
        """Report the share of the time that has passed, and the best bound so far; often enough to be stopped."""
        now = time.monotonic()
        if now - self._reported >= OFTEN:
            self._reported = now
            self.report(min(self.used / self.seconds, 1.0) if self.seconds else 1.0)

    def report(self, share: float) -> None:
        """Report a share of the time, and the best bound so far."""
        self.progress(share, say("searching, lower bound {best:.4f} so far", best=self.best))

    def until(self, share: float) -> GoesOn:
        """Return a function that tells whether this share of the whole time is still ahead."""
        return lambda: self.used < share * self.seconds

    def rise(self, bound: float) -> None:
        """Take note of a bound; the best one counts."""
        self.best = max(self.best, bound)
        self.beat()


# Parts of a bound


STEPS_BETWEEN = 8  # of an ascent that looks at few boxes, before all boxes are looked at
CELLS = 110  # of a number that is priced by itself
SET_CELLS = 8
MOST_ENTRIES = 12_000_000  # nodes × boxes of one block
LEVELS = ((60, 4, 0.01), (240, 6, 0.004), (720, 8, 0.001), (1200, 12, 0.0004))  # functions, knots, least gain


@dataclass(frozen=True, eq=False)
class BoundPart:
    """One proven part: on which quasi-identifiers, from which attributes, and what it adds to their mean loss."""

    axes: tuple[str, ...]
    attributes: tuple[str, ...]
    kind: str  # prices, lattice or ball
    value: Fraction  # the mean loss over rows, summed over these quasi-identifiers
    proof: dict[str, Any]


def has_solver() -> bool:
    """Tell whether the extra [solve] is installed."""
    return find_spec("scipy") is not None


class PartSearch(ABC):
    """The best prices so far; the search for better ones can be resumed."""

    def __init__(self, groups: int) -> None:
        self.bound, self.prices = 0.0, np.zeros(groups)
        self.spent = 0.0  # seconds
        self.done = False
        self._steps = self._improvements()

    @abstractmethod
    def _improvements(self) -> Iterator[tuple[float, Floats]]:
        """Yield bounds with their prices."""

    @abstractmethod
    def part(self) -> BoundPart:
        """Prove the bound in integers."""

    def step(self) -> None:
        """Take one step towards better prices."""
        found = next(self._steps, None)
        if found is None:
            self.done = True
        elif found[0] > self.bound:
            self.bound, self.prices = found


class PricedBlock(PartSearch):
    """Prices on a block of quasi-identifiers."""

    def __init__(self, block: Block) -> None:
        self.block = block
        super().__init__(len(block.cells))

    def _improvements(self) -> Iterator[tuple[float, Floats]]:
        yield from starting_prices(self.block)
        if has_solver():
            store: list[PricedClass] = []
            for functions, knots, gain in LEVELS:
                basis = Basis.of(self.block, functions, knots)
                yield from generate(self.block, basis, self.prices, store, gain, self.block.beat)
        yield from ascend(self.block, self.prices, max(0.05 * self.bound, 1e-3))

    def part(self) -> BoundPart:
        """Prove the bound in integers."""
        block, problem = self.block, self.block.problem
        prices = np.floor(self.prices * UNIT).astype(np.int64)
        block.evaluate(prices / UNIT)  # chooses the multipliers
        order = np.ix_(*(boxes.order for boxes in block.boxes))
        multipliers = np.rint(block.multipliers * UNIT).astype(np.int64).reshape(block.shape)[order].ravel()
        kept = len(block.boxes) > len(block.axes)
        names = tuple(problem.axis_names[q] for q in block.axes)
        attribute = problem.attribute_names[block.attribute]
        proof = {
            "kind": "prices",
            "axes": list(names),
            "attribute": attribute,
            "t": str(block.ground.t),
            "kept": kept,
            "cuts": [boxes.cut for boxes in block.boxes[kept:]],
            "prices": prices.tolist(),
            "multipliers": multipliers.tolist(),
        }
        return BoundPart(names, (attribute,), "prices", part_value(proof, problem, block.beat), proof)


def block_of(problem: BoundProblem, axes: tuple[int, ...], attribute: int, cells: int, budget: Budget) -> Block | None:
    """Return a block with about so many cells per axis; None where it would be too large even with few."""
    nodes = len(GroundDistance.of(problem.attributes[attribute]).parents)
    kept = (group_boxes(problem.groups),) if problem.groups.any() else ()
    while cells >= 2:
        boxes = tuple(axis_boxes(problem.losses[q], _fitting(problem, q, cells)) for q in axes)
        for chosen in ((*kept, *boxes), boxes):  # to leave the kept values out only makes the bound weaker
            if _entries(chosen, nodes) <= MOST_ENTRIES:
                return Block(problem, axes, attribute, chosen, budget.beat)
        cells = cells * 3 // 4
    return None


def _fitting(problem: BoundProblem, axis: int, cells: int) -> int:
    losses = problem.losses[axis]
    return cells if losses.is_number else 4 * cells if losses.is_label else min(cells, SET_CELLS)


def _entries(boxes: tuple[AxisBoxes, ...], nodes: int) -> int:
    entries = nodes
    for axis in boxes:
        entries *= axis.size
    return entries


class PricedLattice(PartSearch):
    """Prices on the lattice of all hierarchies."""

    def __init__(self, lattice: Lattice) -> None:
        self.lattice = lattice
        super().__init__(len(lattice.counts))

    def _improvements(self) -> Iterator[tuple[float, Floats]]:
        for price in (0.5, 1.0, 2.5):
            evaluation = self.lattice.evaluate(np.full(len(self.prices), price))
            yield evaluation.bound, evaluation.lowered
        level, before = 0.15 * self.bound, -1.0
        while self.bound > before or level > FINEST:
            before = self.bound
            yield from self._ascent(level)
            level *= 0.8

    def _ascent(self, level: float) -> Iterator[tuple[float, Floats]]:
        """Ascend from the best prices, until the boxes that are looked at turn out not to be all that matter."""
        for number, (estimate, prices) in enumerate(ascend(self.lattice, self.prices, level, 0.8), start=1):
            yield 0.0, prices
            if number % STEPS_BETWEEN == 0:
                evaluation = self.lattice.evaluate(prices)
                yield evaluation.bound, evaluation.lowered
                if evaluation.bound < estimate - 0.1 * level:
                    return

    def part(self) -> BoundPart:
        """Prove the bound in integers; the kernel counts in integers already."""
        lattice, problem = self.lattice, self.lattice.problem
        prices = np.floor(self.prices * UNIT).astype(np.int64)
        names = tuple(problem.axis_names[axis.axis] for axis in lattice.axes)
        attribute = problem.attribute_names[lattice.attribute]
        proof = {
            "kind": "lattice",
            "axes": list(names),
            "attribute": attribute,
            "t": str(problem.attributes[lattice.attribute].t),
            "cuts": [axis.lowest for axis in lattice.axes],
            "prices": prices.tolist(),
        }
        value = Fraction(lattice.total(prices), UNIT * problem.rows)
        return BoundPart(names, (attribute,), "lattice", value, proof)


def ball(problem: BoundProblem, budget: Budget, goes_on: GoesOn) -> BoundPart:
    """Return the ball bound of as many cells as time allows, those of most rows first."""
    table = BallTable(problem)
    radii, total = np.zeros(len(table.rows), dtype=np.int64), 0
    # cells of many rows first: what is proven when time is up counts, the other cells add nothing
    for cell in np.argsort(-table.rows, kind="stable").tolist():
        if not goes_on():
            break
        radii[cell] = table.radius(cell)
        total += int(radii[cell]) * int(table.rows[cell])
        budget.rise(total / UNIT / problem.rows / len(problem.axes))
    proof = {"kind": "ball", "axes": list(problem.axis_names), "radii": radii.tolist()}
    return BoundPart(problem.axis_names, problem.attribute_names, "ball", Fraction(total, UNIT * problem.rows), proof)


# Plans of parts


PROVEN = 0.94  # share of the time after which the search ends and the exact proof begins
BALLS = 0.08  # share of the time that the balls may take
TRIAL = 0.07  # share of the time after which a plan is compared with the others
TOGETHER = 3  # quasi-identifiers in one block, at most


@dataclass(eq=False)
class SearchPlan:
    """Prices that add up, on blocks of different quasi-identifiers; per block there may be rivals, the best counts."""

    name: str
    blocks: Sequence[Sequence[PartSearch]]

    @property
    def bound(self) -> float:
        """The sum of the best prices of each block."""
        return sum(max(priced.bound for priced in rivals) for rivals in self.blocks)

    def improve(self, budget: Budget, axes: int, goes_on: GoesOn) -> None:
        """Improve prices while there is time; most of it goes where the bound is highest."""
        while goes_on() and (open_blocks := self._open()):
            least = 0.3 * max(priced.bound for priced in open_blocks) + 1e-6
            # seconds go where the bound is high, and some to every block: a low one may only lack time (decision 062)
            chosen = min(open_blocks, key=lambda priced: priced.spent / (priced.bound + least))
            before = budget.used
            chosen.step()
            chosen.spent += budget.used - before
            budget.rise(self.bound / axes)

    def _open(self) -> list[PartSearch]:
        """Return the blocks that can still improve; a rival far behind the best of its block is given up."""
        return [
            priced
            for rivals in self.blocks
            for priced in rivals
            if not priced.done and (priced.bound >= 0.7 * max(other.bound for other in rivals) or priced.spent < 1)
        ]

    def parts(self) -> list[BoundPart]:
        """Prove the best of every block."""
        chosen = [_best(rivals) for rivals in self.blocks]
        return [priced.part() for priced in chosen if priced.bound > 0]


def best_parts(problem: BoundProblem, budget: Budget) -> tuple[str, list[BoundPart]]:
    """Return the parts of the best bound that was found, and the name of the plan that found them."""
    balls = ball(problem, budget, budget.until(BALLS * PROVEN))
    plans: list[SearchPlan] = []
    axes = len(problem.axes)
    for make in (_single_axes, _together, _lattice):
        plan = make(problem, budget, plans)
        if plan is not None:
            share = min(budget.used / budget.seconds + TRIAL, PROVEN) if budget.seconds else 0.0
            plan.improve(budget, axes, budget.until(share))
            plans.append(plan)
    # each plan had its trial; the best one takes what is left of the time
    for plan in sorted(plans, key=lambda plan: -plan.bound):
        plan.improve(budget, axes, budget.until(PROVEN))
    best = max(plans, key=lambda plan: plan.bound, default=None)
    if best is None or best.bound <= balls.value:
        return "balls around each row", [balls]
    parts = best.parts()
    proven = sum(part.value for part in parts)
    return (best.name, parts) if proven > balls.value else ("balls around each row", [balls])


def _single_axes(problem: BoundProblem, budget: Budget, plans: list[SearchPlan]) -> SearchPlan | None:
    """Every quasi-identifier by itself, with the attribute that bounds it best."""
    attributes = range(len(problem.attributes))
    blocks = [_rivals(problem, (axis,), attributes, budget) for axis in range(len(problem.axes))]
    blocks = [rivals for rivals in blocks if rivals]
    return SearchPlan("prices on each quasi-identifier", blocks) if blocks else None


def _together(problem: BoundProblem, budget: Budget, plans: list[SearchPlan]) -> SearchPlan | None:
    """Put the quasi-identifiers with the highest bounds into one block; the others stay by themselves."""
    singles = sorted(plans[0].blocks, key=lambda rivals: -_best(rivals).bound) if plans else []
    chosen = [_best(rivals) for rivals in singles[:TOGETHER]]
    if len(chosen) < 2:
        return None
    axes = tuple(sorted(axis for priced in chosen for axis in _block(priced).axes))
    rivals = _rivals(problem, axes, sorted({_block(priced).attribute for priced in chosen}), budget)
    return SearchPlan("prices on several quasi-identifiers together", [rivals, *singles[TOGETHER:]]) if rivals else None


def _lattice(problem: BoundProblem, budget: Budget, plans: list[SearchPlan]) -> SearchPlan | None:
    """All boxes of quasi-identifiers with hierarchies."""
    attributes = range(len(problem.attributes))
    lattices = [lattice for a in attributes if (lattice := lattice_of(problem, a, budget.beat)) is not None]
    return (
        SearchPlan("prices on all boxes of the hierarchies", [list(map(PricedLattice, lattices))]) if lattices else None
    )


def _rivals(
    problem: BoundProblem, axes: tuple[int, ...], attributes: Iterable[int], budget: Budget
) -> list[PartSearch]:
    """Return a block per attribute, where it is not too large."""
    blocks = (block_of(problem, axes, attribute, CELLS, budget) for attribute in attributes)
    return [PricedBlock(block) for block in blocks if block is not None]


def _best(rivals: Sequence[PartSearch]) -> PartSearch:
    return max(rivals, key=lambda priced: priced.bound)


def _block(priced: PartSearch) -> Block:
    assert isinstance(priced, PricedBlock)
    return priced.block
