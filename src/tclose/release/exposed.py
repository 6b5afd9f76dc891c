"""What remains exposed in a release, and which columns give rows away: from coded tables to `measure/`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tclose.measure.exposure import (
    WARNED_SHARE,
    Exposed,
    PublishedAttribute,
    PublishedClasses,
    exposed_in,
    rows_with_own_values,
    shared_by,
)
from tclose.measure.line_counts import Cells, ShownColumn, ShownTable, line_counts
from tclose.measure.recognition import MOST_ROWS, PublishedCells, Recognised, recognised
from tclose.measure.remaining import Figure, TableFacts, figures_of, of_all_tables
from tclose.policy import Policy, Sensitive
from tclose.privacy.judge import JudgedTable
from tclose.recode.covering import worth_of
from tclose.release.exposure_cures import cures_of, own_when_binned
from tclose.release.original_facts import OriginalFacts
from tclose.release.scenes import numbered_cells
from tclose.table import CodedTable
from tclose.table.quasi import NumberColumn, QuasiColumn, SetColumn
from tclose.table.values import Kind
from tclose.types import Ints
from tclose.words import own_values, some_columns

NEEDS_ORIGINAL = "the original table, which has the numbers that end ranges and says whose rows they are"
NEEDS_OTHER_BOXES = "which numbers end the boxes of δ-presence: they are those of the population"


def exposed_rows(
    judged: Sequence[JudgedTable],
    policy: Policy,
    originals: Sequence[OriginalFacts | None] = (),
    *,
    knows_persons: bool = True,
) -> Exposed:
    """Return what remains exposed in judged tables.

    `originals` say what only the original table tells of each; without it, some figures are undecided. A reader of the
    release cannot tell persons apart, unless pseudonyms do.
    """
    found = exposed_in([_published(each.table, policy, knows_persons=knows_persons) for each in judged])
    facts = originals or [None] * len(judged)
    lines = [
        _figures(each.table, policy, original, knows_persons=knows_persons)
        for each, original in zip(judged, facts, strict=True)
    ]
    return replace(found, figures=of_all_tables(lines))


# The four lines


def _figures(
    table: CodedTable, policy: Policy, original: OriginalFacts | None, *, knows_persons: bool
) -> tuple[Figure, ...]:
    linked = bool(policy.pseudonym)
    persons = table.persons if knows_persons or linked else None
    if policy.person is None:
        persons = None
    codes = recognised_codes(table, policy)
    columns = shown_columns(table, policy, persons, codes)
    shown = ShownTable(
        labels=table.classes.labels_by_row(),
        columns=columns,
        units=len(table) if not linked or persons is None else int(persons.max()) + 1,
        persons=persons,
        linked=linked,
        ends={} if original is None else original.ends,
        few=None if original is None else original.few,
    )
    counts = line_counts(shown)
    if original is not None and original.exact is not None:
        counts = counts.beside(original.exact)
    facts = TableFacts(
        rows=len(table),
        units=shown.units,
        columns=columns,
        labels=lambda name, cell: (*table.values(name).texts, "(missing)")[cell],
        k=policy.k,
        counted="rows" if persons is None else "persons",
        sensitive=bool(policy.sensitive),
        recognised=codes,
        unseen=_unseen(table, policy, original, persons),
        read_off=None if original is None else original.read_off,
        people_unknown=policy.person is not None and persons is None,
        cures=cures_of(counts, policy, table.sensitive, columns, codes, original),
    )
    return figures_of(counts, facts)


def shown_columns(
    table: CodedTable,
    policy: Policy,
    persons: Ints | None = None,
    codes: Mapping[str, Recognised] | None = None,
) -> list[ShownColumn]:
    """Return the columns that a table publishes value by value, as the lines count them."""
    linked, known = bool(policy.pseudonym), codes or {}
    return [_shown(table, policy, name, persons, known, linked=linked) for name in _published_names(table, policy)]


def _published_names(table: CodedTable, policy: Policy) -> list[str]:
    others = [name for name in (*policy.unlinkable, *policy.keep) if name in table.frame.columns]
    return [*table.sensitive, *others]


def _shown(
    table: CodedTable,
    policy: Policy,
    name: str,
    persons: Ints | None,
    codes: Mapping[str, Recognised],
    *,
    linked: bool,
) -> ShownColumn:
    values, domain = numbered_cells(table, name), len(table.values(name).texts) + 1
    sharing = _padded(shared_by(values, persons), domain)
    cells: Cells = _cells(table, policy, name) if name in table.sensitive else "other"
    column = ShownColumn(
        name=name,
        values=values,
        holders=sharing if linked else np.bincount(values, minlength=domain),
        sharing=sharing,
        cells=cells,
        linked=name not in policy.both,
        sensitive=name in table.sensitive,
        recognised=codes[name].how if name in codes else "no",
    )
    if cells == "number" and policy.sensitive[name].domain is None and column.own[values].any():
        quantiles, own = own_when_binned(table.domain(name), persons, values)
        return replace(column, quantiles=quantiles, own_when_cured=own)
    return column


def _padded(counts: Ints, length: int) -> Ints:
    return np.append(counts, np.zeros(length - len(counts), dtype=np.int64))


def recognised_codes(table: CodedTable, policy: Policy) -> dict[str, Recognised]:
    """Return which sensitive columns that are published exactly are, or may be, codes that neighbours know."""
    wanted = [name for name in table.sensitive if policy.sensitive[name].publish != "bin" and name not in policy.both]
    if not wanted:
        return {}
    rows = np.unique(np.linspace(0, len(table) - 1, min(MOST_ROWS, len(table))).astype(np.int64))
    names = (name for name in _published_names(table, policy) if name not in policy.both)
    bins = {name for name in table.sensitive if policy.sensitive[name].publish == "bin"}
    seen = [published_cells(table, name, rows, in_bins=name in bins) for name in names]
    found = recognised(seen, wanted)
    return {name: each for name, each in found.items() if each.how != "no"}


def published_cells(table: CodedTable, name: str, rows: Ints, *, in_bins: bool) -> PublishedCells:
    """Return some cells of a column that is published value by value; bins are numbered in their order."""
    values = table.values(name)
    codes = values.codes[rows]
    if in_bins:
        places = table.sensitive[name].codes[rows].astype(np.float64)
        return PublishedCells(name, codes, np.where(codes < 0, np.nan, places))
    worth = worth_of(values.domain)
    return PublishedCells(name, codes, None if worth is None else np.append(worth, np.nan)[codes])


def _unseen(table: CodedTable, policy: Policy, original: OriginalFacts | None, persons: Ints | None) -> tuple[str, ...]:
    """Say what is needed to find all rows that stand out."""
    if policy.presence:
        return (NEEDS_OTHER_BOXES,)
    whose = policy.person is not None and persons is None
    elsewhere = [name for name in (*policy.unlinkable, *policy.keep) if name not in table.frame.columns]
    return (
        *((NEEDS_ORIGINAL,) if original is None or whose else ()),
        *((f"the table of the release that has {some_columns(elsewhere)}",) if elsewhere else ()),
    )


# What was looked at before decision 135; deprecated


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
        if rows := rows_with_own_values(values, table.persons, WARNED_SHARE):
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
