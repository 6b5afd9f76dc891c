"""One sensitive column as integer codes over its domain: observed, declared, ordered, binned or a hierarchy's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import InputError, PolicyError
from tclose.policy import Sensitive
from tclose.settings import exact
from tclose.table import bins, builders, numbers
from tclose.table.costs import Costs
from tclose.table.hierarchy import Hierarchy
from tclose.table.matching import codes_in
from tclose.table.values import Values, values_of

Ints = NDArray[np.int64]
MISSING = "(missing)"


@dataclass(frozen=True, eq=False)
class SensitiveColumn:
    """The codes of every row and what is known about the values that they stand for."""

    name: str
    distance: str
    labels: tuple[str, ...]
    codes: Ints
    positions: NDArray[Any] | None = None  # of numbers and dates: exact, from 0
    hierarchy: Hierarchy | None = None
    costs: Costs | None = None

    @property
    def reference(self) -> Ints:
        """How often the whole table shows each value of the domain."""
        return np.bincount(self.codes, minlength=len(self.labels)).astype(np.int64, copy=False)


def read_sensitive(column: pl.Series, spec: Sensitive, missing: Sequence[str]) -> SensitiveColumn:
    """Turn a column into codes, as its settings say; every row must have a value."""
    values = values_of(column, missing)
    distance = _distance(values, spec)
    if values.missing and spec.missing != "value":
        row = int(np.flatnonzero(values.codes < 0)[0]) + 1
        raise InputError(
            f"sensitive column '{values.name}' has no value in {values.missing:,} rows, first in row {row:,}: "
            'say missing = "value" or "suppress" for it, or fill them'
        )
    if spec.missing == "value" and distance not in ("equal", "hierarchical"):
        raise PolicyError(f'missing = "value" has no place in the distance "{distance}": use "suppress"')
    found = _READ[distance](values, spec)
    return _with_missing(found) if values.missing else found


def _distance(values: Values, spec: Sensitive) -> str:
    """Return the distance asked for, or the one that the settings and the values imply."""
    implied = (
        (spec.hierarchy is not None and "hierarchical")
        or (spec.matrix is not None and "matrix")
        or (spec.order is not None and "ordered")
        or (values.kind in ("number", "date") and "ordered")
    )
    distance = spec.distance or implied or "equal"
    needs_numbers = spec.bins is not None or distance == "value" or (distance == "ordered" and spec.order is None)
    undecided = spec.distance is None and not implied and values.kind == "mixed"
    if (needs_numbers and values.kind in ("text", "mixed")) or undecided:
        raise _not_numbers(values, spec)
    if spec.bins is not None and values.kind != "number":
        raise InputError(f"column '{values.name}' has bins, but its values are not numbers")
    return "ordered" if spec.bins is not None and spec.distance is None else distance


def _not_numbers(values: Values, spec: Sensitive) -> InputError:
    if values.kind == "text":
        fix = 'say order = [...], or distance = "equal"' if spec.bins is None else "bins need numbers"
        return InputError(f"sensitive column '{values.name}' has no order: its values are text; {fix}")
    odd = (~numbers.are_numbers(pl.Series(values.texts))).arg_true().to_numpy()
    rows = np.flatnonzero(np.isin(values.codes, odd))
    return InputError(
        f"sensitive column '{values.name}' is not all numbers: {len(rows):,} of {len(values.codes):,} rows hold "
        f'something else, first row {int(rows[0]) + 1:,}; mend them, list them in missing, or say distance = "equal"',
        detail=f"the first is '{values.texts[values.codes[rows[0]]]}'",
    )


def _read_line(values: Values, spec: Sensitive) -> SensitiveColumn:
    distance = spec.distance or "ordered"
    if spec.bins is not None:
        return _read_bins(values, spec)
    if spec.order is not None or spec.domain is not None:
        values = _declared(values, spec)
    positions = None if values.units is None else _from_zero(values.units)
    return SensitiveColumn(values.name, distance, values.texts, values.codes, positions)


def _read_bins(values: Values, spec: Sensitive) -> SensitiveColumn:
    assert spec.bins is not None
    assert values.units is not None
    counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.texts))
    learned = spec.bins.kind in ("count", "quantiles")
    edges = bins.edges_of(spec.bins, values.units, values.scale, counts)
    bin_of = bins.bin_of(edges, values.units, values.scale, learned=learned, name=values.name)
    codes = np.where(values.codes < 0, -1, bin_of[values.codes])
    return SensitiveColumn(values.name, spec.distance or "ordered", bins.labels_of(edges, learned=learned), codes)


def _read_equal(values: Values, spec: Sensitive) -> SensitiveColumn:
    if spec.bins is not None:
        return _read_bins(values, spec)
    if spec.domain is not None:
        values = _declared(values, spec)
    return SensitiveColumn(values.name, "equal", values.texts, values.codes)


def _read_hierarchical(values: Values, spec: Sensitive) -> SensitiveColumn:
    assert spec.hierarchy is not None
    path = spec.hierarchy
    hierarchy = Hierarchy.load(path) if isinstance(path, Path) else builders.build(path, values)
    codes = codes_in(hierarchy.leaves, values, misses="its hierarchy misses")
    return SensitiveColumn(values.name, "hierarchical", hierarchy.leaves, codes, hierarchy=hierarchy)


def _read_matrix(values: Values, spec: Sensitive) -> SensitiveColumn:
    assert spec.matrix is not None
    costs = Costs.load(spec.matrix)
    codes = codes_in(costs.values, values, misses="its matrix misses")
    return SensitiveColumn(values.name, "matrix", costs.values, codes, costs=costs)


_READ = {
    "ordered": _read_line,
    "value": _read_line,
    "equal": _read_equal,
    "hierarchical": _read_hierarchical,
    "matrix": _read_matrix,
}


def _declared(values: Values, spec: Sensitive) -> Values:
    """Put the values into the domain that the policy declares; numbers keep their own order unless it gives one."""
    declared = list(spec.order or spec.domain or ())
    if spec.domain is not None and values.kind == "number":
        declared.sort(key=lambda value: _exact_or_refuse(value, values.name))
    texts = tuple(_spelled(value) for value in declared)
    codes = codes_in(texts, values, misses=f"its declared {'order' if spec.order else 'domain'} misses")
    units = None
    if spec.order is None and values.kind == "number":
        exacts = [exact(value) for value in declared]
        common = math.lcm(*(number.denominator for number in exacts))
        units = np.array([int(number * common) for number in exacts], dtype=object)
    return Values(values.name, values.kind, texts, units, 0, codes)


def _exact_or_refuse(value: object, name: str) -> Fraction:
    try:
        return exact(value)
    except (ValueError, ArithmeticError):
        raise PolicyError(f"column '{name}' holds numbers, so its domain must be numbers") from None


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _with_missing(column: SensitiveColumn) -> SensitiveColumn:
    """Make "missing" a value of its own: a further one, or a further leaf under the root."""
    codes = np.where(column.codes < 0, len(column.labels), column.codes)
    hierarchy = None if column.hierarchy is None else column.hierarchy.with_leaf(MISSING)
    labels = (*column.labels, MISSING) if hierarchy is None else hierarchy.leaves
    return SensitiveColumn(column.name, column.distance, labels, codes, hierarchy=hierarchy)


def _from_zero(units: NDArray[Any]) -> NDArray[Any]:
    """Return units as distances from the first, without a common factor."""
    positions = units - units[0]
    shared = math.gcd(*(int(p) for p in positions[1:])) if positions.dtype == object else int(np.gcd.reduce(positions))
    positions = positions // (shared or 1)
    return np.asarray(positions, dtype=np.int64 if int(positions[-1]) < 2**62 else object)
