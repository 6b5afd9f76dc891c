"""The different values of one column, and which kind they are: the first step from cells to codes.

They are learned once, from a tally of cells, and then applied to rows. Everything that costs is done once per different
value, never per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from tclose.policy.below import Below
from tclose.table import numbers
from tclose.table.limits import placed
from tclose.table.tally import Tally, comparable, marked_missing
from tclose.types import Ints

Kind = Literal["number", "date", "boolean", "text", "mixed"]

MOMENT = r"^([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}:[0-9]{2})(:[0-9]{2}(?:\.[0-9]{1,6})?)?)?$"


@dataclass(frozen=True, eq=False)
class ValueList:
    """Different values of a column, missing ones left out, in their order.

    `units` are exact integers that order numbers, dates and booleans; text has none. Values of equal units
    (1.0 and 1) are one value, spelled as the shortest of them.
    """

    name: str
    kind: Kind
    texts: tuple[str, ...]
    units: NDArray[Any] | None
    scale: int  # one unit is 10^-scale, of a microsecond for dates

    def only(self, kept: Ints) -> ValueList:
        """Return some of the values."""
        texts = tuple(self.texts[code] for code in kept.tolist())
        return ValueList(self.name, self.kind, texts, None if self.units is None else self.units[kept], self.scale)


@dataclass(frozen=True, eq=False)
class ValueDomain(ValueList):
    """All values of a column, learned from a tally of the whole table: it can code the rows of any part of it."""

    tally: Tally
    code_of_cell: Ints  # the value of each cell of the tally; -1 where it means "missing"
    limit: Fraction | None = None  # the largest limit of cells such as <0.2, which are placed below it

    @classmethod
    def of(cls, tally: Tally, missing: Sequence[str], below: Below | None = None) -> ValueDomain:
        """Learn the values of a column.

        `missing` are the cells that mean "no value", and `below` says where cells such as <0.2 are placed.
        """
        texts = tally.cells.cast(pl.String)  # as a CSV would; a float as the shortest decimal that reads back
        present = np.flatnonzero(~marked_missing(texts, missing))
        cells, (texts, limit) = tally.cells[present], placed(texts[present], below)
        kind, units, scale = _read(cells, texts)
        rank, order = ranked(texts, units)
        code_of_cell = np.full(len(tally.cells), -1, dtype=np.int64)
        code_of_cell[present] = rank
        return cls(
            name=tally.name,
            kind=kind,
            texts=tuple(texts[order].to_list()),
            units=None if units is None else units[order],
            scale=scale,
            tally=tally,
            code_of_cell=code_of_cell,
            limit=limit,
        )

    @property
    def counts(self) -> Ints:
        """How many rows show each value."""
        present = self.code_of_cell >= 0
        counts = np.bincount(self.code_of_cell[present], self.tally.counts[present], minlength=len(self.texts))
        return counts.astype(np.int64)

    @property
    def missing(self) -> int:
        """How many rows have no value."""
        return int(self.tally.counts[self.code_of_cell < 0].sum()) + self.tally.nulls

    def codes(self, column: pl.Series) -> Ints:
        """Return the value of every row of a column, of this table or of a part of it; -1 where it is missing."""
        codes = pl.Series(self.code_of_cell, dtype=pl.Int64)
        cells = comparable(column)
        return cells.replace_strict(self.tally.cells, codes, default=-1, return_dtype=pl.Int64).fill_null(-1).to_numpy()

    def where(self, codes: ArrayLike, *, of_all: bool = False) -> str:
        """Say how many rows have one of these codes, and which row is the first, if that is known."""
        return self.tally.where(np.isin(self.code_of_cell, codes), nulls=bool(np.isin(-1, codes)), of_all=of_all)


@dataclass(frozen=True, eq=False)
class Values:
    """The values of a column and the code of every row; -1 where it is missing."""

    domain: ValueDomain
    codes: Ints

    @property
    def name(self) -> str:
        """The column's name."""
        return self.domain.name

    @property
    def kind(self) -> Kind:
        """What the values are."""
        return self.domain.kind

    @property
    def texts(self) -> tuple[str, ...]:
        """How the values are spelled, in the order of their codes."""
        return self.domain.texts

    @property
    def units(self) -> NDArray[Any] | None:
        """The exact integers that order numbers, dates and booleans."""
        return self.domain.units

    @property
    def scale(self) -> int:
        """One unit is 10^-scale."""
        return self.domain.scale

    @property
    def missing(self) -> int:
        """How many rows have no value."""
        return int(np.count_nonzero(self.codes < 0))


