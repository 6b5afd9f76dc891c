"""Better prices by concave ascent: Polyak's steps towards a level a little above the best bound so far."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from tclose.measure.bound.block import Block, Evaluation
from tclose.types import Floats

PATIENCE = 15  # steps without a gain before the level is lowered
FINEST = 2e-5  # the least level worth trying


def starting_prices(block: Block) -> Iterator[tuple[float, Floats]]:
    """Yield the bounds of some simple prices: rows that are too frequent in their cell are dear, the others cheap."""
    potential = potentials(block)
    for scale in (0.0, 0.1, 0.3, 1.0, 3.0):
        for base in (0.03, 0.1, 0.3, 1.0):
            evaluation = block.evaluate(scale * potential + base)
            yield evaluation.bound, evaluation.lowered


def potentials(block: Block) -> Floats:
    """Return, per group, a Kantorovich potential between its cell and the table, less what t allows."""
    ground, cells = block.ground, np.unique(block.cells, return_inverse=True)[1]
    rows = np.zeros((cells.max() + 1, len(ground.parents)))
    rows[cells, block.nodes] = block.counts
    surplus = rows / rows.sum(axis=1, keepdims=True) - ground.shares
    potential = np.zeros_like(surplus)
    if ground.costs.size:
        potential = np.sign(surplus) / 2
    else:
        for node in range(len(ground.parents) - 1, 0, -1):  # earth below each edge
            surplus[:, ground.parents[node]] += surplus[:, node]
        for node in range(1, len(ground.parents)):
            step = np.sign(surplus[:, node]) * ground.float_lengths[node]
            potential[:, node] = potential[:, ground.parents[node]] + step
    excess = potential - (potential @ ground.shares)[:, None] - float(ground.t)
    return np.asarray(excess[cells, block.nodes])


class Concave(Protocol):
    """What has a bound for any prices, and a direction in which it rises."""

    @property
    def weights(self) -> Floats:
        """The share of each group in the table."""

    def gradient(self, prices: Floats) -> tuple[Evaluation, Floats]:
        """Return the bound of prices, and how it changes with each price, per row of the group."""


def ascend(block: Concave, prices: Floats, level: float, momentum: float = 0.6) -> Iterator[tuple[float, Floats]]:
    """Yield the bound and the prices after each step; the best of them is what counts."""
    best, best_prices, direction, idle = -np.inf, prices, np.zeros_like(prices), 0
    while level >= FINEST:
        evaluation, gradient = block.gradient(prices)
        gain = evaluation.bound - best
        idle = 0 if gain > 0.3 * level else idle + (gain <= 1e-7)
        if gain > 1e-7:
            best, best_prices = evaluation.bound, evaluation.lowered
        yield evaluation.bound, evaluation.lowered
        if idle >= PATIENCE:
            level, idle, prices, direction = 0.6 * level, 0, best_prices, np.zeros_like(prices)
        direction = momentum * direction + (1 - momentum) * gradient
        square = float(block.weights @ (direction * direction))
        if square < 1e-14:
            return
        prices = prices + direction * min((best + level - evaluation.bound) / square, 0.5)
