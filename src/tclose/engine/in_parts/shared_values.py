"""How many rows, or persons, of a whole table share each value of a published column: for warnings and exposure."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tclose.engine.in_parts.learning import Learned
from tclose.errors import LeakWarning
from tclose.measure.exposure import WARNED_SHARE, PublishedAttribute, rows_of_own_values
from tclose.release.exposed import cells_of
from tclose.table.quasi import SetColumn
from tclose.table.values import ValueDomain
from tclose.types import Ints
from tclose.words import own_values

_NO_ROWS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class SharedValues:
    """How many rows show each value of a column, and how many rows or persons share it; a missing value comes last."""

    rows: Ints
    shared: Ints

    @classmethod
    def of(cls, learned: Learned, domain: ValueDomain, codes: Ints | None = None) -> SharedValues:
        """Count a column's values, or what `codes` makes of each value, and of a missing one."""
        codes = np.arange(len(domain.texts) + 1) if codes is None else codes
        most = int(codes.max(initial=0)) + 1
        rows = np.bincount(codes, np.append(domain.counts, domain.missing), minlength=most).astype(np.int64)
        person = learned.table.policy.person
        if person is None:
            return cls(rows, rows)
        groups = learned.counted.groups.only_bucket()[(domain.name, person)]
        grouping = learned.counted.groups.grouping
        pairs = groups.select(grouping.key(domain.name), grouping.key(person)).unique()
        values = codes[domain.codes(pairs.to_series(0))]
        if len(np.unique(codes)) < len(codes):  # several values are one
            people = pairs.to_series(1).rank("dense").fill_null(0).cast(int).to_numpy().astype(np.int64)
            values = np.unique(np.stack([values, people]), axis=1)[0]
        return cls(rows, np.bincount(values, minlength=most))


def attributes_of(learned: Learned) -> dict[str, PublishedAttribute]:
    """Return, for every sensitive column, how many rows or persons share each value that it publishes."""
    table, found = learned.table, {}
    for name, spec in table.policy.sensitive.items():
        domain, column = table.domains[name], table.sensitive[name]
        in_bins = spec.publish == "bin"
        codes = np.append(column.domain.code_of_value, column.domain.missing_code) if in_bins else None
        if codes is not None and codes[-1] < 0:  # no cell is missing
            codes[-1] = len(column.labels)
        shared = SharedValues.of(learned, domain, codes).shared
        found[name] = PublishedAttribute(name, _NO_ROWS, cells_of(domain.kind, spec), True, shared)
    return found


def warned_leaks(learned: Learned) -> tuple[str, ...]:
    """Warn about each published column in which many rows have a value of their own; return the warnings."""
    leaks = tuple(_leaks(learned))
    for leak in leaks:
        warnings.warn(leak, LeakWarning, 4)
    return leaks


def _leaks(learned: Learned) -> Iterator[str]:
    table = learned.table
    counted_as = "rows" if table.policy.person is None else "persons"
    for domain, role, codes in _published(learned):
        values = SharedValues.of(learned, domain, codes)
        known = slice(0, -1) if codes is None else slice(None)  # that a value is missing tells nothing
        if rows := rows_of_own_values(values.rows[known], values.shared[known], WARNED_SHARE):
            yield own_values(domain.name, rows, table.rows, role=role, counted_as=counted_as)


def _published(learned: Learned) -> Iterator[tuple[ValueDomain, str, Ints | None]]:
    """Yield each column that is published value by value, how it is published, and what its values become."""
    table, policy = learned.table, learned.table.policy
    for name, spec in policy.sensitive.items():
        cells, column = cells_of(table.domains[name].kind, spec), table.sensitive[name].domain
        codes = np.append(column.code_of_value, len(column.labels)) if cells == "bin" else None
        yield table.domains[name], cells, codes
    for role in ("keep", "unlinkable"):
        tallies = learned.counted.groups.tallies(getattr(policy, role))
        for tally in tallies.values():
            yield ValueDomain.of(tally, policy.missing), role, None
    for name, quasi in table.quasi.items():
        if isinstance(quasi.column(_NO_ROWS), SetColumn):
            yield table.domains[name], "set", None
