"""The worst class that a t allows: the one in which a chosen value is as common as the earth mover's distance permits.

Every row that takes the chosen value costs its ground distance. So the rows nearest to it move first, until the
distance t is used up: a fractional knapsack, whose greedy answer is the largest share that any class can have.
"""

from __future__ import annotations

import numpy as np

from tclose.types import Floats


def most_of(shares: Floats, costs: Floats, value: int, t: float) -> Floats:
    """Return the shares of the class within t of these shares that shows one value most; `costs` lead to that value.

    >>> most_of(np.array([0.5, 0.5]), np.array([0.0, 1.0]), 0, 0.2).round(3).tolist()
    [0.7, 0.3]
    """
    worst = np.array(shares, dtype=np.float64)
    left = float(t)
    for place in np.argsort(costs, kind="stable").tolist():
        if place == value:
            continue
        moved = worst[place] if costs[place] <= 0 else min(worst[place], max(left, 0.0) / costs[place])
        worst[place] -= moved
        worst[value] += moved
        left -= moved * costs[place]
    return worst


def line_costs(positions: Floats) -> Floats:
    """Return how far values on a line are apart; their positions lie between 0 and 1."""
    return np.asarray(np.abs(positions[:, None] - positions[None, :]))


def equal_costs(values: int) -> Floats:
    """Return the costs of a distance that tells values only apart."""
    return 1.0 - np.eye(values)


def path_costs(paths: list[tuple[str, ...]]) -> Floats:
    """Return the height at which values meet in a hierarchy, over its height; a path leads from a value to the root."""
    height = max(len(paths[0]) - 1, 1)
    levels = np.array([np.unique(labels, return_inverse=True)[1] for labels in zip(*paths, strict=True)])
    apart = levels[:, :, None] != levels[:, None, :]
    return np.asarray(apart.sum(axis=0) / height, dtype=np.float64)
