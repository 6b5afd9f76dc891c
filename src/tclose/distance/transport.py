"""The transportation problem, exactly: HiGHS proposes a flow in floats, integers finish and prove it.

The proposal is rounded to integer amounts, what rounding left over is moved anyhow, and negative cycles of the
residual network are cancelled until there is none: that is the proof that no cheaper flow exists (Klein 1967).
As the proposal is optimal up to rounding, hardly a cycle is ever found.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.distance.plan import in_order
from tclose.errors import MissingExtra

Ints = NDArray[np.int64]
Objects = NDArray[np.object_]


def cheapest_flow(costs: Ints, extra: list[int]) -> list[tuple[int, int, int]]:
    """Return the cheapest (source, target, amount) moves that level every extra, for integer costs."""
    sources = [i for i, e in enumerate(extra) if e > 0]
    targets = [j for j, e in enumerate(extra) if e < 0]
    if min(len(sources), len(targets)) <= 1:
        return in_order(extra)  # with one end given there is only one flow
    supply = [extra[i] for i in sources]
    demand = [-extra[j] for j in targets]
    between = costs[np.ix_(sources, targets)]
    flow = _complete(_propose(between, supply, demand), supply, demand)
    while cycle := _negative_cycle(between, flow):
        _cancel(flow, cycle)
    return [(sources[a], targets[b], int(flow[a, b])) for a, b in zip(*np.nonzero(flow), strict=True)]


def _propose(costs: Ints, supply: list[int], demand: list[int]) -> NDArray[np.float64]:
    """Return a flow that is optimal up to floating point."""
    try:
        from scipy.optimize import linprog
        from scipy.sparse import coo_array
    except ImportError as missing:
        raise MissingExtra("scipy", "solve", 'distance = "matrix"') from missing
    rows, columns = costs.shape
    arcs = np.arange(rows * columns)
    ends = np.concatenate((arcs // columns, rows + arcs % columns))
    balance = coo_array((np.ones(2 * len(arcs)), (ends, np.tile(arcs, 2)))).tocsr()
    whole = float(sum(supply))
    amounts = [amount / whole for amount in supply + demand]
    amounts[-1] = sum(amounts[:rows]) - sum(amounts[rows:-1])  # level in floats, too
    answer = linprog(costs.ravel(), A_eq=balance, b_eq=amounts, method="highs")
    if answer.x is None:
        return np.zeros(costs.shape)  # no proposal: cancelling alone will find the optimum, only later
    return answer.x.reshape(costs.shape) * whole  # type: ignore[no-any-return]


def _complete(proposal: NDArray[np.float64], supply: list[int], demand: list[int]) -> Objects:
    """Round the proposal to integers and move what is left over in order."""
    flow = np.zeros(proposal.shape, dtype=object)
    left, lacking = list(supply), list(demand)
    for a, b in zip(*np.nonzero(proposal > 0.5), strict=True):
        amount = min(round(float(proposal[a, b])), left[a], lacking[b])
        flow[a, b] += amount
        left[a] -= amount
        lacking[b] -= amount
    for i, j, amount in in_order(left + [-lack for lack in lacking]):
        flow[i, j - len(left)] += amount
    return flow


def _negative_cycle(costs: Ints, flow: Objects) -> list[tuple[int, int]]:
    """Return a cycle of arcs, forward and back in turn, whose cost is negative; none when the flow is optimal."""
    rows, columns = costs.shape
    used = flow > 0
    back = np.where(used, -costs, 0)
    far = np.int64(2**61)
    to_source, source_from = np.zeros(rows, dtype=np.int64), np.full(rows, -1)
    target_from = np.full(columns, -1)
    for _ in range(rows + 1):
        through = to_source[:, None] + costs
        target_from = through.argmin(axis=0)
        to_target = through[target_from, np.arange(columns)]
        returning = np.where(used, to_target[None, :] + back, far)
        best = returning.argmin(axis=1)
        cost = returning[np.arange(rows), best]
        better = cost < to_source
        if not better.any():
            return []
        to_source = np.where(better, cost, to_source)
        source_from = np.where(better, best, source_from)
    return _trace(int(np.flatnonzero(better)[0]), source_from, target_from)


def _trace(source: int, source_from: NDArray[np.intp], target_from: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Walk back from a source that can still be improved until a source repeats: that is the cycle."""
    seen: dict[int, int] = {}
    walk: list[tuple[int, int]] = []
    while source not in seen:
        seen[source] = len(walk)
        target = int(source_from[source])
        before = int(target_from[target])
        walk += [(source, target), (before, target)]  # less on the first, more on the second
        source = before
    return walk[seen[source] :]


def _cancel(flow: Objects, cycle: list[tuple[int, int]]) -> None:
    less, more = cycle[0::2], cycle[1::2]
    amount = min(flow[arc] for arc in less)
    for arc in less:
        flow[arc] -= amount
    for arc in more:
        flow[arc] += amount
