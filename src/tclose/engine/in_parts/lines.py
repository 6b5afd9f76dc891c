"""The lines of what remains exposed, of a release in parts: counted in buckets, which hold whole classes, and added up.

What only all rows together tell is undecided here: what can be read off unprotected columns, and few persons where an
identifier repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from tclose.engine.in_parts.learning import Learned
from tclose.engine.in_parts.shared_values import SharedValues
from tclose.measure.exposure import PublishedAttribute, rows_of_own_values
from tclose.measure.line_counts import LineCounts, ShownColumn, ShownTable, line_counts
from tclose.measure.recognition import MOST_ROWS, Recognised, recognised
from tclose.measure.remaining import Figure, TableFacts, figures_of
from tclose.policy.draft.profile import OWN_ROWS
from tclose.release.exposed import NEEDS_OTHER_BOXES, cells_of, published_cells
from tclose.release.exposure_cures import cures_of, own_when_binned
from tclose.release.original_facts import OriginalFacts, cells_of_values, ends_of_classes, step_for, unprotected_names
from tclose.table import CodedTable
from tclose.table.classes import Classes, classes_of
from tclose.table.learned import LearnedTable
from tclose.table.quasi import NumberColumn
from tclose.types import Bools, Ints
from tclose.words import columns as spelled

_NO_ROWS = np.zeros(0, dtype=np.int64)
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


def about_columns(learned: Learned, attributes: Mapping[str, PublishedAttribute]) -> AboutColumns:
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


def recognised_in_sample(learned: Learned) -> dict[str, Recognised]:
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


def figures_in_parts(counts: LineCounts, learned: Learned, about: AboutColumns) -> tuple[Figure, ...]:
    """Return the four lines of a release in parts."""
    table, policy = learned.table, learned.table.policy
    codes, unknown = recognised_in_sample(learned), unprotected_names(table.domains, policy)
    steps = {name: step_for(table.quasi[name].column(_NO_ROWS), _own_rows(learned, name)) for name in about.ends}
    facts = TableFacts(
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


def _own_rows(learned: Learned, name: str) -> Callable[[Ints], int]:
    counts = learned.table.domains[name].counts

    def own_rows(numbers: Ints) -> int:
        rows = np.bincount(numbers, counts).astype(np.int64)
        return rows_of_own_values(rows, rows)

    return own_rows


def _unseen(learned: Learned) -> list[str]:
    """Say what is needed to find all rows that stand out."""
    policy = learned.table.policy
    needs = [NEEDS_OTHER_BOXES] if policy.presence else []
    if policy.person is not None:
        needs.append("the engine memory, which counts the persons who share a number")
    if learned.repeating:
        needs.append(f"whether rows of one person share {spelled(learned.repeating)}: then say so with person")
    others = [*policy.unlinkable, *(policy.keep if policy.k <= OWN_ROWS else ())]
    if others:
        needs.append(f"the engine memory, which counts the cells of {spelled(others)}")
    return needs
