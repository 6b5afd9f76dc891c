"""Rigid policies: the smallest class can be made up of sensitive values in one way only.

If every class of the smallest size must show the same values, an adversary who knows the algorithm has an easy task
(docs/method.md). All ways to make up a class are tried, as long as there are not too many of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from tclose.distance import Counts, Metric
from tclose.policy import Policy
from tclose.privacy.judge import distance_of
from tclose.privacy.registry import class_models_of
from tclose.table import CodedTable, CountedTable, SensitiveColumn
from tclose.types import Ints
from tclose.words import columns, counted

MOST_WAYS = 20_000  # to make up a class of one size
MOST_SOLVED = 500  # the same, where a solver computes the distance
MOST_SIZES = 50


@dataclass(frozen=True)
class Rigidity:
    """An attribute of which the smallest class can show one composition only, and the k that admits more."""

    attribute: str
    rows: int  # of the smallest class
    opening_k: int | None  # None where it is not known

    @property
    def sentence(self) -> str:
        """The same for people."""
        opening = "" if self.opening_k is None else f"; k = {self.opening_k:,} admits more than one"
        return (
            f"the policy admits only one composition of {columns([self.attribute])} in the smallest possible class "
            f"({counted(self.rows, 'row')}), so all these classes show the same values, which helps an adversary who "
            f"knows the algorithm{opening}"
        )


def rigid_attributes(table: CodedTable | CountedTable, policy: Policy) -> tuple[Rigidity, ...]:
    """Find the attributes of which the smallest class can show one composition only; persons are not looked at."""
    if policy.person is not None:
        return ()
    found = (_rigidity(column, len(table), policy) for column in table.sensitive.values())
    return tuple(rigidity for rigidity in found if rigidity is not None)


def _rigidity(column: SensitiveColumn, rows: int, policy: Policy) -> Rigidity | None:
    spec, smallest = policy.sensitive[column.name], None
    if spec.n is not None or np.count_nonzero(column.reference) < 2:
        return None
    for size in range(policy.k, min(policy.k + MOST_SIZES, rows + 1)):
        ways = _admitted_ways(column, policy, size)
        if ways is None:
            break
        if ways > 1:
            return None if smallest is None else Rigidity(column.name, smallest, size)
        smallest = size if smallest is None and ways else smallest
    return None if smallest is None else Rigidity(column.name, smallest, None)


def _admitted_ways(column: SensitiveColumn, policy: Policy, size: int) -> int | None:
    """Count the admitted ways to make up a class of some rows; None where there are too many to try."""
    distance, present = distance_of(column), np.flatnonzero(column.reference)
    solved = isinstance(distance.geometry(len(column.labels)), Metric)
    if comb(size + len(present) - 1, size) > (MOST_SOLVED if solved else MOST_WAYS):
        return None
    ways = compositions(size, column.reference[present].tolist())
    if not len(ways):
        return 0
    which, place = np.nonzero(ways)
    starts = np.searchsorted(which, np.arange(len(ways)))
    counts = Counts(starts, present[place], ways[which, place], len(column.labels))
    admitted = np.ones(len(ways), dtype=bool)
    for model in class_models_of(policy.sensitive[column.name], distance):
        admitted &= model.judge(counts, column.reference).admitted
    return int(admitted.sum())


def compositions(size: int, most: list[int]) -> Ints:
    """Return every way, one per row, to add up to a size with numbers from 0 to the most of each.

    >>> compositions(2, [1, 2]).tolist()
    [[0, 2], [1, 1]]
    """
    ways, left = np.zeros((1, 0), dtype=np.int64), np.array([size])
    for place, limit in enumerate(most):
        low, high = np.maximum(left - sum(most[place + 1 :]), 0), np.minimum(left, limit)
        choices = np.maximum(high - low + 1, 0)
        before = np.repeat(np.arange(len(ways)), choices)
        number = low[before] + np.arange(len(before)) - (np.cumsum(choices) - choices)[before]
        ways, left = np.column_stack([ways[before], number]), left[before] - number
    return np.asarray(ways[left == 0])
