"""The mixed-integer programme of Liang & Yuan (2013, theorem 9), solved with HiGHS.

x(p, c) rows of kind c are published as pattern p; each pattern's rows are one class. Beside the stars, which it
minimises, the programme holds for every pattern and attribute a flow of earth that turns the class's counts into the
table's, at a cost of at most t: linear once it is multiplied by the size of the class. k needs a switch per pattern.
The solver knows tolerances only, so its answer is rounded and judged again by the caller.

Rows that are equal in every quasi-identifier and sensitive value are of one kind. Of all patterns of values and stars
(Liang & Yuan's v*) only those matter in which every star hides a difference: another that covers the same rows has
fewer stars.

The programme as printed moves mass between all pairs of values. Here a ground distance is a network whose shortest
paths it is: on a line it is enough to move mass to neighbours, in a tree along its branches, between equal values
through a hub. The cheapest flow costs the same, and few arcs carry it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Geometry, Line, LineWithLeaf, Tree
from tclose.errors import InternalError, MissingExtra, Unsuited
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared.loss_table import columns_of
from tclose.partition.shared.pulse import Pulse, waited_for
from tclose.privacy.base import Rule
from tclose.types import Floats, Ints

# A ground distance as a network


@dataclass(frozen=True, eq=False)
class Network:
    """Arcs between nodes, the first of which are the values; distance 1 costs `unit`."""

    nodes: int
    tails: Ints
    heads: Ints
    costs: Floats
    unit: float

    @classmethod
    def of_edges(cls, nodes: int, ends: list[tuple[int, int]], costs: Floats, unit: float) -> Network:
        """Take edges, each of which may be used both ways."""
        one, other = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        both = np.concatenate((costs, costs)).astype(np.float64)
        return cls(nodes, np.concatenate((one, other)), np.concatenate((other, one)), both, float(max(unit, 1)))


def network_of(geometry: Geometry) -> Network:
    """Return the network of a ground distance."""
    if isinstance(geometry, Line):
        values, geometry = len(geometry.positions), geometry.rounded
        line = [(i, i + 1) for i in range(values - 1)]
        return Network.of_edges(values, line, np.diff(geometry.positions).astype(np.float64), geometry.length)
    if isinstance(geometry, LineWithLeaf):
        return _line_with_leaf(geometry)
    if isinstance(geometry, Tree):
        return _tree(geometry.levels)
    values = len(geometry.costs)
    pairs = np.argwhere(np.triu(np.ones((values, values)), 1))
    costs = geometry.costs[pairs[:, 0], pairs[:, 1]].astype(np.float64)
    return Network.of_edges(values, [(i, j) for i, j in pairs.tolist()], costs, geometry.farthest)


def _line_with_leaf(geometry: LineWithLeaf) -> Network:
    """One node more than values: the middle of the line, from which the leaf hangs."""
    middle = geometry.leaf + 1
    along = [middle if code == geometry.leaf else code for code in geometry.order.tolist()]
    costs = np.append(np.diff(geometry.places), geometry.middle).astype(np.float64)
    return Network.of_edges(middle + 1, [*pairwise(along), (middle, geometry.leaf)], costs, geometry.unit)


def _tree(levels: tuple[Ints, ...]) -> Network:
    """Two leaves that meet at height h are 2h branches apart, and 2H make up distance 1."""
    firsts = np.cumsum([0] + [int(level[-1]) + 1 for level in levels])
    branches: set[tuple[int, int]] = set()
    for height in range(len(levels) - 1):
        below, above = levels[height] + firsts[height], levels[height + 1] + firsts[height + 1]
        branches |= set(zip(below.tolist(), above.tolist(), strict=True))
    return Network.of_edges(int(firsts[-1]), sorted(branches), np.ones(len(branches)), 2 * (len(levels) - 1))


# Patterns of values and stars, and the rows that each of them covers


MOST_VARIABLES = 50_000


def check_reach(variables: int) -> None:
    """Refuse a programme that no solver would end."""
    if variables > MOST_VARIABLES:
        raise Unsuited(
            "exact: the programme reaches {most_variables:,} variables; this table needs more, so take fewer "
            "rows, quasi-identifiers or sensitive values",
            most_variables=MOST_VARIABLES,
        )


@dataclass(frozen=True, eq=False)
class RowKinds:
    """The different rows: how often each kind occurs, one row of each kind, and the kind of every row."""

    counts: Ints
    example: Ints
    of_row: Ints

    @classmethod
    def of(cls, columns: Ints) -> RowKinds:
        """Find the kinds of rows of a rows × columns array."""
        _, example, of_row, counts = np.unique(
            columns, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        return cls(counts.astype(np.int64), example, of_row.reshape(-1))

    def __len__(self) -> int:
        return len(self.counts)


@dataclass(frozen=True, eq=False)
class Patterns:
    """Pairs of a pattern and a kind of rows that it covers, sorted by pattern; and the stars of each pattern."""

    pattern: Ints
    kind: Ints
    stars: Ints

    def __len__(self) -> int:
        return len(self.stars)


def patterns_of(values: Ints, counts: Ints, k: int) -> Patterns:
    """Return the patterns of kinds of rows (their quasi-identifiers' `values`) that cover at least k rows."""
    pattern, covered, stars, first = [], [], [], 0
    for kept in _column_sets(values.shape[1]):
        groups = _groups(values, kept)
        useful = _differ(values[:, ~kept], groups) & (np.bincount(groups, weights=counts) >= k)
        number = np.where(useful, first + np.cumsum(useful) - 1, -1)[groups]
        kinds = np.flatnonzero(number >= 0)
        kinds = kinds[np.argsort(number[kinds], kind="stable")]
        pattern.append(number[kinds])
        covered.append(kinds)
        check_reach(sum(map(len, covered)))
        stars.append(np.full(int(useful.sum()), int((~kept).sum()), dtype=np.int64))
        first += int(useful.sum())
    return Patterns(np.concatenate(pattern), np.concatenate(covered), np.concatenate(stars))


def _column_sets(columns: int) -> Iterator[NDArray[np.bool_]]:
    """Yield every choice of columns that keep their values."""
    for number in range(1 << columns):
        yield (number >> np.arange(columns) & 1).astype(bool)


def _groups(values: Ints, kept: NDArray[np.bool_]) -> Ints:
    """Return 0, 1, 2, … for the kinds of rows, the same for those that agree in the kept columns."""
    if not kept.any():
        return np.zeros(len(values), dtype=np.int64)
    return np.unique(values[:, kept], axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _differ(starred: Ints, groups: Ints) -> NDArray[np.bool_]:
    """Tell for each group whether its kinds differ in every starred column."""
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(int(groups.max()) + 1))
    low, high = np.minimum.reduceat(starred[order], starts), np.maximum.reduceat(starred[order], starts)
    return np.asarray((low < high).all(axis=1))


# The programme


MOST_COLUMNS = 12  # 2^columns sets of stars
TIME_REACHED = 1  # as scipy numbers the ways in which a solver ends
WHOLE = 1e-4  # how far from an integer an answer may lie


@dataclass(frozen=True)
class Answer:
    """The best partition that the solver found, if any, and the number of stars below which there is none."""

    labels: Ints | None
    bound: float


def fewest_stars(problem: Problem, time_limit: float, pulse: Pulse) -> Answer:
    """Return the labels of a partition of fewest stars, or of few where the time does not suffice.

    The solver cannot be stopped from outside: after a cancellation it runs on, in a thread, for `time_limit` at most.
    """
    columns = columns_of(problem)
    changing = columns[:, (columns != columns[:1]).any(axis=0)]
    if changing.shape[1] > MOST_COLUMNS:
        raise Unsuited(
            "exact: the programme reaches {most_columns} quasi-identifiers that vary; these are {shape}",
            most_columns=MOST_COLUMNS,
            shape=changing.shape[1],
        )
    _check_linear(problem)
    sensitive = [attribute.codes for attribute in problem.sensitive]
    kinds = RowKinds.of(np.column_stack([changing, *sensitive]) if changing.size or sensitive else columns[:, :0])
    patterns = patterns_of(changing[kinds.example], kinds.counts, problem.k)
    return _solved(_written(problem, kinds, patterns), kinds, patterns, time_limit, pulse)


def _check_linear(problem: Problem) -> None:
    for attribute in problem.sensitive:
        if attribute.t is not None and attribute.n is not None:
            raise Unsuited("exact: the programme knows t-closeness, not (n,t)-closeness, which is not linear")
        for model in attribute.models:
            if not _bounds_shares(model.rule(attribute.shares)):
                raise Unsuited(
                    "exact: the programme serves k, t and models that bound a value's share of a class (alpha, "
                    "beta); '{name}' is not linear",
                    name=model.name,
                )


def _bounds_shares(rule: Rule | None) -> bool:
    return rule is not None and rule.exact and rule.linear and not rule.least


@dataclass
class Programme:
    """Rows of coefficients between bounds, gathered before they are handed over."""

    costs: list[Floats] = field(default_factory=list)
    most: list[Floats] = field(default_factory=list)
    whole: list[Floats] = field(default_factory=list)
    entries: list[tuple[Ints, Ints, Floats]] = field(default_factory=list)
    bounds: list[tuple[Floats, Floats]] = field(default_factory=list)
    variables: int = 0
    rows: int = 0

    def add_variables(self, costs: Floats, most: Floats | float, *, whole: bool) -> Ints:
        """Add variables from 0 to `most` and return their numbers."""
        count = len(costs)
        self.costs.append(costs)
        self.most.append(np.broadcast_to(np.asarray(most, dtype=np.float64), count))
        self.whole.append(np.full(count, float(whole)))
        self.variables += count
        check_reach(self.variables)
        return np.arange(self.variables - count, self.variables)

    def add_rows(self, low: Ints | float, high: Ints | float, count: int) -> Ints:
        """Add so many sums that must lie between bounds, and return their numbers."""
        self.bounds.append((np.broadcast_to(low, count).astype(float), np.broadcast_to(high, count).astype(float)))
        self.rows += count
        return np.arange(self.rows - count, self.rows)

    def add(self, rows: Ints, variables: Ints, coefficients: Floats | Ints | float) -> None:
        """Add a multiple of a variable to each of the rows."""
        self.entries.append((rows, variables, np.broadcast_to(np.asarray(coefficients, np.float64), len(rows))))


def _written(problem: Problem, kinds: RowKinds, patterns: Patterns) -> Programme:
    programme = Programme()
    rows = programme.add_variables(
        patterns.stars[patterns.pattern].astype(np.float64), kinds.counts[patterns.kind].astype(np.float64), whole=True
    )
    all_of = programme.add_rows(kinds.counts, kinds.counts, len(kinds))
    programme.add(all_of[patterns.kind], rows, 1)
    if problem.k > 1:
        _write_k(programme, rows, problem.k, kinds, patterns)
    for attribute in problem.sensitive:
        shown = attribute.codes[kinds.example][patterns.kind]
        if attribute.t is not None and attribute.t < 1:
            _write_t(programme, rows, shown, attribute, attribute.t, patterns)
        for model in attribute.models:
            if (rule := model.rule(attribute.shares)) is not None:
                _write_shares(programme, rows, shown, rule.most, patterns)
    return programme


def _write_k(programme: Programme, rows: Ints, k: int, kinds: RowKinds, patterns: Patterns) -> None:
    """Give a pattern that is switched on at least k rows, and one that is not none."""
    switch = programme.add_variables(np.zeros(len(patterns)), 1.0, whole=True)
    size = programme.add_rows(0, np.inf, len(patterns))
    programme.add(size[patterns.pattern], rows, 1)
    programme.add(size, switch, -k)
    off = programme.add_rows(-np.inf, 0, len(rows))
    programme.add(off, rows, 1)
    programme.add(off, switch[patterns.pattern], -kinds.counts[patterns.kind])


def _write_t(
    programme: Programme, rows: Ints, shown: Ints, attribute: Attribute, t: Fraction, patterns: Patterns
) -> None:
    """Let a flow take N·c_i − s·n_i away from every value i, at a cost of at most t·s·N."""
    network, total = network_of(attribute.geometry), int(attribute.reference.sum())
    flow = programme.add_variables(np.zeros(len(patterns) * len(network.costs)), np.inf, whole=False)
    flows = flow.reshape(len(patterns), -1)
    balance = programme.add_rows(0, 0, len(patterns) * network.nodes).reshape(len(patterns), -1)
    programme.add(balance[:, network.tails].ravel(), flow, 1)
    programme.add(balance[:, network.heads].ravel(), flow, -1)
    programme.add(balance[patterns.pattern, shown], rows, -total)
    for value in np.flatnonzero(attribute.reference).tolist():
        programme.add(balance[patterns.pattern, value], rows, attribute.reference[value])
    work = programme.add_rows(-np.inf, 0, len(patterns))
    paid, allowed = _scaled(network, t, total)
    programme.add(np.repeat(work, flows.shape[1]), flow, np.tile(paid, len(patterns)))
    programme.add(work[patterns.pattern], rows, -allowed)


def _scaled(network: Network, t: Fraction, total: int) -> tuple[Floats, float]:
    """Return what each arc costs and what each row allows, in figures that a solver likes."""
    largest = float(max(network.costs.max(initial=1), 1))
    return network.costs / largest, float(t) * total * network.unit / largest


def _write_shares(
    programme: Programme, rows: Ints, shown: Ints, shares: tuple[Fraction, ...], patterns: Patterns
) -> None:
    """Demand c_i ≤ share·s, multiplied by the share's denominator."""
    for value, share in enumerate(shares):
        if share < 1:
            held = programme.add_rows(-np.inf, 0, len(patterns))[patterns.pattern]
            programme.add(held, rows, (shown == value) * share.denominator - share.numerator)


def _solved(programme: Programme, kinds: RowKinds, patterns: Patterns, time_limit: float, pulse: Pulse) -> Answer:
    """Hand the programme over, and give the rows of each kind to its patterns as the answer says."""
    result = waited_for(lambda: _milp(programme, time_limit), pulse)
    if result.x is None:
        if result.status != TIME_REACHED:
            raise InternalError("the solver found no partition: {says}", says=result.message)
        return Answer(None, result.mip_dual_bound if result.mip_dual_bound is not None else 0.0)
    amounts = result.x[: len(patterns.pattern)]
    taken = np.rint(amounts).astype(np.int64)
    if np.abs(amounts - taken).max() > WHOLE or (np.bincount(patterns.kind, taken) != kinds.counts).any():
        raise InternalError("the solver's answer splits rows")
    order = np.argsort(patterns.kind, kind="stable")
    labels = np.empty(len(kinds.of_row), dtype=np.int64)
    labels[np.argsort(kinds.of_row, kind="stable")] = np.repeat(patterns.pattern[order], taken[order])
    return Answer(np.unique(labels, return_inverse=True)[1].astype(np.int64), float(result.mip_dual_bound))


def _milp(programme: Programme, time_limit: float) -> Any:
    try:
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import coo_array
    except ImportError as missing:
        raise MissingExtra("scipy", "solve", "the programme of method 'exact'") from missing
    rows, variables, coefficients = (np.concatenate(column) for column in zip(*programme.entries, strict=True))
    sums = coo_array((coefficients, (rows, variables)), shape=(programme.rows, programme.variables)).tocsr()
    low, high = (np.concatenate(column) for column in zip(*programme.bounds, strict=True))
    return milp(
        np.concatenate(programme.costs),
        integrality=np.concatenate(programme.whole),
        bounds=Bounds(0, np.concatenate(programme.most)),
        constraints=LinearConstraint(sums, low, high),
        options={"time_limit": time_limit, "mip_rel_gap": 0.0},
    )
