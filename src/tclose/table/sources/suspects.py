"""Which text columns may hold numbers or dates in another notation than tclose's: a cheap look at every column.

A column of words is known by its first cells. Others are searched for marks that a plain number does not have, so that
a plain table costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import polars as pl

from tclose.policy.draft.profile import MISSING

SAMPLE = 256
DIGIT_FIRST = r"^-?[0-9]"
MARKED = r"^-?[0-9]+(?:[.,'’ \u00a0\u2009\u202f][0-9]+)*(?:[eE][+-]?[0-9]+)?$"
MARKS = [",", "'", "’", " ", "\u00a0", "\u2009", "\u202f"]
DATE_LIKE = r"^[0-9]{1,4}([./-])[0-9]{1,2}[./-][0-9]{1,4}(?:[T ][0-9]{1,2}:[0-9]{2}.*)?$"
ISO = r"^[0-9]{4}-"


@dataclass(frozen=True, eq=False)
class Suspect:
    """A column that may hold numbers or dates: its name and its different cells, without those that are missing."""

    name: str
    cells: pl.Series


def _present(cells: pl.Series, missing: Collection[str]) -> pl.Series:
    return cells.filter(cells.is_not_null() & ~cells.is_in(list(missing)))


def texts(frame: pl.DataFrame) -> Iterator[pl.Series]:
    """Yield the columns of text, without names, which polars could take for patterns, but in order."""
    return (column for column in frame.iter_columns() if column.dtype == pl.String)


def missing_cells(given: Collection[str]) -> set[str]:
    """Return the cells that mean "no value", those of the policy and those that often do."""
    return {*MISSING, *given}


def numbers(frame: pl.DataFrame, missing: Collection[str], *, commas: bool) -> Iterator[Suspect]:
    """Yield the columns that may hold numbers with other marks; without `commas`, no cell can hold one."""
    marks = MARKS if commas else MARKS[1:]
    for column in texts(frame):
        cells = column.alias("")
        sample = _sample(cells, missing)
        if not sample.str.contains(DIGIT_FIRST).any():
            continue
        pointed = bool(sample.str.contains(".", literal=True).any())
        if cells.str.contains_any(marks).any() or (pointed and cells.str.contains(r"\.[0-9]+\.").any()):
            yield Suspect(column.name, _present(cells.unique(), missing).sort())


def pointed(frame: pl.DataFrame, missing: Collection[str], known: Collection[str]) -> Iterator[Suspect]:
    """Yield the other columns whose numbers have points: whether these are decimal points, the whole file tells."""
    for column in texts(frame):
        cells = column.alias("")
        if column.name not in known and _sample(cells, missing).str.contains(DIGIT_FIRST).any():
            present = _present(cells.unique(), missing)
            if present.str.contains(".", literal=True).any() and present.str.contains(MARKED).all():
                yield Suspect(column.name, present.sort())


def dates(frame: pl.DataFrame, missing: Collection[str], *, digits: bool = False) -> Iterator[Suspect]:
    """Yield the columns that may hold dates which are not ISO dates; with `digits`, also columns of eight digits."""
    for column in texts(frame):
        cells = column.alias("")
        sample = _sample(cells, missing)
        like = sample.str.contains(DATE_LIKE) & ~sample.str.contains(ISO)
        if like.any() or (digits and sample.str.contains("^[0-9]{8}$").any()):
            yield Suspect(column.name, _present(cells.unique(), missing).sort())


def _sample(cells: pl.Series, missing: Collection[str]) -> pl.Series:
    """Return the first cells that have a value."""
    sample = _present(cells[:SAMPLE], missing)
    return sample if len(sample) or len(cells) <= SAMPLE else _present(cells, missing)[:SAMPLE]
