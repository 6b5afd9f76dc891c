"""One spelling of every number: 9 and 9.0 are one value, in a column of text as in one of numbers.

A file of text can spell a number in several ways, and whoever reads the cells as text takes them for several values.
Where all cells of a column are numbers, each is spelled as the shortest of its spellings; a number with one spelling
keeps it, so 1.50 stays 1.50.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import polars as pl

from tclose.table import numbers
from tclose.table.tally import marked_missing
from tclose.table.values import ranked

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
