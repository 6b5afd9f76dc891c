"""The columns x of a regression: what each row's may be, drawn at random or as far as possible in one direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
import polars as pl

from tclose.analysis.columns import ExactColumn, ListColumn, PublishedColumn, RangeColumn
from tclose.analysis.drawing import Draw, Spread
from tclose.errors import InputError
from tclose.types import Bools, Floats, Ints

INTERCEPT = "intercept"


class Part(Protocol):
    """One column x: a column of the regression for a number, and one for each value but the first of a set."""

    @property
    def terms(self) -> tuple[str, ...]:
        """The names of the coefficients."""

    def drawn(self, draw: Draw) -> Floats:
        """Return a possible value of each row, one column per term; NaN where it is missing."""

    def farthest(self, slopes: Floats) -> Floats:
        """Return the possible values that make the sum of slopes · values largest."""


@dataclass(frozen=True, eq=False)
class Exact:
    """Numbers or texts that are published exactly."""

    terms: tuple[str, ...]
    values: Floats

    def drawn(self, draw: Draw) -> Floats:
        """Return the values."""
        return self.values

    def farthest(self, slopes: Floats) -> Floats:
        """Return the values."""
        return self.values


@dataclass(frozen=True, eq=False)
class Ranges:
    """Numbers that are published as ranges."""

    column: RangeColumn
    spread: Spread

    @property
    def terms(self) -> tuple[str, ...]:
        """The name of the column."""
        return (self.column.name,)

    def drawn(self, draw: Draw) -> Floats:
        """Return numbers within the ranges, spread as those of the table."""
        return draw.numbers(self.column, self.spread)[:, None]

    def farthest(self, slopes: Floats) -> Floats:
        """Return an end of each range."""
        return np.where(slopes > 0, self.column.closed_high[:, None], self.column.closed_low[:, None])


@dataclass(frozen=True, eq=False)
class Sets:
    """Values of a set: whether a row has each of them but the first, which is the reference."""

    column: ListColumn

    @property
    def terms(self) -> tuple[str, ...]:
        """The column and the value."""
        return _names(self.column.name, self.column.values)

    def drawn(self, draw: Draw) -> Floats:
        """Return indicators of values that the rows may have."""
        return _indicators(draw.values(self.column), len(self.column.values))

    def farthest(self, slopes: Floats) -> Floats:
        """Return the indicators of the value with the largest slope."""
        levels = self.column.values
        allowed = np.array([[value in each for value in levels] for each in self.column.lists])[self.column.codes]
        padded = np.hstack([np.zeros((len(slopes), 1)), slopes])
        return _indicators(np.where(allowed, padded, -np.inf).argmax(axis=1), len(levels))


@dataclass(frozen=True, eq=False)
class Design:
    """The columns of a regression, the constant first."""

    parts: tuple[Part, ...]
    labels: Ints

    @classmethod
    def of(cls, x: Mapping[str, PublishedColumn], labels: Ints) -> Design:
        """Return the design of some columns."""
        return cls(tuple(_part(column, labels) for column in x.values()), labels)

    @property
    def terms(self) -> tuple[str, ...]:
        """The names of the coefficients."""
        return (INTERCEPT, *(term for part in self.parts for term in part.terms))

    @property
    def blocks(self) -> list[slice]:
        """Which columns of the design belong to each part."""
        ends = np.cumsum([1, *(len(part.terms) for part in self.parts)])
        return [slice(start, end) for start, end in pairwise(ends)]

    def drawn(self, rng: np.random.Generator) -> Floats:
        """Return possible values of every row."""
        draw = Draw(self.labels, rng)
        return np.hstack([np.ones((len(self.labels), 1)), *(part.drawn(draw) for part in self.parts)])

    def farthest(self, slopes: Floats, known: Bools) -> Floats:
        """Return, for the rows that count, the values that make the sum of slopes · values largest."""
        every = np.zeros((len(known), slopes.shape[1]))
        every[known] = slopes
        pairs = zip(self.parts, self.blocks, strict=True)
        farthest = np.hstack([np.ones((len(known), 1)), *(part.farthest(every[:, block]) for part, block in pairs)])
        return np.asarray(farthest[known])


def _part(column: PublishedColumn, labels: Ints) -> Part:
    if isinstance(column, RangeColumn):
        return Ranges(column, Spread.of(column, labels))
    if isinstance(column, ListColumn):
        return Sets(column)
    if isinstance(column, ExactColumn):
        return Exact((column.name,), column.numbers[:, None]) if column.is_number else _texts(column)
    raise InputError(f"column '{column.name}' holds class means, which a regression on rows cannot use")


def _texts(column: ExactColumn) -> Exact:
    texts = column.cells.cast(pl.String)
    levels = texts.drop_nulls().unique().sort().to_list()
    codes = texts.replace_strict(levels, np.arange(len(levels)), default=-1, return_dtype=pl.Int64)
    return Exact(_names(column.name, levels), _indicators(codes.fill_null(-1).to_numpy(), len(levels)))


def _names(name: str, levels: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{name}={value}" for value in levels[1:])


def _indicators(codes: Ints, levels: int) -> Floats:
    """Return a column for each value but the first; -1 is a missing value."""
    table = np.vstack([np.eye(levels), np.full(levels, np.nan)])
    return np.asarray(table[codes][:, 1:])
