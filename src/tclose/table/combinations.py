"""How rows would fall into combinations of quasi-identifiers, level by level, before any class is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from tclose.policy import Policy
from tclose.table.classes import classes_of
from tclose.table.coded import persons_of
from tclose.table.quasi import LabelColumn, NumberColumn, QuasiColumn, read_quasi
from tclose.types import Ints


@dataclass(frozen=True)
class Combinations:
    """The different combinations of quasi-identifiers at one level of their hierarchies."""

    level: int  # 0: as step, top and bottom leave the values
    combinations: int
    alone: int  # rows with a combination that no other row has; no other person, where the policy tells persons apart
    few: int  # rows in combinations of fewer than k rows, or persons
    rows: int

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return asdict(self)


def combinations_by_level(
    frame: pl.DataFrame, policy: Policy, beat: Callable[[float], None] = lambda share: None
) -> list[Combinations]:
    """Count combinations at every level, from the values themselves to the roots of all hierarchies.

    A column without a hierarchy, or with a lower one, stays at its last level.
    """
    columns = []
    for place, (name, spec) in enumerate(policy.quasi.items()):
        beat(place / len(policy.quasi))
        columns.append(read_quasi(frame[name], spec, policy.missing))
    height = max((column.hierarchy.height for column in columns if isinstance(column, LabelColumn)), default=0)
    persons = None if policy.person is None else persons_of(frame[policy.person], policy)
    return [_counted(columns, level, policy.k, persons) for level in range(height + 1)]


def _counted(columns: list[QuasiColumn], level: int, k: int, persons: Ints | None) -> Combinations:
    codes = pl.DataFrame({str(place): _codes(column, level) for place, column in enumerate(columns)})
    found = classes_of(codes)
    sizes = np.diff(found.starts, append=codes.height)
    members = sizes if persons is None else _persons(found.labels_by_row(), persons, len(sizes))
    alone, few = (int(sizes[small].sum()) for small in (members == 1, members < k))
    return Combinations(level, len(sizes), alone, few, codes.height)


def _persons(classes: Ints, persons: Ints, count: int) -> Ints:
    """Return how many persons each class has."""
    width = int(persons.max(initial=0)) + 1
    pairs = np.unique(classes * width + persons)
    return np.bincount(pairs // width, minlength=count)


def _codes(column: QuasiColumn, level: int) -> Ints:
    """Return what each row would publish at a level, as a number; -1 where nothing is known."""
    if isinstance(column, LabelColumn):
        nodes = column.hierarchy.levels[min(level, column.hierarchy.height)]
        return np.append(nodes, -1)[column.codes]
    if isinstance(column, NumberColumn) and column.values.texts:
        ends = column.ends()
        shown = np.unique(np.array([ends.low, ends.high]), axis=1, return_inverse=True)[1]
        return np.append(shown.reshape(-1), -1)[column.codes]
    return column.codes
