"""The transportation problem, exactly: HiGHS proposes a flow in floats, integers finish and prove it.

The proposal is rounded to integer amounts, what rounding left over is moved anyhow, and negative cycles of the
residual network are cancelled until there is none: that is the proof that no cheaper flow exists (Klein 1967).
The proposal is optimal up to rounding, so there is rarely a cycle to cancel.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tclose.distance.moves import in_order
from tclose.distance.ratios import Integers, widened
from tclose.errors import MissingExtra
from tclose.types import Ints

Objects = NDArray[np.object_]
Proposer = Callable[[Ints, list[int], list[int]], NDArray[np.float64]]  # (costs, supply, demand): a flow in floats


def cheapest_flow(costs: Ints, extra: list[int], propose: Proposer | None = None) -> list[tuple[int, int, int]]:
    """Return the cheapest (source, target, amount) moves that level every extra, for integer costs."""
    sources = [i for i, e in enumerate(extra) if e > 0]
    targets = [j for j, e in enumerate(extra) if e < 0]
    if min(len(sources), len(targets)) <= 1:
        return in_order(extra)  # with one end given there is only one flow
    supply = [extra[i] for i in sources]
    demand = [-extra[j] for j in targets]
    between = costs[np.ix_(sources, targets)]
    flow = _complete((propose or _propose)(between, supply, demand), supply, demand)
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
    scaled = costs.ravel() / max(int(costs.max()), 1)  # the solver may go on for ever on costs such as 2⁵⁶
    answer = linprog(scaled, A_eq=balance, b_eq=amounts, method="highs")
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
    """Return a cycle of arcs, forward and back in turn, whose cost is negative; none when the flow is optimal.

    This is Bellman and Ford's search. An origin changes only where the way gets strictly shorter: were it to
    change on a tie, the walk back could end in a cycle of cost 0, and cancelling those would never end.
    """
    rows, columns = costs.shape
    used = flow > 0
    far = 4 * (rows + 1) * int(costs.max()) + 1  # no walk is as long
    lengths = widened(costs, far)
    to_source, source_from = np.zeros(rows, dtype=lengths.dtype), np.full(rows, -1)
    to_target, target_from = np.full(columns, far, dtype=lengths.dtype), np.full(columns, -1)
    for _ in range(rows + 1):
        to_target, target_from, _ = _shorter(to_target, target_from, to_source + lengths.T)
        ways_back = np.where(used, to_target - lengths, far)
        to_source, source_from, better = _shorter(to_source, source_from, ways_back)
        if not better.any():
            return []
    return _trace(int(np.flatnonzero(better)[0]), source_from, target_from)


def _shorter(
    known: Integers, origins: NDArray[np.intp], ways: Integers
) -> tuple[Integers, NDArray[np.intp], NDArray[np.bool_]]:
    """Take the best of the ways to each end (one row each) where it is strictly shorter than the known one."""
    best = ways.argmin(axis=1)
    length = ways[np.arange(len(ways)), best]
    better = length < known
    return np.where(better, length, known), np.where(better, best, origins), better


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
