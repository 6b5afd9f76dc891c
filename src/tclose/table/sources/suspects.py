"""Which text columns may hold numbers or dates in another notation than tclose's: a cheap look at every column.

A column of words is known by its first cells. Others are searched for marks that a plain number does not have, so that
a plain table costs next to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from tclose.policy.source import MISSING

SAMPLE = 256
DIGIT_FIRST = re.compile(r"-?[0-9]")
MARKED = r"^-?[0-9]+(?:[.,'’ \u00a0\u2009\u202f][0-9]+)*(?:[eE][+-]?[0-9]+)?$"
MARKS = [",", "'", "’", " ", "\u00a0", "\u2009", "\u202f"]
DATE_LIKE = re.compile(r"(?![0-9]{4}-)[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}(?:[T ][0-9]{1,2}:[0-9]{2}.*)?$")
EIGHT_DIGITS = re.compile("[0-9]{8}$")


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


def marks_in(data: bytes, *, commas: bool) -> list[str]:
    """Return the marks that a file has; without `commas`, no cell can hold one."""
    possible = [mark for mark in MARKS if mark.isascii() or not data.isascii()]
    return [mark for mark in possible if (commas or mark != ",") and mark.encode() in data]


def numbers(frame: pl.DataFrame, missing: Collection[str], marks: Sequence[str]) -> Iterator[Suspect]:
    """Yield the columns that may hold numbers with other marks, of which only some occur in the file."""
    for column, sample in _sampled(frame, missing):
        if not any(map(DIGIT_FIRST.match, sample)):
            continue
        cells = column.alias("")
        pointed = "." in "".join(sample)
        if _marked(cells, marks) or (pointed and cells.str.contains(r"\.[0-9]+\.").any()):
            yield Suspect(column.name, _present(cells.unique(), missing).sort())


def _marked(cells: pl.Series, marks: Sequence[str]) -> bool:
    return bool(marks) and bool(cells.str.contains_any(list(marks)).any())  # all marks in one pass


def pointed(frame: pl.DataFrame, missing: Collection[str], known: Collection[str]) -> Iterator[Suspect]:
    """Yield the other columns whose numbers have points: whether these are decimal points, the whole file tells."""
    for column, sample in _sampled(frame, missing):
        if column.name not in known and any(map(DIGIT_FIRST.match, sample)):
            present = _present(column.alias("").unique(), missing)
            if present.str.contains(".", literal=True).any() and present.str.contains(MARKED).all():
                yield Suspect(column.name, present.sort())


def dates(frame: pl.DataFrame, missing: Collection[str], pattern: str, *, digits: bool = False) -> Iterator[Suspect]:
    """Yield the columns that may hold dates which are not ISO dates; with `digits`, also columns of eight digits.

    At least one cell looks like `pattern`. Numbers of persons do not, and a million of them are not sorted for it.
    """
    for column, sample in _sampled(frame, missing):
        like_dates = any(map(DATE_LIKE.match, sample)) or (digits and any(map(EIGHT_DIGITS.match, sample)))
        if like_dates and column.str.contains(pattern).any():
            yield Suspect(column.name, _present(column.alias("").unique(), missing).sort())


def _sampled(frame: pl.DataFrame, missing: Collection[str]) -> Iterator[tuple[pl.Series, list[str]]]:
    """Yield the columns of text, each with its first cells that have a value."""
    for column, first in zip(texts(frame), texts(frame.head(SAMPLE)), strict=True):
        sample = [cell for cell in first.to_list() if cell is not None and cell not in missing]
        if not sample and len(column) > SAMPLE:
            sample = _present(column.alias(""), missing)[:SAMPLE].to_list()
        yield column, sample
