"""The mixed-integer programme of Liang & Yuan (2013, theorem 9), solved with HiGHS.

x(p, c) rows of kind c are published as pattern p; each pattern's rows are one class. Beside the stars, which it
minimises, the programme holds for every pattern and attribute a flow of earth that turns the class's counts into the
table's, at a cost of at most t: linear once it is multiplied by the size of the class. k needs a switch per pattern.
The solver knows tolerances only, so its answer is rounded and judged again by the caller.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from tclose.errors import InternalError, MissingExtra, Unsuited
from tclose.partition.exact.network import Network, network_of
from tclose.partition.exact.patterns import Patterns, RowKinds, check_reach, patterns_of
from tclose.partition.problem import Attribute, Problem
from tclose.partition.shared.pulse import Pulse, waited_for
from tclose.partition.shared.stars import columns_of
from tclose.privacy.rule import Rule
from tclose.types import Floats, Ints

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
            f"exact: the programme reaches {MOST_COLUMNS} quasi-identifiers that vary; these are {changing.shape[1]}"
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
                    f"exact: the programme serves k, t and models that bound a value's share of a class (alpha, beta); "
                    f"'{model.name}' is not linear"
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
            raise InternalError(f"the solver found no partition: {result.message}")
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
