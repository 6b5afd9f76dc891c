"""What only the original table tells of its release: own numbers that end ranges, few persons, what can be read off.

It is counted once, when the release is made; what is kept are marks of published rows and counts, no cell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

import numpy as np
import polars as pl

from tclose.measure.exposure import rows_with_own_values, shared_by
from tclose.measure.exposure_claims import SEVERAL, ReadOff, read_off, sampled_rows
from tclose.measure.exposure_counts import MarkedRows
from tclose.policy import Policy
from tclose.policy.draft.profile import OWN_ROWS
from tclose.policy.draft.roles import fitness_as_person, is_known_by_others
from tclose.table import CodedTable
from tclose.table.classes import Classes, classes_of
from tclose.table.coded import persons_of
from tclose.table.profile import profiles
from tclose.table.quasi import LabelColumn, NumberColumn, QuasiColumn, SetColumn, extremes_of
from tclose.table.values import ValueDomain
from tclose.types import Bools, Floats, Ints

Fits = Callable[[Ints], Bools]  # rows of the original × classes: which class publishes a cell that fits each row
LEAST_EQUAL, STEPS = 20, 60  # rows that show that a column can be computed from another; steps that are tried


@dataclass(frozen=True, eq=False, repr=False)
class OriginalFacts:
    """What the original tells of one published table; marks are in the order of the published rows."""

    ends: Mapping[str, Bools] = field(default_factory=dict)  # rows whose own number ends a range of a column
    few: Bools | None = None  # rows in classes of fewer than k persons, by an identifier that repeats
    person: str | None = None  # this identifier
    steps: Mapping[str, Fraction | None] = field(default_factory=dict)  # with which few rows have an own number
    read_off: Mapping[str, ReadOff] | None = None  # of columns that closeness does not protect
    unprotected: tuple[str, ...] = ()  # all quasi-identifiers whose meaning is unknown
    exact: MarkedRows | None = None  # rows that show own numbers, where each row publishes its own quasi-identifiers


def original_facts(
    original: CodedTable, frame: pl.DataFrame, rows: Ints | None, policy: Policy, *, exact_quasi: bool
) -> OriginalFacts:
    """Look at the rows of a published table as the original has them.

    `exact_quasi` says that each row publishes its own quasi-identifiers, in groups that other columns form.
    """
    if exact_quasi or rows is None:
        return _exactly_published(original, policy)
    order = np.argsort(original.rows)[np.searchsorted(np.sort(original.rows), rows)]
    visible = [name for name in policy.visible if name in frame.columns]
    seen = classes_of(frame[visible]).labels_by_row()
    labels = np.empty(len(original), dtype=np.int64)
    labels[order] = seen
    classes = Classes.from_labels(labels)
    ends = {} if policy.presence else dict(_own_ends(original, classes, labels))
    person, few = _few_persons(original, labels, policy)
    unknown = unprotected_columns(original, policy)
    return OriginalFacts(
        ends={name: mark[order] for name, mark in ends.items()},
        few=None if few is None else few[order],
        person=person,
        steps={name: _step(original, name) for name in ends},
        read_off=_read_off(original, classes, unknown),
        unprotected=unknown,
    )


def _exactly_published(original: CodedTable, policy: Policy) -> OriginalFacts:
    """Return what rows that publish their own quasi-identifiers tell: every own number finds its row."""
    marks, unknown = {}, unprotected_columns(original, policy)
    for name, column in original.quasi.items():
        if isinstance(column, NumberColumn) and (known := own_numbers(column, original.persons)) is not None:
            number_of, own = known
            marks[name] = np.append(own, False)[np.append(number_of, -1)[column.codes]]
    return OriginalFacts(
        exact=MarkedRows.of(marks, len(original)),
        steps={name: _step(original, name) for name in marks},
        read_off=_read_off(original, original.classes, unknown),
        unprotected=unknown,
    )


# Own numbers at the ends of ranges


def own_numbers(column: QuasiColumn, persons: Ints | None) -> tuple[Ints, Bools] | None:
    """Return the published number of each value, and which numbers are a row's own; None where few rows have one.

    A step or a tail makes several values one number. A mean, a label or a set is no end of a range.
    """
    if not isinstance(column, NumberColumn) or column.spec.publish == "mean" or not column.values.texts:
        return None
    number_of = cells_of_values(column)
    numbers = np.append(number_of, -1)[column.codes]
    if not rows_with_own_values(numbers, persons):
        return None
    present = numbers >= 0
    shared = shared_by(numbers[present], None if persons is None else persons[present])
    return number_of, np.append(shared, np.zeros(int(number_of.max()) + 1 - len(shared), dtype=np.int64)) <= OWN_ROWS


def cells_of_values(column: NumberColumn) -> Ints:
    """Return a number for the cell that each value publishes by itself, after steps and tails."""
    ends, numbers = column.ends(), dict[tuple[str, str], int]()
    pairs = zip(ends.low_texts, ends.high_texts, strict=True)
    return np.array([numbers.setdefault(cell, len(numbers)) for cell in pairs], dtype=np.int64)


def ends_of_classes(column: NumberColumn, number_of: Ints, own: Bools, classes: Classes, labels: Ints) -> Bools:
    """Mark the rows whose own number is an end of the range that their class publishes."""
    extremes, numbers = extremes_of(column.codes, classes), np.append(number_of, -1)
    mine = numbers[column.codes]
    at_end = (mine == numbers[extremes.low][labels]) | (mine == numbers[extremes.high][labels])
    return np.asarray((mine >= 0) & at_end & np.append(own, False)[mine])


def _own_ends(original: CodedTable, classes: Classes, labels: Ints) -> list[tuple[str, Bools]]:
    found = []
    for name, column in original.quasi.items():
        if isinstance(column, NumberColumn) and (known := own_numbers(column, original.persons)) is not None:
            found.append((name, ends_of_classes(column, *known, classes, labels)))
    return found


def _step(original: CodedTable, name: str) -> Fraction | None:
    """Return the smallest round step with which few rows have an own number, whatever the classes; None without one."""
    column = original.quasi[name]
    return step_for(
        column, lambda numbers: rows_with_own_values(np.append(numbers, -1)[column.codes], original.persons)
    )


def step_for(column: QuasiColumn, own_rows: Callable[[Ints], int]) -> Fraction | None:
    """Return the same, given how many rows have an own number where values become such numbers."""
    if not isinstance(column, NumberColumn) or column.values.kind != "number" or column.spec.step is not None:
        return None
    for width in _round_steps(column):
        if not own_rows(cells_of_values(replace(column, spec=replace(column.spec, step=width)))):
            return width
    return None


def _round_steps(column: NumberColumn) -> list[Fraction]:
    """Return round numbers, from a five-hundredth of the span to a third of it."""
    units = column.values.units
    assert units is not None
    span = Fraction(int(units[-1]) - int(units[0]), 10**column.values.scale)
    if not span:
        return []
    power = Fraction(10) ** (len(str(int(span))) - 1 if span >= 1 else -len(str(int(1 / span))))
    steps = [digit * power / 10**places for places in (3, 2, 1, 0) for digit in (1, 2, 5)]
    return [step for step in steps if span / 500 <= step <= span / 3]


# Fewer than k persons, where rows are counted


def _few_persons(original: CodedTable, labels: Ints, policy: Policy) -> tuple[str | None, Bools | None]:
    """Mark the rows in classes of fewer than k persons, where an identifier of persons repeats and rows are counted."""
    held = [name for name in policy.identifiers if name in original.frame.columns]
    if policy.person is not None or not held or policy.k < 2:
        return None, None
    fitness = {each.name: fitness_as_person(each) for each in profiles(original.frame.select(held))}
    name = max(fitness, key=lambda each: fitness[each])
    if not fitness[name]:
        return None, None
    persons = persons_of(original.frame[name], policy)
    people = int(persons.max()) + 1
    different = np.bincount(np.unique(labels * people + persons) // people)
    few = np.asarray((different < policy.k)[labels])
    return (name, few) if few.any() else (None, None)


# What can be read off columns that closeness does not protect


def unprotected_columns(original: CodedTable, policy: Policy) -> tuple[str, ...]:
    """Return the quasi-identifiers whose meaning is unknown, by their names and kinds."""
    return unprotected_names({name: original.domain(name) for name in original.quasi}, policy)


def unprotected_names(domains: Mapping[str, ValueDomain], policy: Policy) -> tuple[str, ...]:
    """Return the same, given the values of all quasi-identifiers."""
    names = (name for name in policy.quasi if name not in policy.both)
    return tuple(name for name in names if not is_known_by_others(name, domains[name].kind))


def _read_off(original: CodedTable, classes: Classes, unknown: tuple[str, ...]) -> dict[str, ReadOff]:
    codes = {name: column.codes for name, column in original.quasi.items()}
    found = {}
    for name in unknown:
        if not any(tells(codes[other], codes[name]) for other in codes if other != name):
            others = [other for other in codes if other != name and not tells(codes[name], codes[other])]
            found[name] = _read_off_column(original, classes, name, others)
    return found


def _read_off_column(original: CodedTable, classes: Classes, name: str, others: list[str]) -> ReadOff:
    column = original.quasi[name]
    counts = np.bincount(column.codes[column.codes >= 0])
    rows = sampled_rows(column.codes, counts)
    values = column.codes[rows]
    fits = [fitting(original.quasi[other], classes) for other in others]
    fits += [_same_cell(original, kept, classes) for kept in original.policy.keep]
    shares: Floats = counts[values] / len(original)
    return read_off(values, shares, exact_values_of(column, classes), [partial(_of_rows, fit, rows) for fit in fits])


def _of_rows(fits: Fits, rows: Ints, block: slice) -> Bools:
    return fits(rows[block])


def tells(codes: Ints, others: Ints) -> bool:
    """Tell whether others can be computed from a column: equal values have equal others, and not by chance."""
    order = np.argsort(codes, kind="stable")
    order = order[np.searchsorted(codes[order], 0) :]
    equal, told = codes[order][1:] == codes[order][:-1], others[order]
    if np.count_nonzero(equal) < LEAST_EQUAL or (equal & (told[1:] != told[:-1])).any():
        return False
    rare = 1 - np.bincount(told + 1).max() / len(told)
    return bool(np.count_nonzero(equal) * rare >= LEAST_EQUAL)


def exact_values_of(column: QuasiColumn, classes: Classes) -> Ints:
    """Return the one value that each class publishes of a column; `SEVERAL` where it publishes none or more."""
    extremes = extremes_of(column.codes, classes)
    if isinstance(column, NumberColumn):
        low, high = _span(column, extremes.low, extremes.high)
        single = (low == high) & (column.spec.publish != "mean")
    else:
        single = extremes.low == extremes.high
    return np.where(single & ~extremes.missing & (extremes.low >= 0), extremes.low, SEVERAL)


def fitting(column: QuasiColumn, classes: Classes) -> Fits:
    """Return which classes publish a cell that the values of rows fit."""
    extremes = extremes_of(column.codes, classes)
    if isinstance(column, NumberColumn):
        if column.spec.publish == "mean":  # a reader cannot tell who fits a mean
            return lambda rows: np.ones((len(rows), len(classes)), dtype=bool)
        low, high = _span(column, extremes.low, extremes.high)
        inside: Fits = lambda rows: (column.codes[rows][:, None] >= low) & (column.codes[rows][:, None] <= high)  # noqa: E731
        return _or_missing(column.codes, inside, extremes.missing)
    if isinstance(column, LabelColumn):
        height, node, _ = column.nodes(classes)
        levels = np.stack(column.hierarchy.levels)
        below: Fits = lambda rows: levels[height[None, :], column.codes[rows][:, None]] == node  # noqa: E731
        return _or_missing(column.codes, below, extremes.missing)
    return _in_sets(column, classes)


def _span(column: NumberColumn, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Return the first and the last value that each published range covers; -1 and -2 where all are missing."""
    ends = column.ends()
    first = np.searchsorted(ends.low, ends.low[low], side="left")
    last = np.searchsorted(ends.high, ends.high[high], side="right") - 1
    return np.where(high < 0, -1, first), np.where(high < 0, -2, last)


def _or_missing(codes: Ints, fits: Fits, missing: Bools) -> Fits:
    return lambda rows: np.where((codes[rows] < 0)[:, None], missing[None, :], fits(rows))


def _in_sets(column: SetColumn, classes: Classes) -> Fits:
    members, starts = column.members(classes)
    owner = np.repeat(np.arange(len(classes)), np.diff(starts, append=len(members)))

    def fits(rows: Ints) -> Bools:
        values, place = np.unique(column.codes[rows], return_inverse=True)
        found = np.zeros((len(values), len(classes)), dtype=bool)
        chosen = np.isin(members, values)
        found[np.searchsorted(values, members[chosen]), owner[chosen]] = True
        return np.asarray(found[place])

    return fits


def _same_cell(original: CodedTable, name: str, classes: Classes) -> Fits:
    codes = original.values(name).codes
    shown = codes[classes.rows[classes.starts]]
    return lambda rows: codes[rows][:, None] == shown[None, :]