def pairs_of_like_texts(texts: Sequence[str]) -> int:
    """Count the pairs of texts that differ only in case, spaces, punctuation or Unicode form.

    A dash counts as punctuation only between letters or digits: the blood groups A and A- are no pair.

    >>> pairs_of_like_texts(["HIV", "hiv", "HIV ", "A+", "A-", "A"])
    3
    """
    plain = pl.Series(texts, dtype=pl.String).str.normalize("NFKC").str.to_lowercase()
    plain = plain.str.replace_all(r"(\w)\p{Pd}+(\w)", "$1$2").str.replace_all(r"[\s\p{Z}\p{Cf}]|[\p{P}--\p{Pd}]", "")
    alike = plain.filter(plain != "").value_counts(sort=False)["count"].cast(pl.Int64)
    return int((alike * (alike - 1) // 2).sum())


def values_of(
    column: pl.Series, missing: Sequence[str], rows: Ints | None = None, *, below: Below | None = None
) -> Values:
    """Learn the values of a column and code its rows; nulls and cells that mean "missing" have no value."""
    domain = ValueDomain.of(Tally.of(column, rows), missing, below)
    return Values(domain, domain.codes(column))


def _read(distinct: pl.Series, texts: pl.Series) -> tuple[Kind, NDArray[Any] | None, int]:
    """Decide the kind of the values and give numbers, dates and booleans their units."""
    if distinct.dtype == pl.Boolean:
        return "boolean", distinct.cast(pl.Int64).to_numpy(), 0
    if distinct.dtype.is_temporal():
        fine = isinstance(distinct.dtype, pl.Datetime) and distinct.dtype.time_unit == "ns"
        return "date", distinct.dt.epoch("ns" if fine else "us").to_numpy(), 3 if fine else 0
    numeric = numbers.are_numbers(texts)
    if texts.len() and numeric.all():
        read = numbers.read(texts)
        return "number", read.units, read.scale
    moments = _moments(texts)
    if texts.len() and moments.null_count() == 0:
        return "date", moments.to_numpy(), 0
    if numeric.any() or moments.null_count() < texts.len():
        return "mixed", None, 0
    if texts.len() and texts.str.to_lowercase().is_in(["false", "true"]).all():
        return "boolean", (texts.str.to_lowercase() == "true").cast(pl.Int64).to_numpy(), 0
    return "text", None, 0


def exact_values(texts: Sequence[str], kind: Kind) -> list[Fraction | None]:
    """Read texts as values of a kind, as `units` count them; None where a text is no such value."""
    known = pl.Series(texts, dtype=pl.String)
    if kind == "number":
        return [Fraction(text) if fits else None for text, fits in zip(texts, numbers.are_numbers(known), strict=True)]
    if kind == "date":
        return [None if moment is None else Fraction(moment) for moment in _moments(known)]
    if kind == "boolean":
        return [{"false": Fraction(0), "true": Fraction(1)}.get(text.lower()) for text in texts]
    return [None] * len(texts)


def _moments(texts: pl.Series) -> pl.Series:
    """Read ISO dates and moments as microseconds; null where a text is neither."""
    if not texts.str.contains(MOMENT).any():
        return pl.Series([None], dtype=pl.Int64).new_from_index(0, texts.len())
    parts = texts.str.extract_groups(MOMENT).struct
    day, time, seconds = parts.field("1"), parts.field("2").fill_null("00:00"), parts.field("3").fill_null(":00")
    moments = (day + " " + time + seconds).str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False, time_unit="us")
    return moments.to_physical()


def ranked(texts: pl.Series, units: NDArray[Any] | None) -> tuple[Ints, Ints]:
    """Return each value's code and, for each code, the place of the value that spells it."""
    if units is None:
        order = texts.arg_sort().to_numpy().astype(np.int64)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return rank, order
    spelling = np.lexsort((texts.to_numpy(), texts.str.len_bytes().to_numpy())) if len(units) else np.array([], int)
    _, first, rank = np.unique(units[spelling], return_index=True, return_inverse=True)
    back = np.empty(len(units), dtype=np.int64)
    back[spelling] = rank
    return back, spelling[first].astype(np.int64)
