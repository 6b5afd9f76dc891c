"""k-anonymity and 2-diversity by suppression, with few stars or the fewest (Liang & Yuan 2013, theorems 10 and 11).

Columns are starred where a class shows more than one value, and a partition costs its stars (`shared/loss_table.py`).
For k-anonymity with m columns, the method needs at most m times the stars of the optimum; `stars="fewest"` finds the
optimum for k = 2 (Blocki & Williams 2010). For 2-diversity as they define it (no value makes up more than half of a
class; our alpha = 1/2), it finds the optimum.

At most m times the stars (theorem 10): rows that are alike in every column, and many enough, stay a class without a
star. Every row that has fewer than k like it costs a star at least, so putting all of these into one class, with
whatever that class lacks, is within m of the optimum.

The fewest stars (theorem 11): some optimal partition consists of pairs and triples of rows with different values alone
(their lemma 2), so the best cover of all rows by them is looked for. Rows that agree in everything are one type. The
relaxed programme over all pairs takes triples in where they would help; its prices then tell how much each pair or
triple adds to the least cost conceivable, and those that add more than the best cover leaves room for need not be
looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from tclose.distance import Counts
from tclose.errors import InternalError, MissingExtra, Unsuited
from tclose.partition.problem import Problem
from tclose.partition.shared.loss_table import columns_of
from tclose.partition.shared.pulse import QUIET, Pulse, waited_for
from tclose.privacy import Alpha
from tclose.types import Floats, Ints, Progress, silent

# At most m times the fewest stars (theorem 10)


def approximate(columns: Ints, k: int) -> Ints:
    """Return a class per row, given rows × columns and at least k rows; the paper's three cases."""
    alike = np.unique(columns, axis=0, return_inverse=True)[1].reshape(-1) if columns.size else columns.sum(axis=1)
    sizes = np.bincount(alike)
    rare = sizes < k
    taken = np.where(rare, sizes, 0)
    if rare.any() and (lacking := k - int(taken.sum())) > 0:
        spare = np.where(rare, 0, sizes - k)
        if spare.sum() >= lacking:
            taken += np.clip(lacking - (np.cumsum(spare) - spare), 0, spare)
        else:
            smallest = int(np.argmin(np.where(rare, len(alike) + 1, sizes)))
            taken[smallest] = sizes[smallest]
    labels = np.where(_place_among(alike, sizes) < taken[alike], len(sizes), alike)
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _place_among(alike: Ints, sizes: Ints) -> Ints:
    """Return how many rows like it stand before each row."""
    order = np.argsort(alike, kind="stable")
    place = np.empty(len(alike), dtype=np.int64)
    place[order] = np.arange(len(alike)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return place


# The fewest stars, by pairs and triples of rows (theorem 11)


MOST_TYPES = 1000
BITS = 16  # columns per word of a mask
ONES = np.array([bin(word).count("1") for word in range(2**BITS)], dtype=np.int64)
TINY = 1e-7  # what the solver calls zero
BATCH = 2000  # triples taken in at once


def two_diverse(columns: Ints, values: Ints, pulse: Pulse = QUIET) -> Ints:
    """Return a class per row, given rows × columns and a sensitive value per row, none in more than half of them."""
    types, type_of = np.unique(np.column_stack([columns, values]), axis=0, return_inverse=True)
    if len(types) > MOST_TYPES:
        raise Unsuited(
            "kanonymity finds optimal pairs and triples among {most_types:,} different rows at most: there are "
            "{count:,}",
            most_types=MOST_TYPES,
            count=len(types),
        )
    rows = np.bincount(type_of.reshape(-1))
    edges, times = _Cover(types[:, :-1], types[:, -1], rows, pulse).best()
    return _dealt(type_of.reshape(-1), rows, edges, times)


def two_anonymous(columns: Ints, pulse: Pulse = QUIET) -> Ints:
    """Return a class per row: the fewest stars of 2-anonymity (Blocki & Williams 2010), given two rows or more.

    Classes of four rows and more can be divided, so pairs and triples are enough here, too: it is 2-diversity of values
    that all differ.
    """
    return two_diverse(columns, np.arange(len(columns)), pulse)


def _dealt(type_of: Ints, rows: Ints, edges: Ints, times: Ints) -> Ints:
    """Give the rows of each type to the pairs and triples that take some."""
    order = np.argsort(type_of, kind="stable")
    given = np.cumsum(rows) - rows
    labels, classes = np.full(len(type_of), -1, dtype=np.int64), 0
    for edge, many in zip(edges.tolist(), times.tolist(), strict=True):
        for kind in set(edge):
            labels[order[given[kind] : given[kind] + many]] = np.arange(classes, classes + many)
            given[kind] += many
        classes += many
    if labels.min() < 0:
        raise InternalError("the programme left a row without a class")
    return labels


@dataclass(frozen=True, eq=False)
class _Cover:
    """Types of rows, how often each occurs, and edges between them; a pair names its last type twice."""

    columns: Ints
    values: Ints
    rows: Ints
    pulse: Pulse

    @cached_property
    def masks(self) -> list[Ints]:
        """Which columns differ between two types, as bits: types × types, a word for every 16 columns."""
        words = []
        for first in range(0, self.columns.shape[1], BITS):
            some = self.columns[:, first : first + BITS]
            differs = some[:, None, :] != some[None, :, :]
            words.append(differs @ (1 << np.arange(some.shape[1])))
        return words

    @cached_property
    def pairs(self) -> Ints:
        """All pairs with different values."""
        i, j = np.triu_indices(len(self.values), 1)
        return np.asarray(np.stack([i, j, j], axis=1)[self.values[i] != self.values[j]], dtype=np.int64)

    def costs(self, edges: Ints) -> Ints:
        """Return the stars of each edge."""
        i, j, k = edges.T
        stars = sum((ONES[word[i, j] | word[i, k]] for word in self.masks), np.zeros(len(edges), dtype=np.int64))
        return np.asarray(np.where(j == k, 2, 3) * stars)

    def triples(self, prices: Floats, most: float) -> Ints:
        """Return all triples with different values that cost at most so much more than the prices of their types."""
        triples = [np.zeros((0, 3), dtype=np.int64)]
        for i in range(len(self.values) - 2):
            self.pulse.beat()
            others = i + 1 + np.flatnonzero(self.values[i + 1 :] != self.values[i])
            j, k = (others[end] for end in np.triu_indices(len(others), 1))
            stars = sum((ONES[word[i, j] | word[i, k]] for word in self.masks), np.zeros(len(j), dtype=np.int64))
            good = (3 * stars - prices[j] - prices[k] <= most + prices[i]) & (self.values[j] != self.values[k])
            triples.append(np.stack([np.full(good.sum(), i), j[good], k[good]], axis=1))
        return np.concatenate(triples)

    def best(self) -> tuple[Ints, Ints]:
        """Return the edges of the cheapest cover, and how often each is taken."""
        prices = self.prices()
        least, room = float(prices @ self.rows), 1.0
        while True:
            pairs = self.pairs[self.added(self.pairs, prices) <= room + TINY]
            edges = np.concatenate([pairs, self.triples(prices, room + TINY)])
            times = self.programme(edges)
            cost = math.inf if times is None else int(self.costs(edges) @ times)
            # a cover with any other edge costs more than least + room, and a whole number
            if times is not None and cost <= math.floor(least + room + TINY) + 1:
                return edges[times > 0], times[times > 0]
            if room > 3 * self.columns.size * self.rows.sum():
                raise InternalError("no pairs and triples cover all rows, although no value is in more than half")
            room = min(2 * room, cost - least)

    def added(self, edges: Ints, prices: Floats) -> Floats:
        """Return by how much an edge costs more than its types are priced at."""
        i, j, k = edges.T
        return np.asarray(self.costs(edges) - prices[i] - prices[j] - np.where(j == k, 0.0, prices[k]))

    def prices(self) -> Floats:
        """Return a price per type such that no edge costs less than its types, which add up to as much as can be."""
        from scipy.optimize import linprog

        edges = self.pairs
        alone = np.full(len(self.values), 3.0 * self.columns.shape[1] + 1)  # of a row in no edge, for a start
        while True:
            costs = np.concatenate([self.costs(edges), alone])
            matrix = self.matrix(edges, alone=True)
            solve = partial(linprog, costs, A_eq=matrix, b_eq=self.rows, method="highs")
            solved = waited_for(solve, self.pulse)
            if solved.status != 0:
                raise InternalError(
                    "the relaxed programme of pairs and triples was not solved: {says}", says=solved.message
                )
            prices = np.asarray(solved.eqlin.marginals, dtype=np.float64)
            wanted = self.triples(prices, -TINY)
            if not len(wanted):
                return prices
            edges = np.concatenate([edges, wanted[np.argsort(self.added(wanted, prices), kind="stable")[:BATCH]]])

    def programme(self, edges: Ints) -> Ints | None:
        """Return how often each edge is taken by the cheapest cover with these edges alone, if there is one."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        if not len(edges):
            return None
        solve = partial(
            milp,
            self.costs(edges),
            constraints=LinearConstraint(self.matrix(edges), self.rows, self.rows),
            integrality=np.ones(len(edges)),
            bounds=Bounds(0, np.inf),
            options={"mip_rel_gap": 0},
        )
        solved = waited_for(solve, self.pulse)
        if solved.status == 2:
            return None
        if solved.status != 0:
            raise InternalError("the programme of pairs and triples was not solved: {says}", says=solved.message)
        return np.asarray(np.rint(solved.x), dtype=np.int64)

    def matrix(self, edges: Ints, *, alone: bool = False) -> Any:
        """Return types × edges: which types an edge takes a row of; with `alone`, one more edge for each type."""
        from scipy.sparse import csc_array

        triple = edges[:, 1] != edges[:, 2]
        keep = np.stack([np.ones_like(triple), np.ones_like(triple), triple], axis=1)
        taken = np.concatenate([edges[keep], np.arange(len(self.values) if alone else 0)])
        many = np.concatenate([2 + triple, np.ones(len(self.values) if alone else 0, dtype=np.int64)])
        starts = np.concatenate([[0], np.cumsum(many)])
        return csc_array((np.ones(len(taken)), taken, starts), shape=(len(self.values), len(many)))


def check_solver() -> None:
    """Raise `MissingExtra` unless the solver is installed."""
    try:
        import scipy.optimize  # noqa: F401
    except ImportError as missing:
        raise MissingExtra("scipy", "solve", "the method kanonymity, for the fewest stars,") from missing


# The method


__all__ = ["Stars", "partition"]

Stars = Literal["few", "fewest"]

HALF = Fraction(1, 2)


def partition(problem: Problem, *, stars: Stars = "few", seed: int = 0, progress: Progress = silent) -> Ints:
    """Return a class label per row: 0, 1, 2, …; the method is deterministic, so the seed changes nothing.

    `stars="fewest"` finds the optimum where k is 2 at most; for a larger k that is NP-hard.
    """
    diverse = _two_diversity(problem)
    problem.check_feasible()
    if diverse is None and stars == "fewest" and problem.k > 1:
        labels = _fewest(problem, Pulse(progress))
    elif diverse is None:
        labels = approximate(columns_of(problem), problem.k)
    else:
        check_solver()
        labels = two_diverse(columns_of(problem), problem.sensitive[diverse].codes, Pulse(progress))
    progress(1.0)
    return labels


def _fewest(problem: Problem, pulse: Pulse) -> Ints:
    """Return the classes of 2-anonymity with the fewest stars."""
    if problem.k > 2:
        raise Unsuited(
            "kanonymity finds the fewest stars for k = 2 only, and this policy asks for k = {k}; for a few "
            "rows, the method exact does",
            k=problem.k,
        )
    check_solver()
    return two_anonymous(columns_of(problem), pulse)


def _two_diversity(problem: Problem) -> int | None:
    """Return which attribute must be 2-diverse, if any; raise `Unsuited` where more than that is asked for."""
    binding = list(_binding(problem))
    if not binding:
        return None
    if binding == [(binding[0][0], "alpha", HALF)] and problem.k <= 2:
        return binding[0][0]
    requirements = ", ".join(dict.fromkeys(name for _, name, _ in binding))
    raise Unsuited(
        "kanonymity serves k alone, or alpha = 1/2 of one sensitive attribute with k of 2 at most; this policy "
        "asks for k = {k} and {requirements}",
        k=problem.k,
        requirements=requirements,
    )


def _binding(problem: Problem) -> Iterator[tuple[int, str, object]]:
    """Yield attribute, model and level of each requirement that some single row breaks; no class breaks the others."""
    for number, attribute in enumerate(problem.sensitive):
        alone = Counts.from_codes(np.arange(problem.rows), attribute.codes, len(attribute.reference))
        if not replace(attribute, models=()).admits(alone).all():
            yield number, "t" if attribute.n is None else "(n,t)", attribute.t
        for model in attribute.models:
            if not model.judge(alone, attribute.reference).satisfied:
                yield number, model.name, model.required if isinstance(model, Alpha) else None
