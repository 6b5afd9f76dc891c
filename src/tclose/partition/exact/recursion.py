"""The best partition of a few rows (Liang & Yuan 2013, theorem 8), subset by subset.

OPT(M) is the least cost of M over the class of its first row: that class, and OPT of what remains. The paper halves M
to recurse without a table of all subsets; with the table, which fits for as many rows as 3^n steps allow, n rows take
3^n/2 steps, and every subset is judged once.
"""

from __future__ import annotations

import numpy as np

from tclose.distance import Metric, TupleMetric
from tclose.errors import Unsuited
from tclose.partition.exact import subsets
from tclose.partition.problem import Problem
from tclose.partition.shared.kernels import kernel
from tclose.partition.shared.pulse import Pulse
from tclose.types import Floats, Ints

MOST_ROWS = 18  # 2^18 subsets to judge, 3^18/2 steps: about a second
MOST_TRANSPORTS = 10_000  # a matrix is judged by a transportation problem of some milliseconds per count vector
MOST_TUPLE_TRANSPORTS = 1_000  # the same for tuples of values, whose vectors repeat less often
COSTS = {"gcp": subsets.gcp, "stars": subsets.stars}


def check_reach(problem: Problem) -> None:
    """Refuse what would take too long."""
    if problem.rows > MOST_ROWS:
        raise Unsuited(
            f"exact: the recursion reaches {MOST_ROWS} rows; this table has {problem.rows}; "
            "the programme for loss = 'stars' may reach them"
        )
    for attribute in problem.sensitive:
        if isinstance(geometry := attribute.geometry, Metric):
            tuples = isinstance(geometry, TupleMetric)
            most, what = (MOST_TUPLE_TRANSPORTS, "tuples of values") if tuples else (MOST_TRANSPORTS, "a matrix")
            if (vectors := int(np.prod(attribute.row_counts + 1))) > most:
                raise Unsuited(
                    f"exact: for {what} the recursion judges {most:,} different counts; there are {vectors:,}"
                )


def best_classes(problem: Problem, loss: str, pulse: Pulse) -> tuple[Ints, float]:
    """Return the labels of a partition that costs least, and its cost."""
    check_reach(problem)
    costs = np.where(subsets.admitted(problem, pulse), COSTS[loss](problem), np.inf)
    best, chosen = np.zeros(len(costs)), np.zeros(len(costs), dtype=np.int64)
    for rows in range(problem.rows):
        _best_of(costs, best, chosen, 1 << rows, 2 << rows)
        pulse(3.0 ** (rows + 1 - problem.rows))
    return _labels(chosen, problem.rows), float(best[-1])


@kernel
def _best_of(costs: Floats, best: Floats, chosen: Ints, begin: int, end: int) -> None:
    """Find the least cost of the subsets from `begin` on, and the class of their first row; smaller ones are known."""
    for mask in range(begin, end):
        first = mask & -mask
        rest = mask ^ first
        least, part, choice = np.inf, rest, mask
        while True:
            cost = costs[part | first] + best[rest ^ part]
            if cost < least:
                least, choice = cost, part | first
            if part == 0:
                break
            part = (part - 1) & rest
        best[mask], chosen[mask] = least, choice


def _labels(chosen: Ints, rows: int) -> Ints:
    """Follow the choices from all rows down to none."""
    labels, left, number = np.empty(rows, dtype=np.int64), (1 << rows) - 1, 0
    while left:
        members = int(chosen[left])
        labels[(members >> np.arange(rows) & 1).astype(bool)] = number
        left, number = left ^ members, number + 1
    return labels
