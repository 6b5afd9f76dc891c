"""What remains exposed in a release, and which columns give rows away: from coded tables to `measure/exposure.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tclose.measure.exposure import (
    Cells,
    Exposed,
    PublishedAttribute,
    PublishedClasses,
    exposed_in,
    rows_with_own_values,
)
from tclose.policy import Policy, Sensitive
from tclose.privacy.judge import JudgedTable
from tclose.release.scenes import numbered_cells
from tclose.table import CodedTable
from tclose.table.quasi import NumberColumn, QuasiColumn, SetColumn
from tclose.table.values import Kind
from tclose.types import Ints
from tclose.words import own_values


def exposed_rows(judged: Sequence[JudgedTable], policy: Policy, *, knows_persons: bool = True) -> Exposed:
    """Return what remains exposed in judged tables; a reader of the release cannot tell persons apart."""
    return exposed_in([_published(each.table, policy, knows_persons=knows_persons) for each in judged])


def _published(table: CodedTable, policy: Policy, *, knows_persons: bool) -> PublishedClasses:
    attributes = [
        PublishedAttribute(name, numbered_cells(table, name), _cells(table, policy, name), name not in policy.both)
        for name in table.sensitive
    ]
    linked_by = next(iter(policy.pseudonym or ()), None)
    classes, persons = table.classes, table.persons if knows_persons or linked_by else None
    return PublishedClasses(classes.rows, classes.starts, attributes, max(policy.k, 2), persons, linked_by)


def _cells(table: CodedTable, policy: Policy, name: str) -> Cells:
    return cells_of(table.values(name).kind, policy.sensitive[name])


def cells_of(kind: Kind, spec: Sensitive) -> Cells:
    """Say which setting would make the cells of a sensitive column coarser: bins need numbers."""
    if spec.publish == "bin":
        return "bin"
    listed = any(setting is not None for setting in (spec.hierarchy, spec.matrix, spec.order))  # bins would contradict
    return "number" if kind == "number" and not listed else "other"


def columns_of_own_values(table: CodedTable, policy: Policy, *, exact_quasi: bool) -> Iterator[str]:
    """Yield a warning for each published column in which many rows have a value of their own.

    `table` holds the rows to publish. Numeric quasi-identifiers, and those with a hierarchy, are published as ranges
    and labels; `exact_quasi` says that the layout publishes all quasi-identifiers as they are.
    """
    counted = "rows" if table.persons is None else "persons"
    for name, role, values in _published_values(table, policy, exact_quasi=exact_quasi):
        if rows := rows_with_own_values(values, table.persons):
            yield own_values(name, rows, len(table), role=role, counted_as=counted)


def _published_values(table: CodedTable, policy: Policy, *, exact_quasi: bool) -> Iterator[tuple[str, str, Ints]]:
    """Yield each column that is published value by value, how it is published, and the value of every row."""
    for name, column in table.sensitive.items():
        cells = _cells(table, policy, name)
        codes = column.codes if cells == "bin" else table.values(name).codes
        yield name, "both" if name in policy.both and cells != "bin" else cells, codes
    for role in ("keep", "unlinkable"):
        for name in getattr(policy, role):
            yield name, role, table.values(name).codes
    for name, quasi in table.quasi.items():
        if exact_quasi:
            yield name, "quasi", _exact_cells(quasi)
        elif isinstance(quasi, SetColumn):
            yield name, "set", quasi.codes


def _exact_cells(quasi: QuasiColumn) -> Ints:
    """Return a number for the cell that each row publishes by itself, after steps and tails; -1 where it is missing."""
    if not isinstance(quasi, NumberColumn) or not quasi.values.texts:
        return quasi.codes
    ends = quasi.ends()
    numbers: dict[tuple[str, str], int] = {}
    of_value = [numbers.setdefault(cell, len(numbers)) for cell in zip(ends.low_texts, ends.high_texts, strict=True)]
    return np.append(of_value, -1)[quasi.codes]
