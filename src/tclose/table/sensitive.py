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
from tclose.policy import DISTANCES, Sensitive, implied_by_settings
from tclose.policy.distances import OF_NUMBERS, OF_OTHERS
from tclose.table import bins, builders
from tclose.table.costs import Costs
from tclose.table.hierarchy import Hierarchy
from tclose.table.matching import codes_in
from tclose.table.values import Kind, Values, exact_values, values_of
from tclose.types import Ints
from tclose.words import counted

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
    edges: tuple[Fraction, ...] | None = None  # of bins

    @property
    def reference(self) -> Ints:
        """How often the whole table shows each value of the domain."""
        return np.bincount(self.codes, minlength=len(self.labels)).astype(np.int64, copy=False)


def read_sensitive(
    column: pl.Series, spec: Sensitive, missing: Sequence[str], rows: Ints | None = None
) -> SensitiveColumn:
    """Turn a column into codes, as its settings say; every row must have a value."""
    values = values_of(column, missing, rows)
    if values.missing and spec.missing != "value":
        lacking, first = values.rows_with(-1)
        raise InputError(
            f"sensitive column '{values.name}' has no value in {counted(lacking, 'row')}, first in row {first:,}: "
            'say missing = "value" or "suppress" for it, or fill them'
        )
    distance = _distance(values, spec)
    if spec.missing == "value" and not DISTANCES[distance].missing:
        raise PolicyError(f'missing = "value" has no place in the distance "{distance}": use "suppress"')
    found = _READ[DISTANCES[distance].domain](values, spec, distance)
    return _with_missing(found) if values.missing else found


def _distance(values: Values, spec: Sensitive) -> str:
    """Return the distance asked for, or the one that the settings and the values imply."""
    implied = implied_by_settings(spec)
    distance = implied or (OF_NUMBERS if values.kind in ("number", "date") else OF_OTHERS)
    needs_numbers = spec.bins is not None or (DISTANCES[distance].domain == "numbers" and spec.order is None)
    undecided = implied is None and values.kind == "mixed"
    if (needs_numbers and values.kind in ("text", "mixed")) or undecided:
        raise _not_numbers(values, spec)
    if spec.bins is not None and values.kind != "number":
        raise InputError(f"column '{values.name}' has bins, but its values are not numbers")
    return distance


def _not_numbers(values: Values, spec: Sensitive) -> InputError:
    if values.kind == "text":
        fix = 'say order = [...], or distance = "equal"' if spec.bins is None else "bins need numbers"
        return InputError(f"sensitive column '{values.name}' has no order: its values are text; {fix}")
    kind, exact = "number", exact_values(values.texts, "number")
    if set(exact) == {None}:
        kind, exact = "date", exact_values(values.texts, "date")
    odd = [code for code, value in enumerate(exact) if value is None]
    rows, first = values.rows_with(odd)
    return InputError(
        f"sensitive column '{values.name}' is not all {kind}s: {rows:,} of {counted(len(values.codes), 'row')} hold "
        f'something else, first row {first:,}; mend them, list them in missing, or say distance = "equal"',
        detail=f"the first is '{values.texts[values.codes[np.isin(values.codes, odd)][0]]}'",
    )


def _read_line(values: Values, spec: Sensitive, distance: str) -> SensitiveColumn:
    if spec.bins is not None:
        return _read_bins(values, spec, distance)
    if spec.order is not None or spec.domain is not None:
        values = _declared(values, spec)
    positions = None if values.units is None else _from_zero(values.units)
    return SensitiveColumn(values.name, distance, values.texts, values.codes, positions)


def _read_bins(values: Values, spec: Sensitive, distance: str) -> SensitiveColumn:
    assert spec.bins is not None
    assert values.units is not None
    counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.texts))
    learned = spec.bins.kind in ("count", "quantiles")
    edges = bins.edges_of(spec.bins, values.units, values.scale, counts)
    bin_of = bins.bin_of(edges, values.units, values.scale, learned=learned)
    outside = np.flatnonzero((bin_of < 0) | (bin_of >= len(edges) - 1))
    if len(outside):
        rows, first = values.rows_with(outside)
        raise InputError(
            f"column '{values.name}' lies outside its bins {bins.span_of(edges)} in {counted(rows, 'row')}, "
            f"first in row {first:,}: add an edge below or above"
        )
    codes = np.where(values.codes < 0, -1, bin_of[values.codes])
    labels = bins.labels_of(edges, learned=learned)
    if learned:
        edges[0] -= 1  # written down, the edges hold the smallest value, too
    return SensitiveColumn(values.name, distance, labels, codes, edges=tuple(edges))


def _read_values(values: Values, spec: Sensitive, distance: str) -> SensitiveColumn:
    if spec.bins is not None:
        return _read_bins(values, spec, distance)
    if spec.domain is not None:
        values = _declared(values, spec)
    return SensitiveColumn(values.name, distance, values.texts, values.codes)


def _read_hierarchy(values: Values, spec: Sensitive, distance: str) -> SensitiveColumn:
    assert spec.hierarchy is not None
    path = spec.hierarchy
    hierarchy = Hierarchy.load(path) if isinstance(path, Path) else builders.build(path, values)
    codes = codes_in(hierarchy.leaves, values, misses="its hierarchy misses")
    return SensitiveColumn(values.name, distance, hierarchy.leaves, codes, hierarchy=hierarchy)


def _read_matrix(values: Values, spec: Sensitive, distance: str) -> SensitiveColumn:
    assert spec.matrix is not None
    costs = Costs.load(spec.matrix) if isinstance(spec.matrix, Path) else Costs.given(spec.matrix)
    codes = codes_in(costs.values, values, misses="its matrix misses")
    return SensitiveColumn(values.name, distance, costs.values, codes, costs=costs)


_READ = {"numbers": _read_line, "values": _read_values, "hierarchy": _read_hierarchy, "matrix": _read_matrix}


def _declared(values: Values, spec: Sensitive) -> Values:
    """Put the values into the domain that the policy declares; numbers and dates keep their own order."""
    setting = "domain" if spec.order is None else "order"
    texts = tuple(_spelled(value) for value in spec.order or spec.domain or ())
    exact = exact_values(texts, values.kind)
    known = [value for value in exact if value is not None]
    if len(set(known)) < len(known):
        raise PolicyError("a value stands in the list twice: name it once", place=setting)
    units = None
    if spec.order is None and values.units is not None:
        texts, units = _in_order(texts, exact, values.kind)
    codes = codes_in(texts, values, misses=f"its declared {setting} misses")
    return Values(values.name, values.kind, texts, units, 0, codes, values.rows)


def _in_order(texts: tuple[str, ...], exact: list[Fraction | None], kind: Kind) -> tuple[tuple[str, ...], NDArray[Any]]:
    """Sort declared values as numbers, dates and booleans are, and give them whole units."""
    known = sorted((value, text) for value, text in zip(exact, texts, strict=True) if value is not None)
    if len(known) < len(texts):
        raise PolicyError(f"its values are {kind}s, so the whole domain must be {kind}s", place="domain")
    common = math.lcm(*(value.denominator for value, _ in known))
    return tuple(text for _, text in known), np.array([int(value * common) for value, _ in known], dtype=object)


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
    span = int(units[-1]) - int(units[0])
    positions = (units if span < 2**62 else units.astype(object)) - int(units[0])
    shared = math.gcd(*(int(p) for p in positions[1:])) if positions.dtype == object else int(np.gcd.reduce(positions))
    positions = positions // (shared or 1)
    return np.asarray(positions, dtype=np.int64 if int(positions[-1]) < 2**62 else object)
