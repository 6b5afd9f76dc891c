"""The search for a good bound within some seconds: which parts are tried, and which of them add up."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from tclose.measure.bound.ascent import ascend, starting_prices
from tclose.measure.bound.ball import BallTable
from tclose.measure.bound.block import Block
from tclose.measure.bound.boxes import AxisBoxes, axis_boxes, group_boxes
from tclose.measure.bound.problem import UNIT, BoundProblem
from tclose.measure.bound.verify import part_value
from tclose.types import Floats, Progress

Clock = Callable[[], float]

CHECKED = 0.85  # share of the time after which the search ends and the exact check begins
CELLS = 90  # of a number
SET_CELLS = 8
MOST_ENTRIES = 6_000_000  # nodes × boxes of one block
OFTEN = 0.1  # seconds between two reports


@dataclass
class Budget:
    """How much time is left; it reports the best bound so far, and whatever the report raises stops the search."""

    seconds: float
    progress: Progress
    clock: Clock = time.monotonic
    best: float = 0.0  # the best bound on GCP so far
    started: float = field(init=False)
    reported: float = field(init=False, default=-1.0)

    def __post_init__(self) -> None:
        self.started = self.clock()

    @property
    def used(self) -> float:
        """The seconds that have passed."""
        return self.clock() - self.started

    def beat(self) -> None:
        """Report the share of the time that has passed, and the best bound so far."""
        now = time.monotonic()
        if now - self.reported >= OFTEN:
            self.reported = now
            share = min(self.used / self.seconds, 1.0) if self.seconds else 1.0
            self.progress(share, f"lower bound {self.best:.4f}")

    def until(self, share: float) -> Callable[[], bool]:
        """Return what tells whether this share of the whole time is still ahead."""
        return lambda: self.used < share * self.seconds

    def rise(self, bound: float) -> None:
        """Take note of a better bound."""
        self.best = max(self.best, bound)


@dataclass(frozen=True, eq=False)
class Part:
    """One proven part: on which quasi-identifiers, from which attributes, what it adds to their mean loss."""

    axes: tuple[str, ...]
    attributes: tuple[str, ...]
    how: str
    value: Fraction  # the mean loss over rows, summed over these quasi-identifiers
    proof: dict[str, Any]


@dataclass(eq=False)
class PricedBlock:
    """A block with the best prices so far."""

    block: Block
    prices: Floats
    bound: float = 0.0

    def take(self, bound: float, prices: Floats) -> None:
        """Keep prices that are better."""
        if bound > self.bound:
            self.bound, self.prices = bound, prices

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
        value = max(part_value(proof, problem, block.beat), Fraction(0))
        return Part(names, (attribute,), "prices", value, proof)


def block_of(problem: BoundProblem, axes: tuple[int, ...], attribute: int, cells: int, budget: Budget) -> Block | None:
    """Return a block with about so many cells per axis; None where it would be too large even with few."""
    nodes = 2 * len(problem.attributes[attribute].reference)
    kept = (group_boxes(problem.groups),) if problem.groups.any() else ()
    while cells >= 2:
        boxes = tuple(axis_boxes(problem.losses[q], _fitting(problem, q, cells)) for q in axes)
        for chosen in ((*kept, *boxes), boxes):  # to leave the kept values out only makes the bound weaker
            if _entries(chosen, nodes) <= MOST_ENTRIES:
                return Block(problem, axes, attribute, chosen, budget.beat)
        cells //= 2
    return None


def _fitting(problem: BoundProblem, axis: int, cells: int) -> int:
    losses = problem.losses[axis]
    return cells if losses.is_number else 4 * cells if losses.is_label else min(cells, SET_CELLS)


def _entries(boxes: tuple[AxisBoxes, ...], nodes: int) -> int:
    entries = nodes
    for axis in boxes:
        entries *= axis.size
    return entries


def per_axis(problem: BoundProblem, budget: Budget) -> list[Part]:
    """Price every quasi-identifier by itself, with the attribute that bounds it best."""
    blocks: dict[tuple[int, int], PricedBlock] = {}
    pairs = [(q, a) for q in range(len(problem.axes)) for a in range(len(problem.attributes))]
    for number, (q, a) in enumerate(pairs):
        block = block_of(problem, (q,), a, CELLS, budget)
        if block is not None:
            goes_on = budget.until(CHECKED * (0.3 + 0.2 * (number + 1) / len(pairs)))
            bound, prices = starting_prices(block, goes_on)
            blocks[q, a] = PricedBlock(block, prices, bound)
            _note(blocks, problem, budget)
    left = sorted(blocks.values(), key=lambda each: each.bound)
    for number, priced in enumerate(left):
        share = CHECKED * (0.5 + 0.5 * (number + 1) / len(left))
        improve(priced, budget.until(share), lambda: _note(blocks, problem, budget))
    return [max(chosen, key=lambda each: each.bound).part() for chosen in _by_axis(blocks) if chosen]


def improve(priced: PricedBlock, goes_on: Callable[[], bool], note: Callable[[], None]) -> None:
    """Let the prices of a block ascend."""
    if priced.bound <= 0:
        return
    for bound, prices in ascend(priced.block, priced.prices, max(0.1 * priced.bound, 1e-3)):
        priced.take(bound, prices)
        note()
        if not goes_on():
            return


def _by_axis(blocks: dict[tuple[int, int], PricedBlock]) -> list[list[PricedBlock]]:
    axes = sorted({q for q, _ in blocks})
    return [[priced for (other, _), priced in blocks.items() if other == q] for q in axes]


def _note(blocks: dict[tuple[int, int], PricedBlock], problem: BoundProblem, budget: Budget) -> None:
    total = sum(max(priced.bound for priced in chosen) for chosen in _by_axis(blocks))
    budget.rise(total / len(problem.axes))


def ball(problem: BoundProblem, budget: Budget, share: float) -> Part:
    """Return the ball bound of as many cells as time allows, those of most rows first."""
    table, goes_on = BallTable(problem), budget.until(share)
    radii, total = np.zeros(len(table.rows), dtype=np.int64), 0
    for cell in np.argsort(-table.rows, kind="stable").tolist():
        if not goes_on():
            break
        budget.beat()
        radii[cell] = table.radius(cell)
        total += int(radii[cell]) * int(table.rows[cell])
        budget.rise(total / UNIT / problem.rows / len(problem.axes))
    proof = {"kind": "ball", "axes": list(problem.axis_names), "radii": radii.tolist()}
    return Part(problem.axis_names, problem.attribute_names, "ball", Fraction(total, UNIT * problem.rows), proof)
