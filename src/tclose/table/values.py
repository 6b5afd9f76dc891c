"""The different values of one column: how often each cell occurs, which kind it is, and how it is spelled.

Values are learned once, from a tally of cells, and then applied to rows. Everything that costs is done once per
different value, never per row. Tallies of parts of a table add up, so the values can be learned from a table that never
was in one place.

9 and 9.0 are one value, in a column of text as in one of numbers. A file of text can spell a number in several ways,
and anyone who reads the cells as text takes them for several values. Where all cells of a column are numbers, each is
spelled as the shortest of its spellings; a number with one spelling keeps it, so 1.50 stays 1.50.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from tclose.errors import InputError, InternalError
from tclose.messages import say
from tclose.policy.column_settings import Below
from tclose.table import numbers
from tclose.table.bins import placed_cells
from tclose.types import Bools, Ints
from tclose.words import counted

# The tally: how often each different cell of a column occurs


FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, counted from 1970
TICKS_PER_DAY = {None: 1, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


@dataclass(frozen=True, eq=False, repr=False)
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

    def places(self, column: pl.Series) -> Ints:
        """Return which cell of these every row of the column shows; -1 where it has none."""
        every = pl.Series(np.arange(len(self.cells), dtype=np.int32))
        cells = comparable(column)
        return cells.replace_strict(self.cells, every, default=-1, return_dtype=pl.Int32).fill_null(-1).to_numpy()

    def among(self, places: Ints, column: pl.Series, rows: Ints | None = None) -> Tally:
        """Count the cells of some rows, of which `column` has the cells and `places` says which of these they are."""
        counts = np.bincount(places[places >= 0], minlength=len(self.cells)).astype(np.int64)
        shown = np.flatnonzero(counts)
        nulls = int(np.count_nonzero(places < 0))
        return Tally(column.name, self.cells[shown], counts[shown], nulls, comparable(column), rows)

    @property
    def rows_counted(self) -> int:
        """How many rows were counted."""
        return int(self.counts.sum()) + self.nulls

    def where(self, chosen: Bools, *, nulls: bool = False, of_all: bool = False) -> str:
        """Say how many rows show one of the chosen cells, and which row is the first, if that is known."""
        shows = int(self.counts[chosen].sum()) + (self.nulls if nulls else 0)
        amount = (
            say("{shows:,} of {rows}", shows=shows, rows=counted(self.rows_counted, "row"))
            if of_all
            else counted(shows, "row")
        )
        first = self._first_row(chosen, nulls=nulls)
        return amount if first is None else say("{amount}, first in row {first:,}", amount=amount, first=first)

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
        raise InputError(
            "column '{name}' is of type {base_type}: make it text, a number or a date",
            name=name,
            base_type=dtype.base_type(),
        )
    if dtype in (pl.Date, pl.Datetime):
        _check_years(column, name, rows, counts)
    if dtype.is_float() and not column.drop_nulls().is_finite().all():
        odd = (~column.is_finite()).fill_null(False).arg_true()
        raise InputError(
            "column '{name}' has NaN or infinity in {rows}, first in row {row_number:,}: make it missing or a number",
            name=name,
            rows=counted(_number(odd, counts), "row"),
            row_number=row_number(int(odd[0]), rows),
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
            "column '{name}' has a date outside the years 1 to 9999 in {rows}, first in row {row_number:,}: "
            "make it missing or a date",
            name=name,
            rows=counted(_number(odd, counts), "row"),
            row_number=row_number(int(odd[0]), rows),
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


# From cells to codes: the values of a column, and their kind


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


@dataclass(frozen=True, eq=False, repr=False)
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
        cells, (texts, limit) = tally.cells[present], placed_cells(texts[present], below)
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


@dataclass(frozen=True, eq=False, repr=False)
class Values:
    """The values of a column and the code of every row; -1 where it is missing."""

    domain: ValueDomain
    codes: Ints

    @classmethod
    def among(
        cls, tally: Tally, places: Ints, missing: Sequence[str], below: Below | None, cells: pl.Series, rows: Ints
    ) -> Values:
        """Learn the values of some rows of a column that was tallied, from which of its cells they show (`places`).

        That is what `values_of` learns from the cells of these rows, without comparing their texts again.
        """
        own = tally.among(places, cells, rows)
        domain = ValueDomain.of(own, missing, below)
        number_of_cell = np.full(len(tally.cells) + 1, -1, dtype=np.int64)  # the last for rows without a cell
        number_of_cell[np.unique(places[places >= 0])] = domain.code_of_cell
        return cls(domain, number_of_cell[places])

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


# One spelling of every number


MINUS_ZERO = r"^-0(?:\.0+)?(?:[eE][+-]?[0-9]+)?$"
NEEDLESS = r"^-?[0-9]+\.[0-9]*0$|^-?[0-9]+(?:\.[0-9]+)?[eE][+-]?[0-9]+$|^-0$"
Respelling = pl.DataFrame  # `cell`: how a number is spelled in some rows; `spelled`: how it is in all


def with_one_number(column: pl.Series, missing: Sequence[str]) -> pl.Series:
    """Return a column in which -0.0 is 0.0 and, where all cells are numbers, every number is spelled in one way.

    9 and 9.0 are one value, in a column of text as in one of numbers. A number that has one spelling only keeps it.
    """
    if column.dtype.is_float():
        return with_one_float_zero(column)
    if column.dtype != pl.String or not may_be_spelled_twice(column) or not all_numbers(column, missing):
        return column
    return respelled(column, spellings_of(column.alias("").unique()))


def with_one_float_zero(column: pl.Series) -> pl.Series:
    """Return a column of floats in which -0.0 is 0.0."""
    cells = column.alias("")  # polars takes names such as ^x$ for patterns
    zero = pl.lit(0.0, dtype=column.dtype)  # to add 0.0 does not help: polars leaves such sums out
    return pl.select(pl.when(cells == 0).then(zero).otherwise(cells)).to_series().alias(column.name)


def may_be_spelled_twice(column: pl.Series) -> bool:
    """Tell whether a column of text spells a number as others need not: with a last zero, an exponent, or as -0."""
    return bool(column.alias("").str.contains(NEEDLESS).any())


def all_numbers(column: pl.Series, missing: Sequence[str]) -> bool:
    """Tell whether every cell of a column of text is a number, those that mean "missing" aside."""
    distinct = column.alias("").unique().drop_nulls()
    present = distinct.filter(~pl.Series(marked_missing(distinct, missing)))
    return bool(numbers.are_numbers(present).all())


def spellings_of(distinct: pl.Series) -> Respelling:
    """Return the one spelling of each number of a column that is to be spelled otherwise: the shortest that occurs."""
    cells = distinct.drop_nulls()
    cells = cells.filter(numbers.are_numbers(cells))
    plain = _without_minus(cells)
    rank, order = ranked(plain, numbers.read(plain).units)
    shortest = plain.gather(order).gather(rank)
    other = cells != shortest
    return pl.DataFrame({"cell": cells.filter(other), "spelled": shortest.filter(other)})


def respelled(column: pl.Series, spellings: Respelling) -> pl.Series:
    """Return a column of text in which every number is spelled in one way."""
    if spellings.is_empty():
        return column
    return column.alias("").replace(spellings["cell"], spellings["spelled"]).alias(column.name)


def with_alike_numbers(cells: pl.Series) -> pl.Series:
    """Return cells of text in which numbers that are equal are spelled alike, whatever else the column holds."""
    plain = _without_minus(cells.alias("")).str.replace(r"^(-?[0-9]+\.[0-9]*?)0+$", "$1")
    plain = plain.str.replace(r"^(-?[0-9]+)\.$", "$1")
    powers = plain.filter(plain.str.contains("[eE]") & numbers.are_numbers(plain)).unique().drop_nulls()
    if powers.is_empty():
        return plain
    return plain.replace(powers, pl.Series([_digits(cell) for cell in powers], dtype=pl.String))


def _digits(cell: str) -> str:
    """Spell a number without an exponent and without needless zeros."""
    digits = format(Decimal(cell), "f")
    return (digits.rstrip("0").rstrip(".") if "." in digits else digits) if Decimal(cell) else "0"


def _without_minus(column: pl.Series) -> pl.Series:
    """Return a column of text in which -0 is 0."""
    negative = column.str.contains(MINUS_ZERO).fill_null(False)
    return pl.select(pl.when(negative).then(column.str.slice(1)).otherwise(column)).to_series()


# The place of a value in a list: a hierarchy's leaves, a declared domain, a matrix's names


def places_in(known: Sequence[str], values: ValueDomain, *, misses: str) -> Ints:
    """Return the place in `known` of each value; refuse when a value is not there.

    Text is matched as it is; numbers, dates and booleans by value (39.0 is 39, True is true).
    """
    places = known_places(known, values)
    missed = [code for code, at in enumerate(places) if at < 0]
    if missed:
        raise _missed(values, missed, misses)
    return np.array(places, dtype=np.int64)


def known_places(known: Sequence[str], values: ValueDomain) -> list[int]:
    """Return the place in `known` of each value, -1 where it is not there."""
    place = {text: code for code, text in enumerate(known)}
    places = [place.get(text, -1) for text in values.texts]
    if values.units is not None and -1 in places:
        places = _by_value(known, values, values.units)
    return places


def _by_value(known: Sequence[str], values: ValueDomain, units: NDArray[Any]) -> list[int]:
    place = {value: code for code, value in enumerate(exact_values(known, values.kind))}
    return [place.get(Fraction(int(unit), 10**values.scale), -1) for unit in units]


def _missed(values: ValueDomain, missed: list[int], misses: str) -> InputError:
    return InputError(
        "column '{name}': {misses} {count:,} of its values, in {where}: add them",
        name=values.name,
        misses=misses,
        count=len(missed),
        where=values.where(missed),
        detail="they are " + ", ".join(f"'{values.texts[code]}'" for code in missed[:10]),
    )
