"""How often each different cell of a column occurs: what a domain is learned from.

Tallies of parts of a table add up, so a domain can be learned from a table that never was in one place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from tclose.errors import InputError, InternalError
from tclose.types import Bools, Ints
from tclose.words import counted

FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, counted from 1970
TICKS_PER_DAY = {None: 1, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


@dataclass(frozen=True, eq=False)
class Tally:
    """The different cells of a column, and how many rows show each."""

    name: str
    cells: pl.Series  # without nulls, in no particular order
    counts: Ints
    nulls: int  # rows without a cell
    column: pl.Series | None = None  # where they were counted, so that messages can name a row
    rows: Ints | None = None  # where each row of the column stood in the table as it was read

    @classmethod
    def of(cls, column: pl.Series, rows: Ints | None = None) -> Tally:
        """Count the cells of a column; `rows` says where its rows stood before some were withheld."""
        plain = comparable(column, rows)
        groups = plain.to_frame().group_by("").len("rows")  # a column's own name could be a pattern to polars
        known = groups.filter(groups[""].is_not_null())
        nulls = plain.null_count()
        return cls(column.name, known[""], known["rows"].cast(pl.Int64).to_numpy(), nulls, plain, rows)

    @classmethod
    def of_counts(cls, name: str, cells: pl.Series, counts: Ints) -> Tally:
        """Count the cells of a column of which each stands for so many rows; all can be compared."""
        sums = pl.DataFrame({"": cells.alias(""), "rows": counts}).group_by("").agg(pl.col("rows").sum())
        known = sums.filter(sums[""].is_not_null())
        nulls = int(sums["rows"].sum()) - int(known["rows"].sum())
        return cls(name, known[""], known["rows"].to_numpy(), nulls)

    @classmethod
    def of_texts(cls, name: str, texts: Mapping[str, int], nulls: int) -> Tally:
        """Take the cells of a column as texts, with the rows of each, and the rows without a cell."""
        return cls(name, pl.Series(list(texts), dtype=pl.String), np.array(list(texts.values()), dtype=np.int64), nulls)

    def __add__(self, other: Tally) -> Tally:
        """Count two parts of one column together."""
        if (self.name, self.cells.dtype) != (other.name, other.cells.dtype):
            raise InternalError("tallies of different columns do not add up")
        both = pl.DataFrame(
            {"": pl.concat([self.cells, other.cells]), "rows": np.concatenate([self.counts, other.counts])}
        )
        sums = both.group_by("").agg(pl.col("rows").sum())
        return replace(
            self,
            cells=sums[""],
            counts=sums["rows"].to_numpy(),
            nulls=self.nulls + other.nulls,
            column=None,
            rows=None,
        )

    @property
    def rows_counted(self) -> int:
        """How many rows were counted."""
        return int(self.counts.sum()) + self.nulls

    def where(self, chosen: Bools, *, nulls: bool = False, of_all: bool = False) -> str:
        """Say how many rows show one of the chosen cells, and which row is the first, if that is known."""
        shows = int(self.counts[chosen].sum()) + (self.nulls if nulls else 0)
        amount = f"{shows:,} of {counted(self.rows_counted, 'row')}" if of_all else counted(shows, "row")
        first = self._first_row(chosen, nulls=nulls)
        return amount if first is None else f"{amount}, first in row {first:,}"

    def _first_row(self, chosen: Bools, *, nulls: bool) -> int | None:
        if self.column is None:
            return None
        shows = self.column.is_in(self.cells.filter(pl.Series(chosen)).implode(), nulls_equal=False).fill_null(nulls)
        return row_number(int(shows.arg_true()[0]), self.rows)


def comparable(column: pl.Series, rows: Ints | None = None, counts: Ints | None = None) -> pl.Series:
    """Return a column, without its name, with a type whose cells can be compared: text, number, boolean or date.

    `counts` says how many rows each cell stands for, where it is not one.
    """
    dtype, name = column.dtype, column.name
    column = column.alias("")
    if isinstance(dtype, pl.Categorical | pl.Enum | pl.Null):
        return column.cast(pl.String)
    if dtype == pl.Duration or dtype == pl.Time or dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        raise InputError(f"column '{name}' is of type {dtype.base_type()}: make it text, a number or a date")
    if dtype in (pl.Date, pl.Datetime):
        _check_years(column, name, rows, counts)
    if dtype.is_float() and not column.drop_nulls().is_finite().all():
        odd = (~column.is_finite()).fill_null(False).arg_true()
        raise InputError(
            f"column '{name}' has NaN or infinity in {counted(_number(odd, counts), 'row')}, first in row "
            f"{row_number(int(odd[0]), rows):,}: make it missing or a number"
        )
    return column


def _check_years(column: pl.Series, name: str, rows: Ints | None, counts: Ints | None) -> None:
    """Refuse dates that have no spelling as YYYY-MM-DD; polars panics over those far outside."""
    unit = getattr(column.dtype, "time_unit", None)
    first, end = (day * TICKS_PER_DAY[unit] for day in (FIRST_DAY, LAST_DAY + 1))
    ticks = column.to_physical().cast(pl.Int64)
    odd = ((ticks < max(first, -(2**63))) | (ticks >= min(end, 2**63 - 1))).fill_null(False).arg_true()
    if len(odd):
        raise InputError(
            f"column '{name}' has a date outside the years 1 to 9999 in {counted(_number(odd, counts), 'row')}, "
            f"first in row {row_number(int(odd[0]), rows):,}: make it missing or a date"
        )


def _number(cells: pl.Series, counts: Ints | None) -> int:
    return len(cells) if counts is None else int(counts[cells.to_numpy()].sum())


def row_number(row: int, rows: Ints | None) -> int:
    """Return what people call a row: counted from 1 in the table as it was read."""
    return (row if rows is None else int(rows[row])) + 1


def marked_missing(texts: pl.Series, missing: Sequence[str]) -> Bools:
    """Tell which texts mean "missing": where 999 does, 999.0 does."""
    markers = pl.Series(["", *missing], dtype=pl.String)
    return _shortest(texts).is_in(_shortest(markers).implode()).to_numpy()


def _shortest(texts: pl.Series) -> pl.Series:
    """Spell whole numbers without decimals, and zero without a sign."""
    return texts.str.replace(r"^(-?[0-9]+)\.0+$", "$1").str.replace(r"^-0$", "0")
