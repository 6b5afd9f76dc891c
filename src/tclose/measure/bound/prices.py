"""Better prices for a block: by concave ascent, and by column generation.

The ascent takes Polyak's steps towards a level a little above the best bound so far.

Column generation has prices that are piecewise linear in the sensitive value, one set per few cells. The master problem
(HiGHS) finds the prices of highest mean for which no class seen so far exceeds its loss, within a trust region around
the best prices; pricing all boxes then yields the classes that do exceed it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any, Protocol

import numpy as np

from tclose.measure.bound.block import Block, Evaluation, PricedClass
from tclose.partition.shared.pulse import Pulse, waited_for
from tclose.types import Floats, Ints

# Concave ascent


ASCENT_PATIENCE = 15  # steps without a gain before the level is lowered
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
        if idle >= ASCENT_PATIENCE:
            level, idle, prices, direction = 0.6 * level, 0, best_prices, np.zeros_like(prices)
        direction = momentum * direction + (1 - momentum) * gradient
        square = float(block.weights @ (direction * direction))
        if square < 1e-14:
            return
        prices = prices + direction * min((best + level - evaluation.bound) / square, 0.5)


# Column generation


KEPT = 1_500  # columns after the master has grown too large
MOST = 2_500
RADIUS = 0.03  # of the first trust region
NARROWEST = 1e-5
MASTER_PATIENCE = 8  # rounds
CLOSE = 1e-3  # a master that promises so little more, relatively, ends the search


@dataclass(frozen=True, eq=False)
class Basis:
    """Prices as weighted sums of a few functions of cell and value: groups × functions, sparse."""

    matrix: Any

    @classmethod
    def of(cls, block: Block, functions: int, knots: int) -> Basis:
        """Tie neighbouring cells of each axis, and let prices be linear between knots of the sensitive value."""
        from scipy.sparse import csr_matrix

        features = value_features(block, knots)
        tied = _tied_cells(block, max(1, functions // features.shape[1]))
        group, feature = np.nonzero(features[block.values])
        weights = features[block.values][group, feature]
        column = tied[group] * features.shape[1] + feature
        used, column = np.unique(column, return_inverse=True)
        return cls(csr_matrix((weights, (group, column)), shape=(len(tied), len(used))))

    @property
    def size(self) -> int:
        """How many functions there are."""
        return int(self.matrix.shape[1])

    def prices(self, weights: Floats) -> Floats:
        """Return the price of every group."""
        return np.asarray(self.matrix @ weights)

    def fitted(self, block: PricedTable, prices: Floats) -> Floats:
        """Return the weights whose prices are nearest to the given ones."""
        from scipy.sparse import identity
        from scipy.sparse.linalg import spsolve

        weighted = self.matrix.multiply(block.weights[:, None])
        normal = (self.matrix.T @ weighted + 1e-9 * identity(self.size)).tocsc()
        return np.asarray(spsolve(normal, self.matrix.T @ (block.weights * prices))).reshape(-1)


def _tied_cells(block: Block, most: int) -> Ints:
    """Return, per group, the number of its cell after neighbours were tied, so that about `most` cells are left."""
    counts = [boxes.count for boxes in block.boxes]
    finest = max([1, *(r for r in range(1, max(counts) + 1) if prod(min(count, r) for count in counts) <= most)])
    tied = np.zeros(len(block.cells), dtype=np.int64)
    for count, cell in zip(counts, block.coordinates, strict=True):
        parts = min(finest, count)
        tied = tied * parts + cell * parts // count
    return np.unique(tied, return_inverse=True)[1]


def value_features(block: Block, knots: int) -> Floats:
    """Return values × functions: hats between knots on a line, single values or groups of them elsewhere."""
    ground, values = block.ground, len(block.ground.node_of_value)
    if ground.line is not None:
        return _hats(ground.line, ground.shares[ground.node_of_value], knots)
    share = np.cumsum(ground.shares[ground.node_of_value])
    group = np.arange(values) if values <= 3 * knots else np.minimum((share * 3 * knots).astype(int), 3 * knots - 1)
    return np.asarray(group[:, None] == np.unique(group)[None, :], dtype=np.float64)


def _hats(places: Floats, shares: Floats, knots: int) -> Floats:
    """Return hats over places between 0 and 1; values beside the line (place −1) have a function of their own."""
    on_line = places >= 0
    order = np.argsort(np.where(on_line, places, 2.0), kind="stable")
    running = np.cumsum(shares[order]) / shares.sum()
    last, quantiles = int(on_line.sum()) - 1, np.linspace(0, 1, knots)[1:-1]
    inner = [places[order[min(int(np.searchsorted(running, quantile)), last)]] for quantile in quantiles]
    at = np.unique([0.0, *inner, 1.0])
    left = np.clip(np.searchsorted(at, places, side="right") - 1, 0, len(at) - 2)
    part = (places - at[left]) / (at[left + 1] - at[left])
    hats = np.zeros((len(places), len(at) + 1))
    rows = np.arange(len(places))
    hats[rows, left], hats[rows, left + 1] = 1 - part, part
    hats[~on_line] = 0.0
    hats[~on_line, -1] = 1.0
    return hats


class PricedTable(Protocol):
    """What column generation needs to know of the table."""

    @property
    def weights(self) -> Floats:
        """The share of each group in the table."""

    def with_columns(self, prices: Floats) -> tuple[Evaluation, list[PricedClass]]:
        """Return the bound of prices, and the classes that exceed their loss."""


@dataclass(eq=False)
class Master:
    """The columns seen so far, and the best prices so far with their trust region."""

    block: PricedTable
    basis: Basis
    beat: Callable[[], None]
    store: list[PricedClass]
    rows: list[Floats] = field(default_factory=list)  # of each column: what it weighs each function with

    def add(self, columns: list[PricedClass]) -> None:
        """Take new columns."""
        self.store += columns
        self.catch_up()

    def catch_up(self) -> None:
        """Weigh the functions of the basis for columns that have not been weighed yet."""
        for column in self.store[len(self.rows) :]:
            self.rows.append(np.asarray(self.basis.matrix[column.groups].T @ column.shares).reshape(-1))

    def solve(self, low: Floats, high: Floats) -> tuple[float, Floats]:
        """Return the highest mean price in the trust region for which no column exceeds its loss, and its weights."""
        from scipy.optimize import linprog

        if not self.store:
            return np.inf, high
        losses = np.array([column.loss for column in self.store])
        matrix, mean = np.array(self.rows), np.asarray(self.basis.matrix.T @ self.block.weights).reshape(-1)
        # a column that the trust region violates everywhere is left out as far as it must be
        slack = np.maximum(losses, np.where(matrix > 0, matrix * low, matrix * high).sum(axis=1) + 1e-9)
        bounds = np.stack([low, high], axis=1)
        pulse = Pulse(lambda share, phase="": self.beat())
        answer = waited_for(lambda: linprog(-mean, A_ub=matrix, b_ub=slack, bounds=bounds, method="highs"), pulse)
        if answer.x is None:
            return 0.0, (low + high) / 2
        if len(self.store) > MOST:
            self._forget(losses - matrix @ answer.x)
        return float(mean @ answer.x), np.asarray(answer.x)

    def _forget(self, slack: Floats) -> None:
        kept = np.sort(np.argsort(slack, kind="stable")[:KEPT]).tolist()
        self.store[:] = [self.store[i] for i in kept]
        self.rows[:] = [self.rows[i] for i in kept]


def generate(
    block: PricedTable, basis: Basis, prices: Floats, store: list[PricedClass], gain: float, beat: Callable[[], None]
) -> Iterator[tuple[float, Floats]]:
    """Yield the bound and the prices after each round of column generation.

    It ends when the master promises no more, or when a few rounds have gained less than `gain`, relatively.
    """
    master = Master(block, basis, beat, store)
    master.catch_up()
    weights = centre = basis.fitted(block, prices)
    best, promised, radius, misses = -np.inf, np.inf, RADIUS, 0
    history: list[float] = []
    # the best prices are the centre; the region widens where a promise is kept, and narrows after two that are not
    while radius > NARROWEST and not (len(history) > MASTER_PATIENCE and best < (1 + gain) * history[-MASTER_PATIENCE]):
        evaluation, columns = block.with_columns(basis.prices(weights))
        yield evaluation.bound, evaluation.lowered
        if evaluation.bound > best:
            radius *= 1.6 if evaluation.bound - best > 0.5 * (promised - best) else 1.0
            best, centre, misses = evaluation.bound, weights, 0
        else:
            misses += 1
            radius, misses = (0.6 * radius, 0) if misses == 2 else (radius, misses)
        history.append(best)
        master.add(columns)
        promised, weights = master.solve(centre - radius - float(evaluation.delta.max()), centre + radius)
        inside = bool((np.abs(weights - centre) < 0.999 * radius).all())
        if inside and promised - best < CLOSE * max(promised, 1e-3):
            return
