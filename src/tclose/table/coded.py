"""The whole table as integers: one class label per row, and the codes of every sensitive column."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from tclose.errors import InputError, LeakWarning, PolicyError, did_you_mean
from tclose.policy import Policy, Sensitive
from tclose.policy.settings import join
from tclose.table.classes import Classes, classes_of
from tclose.table.hierarchy import Hierarchy
from tclose.table.matching import codes_in
from tclose.table.sensitive import SensitiveColumn, read_sensitive
from tclose.table.values import values_of
from tclose.types import Ints

MOST_SUPERSETS = 1024


@dataclass(frozen=True, eq=False)
class CodedTable:
    """A table with every cell that matters turned into integers."""

    classes: Classes
    sensitive: Mapping[str, SensitiveColumn]
    persons: Ints | None  # who each row belongs to
    visible: pl.DataFrame  # the columns that form a class
    withheld: int  # rows left out because a sensitive value is missing

    def supersets(self) -> Iterator[Ints]:
        """Yield groupings of the classes: those that agree on some of the visible columns, on few of them first."""
        shown = self.visible[self.classes.rows[self.classes.starts]]
        names = shown.columns
        tried = 0
        for kept in range(1, len(names)):
            for chosen in combinations(names, kept):
                if (tried := tried + 1) > MOST_SUPERSETS:
                    return
                yield classes_of(shown[list(chosen)]).labels_by_row()


def encode(frame: pl.DataFrame, policy: Policy, *, ignore_others: bool = False) -> CodedTable:
    """Turn a frame into codes, as the policy says."""
    check_columns(frame, policy, ignore_others=ignore_others)
    warn_of_leaks(frame, policy)
    whole, rows = frame.height, rows_with_values(frame, policy)
    frame = frame if rows is None else frame[rows]
    visible = frame[list(policy.visible)]
    _check_quasi_hierarchies(visible, policy, rows)
    return CodedTable(
        classes=classes_of(visible),
        sensitive={name: _read(frame[name], spec, policy, rows) for name, spec in policy.sensitive.items()},
        persons=None if policy.person is None else classes_of(frame[[policy.person]]).labels_by_row(),
        visible=visible,
        withheld=whole - frame.height,
    )


def check_columns(
    frame: pl.DataFrame, policy: Policy, *, ignore_others: bool = False, identifiers_too: bool = False
) -> None:
    """Refuse a policy that names a column which the table lacks, or a table with a column named nowhere.

    When a table is only judged, an identifier may be absent: a table that holds no names is all the better.
    """
    named = dict(policy.columns())
    for column, place in named.items():
        if column not in frame.columns and (identifiers_too or place != "identifiers"):
            known = any(name in frame.columns for name in named)  # or else the header may be a row of cells
            hint = did_you_mean(column, frame.columns) if known else ""
            raise PolicyError(f"the table has no column '{column}'{hint}", place=place)
    if policy.person is not None and policy.person not in frame.columns:
        raise PolicyError(f"the table has no column '{policy.person}', so persons cannot be counted", place="person")
    others = [column for column in frame.columns if column not in named]
    if others and policy.others == "error" and not ignore_others:
        listed = ", ".join(f"'{column}'" for column in others)
        raise PolicyError(f'the policy gives no role to {listed}: name them, or say others = "drop"')


def warn_of_leaks(frame: pl.DataFrame, policy: Policy) -> None:
    """Warn of what the policy allows and a steward may not have seen."""
    for column in policy.unlinkable:
        warnings.warn(f"'{column}' is published as it is and not judged (unlinkable)", LeakWarning, stacklevel=2)
    if policy.person is None:
        for column in policy.identifiers:
            if column in frame.columns and (repeated := _repeated(frame[column], policy)):
                warnings.warn(
                    f"identifier '{column}' repeats in {repeated:,} rows: if they are rows of one person, "
                    f'say person = "{column}", or k and l count rows, not persons',
                    LeakWarning,
                    stacklevel=2,
                )


def _repeated(column: pl.Series, policy: Policy) -> int:
    """Count the rows that share a value; that several rows lack one says nothing."""
    cells = column.alias("").drop_nulls()
    if cells.dtype == pl.String:
        cells = cells.filter(~cells.is_in(policy.missing))
    return int(cells.is_duplicated().sum())


def without_suppressed(frame: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Leave out the rows that a policy withholds because a sensitive value is missing."""
    rows = rows_with_values(frame, policy)
    return frame if rows is None else frame[rows]


def rows_with_values(frame: pl.DataFrame, policy: Policy) -> Ints | None:
    """Return the rows that a policy does not withhold for a missing sensitive value; none where it keeps them all."""
    kept = np.ones(frame.height, dtype=bool)
    for name, spec in policy.sensitive.items():
        if spec.missing == "suppress":
            kept &= values_of(frame[name], policy.missing).codes >= 0
    if not kept.any():
        raise InputError("every row lacks a sensitive value, so nothing is left to judge")
    return None if kept.all() else np.flatnonzero(kept)


def _check_quasi_hierarchies(visible: pl.DataFrame, policy: Policy, rows: Ints | None) -> None:
    """Refuse a hierarchy file that misses a value; a released table may show its inner labels, too."""
    for name, spec in policy.quasi.items():
        if isinstance(spec.hierarchy, Path):
            labels = Hierarchy.load(spec.hierarchy).labels
            known = list(dict.fromkeys(label for level in labels for label in level))
            values = values_of(visible[name], policy.missing, rows)
            codes_in(known, values, misses=f"the hierarchy {spec.hierarchy.name} misses")


def _read(column: pl.Series, spec: Sensitive, policy: Policy, rows: Ints | None) -> SensitiveColumn:
    """Read one sensitive column; an error in its settings says where in the policy they stand."""
    try:
        return read_sensitive(column, spec, policy.missing, rows)
    except PolicyError as error:
        raise error.within(join("sensitive", column.name)) from None
