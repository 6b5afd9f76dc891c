"""What remains exposed in a release in parts: counted in buckets, which hold whole classes, and added up.

What only all rows together tell is undecided here: what can be read off unprotected columns, and few persons where an
identifier repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from tclose.measure.exposure import WARNED_SHARE, PublishedAttribute, rows_of_own_values
from tclose.measure.exposure_claims import ExposureFacts, Figure, figures_of
from tclose.measure.exposure_counts import (
    MOST_ROWS,
    LineCounts,
    Recognised,
    ShownColumn,
    ShownTable,
    line_counts,
    recognised,
)
from tclose.measure.original_facts import OriginalFacts, cells_of_values, ends_of_classes, step_for, unprotected_names
from tclose.measure.release_exposure import NEEDS_OTHER_BOXES, cells_of, cures_of, own_when_binned, published_cells
from tclose.messages import say
from tclose.policy.draft.profile import OWN_ROWS
from tclose.run.parts.plan import LearnedCounts
from tclose.table import CodedTable
from tclose.table.classes import Classes, classes_of
from tclose.table.domains import LearnedTable
from tclose.table.quasi import NumberColumn, SetColumn
from tclose.table.values import ValueDomain
from tclose.types import Bools, Ints
from tclose.words import columns as spelled
from tclose.words import own_values

# How many rows, or persons, of the whole table share each value of a published column


_NO_ROWS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class SharedValues:
    """How many rows show each value of a column, and how many rows or persons share it; a missing value comes last."""

    rows: Ints
    shared: Ints

    @classmethod
    def of(cls, learned: LearnedCounts, domain: ValueDomain, codes: Ints | None = None) -> SharedValues:
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


def attributes_of(learned: LearnedCounts) -> dict[str, PublishedAttribute]:
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


def leaks_of(learned: LearnedCounts) -> Iterator[str]:
    """Yield a warning about each published column in which many rows have a value of their own."""
    table = learned.table
    counted_as = "rows" if table.policy.person is None else "persons"
    for domain, role, codes in _published(learned):
        values = SharedValues.of(learned, domain, codes)
        known = slice(0, -1) if codes is None else slice(None)  # that a value is missing tells nothing
        if rows := rows_of_own_values(values.rows[known], values.shared[known], WARNED_SHARE):
            yield own_values(domain.name, rows, table.rows, role=role, counted_as=counted_as)


def _published(learned: LearnedCounts) -> Iterator[tuple[ValueDomain, str, Ints | None]]:
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


# The lines of what remains exposed


_OWN = "own numbers"


@dataclass(frozen=True, eq=False)
class AboutColumns:
    """What is known of the published columns of a whole table, which its buckets are counted with."""

    attributes: Mapping[str, PublishedAttribute]
    shown: Mapping[str, ShownColumn]  # without rows
    units: int
    crowd: int
    ends: tuple[str, ...]  # numeric quasi-identifiers of many own numbers


def own_numbers_of(table: LearnedTable) -> dict[str, tuple[Ints, Bools]]:
    """Return the published number of each value, and which are a row's own, of columns in which many rows have one.

    Persons are not told apart here, so where they are counted nothing is known.
    """
    if table.policy.person is not None or table.policy.presence is not None:
        return {}
    if _OWN not in vars(table):  # once for all parts
        pairs = ((name, _own_numbers(table, name)) for name in table.quasi)
        vars(table)[_OWN] = {name: own for name, own in pairs if own is not None}
    found: dict[str, tuple[Ints, Bools]] = vars(table)[_OWN]
    return found


def _own_numbers(table: LearnedTable, name: str) -> tuple[Ints, Bools] | None:
    column = table.quasi[name].column(_NO_ROWS)
    if not isinstance(column, NumberColumn) or column.spec.publish == "mean" or not column.values.texts:
        return None
    number_of = cells_of_values(column)
    rows = np.bincount(number_of, table.domains[name].counts).astype(np.int64)
    return (number_of, rows <= OWN_ROWS) if rows_of_own_values(rows, rows) else None


def ends_of_part(table: CodedTable, classes: Classes, learned: LearnedTable) -> dict[str, Bools]:
    """Mark the rows of a part whose own number ends a range, for each column."""
    labels, found = classes.labels_by_row(), {}
    for place, (name, (number_of, own)) in enumerate(own_numbers_of(learned).items()):
        column = table.quasi[name]
        assert isinstance(column, NumberColumn)
        found[f"end {place}"] = ends_of_classes(column, number_of, own, classes, labels)
    return found


def about_columns(learned: LearnedCounts, attributes: Mapping[str, PublishedAttribute]) -> AboutColumns:
    """Learn what the buckets are counted with."""
    table, policy = learned.table, learned.table.policy
    codes = recognised_in_sample(learned)
    shown = {}
    for name in policy.sensitive:
        spec, domain = policy.sensitive[name], table.domains[name]
        in_bins = spec.publish == "bin"
        column = table.sensitive[name]
        of_value = np.append(column.domain.code_of_value, column.domain.missing_code) if in_bins else None
        if of_value is not None and of_value[-1] < 0:  # no cell is missing
            of_value[-1] = len(column.labels)
        values = SharedValues.of(learned, domain, of_value)
        cells = cells_of(domain.kind, spec)
        each = ShownColumn(
            name=name,
            values=_NO_ROWS,
            holders=values.rows,
            sharing=values.shared,
            cells=cells,
            recognised=codes[name].how if name in codes else "no",
        )
        if cells == "number" and spec.domain is None and policy.person is None and each.own[values.rows > 0].any():
            quantiles, own = own_when_binned(domain, None, _NO_ROWS)
            each = replace(each, quantiles=quantiles, own_when_cured=own)
        shown[name] = each
    ends = tuple(own_numbers_of(table))
    return AboutColumns(attributes, shown, table.rows, max(policy.k, 2), ends)


def recognised_in_sample(learned: LearnedCounts) -> dict[str, Recognised]:
    """Return which sensitive columns are, or may be, codes, by the sample of rows that the table was learned with."""
    table = learned.table
    wanted = [name for name, spec in table.policy.sensitive.items() if spec.publish != "bin"]
    if not wanted or not learned.sample.height:
        return {}
    rows = np.unique(np.linspace(0, learned.sample.height - 1, min(MOST_ROWS, learned.sample.height)).astype(np.int64))
    coded = table.coded(learned.sample[rows])
    every = np.arange(len(rows))
    seen = [published_cells(coded, name, every, in_bins=name not in wanted) for name in table.policy.sensitive]
    found = recognised(seen, wanted)
    return {name: each for name, each in found.items() if each.how != "no"}


def lines_of_bucket(
    rows: pl.DataFrame, cells: Mapping[str, str], labels: Ints, about: AboutColumns, persons: pl.Series | None
) -> LineCounts:
    """Count the lines in a bucket; `cells` name the columns of `rows` that number the cells of sensitive columns."""
    shown = [
        replace(column, values=rows[cells[name]].to_numpy().astype(np.int64)) for name, column in about.shown.items()
    ]
    ends = {name: rows[f"end {place}"].to_numpy() for place, name in enumerate(about.ends)}
    whose = None if persons is None else classes_of(persons.alias("").to_frame()).labels_by_row()
    return line_counts(ShownTable(labels, shown, about.units, whose, ends=ends))


def figures_in_parts(counts: LineCounts, learned: LearnedCounts, about: AboutColumns) -> tuple[Figure, ...]:
    """Return the four lines of a release in parts."""
    table, policy = learned.table, learned.table.policy
    codes, unknown = recognised_in_sample(learned), unprotected_names(table.domains, policy)
    steps = {name: step_for(table.quasi[name].column(_NO_ROWS), _own_rows(learned, name)) for name in about.ends}
    facts = ExposureFacts(
        rows=table.rows,
        units=about.units,
        columns=list(about.shown.values()),
        labels=lambda name, cell: (*_texts(table, name), "(missing)")[cell],
        k=policy.k,
        counted="rows" if policy.person is None else "persons",
        sensitive=bool(policy.sensitive),
        recognised=codes,
        unseen=tuple(_unseen(learned)),
        read_off=None if unknown else {},
        cures=cures_of(
            counts,
            policy,
            table.sensitive,
            list(about.shown.values()),
            codes,
            OriginalFacts(steps=steps),
        ),
    )
    return figures_of(counts, facts)


def _texts(table: LearnedTable, name: str) -> Sequence[str]:
    in_bins = table.policy.sensitive[name].publish == "bin"
    return table.sensitive[name].labels if in_bins else table.domains[name].texts


def _own_rows(learned: LearnedCounts, name: str) -> Callable[[Ints], int]:
    counts = learned.table.domains[name].counts

    def own_rows(numbers: Ints) -> int:
        rows = np.bincount(numbers, counts).astype(np.int64)
        return rows_of_own_values(rows, rows)

    return own_rows


def _unseen(learned: LearnedCounts) -> list[str]:
    """Say what is needed to find all rows that stand out."""
    policy = learned.table.policy
    needs = [NEEDS_OTHER_BOXES] if policy.presence else []
    if policy.person is not None:
        needs.append("the engine memory, which counts the persons who share a number")
    if learned.repeating:
        needs.append(
            say("whether rows of one person share {value}: then say so with person", value=spelled(learned.repeating))
        )
    others = [*policy.unlinkable, *(policy.keep if policy.k <= OWN_ROWS else ())]
    if others:
        needs.append(say("the engine memory, which counts the cells of {value}", value=spelled(others)))
    return needs
