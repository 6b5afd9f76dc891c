"""Distances that need a transportation problem per class: any metric, as a matrix of integer costs, and tuples.

HiGHS proposes a flow in floats, integers finish and prove it. The proposal is rounded to integer amounts, what rounding
left over is moved anyhow, and negative cycles of the residual network are cancelled until there is none: that is the
proof that no cheaper flow exists (Klein 1967). The proposal is optimal up to rounding, so there is rarely a cycle to
cancel.

A bracket is two integers between which the work of a problem lies, long before it is solved. Sinkhorn's scaling of a
smoothed problem (Cuturi 2013) gives potentials in floats. Rounded to integers, potentials that no cost contradicts give
a lower bound on the work, and the flow that fills the arcs of least reduced cost first gives an upper bound. Whatever
the floats were, both bounds hold exactly. The same potentials choose the few arcs that the solver has to look at; the
proof that its flow is the cheapest looks at all arcs.

Tuples of values of several attributes are as far apart as their values are on average (Li et al. 2007, section 8). A
mean of metrics is a metric, so the earth mover's distance between tuples is a transportation problem over the tuples
that occur. It is never below the mean of the distances of the single attributes (docs/method.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.distance.base import Geometry, Line, LineWithLeaf, Metric, Move, Tree, TupleMetric, extras, in_order
from tclose.distance.counts import BracketedRatios, Counts, Integers, Ratios, widened
from tclose.errors import InputError, MissingExtra
from tclose.types import Bools, Floats, Ints

# Bounds on the work, before the problem is solved


SMOOTHING = 0.01  # in units of the ground distance
ROUNDS = 200  # of scaling
FINE = 2**20  # potentials are multiples of the largest cost over this, about
ARCS = 6  # of each end that the solver is given first
MOST_FILLED = 3  # times the ends: arcs that are filled in order of their reduced cost
SOLVED = 8  # programmes, each with the arcs that the one before lacked
NEAR = 1e-9


@dataclass(frozen=True, eq=False)
class Bracket:
    """A transportation problem: integer costs from sources to targets, what each has and what each lacks."""

    costs: Ints  # sources × targets
    supply: list[int]
    demand: list[int]

    @cached_property
    def _scale(self) -> int:
        return max(1, FINE // max(int(self.costs.max()), 1))

    @cached_property
    def _potentials(self) -> tuple[Ints, Ints]:
        """Potentials u and v with u_i + v_j at most the cost from i to j, in fractions of a unit."""
        fine = self.costs * self._scale
        rough = np.floor(self._smoothed() * max(int(fine.max()), 1)).astype(np.int64)
        # minima make them a proof, however rough the floats were: `low` is a bound in any case
        targets = (fine - rough[:, None]).min(axis=0)
        return (fine - targets).min(axis=1), targets

    def _smoothed(self) -> Floats:
        """Return potentials of the sources, as shares of the largest cost, by Sinkhorn's scaling."""
        kernel = np.exp(self.costs / (-SMOOTHING * max(int(self.costs.max()), 1)))
        whole = float(sum(self.supply))
        supply, demand = (np.array([amount / whole for amount in ends]) for ends in (self.supply, self.demand))
        sources = np.ones(len(supply))
        with np.errstate(all="ignore"):
            for _ in range(ROUNDS):
                targets = demand / np.einsum("i,ij->j", sources, kernel)  # unlike `@`, the same on any number of cores
                sources = supply / np.einsum("ij,j->i", kernel, targets)
            potentials = SMOOTHING * np.log(sources)
        return potentials if np.isfinite(potentials).all() else np.zeros(len(supply))  # which give a bound, too

    @cached_property
    def _reduced(self) -> Ints:
        sources, targets = self._potentials
        return self.costs * self._scale - sources[:, None] - targets

    @cached_property
    def low(self) -> int:
        """No flow takes less work."""
        sources, targets = (ends.tolist() for ends in self._potentials)
        fine = sum(map(_times, self.supply, sources)) + sum(map(_times, self.demand, targets))
        return -(-fine // self._scale)

    @cached_property
    def high(self) -> int:
        """Some flow takes no more work."""
        return sum(int(self.costs[i, j]) * amount for i, j, amount in self._filled)

    @cached_property
    def _filled(self) -> list[tuple[int, int, int]]:
        """A flow: arcs are filled in the order of their reduced costs, and what is left is moved in order."""
        left, lacking, flow = list(self.supply), list(self.demand), []
        chosen = np.argsort(self._reduced, axis=None, kind="stable")[: MOST_FILLED * (len(left) + len(lacking))]
        for i, j in (divmod(arc, len(lacking)) for arc in chosen.tolist()):
            if left[i] and lacking[j]:
                amount = min(left[i], lacking[j])
                left[i] -= amount
                lacking[j] -= amount
                flow.append((i, j, amount))
        rest = in_order([*left, *(-lack for lack in lacking)])
        return [*flow, *((i, j - len(left), amount) for i, j, amount in rest)]

    def proposal(self) -> Floats:
        """Return a flow that is optimal up to floating point, or nearly so: the proof mends it."""
        given = np.zeros(self.costs.shape, dtype=bool)
        given[tuple(np.array([arc[:2] for arc in self._filled]).T)] = True
        few = min(ARCS, len(self.supply))
        given[np.argpartition(self._reduced, few - 1, axis=0)[:few], np.arange(len(self.demand))] = True
        # an arc with a negative reduced cost could make the flow cheaper; without one, no arc is missing
        for _ in range(SOLVED):
            flow, reduced = _solved(self.costs, self.supply, self.demand, given)
            lacking = (reduced < -NEAR) & ~given
            if not lacking.any():
                break
            targets = np.flatnonzero(lacking.any(axis=0))
            given[np.where(lacking, reduced, 1.0).argmin(axis=0)[targets], targets] = True
        return flow


def _times(amount: int, potential: int) -> int:
    return amount * potential


# The transportation problem, exactly


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
    # the flow stays level and in integers, and every cycle makes it cheaper by 1 at least: so it ends, at the optimum
    while cycle := _negative_cycle(between, flow):
        _cancel(flow, cycle)
    return [(sources[a], targets[b], int(flow[a, b])) for a, b in zip(*np.nonzero(flow), strict=True)]


def _propose(costs: Ints, supply: list[int], demand: list[int]) -> Floats:
    """Return a flow that is optimal up to floating point."""
    return _solved(costs, supply, demand, np.ones(costs.shape, dtype=bool))[0]


def _solved(costs: Ints, supply: list[int], demand: list[int], given: Bools) -> tuple[Floats, Floats]:
    """Return the cheapest flow on some arcs, up to floating point, and the reduced costs of all arcs."""
    try:
        from scipy.optimize import linprog
        from scipy.sparse import coo_array
    except ImportError as missing:
        raise MissingExtra("scipy", "solve", 'distance = "matrix"') from missing
    rows, (sources, targets) = len(costs), np.nonzero(given)
    arcs, whole = np.arange(len(sources)), float(sum(supply))
    ends = np.concatenate((sources, rows + targets))
    balance = coo_array((np.ones(2 * len(arcs)), (ends, np.tile(arcs, 2)))).tocsr()
    amounts = [amount / whole for amount in supply + demand]
    amounts[-1] = sum(amounts[:rows]) - sum(amounts[rows:-1])  # level in floats, too
    scaled = costs / max(int(costs.max()), 1)  # the solver may go on for ever on costs such as 2⁵⁶
    answer = linprog(scaled[sources, targets], A_eq=balance, b_eq=amounts, method="highs")
    flow = np.zeros(costs.shape)
    if answer.x is None:
        return flow, flow  # no proposal: cancelling alone will find the optimum, only later
    flow[sources, targets] = answer.x * whole
    duals = answer.eqlin.marginals
    return flow, np.asarray(scaled - duals[:rows, None] - duals[rows:])


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
    # as much as the smallest of these arcs has: none becomes negative
    amount = min(flow[arc] for arc in less)
    for arc in less:
        flow[arc] -= amount
    for arc in more:
        flow[arc] += amount


# Any metric, given as a matrix of integer costs


@dataclass(frozen=True, eq=False)
class Matrix:
    """`costs[i, j]` are integers and a metric; distances are fractions of the largest."""

    costs: Ints

    name = "matrix"

    def geometry(self, values: int) -> Metric:
        """Return the metric of the matrix."""
        return Metric(self.costs, self.farthest)

    @property
    def farthest(self) -> int:
        """The largest cost, which counts as distance 1."""
        return max(int(self.costs.max()), 1)

    def between(self, i: int, j: int) -> Fraction:
        """Return the cost of this pair as a fraction of the largest."""
        return Fraction(int(self.costs[i, j]), self.farthest)

    def emd(self, counts: Counts, reference: Ints) -> Ratios:
        """Return each class's earth mover's distance from the reference counts, exactly."""
        solved: dict[bytes, int] = {}
        work = np.zeros(len(counts), dtype=object)
        for index, (low, high) in enumerate(zip(counts.starts, counts.ends, strict=True)):
            alike = counts.codes[low:high].tobytes() + counts.counts[low:high].tobytes()
            if alike not in solved:
                solved[alike] = self._work(counts.dense(index), reference)
            work[index] = solved[alike]
        return Ratios(work, counts.sizes, int(reference.sum()) * self.farthest)

    def plan(self, row: Ints, reference: Ints) -> list[Move]:
        """Return the cheapest moves of earth."""
        extra, whole = extras(row, reference)
        flow = self._flow(extra)
        return [Move(i, j, Fraction(amount, whole), self.between(i, j)) for i, j, amount in flow]

    def _work(self, row: Ints, reference: Ints) -> int:
        extra, _ = extras(row, reference)
        return sum(int(self.costs[i, j]) * amount for i, j, amount in self._flow(extra))

    def _flow(self, extra: list[int]) -> list[tuple[int, int, int]]:
        return cheapest_flow(self.costs, extra)


# Tuples of values of several attributes


FEW_ARCS = 64  # from sources to targets, of a problem that is solved at once
MOST_KNOWN = 200_000  # classes whose bracket is kept
LARGEST = 2**53  # of a cost, so that a walk over many tuples still fits into 64 bits
JOINT_NEAR = {  # what counts as near, as the end of a sentence
    "product": "tuples count as near when their values are near on average",
    "lexicographic": "tuples count as near when few others lie between them, sorted by their first value, then by the "
    "next",
}


@dataclass(frozen=True, eq=False)
class Product(Matrix):
    """`costs[i, j]` between tuples i and j are integers; `unit` is what all attributes at distance 1 would cost."""

    unit: int
    known: dict[tuple[bytes, bytes], tuple[int, int]] = field(default_factory=dict)  # brackets of the work of classes

    name = "product"

    @classmethod
    def of(cls, parts: Iterable[tuple[Geometry, Ints]]) -> Product:
        """Add up the ground distances of the attributes, given by their geometry and their value in each tuple."""
        costs = [_costs(geometry, values) for geometry, values in parts]
        common = math.lcm(*(unit for _, unit in costs))
        if common * len(costs) > LARGEST:
            raise InputError(
                "the distances of attributes taken together (product) have too many digits: put values into bins"
            )
        total = sum(np.asarray(between * (common // unit), dtype=np.int64) for between, unit in costs)
        return cls(np.asarray(total), common * len(costs))

    def geometry(self, values: int) -> TupleMetric:
        """Return the metric between the tuples."""
        return TupleMetric(self.costs, self.unit)

    @property
    def farthest(self) -> int:
        """The cost that counts as distance 1."""
        return self.unit

    def emd(self, counts: Counts, reference: Ints) -> BracketedRatios:
        """Return each class's earth mover's distance from the reference counts; it is solved where that matters."""
        if len(self.known) > MOST_KNOWN:
            self.known.clear()
        table = reference.tobytes()
        keys = [
            (table, counts.codes[low:high].tobytes() + counts.counts[low:high].tobytes())
            for low, high in zip(counts.starts, counts.ends, strict=True)
        ]
        for index, key in enumerate(keys):
            if key not in self.known:
                self.known[key] = self._bracket(counts.dense(index), reference)

        def solve(index: int) -> int:
            work = self._work(counts.dense(index), reference)
            self.known[keys[index]] = work, work
            return work

        lows, highs = (np.array([self.known[key][end] for key in keys], dtype=object) for end in (0, 1))
        return BracketedRatios(lows, counts.sizes, int(reference.sum()) * self.unit, highs, solve)

    def _bracket(self, row: Ints, reference: Ints) -> tuple[int, int]:
        """Return a lower and an upper bound on the work of a class; of a small problem, its work."""
        extra, _ = extras(row, reference)
        sources, targets = ([i for i, e in enumerate(extra) if e * sign > 0] for sign in (1, -1))
        if len(sources) * len(targets) <= FEW_ARCS or min(len(sources), len(targets)) == 1:
            work = self._work(row, reference)
            return work, work
        between = self.costs[np.ix_(sources, targets)]
        bracket = Bracket(between, [extra[i] for i in sources], [-extra[j] for j in targets])
        return bracket.low, bracket.high

    def _flow(self, extra: list[int]) -> list[tuple[int, int, int]]:
        return cheapest_flow(self.costs, extra, _proposed)


def _proposed(costs: Ints, supply: list[int], demand: list[int]) -> Floats:
    return Bracket(costs, supply, demand).proposal()


def _costs(geometry: Geometry, values: Ints) -> tuple[Integers, int]:
    """Return how far the values of any two tuples are apart, as integers, and which of them counts as 1."""
    if isinstance(geometry, Line):
        return _apart(geometry.positions[values]), geometry.length
    if isinstance(geometry, LineWithLeaf):
        places, is_leaf = np.append(geometry.positions, geometry.middle)[values], values == geometry.leaf
        return _apart(places) + geometry.middle * (is_leaf[:, None] != is_leaf), geometry.unit
    if isinstance(geometry, Tree):
        nodes = [level[values] for level in geometry.below_root]
        apart = sum(((level[:, None] != level).astype(np.int64) for level in nodes), np.zeros(2 * (len(values),), int))
        return apart, max(geometry.height, 1)
    return geometry.costs[np.ix_(values, values)], geometry.farthest


def _apart(places: Integers) -> Integers:
    wide = widened(places, 2 * int(places.max()))
    return np.asarray(np.abs(wide[:, None] - wide))
