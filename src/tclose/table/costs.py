"""A matrix of costs between values, from a CSV whose first row and first column name the values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tclose.errors import InputError, PolicyError
from tclose.policy import CostTable
from tclose.policy.settings import exact
from tclose.table.hierarchy import read_rows

LARGEST = 2**53  # so that a walk over many values still fits into 64 bits


@dataclass(frozen=True, eq=False)
class Costs:
    """`matrix[i, j]` is the cost between values i and j, in whole units: a metric."""

    values: tuple[str, ...]
    matrix: NDArray[np.int64]

    @classmethod
    def load(cls, path: Path) -> Costs:
        """Read and check a file of costs."""
        name = f"the costs {path.name}"
        (_, *columns), *rows = read_rows(path, "matrix")
        if not columns:
            raise InputError(f"{name}: the first row must name the values, after an empty cell")
        if sorted(columns) != sorted(row[0] for row in rows) or len(set(columns)) < len(columns):
            raise InputError(f"{name}: the first row and the first column must name the same values, each once")
        if any(len(row) != len(columns) + 1 for row in rows):
            raise InputError(f"{name}: every row needs a name and {len(columns)} numbers")
        row_of = {row[0]: row[1:] for row in rows}
        return cls._checked(tuple(columns), [_numbers(row_of[value], name) for value in columns], name)

    @classmethod
    def given(cls, table: CostTable) -> Costs:
        """Take costs that a policy holds in place."""
        name, size = "the matrix", len(table.values)
        if not size or len(table.costs) != size or any(len(row) != size for row in table.costs):
            raise PolicyError(f"expected {size} rows of {size} costs", place="matrix")
        return cls._checked(table.values, [list(row) for row in table.costs], name)

    @classmethod
    def _checked(cls, values: tuple[str, ...], costs: list[list[Fraction]], name: str) -> Costs:
        matrix = _integers(costs, name)
        _check_metric(matrix, name)
        return cls(values, matrix)


def _numbers(cells: list[str], name: str) -> list[Fraction]:
    try:
        return [exact(cell.strip()) for cell in cells]
    except (ValueError, ArithmeticError):
        raise InputError(f"{name}: every cost must be a number") from None


def _integers(rows: list[list[Fraction]], name: str) -> NDArray[np.int64]:
    unit = math.lcm(*(cost.denominator for row in rows for cost in row))
    whole = [[int(cost * unit) for cost in row] for row in rows]
    shared = math.gcd(*(cost for row in whole for cost in row)) or 1
    if max(abs(cost) for row in whole for cost in row) // shared > LARGEST:
        raise InputError(f"{name}: the costs have too many digits")
    return np.array([[cost // shared for cost in row] for row in whole], dtype=np.int64)


def _check_metric(costs: NDArray[np.int64], name: str) -> None:
    if (np.diag(costs) != 0).any() or (costs + np.eye(len(costs), dtype=np.int64) <= 0).any():
        raise InputError(f"{name}: a value is at cost 0 from itself and above 0 from any other")
    if (costs != costs.T).any():
        raise InputError(f"{name}: the cost from a to b must be the cost from b to a")
    for through in range(len(costs)):
        if (costs > costs[:, [through]] + costs[[through], :]).any():
            raise InputError(f"{name}: a detour is shorter than the direct way, so it is no metric")
