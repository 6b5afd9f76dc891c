"""How rows would fall into combinations of quasi-identifiers, level by level, before any class is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from tclose.policy import Policy
from tclose.table.classes import classes_of
from tclose.table.quasi import LabelColumn, NumberColumn, QuasiColumn, read_quasi
from tclose.types import Ints


@dataclass(frozen=True)
class Combinations:
    """The different combinations of quasi-identifiers at one level of their hierarchies."""

    level: int  # 0: as step, top and bottom leave the values
    combinations: int
    alone: int  # rows with a combination of their own
    few: int  # rows in combinations of fewer than k rows
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
    return [_counted(columns, level, policy.k) for level in range(height + 1)]


def _counted(columns: list[QuasiColumn], level: int, k: int) -> Combinations:
    codes = pl.DataFrame({str(place): _codes(column, level) for place, column in enumerate(columns)})
    sizes = np.diff(classes_of(codes).starts, append=codes.height)
    few = int(sizes[sizes < k].sum())
    return Combinations(level, len(sizes), int(np.count_nonzero(sizes == 1)), few, codes.height)


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
