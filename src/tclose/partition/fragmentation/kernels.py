"""The worst cases on both sides of every cut through a fragment, compiled."""

from __future__ import annotations

import numpy as np

from tclose.partition.shared.kernels import kernel, part
from tclose.types import Bools, Floats, Ints


@part
def _line_prefixes(x: Floats, step: int, parts: int, printed: bool, backwards: bool) -> Floats:
    """Return max(S, mass·width − S), `printed` over width, of the first step, 2·step, … rows from either end."""
    worst = np.zeros(parts - 1)
    lo = hi = x[-1] if backwards else x[0]
    moment = 0.0
    for cut in range(parts - 1):
        for i in range(cut * step, (cut + 1) * step):
            value = x[len(x) - 1 - i] if backwards else x[i]
            lo, hi = min(lo, value), max(hi, value)
            moment += value
        mass = (cut + 1) * step
        worst[cut] = max(moment - mass * lo, mass * hi - moment)
        if printed and hi > lo:
            worst[cut] /= hi - lo
    return worst


@kernel
def line_cuts(x: Floats, step: int, printed: bool) -> tuple[Floats, Floats]:
    """Return the worst case left and right of each cut at a multiple of `step` rows, values on a line."""
    parts = len(x) // step
    left = _line_prefixes(x, step, parts, printed, False)
    return left, _line_prefixes(x, step, parts, printed, True)[::-1].copy()


@kernel
def all_line_cuts(places: Floats, orders: Ints, step: int) -> Floats:
    """Return left and right × orders × cuts × attributes, where all values are on lines.

    `places` are those of every attribute's rows, and `orders` hold the rows of one fragment, in one order each.
    """
    parts = orders.shape[1] // step
    sides = np.empty((2, len(orders), parts - 1, len(places)))
    for i in range(len(orders)):
        for a in range(len(places)):
            x = places[a][orders[i]]
            sides[0, i, :, a] = _line_prefixes(x, step, parts, False, False)
            sides[1, i, :, a] = _line_prefixes(x, step, parts, False, True)[::-1]
    return sides


@part
def _leaf_prefixes(x: Floats, is_leaf: Bools, middle: float, step: int, parts: int, backwards: bool) -> Floats:
    """Return the work to the farthest of both ends and the leaf, for the first step, 2·step, … rows from either end."""
    worst = np.zeros(parts - 1)
    lo, hi, moment, mass, leaves, to_leaf = np.inf, -np.inf, 0.0, 0, 0, 0.0
    for cut in range(parts - 1):
        for i in range(cut * step, (cut + 1) * step):
            row = len(x) - 1 - i if backwards else i
            if is_leaf[row]:
                leaves += 1
            else:
                lo, hi = min(lo, x[row]), max(hi, x[row])
                moment += x[row]
                mass += 1
                to_leaf += abs(x[row] - middle) + middle
        if mass > 0:
            worst[cut] = moment - mass * lo + leaves * (abs(lo - middle) + middle)
            worst[cut] = max(worst[cut], mass * hi - moment + leaves * (abs(hi - middle) + middle))
        if leaves > 0:
            worst[cut] = max(worst[cut], to_leaf)
    return worst


@kernel
def leaf_cuts(x: Floats, is_leaf: Bools, middle: float, step: int) -> tuple[Floats, Floats]:
    """Return the worst case left and right of each cut, values on a line and a leaf beside it."""
    parts = len(x) // step
    left = _leaf_prefixes(x, is_leaf, middle, step, parts, False)
    return left, _leaf_prefixes(x, is_leaf, middle, step, parts, True)[::-1].copy()


@part
def _tree_prefixes(codes: Ints, nodes: Ints, total: int, step: int, parts: int, backwards: bool) -> Floats:
    """Return Σ_h (mass − rows under j's node at height h) for the worst leaf j that occurs."""
    height = len(nodes)
    under = np.zeros(total, dtype=np.int64)
    leaves = np.empty(min(len(codes), nodes.shape[1]), dtype=np.int64)
    distinct = 0
    worst = np.zeros(parts - 1)
    for cut in range(parts - 1):
        for i in range(cut * step, (cut + 1) * step):
            leaf = codes[len(codes) - 1 - i] if backwards else codes[i]
            if under[nodes[0, leaf]] == 0:
                leaves[distinct] = leaf
                distinct += 1
            for h in range(height):
                under[nodes[h, leaf]] += 1
        least = height * len(codes)
        for j in range(distinct):
            near = 0
            for h in range(height):
                near += under[nodes[h, leaves[j]]]
            least = min(least, near)
        worst[cut] = height * (cut + 1) * step - least
    return worst


@kernel
def tree_cuts(codes: Ints, nodes: Ints, total: int, step: int) -> tuple[Floats, Floats]:
    """Return the worst case left and right of each cut, values in a tree; `nodes[h]` is numbered apart per height."""
    parts = len(codes) // step
    left = _tree_prefixes(codes, nodes, total, step, parts, False)
    return left, _tree_prefixes(codes, nodes, total, step, parts, True)[::-1].copy()


@part
def _cost_prefixes(codes: Ints, costs: Floats, step: int, parts: int, backwards: bool) -> Floats:
    """Return max_j Σ_v n_v·cost(v, j) over the values j that occur."""
    work = np.zeros(len(costs))
    occurs = np.zeros(len(costs), dtype=np.bool_)
    worst = np.zeros(parts - 1)
    for cut in range(parts - 1):
        for i in range(cut * step, (cut + 1) * step):
            value = codes[len(codes) - 1 - i] if backwards else codes[i]
            occurs[value] = True
            for j in range(len(costs)):
                work[j] += costs[value, j]
        for j in range(len(costs)):
            if occurs[j]:
                worst[cut] = max(worst[cut], work[j])
    return worst


@kernel
def cost_cuts(codes: Ints, costs: Floats, step: int) -> tuple[Floats, Floats]:
    """Return the worst case left and right of each cut, values in any metric."""
    parts = len(codes) // step
    left = _cost_prefixes(codes, costs, step, parts, False)
    return left, _cost_prefixes(codes, costs, step, parts, True)[::-1].copy()
