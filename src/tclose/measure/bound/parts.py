"""What is added up to a bound: prices on a block of quasi-identifiers, prices on a lattice, or balls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from typing import Any

import numpy as np

from tclose.measure.bound.ascent import FINEST, ascend, starting_prices
from tclose.measure.bound.ball import BallTable
from tclose.measure.bound.block import Block, Column
from tclose.measure.bound.boxes import AxisBoxes, axis_boxes, group_boxes
from tclose.measure.bound.budget import Budget, GoesOn
from tclose.measure.bound.columns import Basis, generate
from tclose.measure.bound.ground import Ground
from tclose.measure.bound.lattice import Lattice
from tclose.measure.bound.problem import UNIT, BoundProblem
from tclose.measure.bound.verify import part_value
from tclose.types import Floats

STEPS_BETWEEN = 8  # of an ascent that looks at few boxes, before all boxes are looked at
CELLS = 110  # of a number that is priced by itself
SET_CELLS = 8
MOST_ENTRIES = 12_000_000  # nodes × boxes of one block
LEVELS = ((60, 4, 0.01), (240, 6, 0.004), (720, 8, 0.001), (1200, 12, 0.0004))  # functions, knots, least gain


@dataclass(frozen=True, eq=False)
class Part:
    """One proven part: on which quasi-identifiers, from which attributes, and what it adds to their mean loss."""

    axes: tuple[str, ...]
    attributes: tuple[str, ...]
    kind: str  # prices, lattice or ball
    value: Fraction  # the mean loss over rows, summed over these quasi-identifiers
    proof: dict[str, Any]


def has_solver() -> bool:
    """Tell whether the extra [solve] is installed."""
    return find_spec("scipy") is not None


class Priced(ABC):
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
    def part(self) -> Part:
        """Prove the bound in integers."""

    def step(self) -> None:
        """Take one step towards better prices."""
        found = next(self._steps, None)
        if found is None:
            self.done = True
        elif found[0] > self.bound:
            self.bound, self.prices = found


class PricedBlock(Priced):
    """Prices on a block of quasi-identifiers."""

    def __init__(self, block: Block) -> None:
        self.block = block
        super().__init__(len(block.cells))

    def _improvements(self) -> Iterator[tuple[float, Floats]]:
        yield from starting_prices(self.block)
        if has_solver():
            store: list[Column] = []
            for functions, knots, gain in LEVELS:
                basis = Basis.of(self.block, functions, knots)
                yield from generate(self.block, basis, self.prices, store, gain, self.block.beat)
        yield from ascend(self.block, self.prices, max(0.05 * self.bound, 1e-3))

    def part(self) -> Part:
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
        return Part(names, (attribute,), "prices", part_value(proof, problem, block.beat), proof)


def block_of(problem: BoundProblem, axes: tuple[int, ...], attribute: int, cells: int, budget: Budget) -> Block | None:
    """Return a block with about so many cells per axis; None where it would be too large even with few."""
    nodes = len(Ground.of(problem.attributes[attribute]).parents)
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


class PricedLattice(Priced):
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

    def part(self) -> Part:
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
        return Part(names, (attribute,), "lattice", value, proof)


def ball(problem: BoundProblem, budget: Budget, goes_on: GoesOn) -> Part:
    """Return the ball bound of as many cells as time allows, those of most rows first."""
    table = BallTable(problem)
    radii, total = np.zeros(len(table.rows), dtype=np.int64), 0
    for cell in np.argsort(-table.rows, kind="stable").tolist():
        if not goes_on():
            break
        radii[cell] = table.radius(cell)
        total += int(radii[cell]) * int(table.rows[cell])
        budget.rise(total / UNIT / problem.rows / len(problem.axes))
    proof = {"kind": "ball", "axes": list(problem.axis_names), "radii": radii.tolist()}
    return Part(problem.axis_names, problem.attribute_names, "ball", Fraction(total, UNIT * problem.rows), proof)
